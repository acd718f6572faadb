"""Runs to start from: each is a few events away from every status of its family, so that small changes reach them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

Event = dict[str, Any]

START = datetime(2026, 6, 3, 12, 0, 0, tzinfo=UTC)
RED, BLUE = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def at(seconds: float) -> str:
    """So many seconds after START, as RFC 3339."""
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def usual(kind: str, seconds: float, **fields: Any) -> Event:
    """An event of run `c1` without its `event_id`."""
    return {"kind": kind, "ts": at(seconds), "correlation_id": "c1", **fields}


def _pass(seconds: float, gate: str, by: str, **fields: Any) -> Event:
    return usual("gate.decision", seconds, **{"gate": gate, "subject": "s1", "decision": "passed", "by": by, **fields})


def _ship(seconds: float, **fields: Any) -> Event:
    facts = {"artifact_id": "s1", "by": "hermes", "phase": "tickets", **fields}
    return usual("artifact.shipment", seconds, **facts)


def _try(seconds: float, outcome: str = "success", **fields: Any) -> Event:
    call = {"caller": "hermes", "tool": "pay", "privilege": "write", "side_effects": "irreversible", "target": "x"}
    return usual("tool.invocation", seconds, **{**call, "outcome": outcome, **fields})


def _approve(seconds: float, **fields: Any) -> Event:
    said = {"approval_id": "A1", "decision": "approved", "by": "dora", "by_kind": "human", "action": "refund", **fields}
    return usual("action.decision", seconds, **said)


def _book(seconds: float, **fields: Any) -> Event:
    return usual(
        "action.receipt",
        seconds,
        **{"receipt_id": "R1", "action": "refund", "effect": "committed", "target": "x", **fields},
    )


def _close(seconds: float, decision_id: str, *claims: Event, **fields: Any) -> Event:
    closed = {"decision_id": decision_id, "terminal_state": "RESOLVED", "priority": "P1", "intent": "billing"}
    return usual("decision.record", seconds, **{**closed, "actions_attempted": list(claims), **fields})


def _claim(executed: bool, **fields: Any) -> Event:
    return {"action": "refund", "executed": executed, "target": "x", "amount": 10, **fields}


SHIPMENTS: list[list[Event]] = [
    [
        _pass(0, "quality", "themis", digest=RED),
        _pass(1, "clearance", "eunomia"),
        _pass(1, "duty", "eunomia"),
        _ship(3, digest=RED),
        _ship(5, digest=RED),
    ],
    [  # in the wrong order
        _pass(0, "clearance", "eunomia"),
        _pass(1, "quality", "Reviewer"),
        _pass(1, "duty", "eunomia"),
        _ship(3),
        _close(10, "D1", rubric_verdicts=[{"rubric_id": "r1", "pass": True}], clearance="cleared"),
    ],
    [  # each gate in another trouble
        _try(0, "failed", caller="Reviewer", side_effects="none"),
        _try(1, "failed", caller="eunomia", side_effects="none", call_id="k2"),
        _pass(2, "quality", "hermes", decision="errored"),
        _ship(3),
        _pass(6, "clearance", "eunomia"),
        _ship(10),
        _pass(6, "quality", "themis", subject="s2"),
        _ship(10, artifact_id="s2", author="Reviewer"),
    ],
]

EFFECTS: list[list[Event]] = [
    [
        _approve(0, amount_limit=10, digest=RED),
        _try(2, amount=10, input_digest=RED, approval_id="A1", idempotency_key="K1"),
        _book(3, amount=10, idempotency_key="K1"),
        _close(10, "D1", _claim(True, receipt_id="R1"), _claim(False, target="y")),
        _close(11, "D2", _claim(False, receipt_id="R1")),
    ],
    [  # two of everything
        _approve(0, single_use=False),
        _try(2, amount=10, idempotency_key="K1"),
        _try(3, amount=11, idempotency_key="K1"),
        _book(4, amount=10, idempotency_key="K1"),
        _book(5, amount=10, idempotency_key="K1", receipt_id="R2", effect="exists"),
        _close(10, "D1", _claim(True), _claim(True)),
    ],
    [  # approvals that do not fit
        _approve(0, by_kind="agent"),
        _approve(0, approval_id="A2", action="notify", target="y"),
        _try(2, approval_id="A1", amount=11),
        _try(3, approval_id="A2", amount=11, call_id="k1"),
        _approve(0, approval_id="A9", amount_limit=10),
        _try(3, approval_id="A9", amount=12),
        usual("safety.supersession", 4, policy="harm"),
        _book(5, proposal_id="s1"),
    ],
    [  # no answer
        _try(2, "unavailable", tool="Mail", side_effects="reversible", call_id="k1"),
        _try(3, "failed", error_class="transient", tool="Mail", side_effects="reversible"),
        _close(10, "D1", _claim(False, action="notify"), _claim(True, action="mail", target=None)),
    ],
    [  # stale and declined
        _approve(0, digest=BLUE),
        _approve(0, approval_id="A2", decision="declined"),
        _try(2, approval_id="A1", input_digest=RED, target="y", verified=True, outcome="partial"),
        _try(3, approval_id="A2", input_digest=RED),
        _close(10, "D1", _claim(True, target=None), _claim(True, target="y", amount=20)),
    ],
]

CALLS: list[list[Event]] = [
    [
        _try(0, "unavailable", attempt=1, call_id="k1", input_digest=RED, idempotency_key="K1"),
        _try(1, "unavailable", attempt=2, call_id="k1", input_digest=RED, idempotency_key="K1"),
        _try(2, "failed", attempt=3, call_id="k1", input_digest=RED, idempotency_key="K1"),
        usual("tool.degradation", 3, caller="hermes", tool="pay", fallback="cache", call_id="k1"),
        _close(10, "D1", degradations=[{"call_id": "k1"}]),
    ],
    [
        _try(0, "failed", attempt=1, call_id="k1", input_digest=RED, error_class="validation"),
        _try(1, "failed", attempt=2, call_id="k1", input_digest=RED, error_class="validation"),
        _try(2, "denied", attempt=3, call_id="k1", input_digest=RED),
        _try(3, "denied", attempt=4, call_id="k1", input_digest=RED),
        _close(10, "D1"),
    ],
]
