"""Rows of the fast column-wise path are those of `schemas.columns`, the authority, for every kind."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

from ingest.contract import Judged, judge
from ingest.frame import event_frame
from ingest.shape import unknown_fields
from ingest.validate import Batch, RowValidator
from schemas.columns import POLARS_SCHEMA, extra_of, row_of
from schemas.events import KINDS
from tests.ingest.builders import line

_SAMPLES: dict[str, Any] = {
    "privilege": "execute", "side_effects": "irreversible", "layer": "agent", "error_class": "other",
    "by_kind": "human",
    "effect": "partial", "state": "granted", "claim": "failed", "method": "model", "needed_privilege": "read",
    "terminal_state": "RESOLVED", "priority": "P2", "clearance": "cleared", "signal": "csat", "phase": "tickets",
    "severity": "unknown", "sla_state": "n/a", "trace_id": "ab" * 16, "span_id": "cd" * 8, "attempt": 3, "cycle": 2,
    "input_digest": "sha256:" + "ef" * 32, "amount": 12.5, "duration_ms": 7, "cost_usd": 0.033, "amount_limit": 100,
    "value": -1.5, "verified": False, "customer_facing": False, "single_use": False, "judge_cycles": 2,
    "dispatch_count": 4,
    "tokens": {"in": 1000, "odd": 1}, "scores": {"b": 2, "a": 3}, "granted_tools": ["Mail", "fax"],
    "expires_at": "2026-06-03T12:00:00+02:00", "heads_dispatched": ["x"], "artifacts": ["text"],
    "customer_ref": "customer:7f3a9c21",
    "actions_attempted": [{"action": "a", "executed": True, "amount": 1}, {"action": "b", "executed": False, "why": 1}],
    "rubric_verdicts": [{"rubric_id": "r", "pass": True, "dims": {"z": 0, "y": 3}}, {"rubric_id": "s"}],
    "degradations": [{"tool": "Mail"}, {}], "injection_findings": [{"ref": "r", "owasp": ["LLM01"]}],
    "sla": {"received_at": "2026-06-03T09:00:00Z", "state": "ok", "breached": False},
    "escalation": {"triggered": True, "trigger": "t"},
}  # fmt: skip
_OUTCOMES = {"tool.invocation": "partial", "xenia.ticket_created": "delight", "xenia.escalated": "resolved"}
_DECISIONS = {"gate.decision": "waived", "action.decision": "declined"}


def full_event(kind: str) -> dict[str, Any]:
    """An event of this kind with every field given."""
    fields: dict[str, Any] = {}
    for name, info in KINDS[kind].model_fields.items():
        wire = info.alias or name
        fields[wire] = _SAMPLES.get(wire, f"{wire}-1")
    fields |= {"ts": "2026-06-03T10:00:00.123456789Z", "kind": kind, "odd": {"b": [1, None], "a": 2**70}}
    if "outcome" in fields:
        fields["outcome"] = _OUTCOMES.get(kind, "delight" if kind.startswith("xenia.") else "outcome-1")
    if kind in _DECISIONS:
        fields["decision"] = _DECISIONS[kind]
    return fields


def _full(kind: str) -> bytes:
    return json.dumps(full_event(kind)).encode()


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_of_every_kind(kind: str) -> None:
    judged = judge(_full(kind), "auto")
    assert isinstance(judged, Judged), judged
    frame = event_frame([(7, judged)])
    assert frame.schema == POLARS_SCHEMA
    (row,) = frame.to_dicts()
    expected = row_of(judged.event)
    assert {name: row[name] for name in expected} == expected
    extra = json.loads(row.pop("extra"))
    assert extra == extra_of(judged.event) == unknown_fields(judged.event)
    assert (row["seq"], row["dialect"], row["warnings"]) == (
        7,
        "xenia" if kind.startswith("xenia.") else "native",
        None,
    )
    others = row.keys() - expected.keys() - {"seq", "dialect", "warnings"}
    assert all(row[name] is None for name in others)


def test_kinds_mix_in_ledger_order() -> None:
    contents = [_full(kind) for kind in KINDS] + [line("z")] + [_full(kind) for kind in reversed(KINDS)]
    found = RowValidator().validate_all([Batch(contents, 100, "auto")])[0]
    assert found.accepted["seq"].to_list() == list(range(100, 100 + len(contents)))
    assert found.accepted.schema == POLARS_SCHEMA
    assert not found.rejects


def test_nothing_is_a_frame_too() -> None:
    found = RowValidator().validate_all([Batch([b"", b"{"], 1, "auto")])[0]
    assert (found.accepted.height, found.accepted.schema, found.blank) == (0, pl.Schema(POLARS_SCHEMA), 1)
    assert [(reject.seq, reject.line) for reject in found.rejects] == [(2, b"{")]
