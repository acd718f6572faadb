"""What there is to compute: every SQL file is one relation, and the files themselves say in which order.

A rule file starts with comments: its grain, then for each rule that it returns

    -- @rule gate_missing critical
    --   means: one sentence for a manager
    --   do: what to do about it
    --   satisfied by: what would have satisfied the rule

so that a new rule is one file, and its severity, its manual page and `explain` come from there. More comments
say how a relation is kept up to date: `-- @by hour` and `-- @by day` mark tables whose rows add up many runs, `-- @by
view` one that is a view, and `-- @scope all` a rule that looks at stored tables as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal, get_args

from schemas.policy import Severity
from transforms.errors import CatalogueError

RULE_COLUMNS = (
    "rule", "status", "subject", "occurrence", "correlation_id", "run_id", "tenant", "caller", "tool", "gate",
    "event_ts", "evidence", "message",
)  # fmt: skip
"""What every rule file returns, in any order; `occurrence` tells apart what has the same rule and subject."""

_REFERENCE = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_][a-z0-9_]*)", re.IGNORECASE)
_RULE = re.compile(r"@rule ([a-z][a-z0-9_]*) ([a-z]+)")
_NOTE = re.compile(r"(means|do|satisfied by): (.+)")
_KEPT_BY = re.compile(r"@by (hour|day|view)|@scope (all)")

Layer = Literal["staging", "intermediate", "fact", "mart", "rule"]
Unit = Literal["group", "hour", "day", "view", "all"]
"""What is computed anew at once: a group of runs, an hour, a day; nothing (a view); or the whole relation."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what its findings mean and what to do about them."""

    name: str
    severity: str
    means: str
    do: str
    satisfied_by: str
    family: str


@dataclass(frozen=True, slots=True)
class Relation:
    """One SQL file: its name, its one SELECT, its grain sentence, and the relations that it reads."""

    name: str
    layer: Layer
    sql: str
    grain: str
    reads: frozenset[str]
    unit: Unit = "group"

    @property
    def public(self) -> bool:
        """Whether readers of the snapshot see it."""
        return self.layer == "mart"

    @property
    def kept(self) -> bool:
        """Whether its rows stay from one refresh to the next: marts, and the facts that hours and days add up."""
        return self.layer in ("mart", "fact")


def _comments(sql: str) -> list[str]:
    return [line.removeprefix("--").strip() for line in sql.splitlines() if line.startswith("--")]


def parse_relation(name: str, layer: Layer, sql: str) -> Relation:
    """Read one SQL file. Raises CatalogueError when the grain sentence is missing."""
    comments = _comments(sql)
    if not comments or not comments[0].startswith("One row is "):
        raise CatalogueError(f'{name}.sql: must start with "-- One row is …", the sentence that says its grain')
    # The sentence may run over several lines of comment.
    end = next((n for n, comment in enumerate(comments) if comment.endswith((".", ":"))), 0)
    grain = " ".join(comments[: end + 1])
    code = "\n".join(line for line in sql.splitlines() if not line.lstrip().startswith("--"))
    by = next((found[1] or found[2] for comment in comments if (found := _KEPT_BY.fullmatch(comment))), "group")
    unit = next(unit for unit in get_args(Unit) if unit == by)
    return Relation(name, layer, sql, grain, frozenset(_REFERENCE.findall(code)), unit)


def parse_rules(name: str, sql: str) -> tuple[Rule, ...]:
    """The rules that one file declares. Raises CatalogueError for an incomplete or misspelt declaration."""
    rules: list[Rule] = []
    notes: dict[str, str] = {}
    for comment in [*reversed(_comments(sql))]:
        if note := _NOTE.fullmatch(comment):
            notes[note[1]] = note[2]
        elif declared := _RULE.fullmatch(comment):
            if declared[2] not in get_args(Severity):
                raise CatalogueError(
                    f"{name}.sql: {declared[1]} has severity {declared[2]!r}; one of {get_args(Severity)}"
                )
            missing = [key for key in ("means", "do", "satisfied by") if key not in notes]
            if missing:
                raise CatalogueError(f'{name}.sql: {declared[1]} lacks "{missing[0]}: …" in its comment')
            rules.append(Rule(declared[1], declared[2], notes["means"], notes["do"], notes["satisfied by"], name))
            notes = {}
    if not rules:
        raise CatalogueError(f'{name}.sql: declares no rule; write "-- @rule <name> <severity>" above the SELECT')
    return tuple(reversed(rules))


def in_order(relations: Iterable[Relation], given: Mapping[str, Iterable[str]]) -> list[str]:
    """Names in an order in which each comes after what it reads; `given` are nodes that are no files.

    Raises CatalogueError when relations read each other in a circle.
    """
    graph: dict[str, set[str]] = {name: set(reads) for name, reads in given.items()}
    graph |= {relation.name: set(relation.reads) for relation in relations}
    known = set(graph)
    try:
        # Sorted input makes the order the same on every run.
        ordered = TopologicalSorter({name: sorted(graph[name] & known - {name}) for name in sorted(graph)})
        return list(ordered.static_order())
    except CycleError as error:
        raise CatalogueError(f"relations read each other in a circle: {' → '.join(error.args[1])}") from None


def _sql_files(folder: str) -> list[tuple[str, str]]:
    root: Traversable = files("transforms").joinpath(folder)
    found = [entry for entry in root.iterdir() if entry.name.endswith(".sql")]
    return [(e.name.removesuffix(".sql"), e.read_text(encoding="utf-8")) for e in sorted(found, key=lambda e: e.name)]


@cache
def relations() -> tuple[Relation, ...]:
    """Every relation that ships with Gatewatch; rule relations are named `rule_<file>`."""
    found = [parse_relation(name, "staging", sql) for name, sql in _sql_files("staging")]
    for name, sql in _sql_files("marts"):
        layer: Layer = "intermediate" if name.startswith("int_") else "fact" if name.startswith("fct_") else "mart"
        found.append(parse_relation(name, layer, sql))
    found += [parse_relation(f"rule_{name}", "rule", sql) for name, sql in _sql_files("rules")]
    return tuple(found)


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule that ships with Gatewatch, by name. Raises CatalogueError when two files declare one name."""
    found: dict[str, Rule] = {}
    for name, sql in _sql_files("rules"):
        for rule in parse_rules(name, sql):
            if rule.name in found:
                raise CatalogueError(f"{name}.sql: {rule.name} is already declared by {found[rule.name].family}.sql")
            found[rule.name] = rule
    return found
