"""Shorthand for hand-worked cases: events with everything that does not matter filled in, at seconds after noon."""

from __future__ import annotations

import copy
import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

NOON = datetime(2026, 6, 3, 12, 0, 0, tzinfo=UTC)

POLICY: dict[str, Any] = tomllib.loads(
    """
    name = "cases"
    version = 1
    [time]
    clock_skew = "2s"
    grace = "60s"
    [[tools]]
    name = "issue_refund"
    privilege = "write"
    side_effects = "irreversible"
    actions = ["refund"]
    receipt = "required"
    [[tools]]
    name = "send_mail"
    privilege = "write"
    side_effects = "reversible"
    actions = ["mail"]
    [[gates]]
    name = "quality"
    reviewers = ["themis"]
    stands_for = ["rubric_verdicts"]
    max_age = "1h"
    [[gates]]
    name = "clearance"
    reviewers = ["eunomia"]
    stands_for = ["clearance"]
    [[pipelines]]
    name = "reply"
    gates = ["quality", "clearance"]
    separate_author = true
    binding = "per_digest"
    grace = "60s"
    [pipelines.applies_to]
    kind = "artifact.shipment"
    customer_facing = true
    [retry.transient]
    max_retries = 1
    then = "degrade"
    [retry.permission_denied]
    max_retries = 0
    then = "escalate"
    must_surface = true
    [retry.validation]
    max_retries = 5
    then = "escalate"
    same_input = "forbidden"
    [approvals]
    side_effects = ["irreversible"]
    by_kind = ["human"]
    expires_after = "24h"
    amount_tolerance = 0.5
    [agents.themis]
    aliases = ["Quality-Review"]
    """
)


def policy(**tables: Any) -> dict[str, Any]:
    """The policy above with some tables replaced."""
    return {**copy.deepcopy(POLICY), **tables}


def at(seconds: float) -> str:
    """So many seconds after noon, as RFC 3339."""
    return (NOON + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


def event(kind: str, event_id: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """Any event of run `c1`, tenant null."""
    return {"event_id": event_id, "ts": at(seconds), "kind": kind, "correlation_id": "c1", **fields}


def ship(event_id: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """A shipment of artifact `a` by hestia."""
    return event("artifact.shipment", event_id, seconds, **{"artifact_id": "a", "by": "hestia", **fields})


def decide(event_id: str, seconds: float, gate: str, decision: str = "passed", **fields: Any) -> dict[str, Any]:
    """A gate decision about artifact `a` by the gate's own reviewer."""
    by = {"quality": "themis", "clearance": "eunomia"}.get(gate, "anybody")
    said = {"gate": gate, "subject": "a", "decision": decision, "by": by, **fields}
    return event("gate.decision", event_id, seconds, **said)


def attempt(event_id: str, seconds: float, outcome: str = "success", **fields: Any) -> dict[str, Any]:
    """An attempt of `issue_refund` by hermes."""
    call = {"caller": "hermes", "tool": "issue_refund", "privilege": "write", "side_effects": "irreversible"}
    return event("tool.invocation", event_id, seconds, **{**call, "outcome": outcome, **fields})


def receipt(event_id: str, seconds: float, effect: str = "committed", **fields: Any) -> dict[str, Any]:
    """A receipt `R1` for a refund."""
    return event(
        "action.receipt", event_id, seconds, **{"receipt_id": "R1", "action": "refund", **fields}, effect=effect
    )


def approval(event_id: str, seconds: float, decision: str = "approved", **fields: Any) -> dict[str, Any]:
    """A human's answer `A1` to a refund."""
    said = {"approval_id": "A1", "decision": decision, "by": "dora", "by_kind": "human", "action": "refund", **fields}
    return event("action.decision", event_id, seconds, **said)


def record(event_id: str, seconds: float, *claims: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The run's record `D1`, resolved."""
    closed = {"decision_id": "D1", "terminal_state": "RESOLVED", "actions_attempted": list(claims), **fields}
    return event("decision.record", event_id, seconds, **closed)


def claim(executed: bool = True, action: str = "refund", **fields: Any) -> dict[str, Any]:
    """One claim of a record."""
    return {"action": action, "executed": executed, **fields}
