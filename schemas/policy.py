"""The policy: what is allowed, required and expected, as one validated TOML or YAML file.

Rules never carry a threshold or a name of their own; they join the tables that `schemas.policy_tables` makes of
this model. Durations are written ``"30s"``, ``"5m"``, ``"2h"``, ``"7d"``; unknown keys are errors.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
from collections.abc import Iterable
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from schemas.events import KINDS, ErrorClass, Privilege, SideEffects
from schemas.fields import Slug, lowered
from schemas.records import DecisionRecord
from schemas.ticket_events import XeniaTicketCreated

_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=36_500)  # times with it added stay far inside what a database can hold


def _duration(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('must be a duration in quotes, like "30s", "5m", "2h" or "7d"')
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError(f'"{value}" is no duration; write "30s", "5m", "2h" or "7d"')
    with contextlib.suppress(OverflowError):
        if (length := timedelta(**{_UNITS[match[2]]: float(match[1])})) <= _LONGEST:
            return length
    raise ValueError(f'"{value[:40]}" is longer than a duration can be; write at most "36500d"')


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _filled(value: Any) -> Any:
    if value == []:
        raise ValueError("an empty list matches nothing; leave the key out or name a value")
    return value


def suggestion(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean "x"?` for the nearest known name, or nothing."""
    near = difflib.get_close_matches(wrong, list(known), n=1, cutoff=0.6)
    return f'; did you mean "{near[0]}"?' if near else ""


def _choices(annotation: Any) -> list[str | bool]:
    """The values of a field whose type lists them (a Literal, or true and false); of any other field, none."""
    if annotation is bool:
        return [True, False]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for part in get_args(annotation) for value in _choices(part)]


def _check_values(name: str, values: list[Matchable], choices: list[str | bool]) -> None:
    for value in values if choices else ():
        # 1 equals True, yet the file has to say true.
        if value not in choices or not isinstance(value, type(choices[0])):
            allowed = ", ".join(json.dumps(choice) for choice in choices)
            raise ValueError(f"{name} must be one of {allowed}, not {json.dumps(value, ensure_ascii=False)}")


Duration = Annotated[timedelta, BeforeValidator(_duration)]
Severity = Literal["critical", "high", "medium", "low", "info"]
Matchable = str | bool | int | float
Matchers = dict[str, Annotated[list[Matchable], BeforeValidator(_filled), BeforeValidator(_listed)]]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Limit = Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)]


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
            fields = KINDS[str(kind)].model_fields
            for name in (name for name in value if name != "kind"):
                if name not in fields:
                    near = suggestion(name, sorted(MATCH_FIELDS.intersection(fields)))
                    raise ValueError(f'"{name}" is no field of {kind}{near}')
                if name not in MATCH_FIELDS:
                    raise ValueError(f'"{name}" cannot be matched; one of: {", ".join(sorted(MATCH_FIELDS))}')
                _check_values(name, value[name], _choices(fields[name].annotation))
        return value

    @field_validator("when")
    @classmethod
    def _known_attributes(cls, value: dict[str, list[Matchable]]) -> dict[str, list[Matchable]]:
        for name, values in value.items():
            if name not in RUN_FIELDS:
                known = sorted(RUN_FIELDS)
                hint = suggestion(name, known) or f"; one of: {', '.join(known)}"
                raise ValueError(f'"{name}" is not known of a run{hint}')
            _check_values(name, values, RUN_FIELDS[name])
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

MATCH_FIELDS: frozenset[str] = frozenset([
    "tenant", "source", "caller", "tool", "privilege", "side_effects", "outcome", "operation", "layer", "error_class",
    "target", "currency", "model", "model_tier", "verified", "phase", "channel", "customer_facing", "by", "author",
    "action", "actor", "claim",
])  # fmt: skip
"""The fields that `applies_to` can look at; `transforms/marts/int_pipeline_subjects.sql` spells each of them."""

RUN_FIELDS: dict[str, list[str | bool]] = {
    name: _choices(model.model_fields[name].annotation)
    for model, names in (
        (DecisionRecord, ["priority", "intent", "terminal_state", "outcome", "clearance"]),
        (XeniaTicketCreated, ["severity", "category", "phase", "agent", "sla_state"]),
    )
    for name in names
}
"""What `when` can look at, with its values where they are a closed list: the run's decision record, or its ticket
events (severity = priority, category = intent; a record's `sla.state` knows no more than a ticket event's)."""


class Retry(_Table):
    """What may follow an attempt that ended with this error class."""

    max_retries: Annotated[Limit, Field(le=1_000)]
    then: Literal["degrade", "escalate", "fail"] = "fail"
    same_input: Literal["allowed", "forbidden"] = "allowed"
    must_surface: bool = False


class Approvals(_Table):
    """Which effects need somebody's word first, and whose."""

    side_effects: list[SideEffects] = []
    actions: list[Name] = []
    by_kind: Annotated[list[Literal["human", "agent", "policy"]], BeforeValidator(_filled)] = ["human"]
    expires_after: Duration | None = None
    amount_tolerance: Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)] = 0.0


class Budget(_Table):
    """Ceilings of one command's run; `default` holds for the others."""

    dispatches: Limit | None = None
    judge_cycles: Limit | None = None
    retries_per_caller: Limit | None = None


class SlaTarget(_Table):
    """Response targets of one priority, by wall clock (business calendars are not modelled)."""

    first_response: Duration | None = None
    warn: Duration | None = None

    @field_validator("warn")
    @classmethod
    def _in_time(cls, value: timedelta | None, info: ValidationInfo) -> timedelta | None:
        target = info.data.get("first_response")
        if value is not None and target is not None and value > target:
            raise ValueError("is later than first_response; warn before the target or leave it out")
        return value


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
    run_timeout: Annotated[Duration, Field(description="Of a run that stands still before it is closed.")] = timedelta(
        hours=24
    )


class Routing(_Table):
    """What a request may be given whose intent nobody could tell."""

    unknown_families: list[Slug] = ["unknown"]
    unknown_tools: Limit = 3


class Policy(_Table):
    """One policy file."""

    name: Name
    version: Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
    time: Time = Time()
    tools: list[ToolContract] = []
    gates: list[Gate] = []
    pipelines: list[Pipeline] = []
    retry: dict[ErrorClass, Retry] = {}
    approvals: Approvals = Approvals()
    budgets: dict[Name, Budget] = {}
    sla: dict[Literal["P1", "P2", "P3", "P4"], SlaTarget] = {}
    agents: dict[Name, Agent] = {}
    routing: Routing = Routing()
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
        known = sorted(gate.name for gate in self.gates)
        for pipeline in self.pipelines:
            for gate in pipeline.gates:
                if gate not in known:
                    near = suggestion(gate, known)
                    raise ValueError(
                        f'pipeline "{pipeline.name}" needs gate "{gate}", which no [[gates]] declares{near}'
                    )
        claimed: dict[str, str] = {lowered(name): name for name in self.agents}
        for name, agent in self.agents.items():
            for alias in agent.aliases:
                other = claimed.setdefault(lowered(alias), name)
                if other != name:
                    raise ValueError(f'agents "{other}" and "{name}" both go by "{alias}"')
        return self
