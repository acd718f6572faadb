"""What is known of one kind: its learnt layouts, and the expression and the query that are made from them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import polars as pl

from ingest import dialects
from ingest.columnar.grammar import COLON, UNKNOWN, members
from ingest.columnar.layouts import clusters, learnt
from ingest.columnar.nodes import Layout, Member, Text, Time, literal, quoted
from ingest.columnar.types import object_of
from schemas.common import Event

MAX_LAYOUTS = 8
"""Most orders of keys that are known of one kind; those of further producers replace them, should they come alone."""

_LEAST, _LEAST_SHARE = 2, 0.05
"""How many events of a sample, and which share of them, have to have a layout for it to be learnt."""

_WORTH, _MOST_IN_VAIN = 0.1, 6
"""The share of lines below which learning was in vain, and how often in a row that lengthens the pause."""

_E = "e"


@dataclass(frozen=True, slots=True)
class Road:
    """How lines of one kind are judged together: `gate` lets those through that `query` then reads.

    The query reads ``lines (i, l)`` and returns ``i``, ``e`` (a struct of the fields that were learnt, the unknown ones
    as JSON), ``=name`` for fields whose value is made in SQL, and where it is needed ``=bad`` (a model has to look) and
    ``=free`` (what people wrote inside of fields). `columns` make the values of the kind's columns from that.
    A line is fine where every field has as many bytes as `lengths` says (at least, at most) and every time in `times`
    could be read.
    """

    gate: str
    query: str
    columns: tuple[pl.Expr, ...]
    lengths: dict[str, tuple[int, int | None]]
    times: tuple[str, ...]
    free: tuple[str, ...]
    unknown: tuple[str, ...]


class Plan:
    """Learns the layouts of one kind."""

    def __init__(self, kind: str, model: type[Event]) -> None:
        self.kind = kind
        self.dialect = dialects.XENIA if kind.startswith("xenia.") else dialects.NATIVE
        self.road: Road | None = None
        self._node = object_of(model)
        self._layouts: list[Layout] = []
        self._nulls: set[str] = set()
        self._in_vain = 0
        self._pause = 0

    def learn(self, parsed: list[dict[str, Any]], anew: bool = False) -> bool:
        """Take the layouts over that are usual among these events, `anew` instead of what was known.

        Returns whether that changed the road. A layout that nearly no line has would cost the others more than it
        brings: every one of them makes the gate longer.
        """
        layouts, nulls = ([], set()) if anew else (self._layouts, self._nulls)
        least = max(_LEAST_SHARE * len(parsed), min(_LEAST, len(parsed)))
        found = [layout for layout, count in clusters(self._node, parsed) if count >= least]
        for layout in found:
            more = learnt(layouts, layout, self._node)
            if more is not None and len(more) <= MAX_LAYOUTS:
                layouts = more
        unknown = {name for layout in layouts for name in layout if name not in self._node.members}
        nulls = nulls | {name for event in parsed for name in unknown & event.keys() if event[name] is None}
        changed = (layouts, nulls) != (self._layouts, self._nulls) and bool(layouts)
        return changed and self._take(layouts, nulls)

    def may_learn(self) -> bool:
        """Whether it is time to learn. After it was in vain it pauses, longer each time: a gate is costly to make."""
        self._pause = max(self._pause - 1, 0)
        return self._pause == 0

    def weigh(self, left: int, gained: int) -> None:
        """Say how many of the lines that were left could pass after learning."""
        self._in_vain = 0 if gained >= _WORTH * left else min(self._in_vain + 1, _MOST_IN_VAIN)
        self._pause = 2**self._in_vain if self._in_vain else 0

    @property
    def is_full(self) -> bool:
        """Whether no further layout is taken."""
        return len(self._layouts) >= MAX_LAYOUTS

    def _take(self, layouts: list[Layout], nulls: set[str]) -> bool:
        road = _road(self, layouts, nulls)
        if _compiles(road.gate):
            self._layouts, self._nulls, self.road = layouts, nulls, road
            return True
        return False

    def pattern(self, layout: Layout, nulls: set[str]) -> str:
        """The expression for the lines of a layout, without anchors."""
        known = dict(zip((n for n in layout if n in self._node.members), self._parts(layout), strict=True))
        parts = []
        for name in layout:
            value = f"(?:null|{UNKNOWN})" if name in nulls else UNKNOWN
            parts.append(known.get(name) or (f'"{re.escape(name)}"{COLON}{value}', False))
        return rf"\{{{members(parts)}\}}"

    def _parts(self, layout: Layout) -> list[tuple[str, bool]]:
        return self._node.member_patterns({n: child for n, child in layout.items() if n in self._node.members})

    def union(self, layouts: list[Layout]) -> Layout:
        """One layout with the known keys of all, in any order."""
        found: Layout = {}
        for layout in layouts:
            for name, child in layout.items():
                if name in self._node.members:
                    found[name] = _either(found.get(name, {}), child)
        return found

    @property
    def node(self) -> Any:
        """The type of the events."""
        return self._node


def _either(one: Layout, other: Layout) -> Layout:
    return {name: _either(one.get(name, {}), other.get(name, {})) for name in (*one, *other)}


def _road(plan: Plan, layouts: list[Layout], nulls: set[str]) -> Road:
    node, layout = plan.node, plan.union(layouts)
    unknown = sorted({name for each in layouts for name in each if name not in node.members})
    spec = {**node.spec(layout), **dict.fromkeys(unknown, "JSON")}
    made = _Made()
    for name, member in node.members.items():
        if name in layout:
            made.add(name, member, layout[name])
        elif member.default is not None:
            made.columns.append(pl.lit(json.loads(member.default)).alias(name))
    if "correlation_id" not in node.members and "ticket_id" in layout:
        made.columns.append(pl.col("ticket_id").alias("correlation_id"))  # what a xenia record is about
    made.add_nulls([name for name in unknown if name in nulls])
    query = (
        f"SELECT i, {', '.join([_E, *made.selected()])} "  # noqa: S608 - names of the contract and ones that were checked
        f"FROM (SELECT i, l, json_transform(l, {literal(json.dumps(spec))}) AS {_E} FROM lines)"
    )
    gate = rf"\A(?:{'|'.join(plan.pattern(each, nulls) for each in layouts)})[ \t\r]*\z"
    return Road(gate, query, tuple(made.columns), made.lengths, tuple(made.times), tuple(made.free), tuple(unknown))


class _Made:
    """What is to be made of the fields: as little as possible in SQL, where every expression costs time to plan."""

    def __init__(self) -> None:
        self.columns: list[pl.Expr] = []
        self.lengths: dict[str, tuple[int, int | None]] = {}
        self.times: list[str] = []
        self.free: list[str] = []
        self._sql: dict[str, str] = {}
        self._bad: list[str] = []
        self._texts: list[str] = []

    def add(self, name: str, member: Member, layout: Layout) -> None:
        """A field that was learnt."""
        node, ref, column = member.node, f"{_E}.{quoted(name)}", pl.col(name)
        if isinstance(node, Text):
            column = column.str.to_lowercase() if node.lower else column
            if node.shortest or node.longest is not None:
                self.lengths[name] = node.shortest, node.longest
            if node.free:
                self.free.append(name)
        elif isinstance(node, Time):
            self._sql[name] = f"epoch_us(TRY_CAST({ref} AS TIMESTAMPTZ))"
            self.times.append(name)
            column = pl.col(f"={name}").cast(pl.Datetime("us"))
        elif (value := node.value(ref, layout)) != ref:
            self._sql[name] = value
            column = pl.col(f"={name}")
        if not isinstance(node, Text | Time):
            self._bad += node.bad(ref, layout)
            self._texts += node.texts(ref, layout)
        if member.default is not None:
            column = column.fill_null(json.loads(member.default))
        self.columns.append(column.alias(name))

    def add_nulls(self, names: list[str]) -> None:
        """Unknown fields that may be null: read as JSON that is NULL, like a field that is not there."""
        for name in names:
            self._sql[name] = f"{_E}.{quoted(name)} IS NULL AND json_exists(l, {literal(_path(name))})"

    def selected(self) -> list[str]:
        """The expressions of the query."""
        found = [f"{told} AS {quoted('=' + name)}" for name, told in self._sql.items()]
        if self._bad:
            found.append(f'coalesce({" OR ".join(self._bad)}, false) AS "=bad"')
        if self._texts:
            found.append(f'concat_ws(chr(10), {", ".join(self._texts)}) AS "=free"')
        return found


def _path(name: str) -> str:
    return f'$."{name}"'


def _compiles(expression: str) -> bool:
    """Whether the engine takes it: with very many keys it may be too large."""
    try:
        pl.Series([""]).str.contains(expression)
    except pl.exceptions.ComputeError:
        return False
    return True
