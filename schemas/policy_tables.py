"""The policy as tables, so that a rule is a join: ``{table: (columns, rows)}``, ready to be inserted.

Names of people, agents and actions are lower-cased; durations become microseconds (`*_us`); a matcher becomes one
row for each value that it allows, spelt as the staging of events spells what it is compared with. Every table is
there, empty when the policy says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any, NamedTuple

from schemas.fields import lowered
from schemas.policy import Policy, ToolContract
from schemas.policy_file import policy_digest

_PEOPLE = frozenset(["caller", "by", "author", "actor", "agent"])
_IN_ANY_LETTERS = frozenset(["tool", "action", "intent", "category", "model_tier"])


class PolicyTable(NamedTuple):
    """One table: what a row is, its columns as (name, DuckDB type), and its rows."""

    grain: str
    columns: tuple[tuple[str, str], ...]
    rows: list[tuple[Any, ...]]


def _us(value: timedelta | None) -> int | None:
    return None if value is None else value // timedelta(microseconds=1)


def _columns(spec: str) -> tuple[tuple[str, str], ...]:
    pairs = (part.split(":") for part in spec.split())
    return tuple((name, kind) for name, kind in pairs)


def action_groups(tools: Iterable[ToolContract]) -> dict[str, str]:
    """Which names speak of one action: a tool's name and all its `actions`, joined wherever they overlap.

    Returns name → name of the group (the alphabetically first member), all lower-cased.
    """
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        parent.setdefault(name, name)
        while parent[name] != name:
            name = parent[name]
        return name

    for tool in tools:
        for action in tool.actions:
            first, second = sorted((root(tool.name), root(lowered(action))))
            parent[second] = first
        root(tool.name)
    return {name: root(name) for name in parent}


def _names(policy: Policy) -> Iterator[tuple[str, str, str | None, str | None]]:
    for name, agent in policy.agents.items():
        for alias in (name, *agent.aliases):
            yield lowered(alias), lowered(name), agent.model_tier, agent.role


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _matchers(policy: Policy, person: Callable[[str], str]) -> Iterator[tuple[str, str, str, str]]:
    def compared(field: str, value: object) -> str:
        text = _text(value)
        if field in _PEOPLE:
            return person(text)
        return lowered(text) if field in _IN_ANY_LETTERS else text

    for pipeline in policy.pipelines:
        for part, matchers in (("applies_to", pipeline.applies_to), ("when", pipeline.when)):
            for field, values in matchers.items():
                for value in dict.fromkeys(compared(field, value) for value in values):
                    yield pipeline.name, part, field, value


def policy_tables(policy: Policy) -> dict[str, PolicyTable]:
    """All `policy_*` tables of one policy."""
    canonical = {alias: name for alias, name, _, _ in _names(policy)}
    groups = action_groups(policy.tools)
    time, approvals = policy.time, policy.approvals

    def person(name: str) -> str:
        return canonical.get(lowered(name), lowered(name))

    return {
        "policy_about": PolicyTable(
            "the policy that judged",
            _columns("name:VARCHAR version:BIGINT digest:VARCHAR"),
            [(policy.name, policy.version, policy_digest(policy))],
        ),
        "policy_time": PolicyTable(
            "how long evidence may take",
            _columns(
                "allowed_lateness_us:BIGINT clock_skew_us:BIGINT idle_after_us:BIGINT fcr_window_us:BIGINT "
                "grace_us:BIGINT run_timeout_us:BIGINT"
            ),
            [
                tuple(
                    _us(d)
                    for d in (
                        time.allowed_lateness,
                        time.clock_skew,
                        time.idle_after,
                        time.fcr_window,
                        time.grace,
                        time.run_timeout,
                    )
                )
            ],
        ),
        "policy_tools": PolicyTable(
            "a tool contract",
            _columns(
                "tool:VARCHAR privilege:VARCHAR side_effects:VARCHAR receipt:VARCHAR fallback:VARCHAR "
                "allowed_callers:VARCHAR[] actions:VARCHAR[] error_types:VARCHAR[]"
            ),
            [
                (
                    t.name,
                    t.privilege,
                    t.side_effects,
                    t.receipt,
                    t.fallback,
                    t.allowed_callers,
                    t.actions,
                    t.error_types,
                )
                for t in policy.tools
            ],
        ),
        "policy_actions": PolicyTable(
            "a name of an action and the group of names that mean the same",
            _columns("name:VARCHAR action_group:VARCHAR"),
            sorted(groups.items()),
        ),
        "policy_gates": PolicyTable(
            "a gate",
            _columns("gate:VARCHAR reviewers:VARCHAR[] max_age_us:BIGINT stands_for:VARCHAR[]"),
            [(g.name, [person(r) for r in g.reviewers], _us(g.max_age), list(g.stands_for)) for g in policy.gates],
        ),
        "policy_gate_reviewers": PolicyTable(
            "who may decide a gate, by canonical name",
            _columns("gate:VARCHAR reviewer:VARCHAR"),
            sorted({(g.name, person(r)) for g in policy.gates for r in g.reviewers}),
        ),
        "policy_gate_stand_ins": PolicyTable(
            "which part of a decision record counts as a decision of a gate",
            _columns("gate:VARCHAR stands_for:VARCHAR"),
            [(g.name, part) for g in policy.gates for part in dict.fromkeys(g.stands_for)],
        ),
        "policy_pipelines": PolicyTable(
            "a pipeline",
            _columns(
                "pipeline:VARCHAR separate_author:BOOLEAN binding:VARCHAR grace_us:BIGINT "
                "applies_to_fields:BIGINT when_fields:BIGINT"
            ),
            [
                (p.name, p.separate_author, p.binding, _us(p.grace), len(p.applies_to), len(p.when))
                for p in policy.pipelines
            ],
        ),
        "policy_pipeline_gates": PolicyTable(
            "a gate that a pipeline requires, in order",
            _columns("pipeline:VARCHAR position:BIGINT gate:VARCHAR"),
            [(p.name, index, gate) for p in policy.pipelines for index, gate in enumerate(p.gates, start=1)],
        ),
        "policy_matchers": PolicyTable(
            "a value that a pipeline's matcher allows for a field, spelt as it is compared",
            _columns("pipeline:VARCHAR part:VARCHAR field:VARCHAR value:VARCHAR"),
            list(_matchers(policy, person)),
        ),
        "policy_retry": PolicyTable(
            "what may follow an attempt that ended with an error class",
            _columns("error_class:VARCHAR max_retries:BIGINT then_do:VARCHAR same_input:VARCHAR must_surface:BOOLEAN"),
            [(c, r.max_retries, r.then, r.same_input, r.must_surface) for c, r in policy.retry.items()],
        ),
        "policy_approvals": PolicyTable(
            "how long an approval holds and how far an amount may stray",
            _columns("expires_after_us:BIGINT amount_tolerance:DOUBLE"),
            [(_us(approvals.expires_after), approvals.amount_tolerance)],
        ),
        "policy_approval_scope": PolicyTable(
            "what needs an approval (side_effects or action_group), or who may give one (by_kind)",
            _columns("part:VARCHAR value:VARCHAR"),
            [("side_effects", value) for value in approvals.side_effects]
            + [("action_group", groups.get(lowered(name), lowered(name))) for name in approvals.actions]
            + [("by_kind", value) for value in approvals.by_kind],
        ),
        "policy_budgets": PolicyTable(
            "the ceilings of a command's run",
            _columns("command:VARCHAR dispatches:BIGINT judge_cycles:BIGINT retries_per_caller:BIGINT"),
            [(c, b.dispatches, b.judge_cycles, b.retries_per_caller) for c, b in policy.budgets.items()],
        ),
        "policy_sla": PolicyTable(
            "the response targets of a priority",
            _columns("priority:VARCHAR first_response_us:BIGINT warn_us:BIGINT"),
            [(priority, _us(target.first_response), _us(target.warn)) for priority, target in policy.sla.items()],
        ),
        "policy_routing": PolicyTable(
            "how many tools a request of unknown intent may be granted",
            _columns("unknown_tools:BIGINT"),
            [(policy.routing.unknown_tools,)],
        ),
        "policy_unknown_families": PolicyTable(
            "a task family that stands for an unknown intent",
            _columns("task_family:VARCHAR"),
            [(name,) for name in dict.fromkeys(policy.routing.unknown_families)],
        ),
        "policy_agents": PolicyTable(
            "a name that an agent goes by",
            _columns("alias:VARCHAR agent:VARCHAR model_tier:VARCHAR role:VARCHAR"),
            list(dict.fromkeys(_names(policy))),  # an alias may repeat the name in another spelling
        ),
    }
