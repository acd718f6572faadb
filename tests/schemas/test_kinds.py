"""The contract says what the design says: every kind, with exactly its fields, the required ones required."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from schemas import records
from schemas.columns import fields_of
from schemas.events import KINDS

COMMON = {"event_id!", "ts!", "kind!", "run_id", "turn_id", "tenant", "source", "trace_id", "span_id"}
"""`!` marks what is required."""

# Written down from the tables of the design, by hand.
OWN = {
    "tool.invocation": "caller! tool! privilege! side_effects! outcome! call_id attempt operation layer input_digest "
    "error_class error_type idempotency_key approval_id receipt_id artifact_id target amount currency undo "
    "duration_ms tokens cost_usd model model_tier verified note",
    "tool.degradation": "caller! tool! fallback! call_id error_class reason",
    "gate.decision": "gate! subject! decision! by! digest cycle rubric scores reason expires_at",
    "artifact.shipment": "artifact_id! by! author digest phase channel path customer_facing",
    "action.proposal": "proposal_id! action! actor! target digest idempotency_key amount currency expires_at",
    "action.decision": "approval_id! decision! by! by_kind! proposal_id action target digest amount_limit single_use "
    "expires_at",
    "action.receipt": "receipt_id! action! effect! system target idempotency_key call_id proposal_id amount currency",
    "agent.dispatch": "command! caller! agent!",
    "agent.lease": "lease_id! task_id! holder! state! expires_at",
    "agent.report": "task_id! by! claim! lease_id artifact_id",
    "route.decision": "task_family! granted_tools! method needed_privilege",
    "safety.supersession": "policy! reason",
    "decision.record": "decision_id! terminal_state! intent priority outcome actions_attempted rubric_verdicts "
    "judge_cycles clearance degradations injection_findings sla escalation dispatch_count heads_dispatched "
    "follow_up_of cost_usd tokens artifacts",
    "human.feedback": "signal! value by",
}
XENIA = (
    "agent phase ticket_id severity category customer_ref outcome path sla_state tokens cost_usd model_tier"  # no `!`
)
XENIA_KINDS = (
    "xenia.ticket_created",
    "xenia.ticket_resolved",
    "xenia.escalated",
    "xenia.voc_report",
    "xenia.output_written",
)
ADDED = {"decision.record": {"model_tier"}}
"""Ours beyond the design, optional: without it the cost per resolution of a record could not be split by tier."""

PARTS = {
    "AttemptedAction": "action! executed! by result target call_id receipt_id idempotency_key amount",
    "RubricVerdict": "rubric_id! pass dims",
    "NotedDegradation": "tool call_id note",
    "InjectionFinding": "ref disposition",
    "Sla": "received_at first_response_at resolved_at state breached",
    "Escalation": "triggered trigger packet_ref",
}


def described(model: type[BaseModel]) -> set[str]:
    """The fields of a model, the required ones with `!`."""
    return {name + "!" * info.is_required() for name, info in fields_of(model).items()}


def test_there_are_exactly_the_kinds_of_the_design() -> None:
    """A kind that is missing would be quarantined as unknown."""
    assert set(KINDS) == {*OWN, *XENIA_KINDS}


@pytest.mark.parametrize("kind", OWN)
def test_a_kind_has_exactly_its_fields(kind: str) -> None:
    """A field less is data lost to `extra`, a required field more is somebody's events in quarantine."""
    assert described(KINDS[kind]) == COMMON | {"correlation_id!"} | set(OWN[kind].split()) | ADDED.get(kind, set())


@pytest.mark.parametrize("kind", XENIA_KINDS)
def test_an_output_stamp_record_has_exactly_its_fields(kind: str) -> None:
    """Taken as they are: the ticket is the correlation id and may be missing."""
    assert described(KINDS[kind]) == COMMON | set(XENIA.split())


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_a_record_has_exactly_its_fields(part: str) -> None:
    """The lists of a decision record are what reconciliation reads."""
    assert described(getattr(records, part)) == set(PARTS[part].split())


def test_the_defaults_of_the_design() -> None:
    """Left out means: the first attempt, a customer-facing shipment, an approval for one use."""
    base = {"event_id": "e", "ts": "2026-06-03T10:00:00Z", "correlation_id": "c"}
    call = {"caller": "a", "tool": "t", "privilege": "read", "side_effects": "none", "outcome": "success"}
    found = KINDS["tool.invocation"].model_validate({**base, **call, "kind": "tool.invocation"}).model_dump()
    assert (found["attempt"], found["call_id"], found["verified"]) == (1, None, None)
    shipped = {**base, "kind": "artifact.shipment", "artifact_id": "a", "by": "x"}
    assert KINDS["artifact.shipment"].model_validate(shipped).model_dump()["customer_facing"] is True
    approved = {**base, "kind": "action.decision", "approval_id": "a", "decision": "approved", "by": "x"}
    assert KINDS["action.decision"].model_validate({**approved, "by_kind": "human"}).model_dump()["single_use"] is True


@pytest.mark.parametrize(
    ("kind", "field", "values"),
    [
        ("tool.invocation", "outcome", "success partial unavailable stale_target denied failed"),
        ("tool.invocation", "side_effects", "none reversible irreversible"),
        ("tool.invocation", "layer", "client member admin workbench studio agent"),
        (
            "tool.invocation",
            "error_class",
            "transient permission_denied validation partial_success tool_instructions other",
        ),
        ("gate.decision", "decision", "passed blocked errored skipped waived"),
        ("action.decision", "decision", "approved declined expired superseded"),
        ("action.decision", "by_kind", "human agent policy"),
        ("action.receipt", "effect", "committed partial rolled_back rejected exists"),
        ("agent.lease", "state", "granted renewed released expired revoked"),
        ("agent.report", "claim", "completed partial failed"),
        ("route.decision", "method", "deterministic model"),
        (
            "decision.record",
            "terminal_state",
            "RESOLVED ESCALATED_TO_HUMAN FOLLOW_UP_TICKET NO_ANSWER_SAFE_FALLBACK",
        ),
        (
            "human.feedback",
            "signal",
            "escalation_warranted escalation_unwarranted missed_escalation reopened complaint csat "
            "resolution_confirmed resolution_rejected",
        ),
        ("xenia.escalated", "phase", "tickets escalations voc quality kb-gaps other"),
        ("xenia.escalated", "severity", "P1 P2 P3 P4 unknown"),
        ("xenia.escalated", "sla_state", "ok warn breach n/a"),
    ],
)
def test_an_enumeration_has_exactly_its_values(kind: str, field: str, values: str) -> None:
    """A value too few quarantines real events; one too many reaches rules that do not know it."""
    schema = KINDS[kind].model_json_schema()["properties"][field]
    found = schema.get("enum") or next(part["enum"] for part in schema["anyOf"] if "enum" in part)
    assert set(found) == set(values.split())
