"""The event kinds: one pydantic model each, joined into one union discriminated by ``kind``.

These models are the only definition of the contract. The DuckDB columns, the JSON Schema and the reference
page are generated from them (`schemas.columns`, `schemas.export`).
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.common import Event
from schemas.fields import Amount, Digest, Id, Number, Ordinal, Ref, Scores, Slug, Text, Tokens, Ts
from schemas.records import DecisionRecord
from schemas.ticket_events import (
    XeniaEscalated,
    XeniaOutputWritten,
    XeniaTicketCreated,
    XeniaTicketResolved,
    XeniaVocReport,
)

Privilege = Literal["read", "write", "execute"]
SideEffects = Literal["none", "reversible", "irreversible"]
ErrorClass = Literal["transient", "permission_denied", "validation", "partial_success", "tool_instructions", "other"]


class _Correlated(Event):
    correlation_id: Annotated[Id, Field(description="What everything about one ticket or operation shares.")]


class ToolInvocation(_Correlated):
    """One attempt of a tool call."""

    kind: Literal["tool.invocation"]
    caller: Slug
    tool: Slug
    privilege: Privilege
    side_effects: SideEffects
    outcome: Literal["success", "partial", "unavailable", "stale_target", "denied", "failed"]
    call_id: Annotated[Id | None, Field(description="Shared by the attempts of one call; default: the event_id.")] = (
        None
    )
    attempt: Annotated[Ordinal, Field(description="1 for the first attempt.")] = 1
    operation: Ref | None = None
    layer: Literal["client", "member", "admin", "workbench", "studio", "agent"] | None = None
    input_digest: Annotated[Digest | None, Field(description="sha256 of the canonical input.")] = None
    error_class: ErrorClass | None = None
    error_type: Ref | None = None
    idempotency_key: Ref | None = None
    approval_id: Ref | None = None
    receipt_id: Ref | None = None
    artifact_id: Ref | None = None
    target: Ref | None = None
    amount: Amount | None = None
    currency: Ref | None = None
    undo: Annotated[Text | None, Field(description="How the effect can be reversed.")] = None
    duration_ms: Annotated[Amount | None, Field(description="Milliseconds.")] = None
    tokens: Tokens | None = None
    cost_usd: Annotated[Amount | None, Field(description="US dollars; null means no data, never zero.")] = None
    model: Ref | None = None
    model_tier: Ref | None = None
    verified: Annotated[bool | None, Field(description="A partial result was checked and is safe.")] = None
    note: Text | None = None


class ToolDegradation(_Correlated):
    """A call gave up and took its documented fallback."""

    kind: Literal["tool.degradation"]
    caller: Slug
    tool: Slug
    fallback: Ref
    call_id: Id | None = None
    error_class: ErrorClass | None = None
    reason: Text | None = None


class GateDecision(_Correlated):
    """A checkpoint decided about one subject."""

    kind: Literal["gate.decision"]
    gate: Slug
    subject: Annotated[Ref, Field(description="Artifact, call, proposal or task id.")]
    decision: Literal["passed", "blocked", "errored", "skipped", "waived"]
    by: Ref
    digest: Annotated[Ref | None, Field(description="Digest of what was looked at.")] = None
    cycle: Ordinal | None = None
    rubric: Ref | None = None
    scores: Annotated[Scores | None, Field(description="Score 0..3 per dimension.")] = None
    reason: Text | None = None
    expires_at: Ts | None = None


class ArtifactShipment(_Correlated):
    """Something left the house."""

    kind: Literal["artifact.shipment"]
    artifact_id: Ref
    by: Ref
    author: Annotated[Ref | None, Field(description="Who made it; without one, `by`.")] = None
    digest: Ref | None = None
    phase: Ref | None = None
    channel: Ref | None = None
    path: Ref | None = None
    customer_facing: bool = True


class ActionProposal(_Correlated):
    """A mutation waits for confirmation."""

    kind: Literal["action.proposal"]
    proposal_id: Ref
    action: Ref
    actor: Ref
    target: Ref | None = None
    digest: Ref | None = None
    idempotency_key: Ref | None = None
    amount: Amount | None = None
    currency: Ref | None = None
    expires_at: Ts | None = None


class ActionDecision(_Correlated):
    """A person or a policy answered a proposal."""

    kind: Literal["action.decision"]
    approval_id: Ref
    decision: Literal["approved", "declined", "expired", "superseded"]
    by: Ref
    by_kind: Literal["human", "agent", "policy"]
    proposal_id: Ref | None = None
    action: Ref | None = None
    target: Ref | None = None
    digest: Ref | None = None
    amount_limit: Amount | None = None
    single_use: bool = True
    expires_at: Ts | None = None


class ActionReceipt(_Correlated):
    """The system of record says what happened."""

    kind: Literal["action.receipt"]
    receipt_id: Ref
    action: Ref
    effect: Literal["committed", "partial", "rolled_back", "rejected", "exists"]
    system: Ref | None = None
    target: Ref | None = None
    idempotency_key: Ref | None = None
    call_id: Id | None = None
    proposal_id: Ref | None = None
    amount: Amount | None = None
    currency: Ref | None = None


class AgentDispatch(_Correlated):
    """An agent was started."""

    kind: Literal["agent.dispatch"]
    command: Ref
    caller: Slug
    agent: Ref


class AgentLease(_Correlated):
    """A task's ownership changed."""

    kind: Literal["agent.lease"]
    lease_id: Ref
    task_id: Ref
    holder: Ref
    state: Literal["granted", "renewed", "released", "expired", "revoked"]
    expires_at: Ts | None = None


