"""The policy: what is allowed, required and expected, as one validated TOML or YAML file.

Rules never carry a threshold or a name of their own; they join the tables that `schemas.policy_tables` makes of
this model. Durations are written ``"30s"``, ``"5m"``, ``"2h"``, ``"7d"``; unknown keys are errors.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from schemas.events import KINDS, ErrorClass, Privilege, SideEffects
from schemas.fields import Slug

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('must be a duration in quotes, like "30s", "5m", "2h" or "7d"')
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(f'"{value}" is no duration; write "30s", "5m", "2h" or "7d"')
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise ValueError(f'"{value}" is longer than a duration can be; write at most "999999999d"') from None


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Severity = Literal["critical", "high", "medium", "low", "info"]
Matchable = str | bool | int | float
Matchers = dict[str, Annotated[list[Matchable], BeforeValidator(_listed)]]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())


class ToolContract(_Table):
    """What a tool may do, who may call it, and what it owes."""

    name: Slug
    privilege: Privilege
    side_effects: SideEffects
    preconditions: list[Name] = []
    error_types: list[Name] = []
    allowed_callers: list[Slug] = []
    actions: Annotated[list[Name], Field(description="Names under which decision records claim it.")] = []
    receipt: Literal["required", "optional", "none"] = "optional"
    fallback: Name | None = None


class Gate(_Table):
    """A checkpoint and who may decide it; no reviewers means anybody."""

    name: Slug
    reviewers: list[Name] = []
    max_age: Duration | None = None
    stands_for: list[Literal["rubric_verdicts", "clearance"]] = []


class Pipeline(_Table):
    """The gates that a subject must pass, in order, before it leaves the house."""

    name: Name
    applies_to: Matchers
    gates: Annotated[list[Slug], Field(min_length=1)]
    when: Matchers = {}
    separate_author: bool = False
    binding: Literal["per_digest", "single_use"] = "per_digest"
    grace: Duration = timedelta(seconds=60)

    @field_validator("applies_to")
    @classmethod
    def _known_fields(cls, value: dict[str, list[Matchable]]) -> dict[str, list[Matchable]]:
        kinds = value.get("kind")
        if not kinds:
            raise ValueError(f"needs kind, one of: {', '.join(SUBJECT_FIELDS)}")
        for kind in kinds:
            if kind not in SUBJECT_FIELDS:
                raise ValueError(f'kind "{kind}" is no subject of a pipeline; one of: {", ".join(SUBJECT_FIELDS)}')
            for name in value:
                if name != "kind" and name not in KINDS[str(kind)].model_fields:
                    raise ValueError(f'"{name}" is no field of {kind}')
                if name != "kind" and name not in MATCH_FIELDS:
                    raise ValueError(f'"{name}" cannot be matched; one of: {", ".join(sorted(MATCH_FIELDS))}')
        return value

    @field_validator("when")
    @classmethod
    def _known_attributes(cls, value: dict[str, list[Matchable]]) -> dict[str, list[Matchable]]:
        for name in value:
            if name not in RUN_FIELDS:
                raise ValueError(f'"{name}" is not known of a run; one of: {", ".join(sorted(RUN_FIELDS))}')
        return value

    @field_validator("gates")
    @classmethod
    def _gates_once(cls, value: list[str]) -> list[str]:
        if len(set(value)) != len(value):
            raise ValueError("names a gate twice; each gate stands once, in the order in which it must pass")
        return value


SUBJECT_FIELDS: dict[str, str] = {
    "artifact.shipment": "artifact_id",
    "tool.invocation": "call_id",
    "agent.report": "task_id",
    "action.proposal": "proposal_id",
}
"""The kinds that a pipeline may guard, and the field that its gate decisions name as `subject`."""

MATCH_FIELDS: frozenset[str] = frozenset(
    [
        "tenant",
        "source",
        "caller",
        "tool",
        "privilege",
        "side_effects",
        "outcome",
        "operation",
        "layer",
        "error_class",
        "target",
        "currency",
        "model",
        "model_tier",
        "verified",
        "phase",
        "channel",
        "customer_facing",
        "by",
        "author",
        "action",
        "actor",
        "claim",
    ]
)
"""The fields that `applies_to` can look at; `transforms/marts/int_pipeline_subjects.sql` spells each of them."""

RUN_FIELDS: frozenset[str] = frozenset(
    [
        "priority",
        "intent",
        "terminal_state",
        "outcome",
        "clearance",
        "phase",
        "agent",
        "sla_state",
        "severity",
        "category",
    ]
)
"""What `when` can look at: the run's decision record, or its ticket events (severity = priority, category = intent)."""


