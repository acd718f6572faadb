"""The decision record: what a closed run says about itself."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.fields import Amount, Count, Id, Model, Ref, Scores, Slug, Text, Tokens, Ts


class AttemptedAction(Model):
    """One claim: the run says whether it executed an action."""

    action: Ref
    executed: bool
    by: Ref | None = None
    result: Text | None = None
    target: Ref | None = None
    call_id: Id | None = None
    receipt_id: Ref | None = None
    idempotency_key: Ref | None = None
    amount: Amount | None = None


class RubricVerdict(Model):
    """One rubric's verdict on the run's work."""

    rubric_id: Ref
    pass_: Annotated[bool | None, Field(alias="pass")] = None
    dims: Annotated[Scores | None, Field(description="Score 0..3 per dimension.")] = None


class NotedDegradation(Model):
    """A fallback that the run admits to."""

    tool: Slug | None = None
    call_id: Id | None = None
    note: Text | None = None


class InjectionFinding(Model):
    """An instruction found in data, and what was done about it."""

    ref: Ref | None = None
    disposition: Ref | None = None


class Sla(Model):
    """The clock of the service-level agreement."""

    received_at: Ts | None = None
    first_response_at: Ts | None = None
    resolved_at: Ts | None = None
    state: Literal["ok", "warn", "breach"] | None = None
    breached: bool | None = None


class Escalation(Model):
    """Whether and why the run was handed to a human."""

    triggered: bool | None = None
    trigger: Text | None = None
    packet_ref: Ref | None = None


class DecisionRecord(Model):
    """The fields that are a decision record's own."""

    decision_id: Ref
    terminal_state: Literal["RESOLVED", "ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET", "NO_ANSWER_SAFE_FALLBACK"]
    intent: Ref | None = None
    priority: Literal["P1", "P2", "P3", "P4"] | None = None
    outcome: Ref | None = None
    actions_attempted: list[AttemptedAction] | None = None
    rubric_verdicts: list[RubricVerdict] | None = None
    judge_cycles: Count | None = None
    clearance: Literal["cleared", "blocked"] | None = None
    degradations: list[NotedDegradation] | None = None
    injection_findings: list[InjectionFinding] | None = None
    sla: Sla | None = None
    escalation: Escalation | None = None
    dispatch_count: Count | None = None
    heads_dispatched: list[Ref] | None = None
    follow_up_of: Annotated[Ref | None, Field(description="Decision or correlation id of the earlier run.")] = None
    cost_usd: Annotated[Amount | None, Field(description="US dollars; null means no data, never zero.")] = None
    tokens: Tokens | None = None
    model_tier: Ref | None = None
    artifacts: list[Text] | None = None