class AgentReport(_Correlated):
    """The holder of a task says what it did."""

    kind: Literal["agent.report"]
    task_id: Ref
    by: Ref
    claim: Literal["completed", "partial", "failed"]
    lease_id: Ref | None = None
    artifact_id: Ref | None = None


class RouteDecision(_Correlated):
    """A request got its task family and tools."""

    kind: Literal["route.decision"]
    task_family: Ref
    granted_tools: list[Slug]
    method: Literal["deterministic", "model"] | None = None
    needed_privilege: Annotated[Privilege | None, Field(description="The label, when it is known.")] = None


class SafetySupersession(_Correlated):
    """Safety stopped ordinary execution."""

    kind: Literal["safety.supersession"]
    policy: Ref
    reason: Text | None = None


class DecisionRecordEvent(_Correlated, DecisionRecord):
    """A run closed."""

    kind: Literal["decision.record"]


class HumanFeedback(_Correlated):
    """A person judged it afterwards."""

    kind: Literal["human.feedback"]
    signal: Literal[
        "escalation_warranted",
        "escalation_unwarranted",
        "missed_escalation",
        "reopened",
        "complaint",
        "csat",
        "resolution_confirmed",
        "resolution_rejected",
    ]
    value: Annotated[Number | None, Field(description="For csat: the score on the asker's scale.")] = None
    by: Ref | None = None


EVENT_MODELS: tuple[type[Event], ...] = (
    ToolInvocation,
    ToolDegradation,
    GateDecision,
    ArtifactShipment,
    ActionProposal,
    ActionDecision,
    ActionReceipt,
    AgentDispatch,
    AgentLease,
    AgentReport,
    RouteDecision,
    SafetySupersession,
    DecisionRecordEvent,
    HumanFeedback,
    XeniaTicketCreated,
    XeniaTicketResolved,
    XeniaEscalated,
    XeniaVocReport,
    XeniaOutputWritten,
)


def kind_of(model: type[Event]) -> str:
    """The value of ``kind`` that selects this model."""
    return str(model.model_fields["kind"].annotation.__args__[0])  # type: ignore[union-attr]


KINDS: dict[str, type[Event]] = {kind_of(model): model for model in EVENT_MODELS}