class Retry(_Table):
    """What may follow an attempt that ended with this error class."""

    max_retries: Annotated[int, Field(ge=0, le=1_000)]
    then: Literal["degrade", "escalate", "fail"] = "fail"
    same_input: Literal["allowed", "forbidden"] = "allowed"
    must_surface: bool = False


class Approvals(_Table):
    """Which effects need somebody's word first, and whose."""

    side_effects: list[SideEffects] = []
    actions: list[Name] = []
    by_kind: list[Literal["human", "agent", "policy"]] = ["human"]
    expires_after: Duration | None = None
    amount_tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class Budget(_Table):
    """Ceilings of one command's run; `default` holds for the others."""

    dispatches: Annotated[int, Field(ge=0)] | None = None
    judge_cycles: Annotated[int, Field(ge=0)] | None = None
    retries_per_caller: Annotated[int, Field(ge=0)] | None = None


class SlaTarget(_Table):
    """Response targets of one priority, by wall clock (business calendars are not modelled)."""

    first_response: Duration | None = None
    warn: Duration | None = None


class Agent(_Table):
    """An agent under its canonical name, with the other names that it goes by."""

    model_tier: Name | None = None
    role: Name | None = None
    aliases: list[Name] = []


class Time(_Table):
    """How long evidence may take."""

    allowed_lateness: Duration = timedelta(seconds=30)
    clock_skew: Duration = timedelta(seconds=2)
    idle_after: Duration = timedelta(minutes=5)
    fcr_window: Duration = timedelta(days=7)
    grace: Annotated[Duration, Field(description="Of checks that belong to no pipeline.")] = timedelta(seconds=60)


class Policy(_Table):
    """One policy file."""

    name: Name
    version: Annotated[int, Field(ge=1)]
    time: Time = Time()
    tools: list[ToolContract] = []
    gates: list[Gate] = []
    pipelines: list[Pipeline] = []
    retry: dict[ErrorClass, Retry] = {}
    approvals: Approvals = Approvals()
    budgets: dict[Name, Budget] = {}
    sla: dict[Literal["P1", "P2", "P3", "P4"], SlaTarget] = {}
    agents: dict[Name, Agent] = {}
    severity: dict[Name, Severity] = {}

    @model_validator(mode="after")
    def _consistent(self) -> Policy:
        for table, names in (
            ("tools", [tool.name for tool in self.tools]),
            ("gates", [gate.name for gate in self.gates]),
            ("pipelines", [pipeline.name for pipeline in self.pipelines]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f'[[{table}]] has "{twice[0]}" more than once; give each a name of its own')
        known = {gate.name for gate in self.gates}
        for pipeline in self.pipelines:
            for gate in pipeline.gates:
                if gate not in known:
                    raise ValueError(f'pipeline "{pipeline.name}" needs gate "{gate}", which no [[gates]] declares')
        claimed: dict[str, str] = {name.lower(): name for name in self.agents}
        for name, agent in self.agents.items():
            for alias in agent.aliases:
                other = claimed.setdefault(alias.lower(), name)
                if other != name:
                    raise ValueError(f'agents "{other}" and "{name}" both go by "{alias}"')
        return self
