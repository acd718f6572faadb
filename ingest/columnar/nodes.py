"""The types of the contract as nodes: each gives the expression for its JSON, how DuckDB is to read it, and its value.

What a node's expression lets through is a subset of what pydantic accepts (`ingest.columnar.grammar`); what an
expression cannot say (lengths, days of a month, names that come twice) is an SQL condition of `bad`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.columnar.grammar import COLON, COMMA, DAY, NEGATIVE, NEVER, OFFSET, PLAIN, TIME_OF_DAY, UNSIGNED, members

Layout = dict[str, "Layout"]
"""The keys of an object in the order in which a producer writes them, each with the layout of the objects inside."""


def quoted(name: str) -> str:
    """An SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Node:
    """One type of the contract; `pattern` where it does not depend on a layout, `sql` the DuckDB type of its value."""

    sql: str

    def pattern(self, layout: Layout) -> str:
        """The expression for its JSON text."""
        raise NotImplementedError

    def spec(self, layout: Layout) -> Any:
        """What `json_transform` is to read it as."""
        return self.sql

    def value(self, ref: str, layout: Layout) -> str:
        """The column's value, as SQL over what was read."""
        return ref

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """SQL conditions under which pydantic has to look, for what the expression cannot say; NULL is fine."""
        return []

    def texts(self, ref: str, layout: Layout) -> list[str]:
        """SQL for the texts in it that people write, which may hold personal data."""
        return []


@dataclass(frozen=True, slots=True)
class Fixed(Node):
    """A type whose text one expression describes: booleans, numbers, enumerations."""

    expression: str

    def pattern(self, layout: Layout) -> str:
        """The expression."""
        return self.expression


@dataclass(frozen=True, slots=True)
class Text(Node):
    """A string: the expression for what is between its quotes, and how many characters it has, unless that says it.

    `shortest` only where the expression lets nothing but ASCII through.
    """

    expression: str
    shortest: int = 0
    longest: int | None = None
    lower: bool = False
    free: bool = False

    def pattern(self, layout: Layout) -> str:
        """The expression in quotes."""
        return f'"{self.expression}"'

    def value(self, ref: str, layout: Layout) -> str:
        """The string, in lower case where the contract says so; the expression lets ASCII through only then."""
        return f"lower({ref})" if self.lower else ref

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """Fewer bytes than it has to have, or more than it may have characters: perhaps too long."""
        short = [f"strlen({ref}) < {self.shortest}"] if self.shortest else []
        return short if self.longest is None else [*short, f"strlen({ref}) > {self.longest}"]

    def texts(self, ref: str, layout: Layout) -> list[str]:
        """The string itself, if people write it."""
        return [ref] if self.free else []


@dataclass(frozen=True, slots=True)
class Time(Node):
    """An instant, read as a string, since readers are lax with times."""

    def pattern(self, layout: Layout) -> str:
        """A time with an offset; days that a month does not have are left to `bad`."""
        return f'"{DAY}T{TIME_OF_DAY}{OFFSET}"'

    def spec(self, layout: Layout) -> Any:
        """Read as it stands."""
        return "VARCHAR"

    def value(self, ref: str, layout: Layout) -> str:
        """UTC, microseconds, the rest cut off."""
        return f"make_timestamp(epoch_us(TRY_CAST({ref} AS TIMESTAMPTZ)))"

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """A day that does not exist."""
        return [f"({ref} IS NOT NULL AND TRY_CAST({ref} AS TIMESTAMPTZ) IS NULL)"]


@dataclass(frozen=True, slots=True)
class Scores(Node):
    """A dictionary of small numbers, which becomes a list of {name, value} in the order of the names."""

    longest: int
    number: str

    def pattern(self, layout: Layout) -> str:
        """Any names; whether one comes twice is left to `bad`."""
        member = f'"{PLAIN}+"{COLON}{self.number}'
        return rf"\{{(?:{member}(?:{COMMA}{member})*)?\}}"

    def spec(self, layout: Layout) -> Any:
        """As it stands: a map that cannot be made would look like none."""
        return "JSON"

    def _map(self, ref: str) -> str:
        return f"json_transform({ref}, '\"MAP(VARCHAR, BIGINT)\"')"

    def value(self, ref: str, layout: Layout) -> str:
        """Sorted by name, byte by byte."""
        entries = f"list_sort(map_entries({self._map(ref)}))"
        return f"list_transform({entries}, lambda s: struct_pack(name := s.key, value := s.value))"

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """A name that comes twice, which makes no map, or that may be too long."""
        made = self._map(ref)
        return [
            f"({ref} IS NOT NULL AND {made} IS NULL)",
            f"len(list_filter(map_keys({made}), lambda s: strlen(s) > {self.longest})) > 0",
        ]


@dataclass(frozen=True, slots=True)
class Many(Node):
    """A list of values of one type."""

    item: Node
    depth: int = 0

    @property
    def _each(self) -> str:
        return f"x{self.depth}"

    def _is_empty(self, layout: Layout) -> bool:
        """Whether only lists without items were seen."""
        return isinstance(self.item, Object) and not layout

    def pattern(self, layout: Layout) -> str:
        """Any number of them."""
        item = self.item.pattern(layout)
        return rf"\[(?:{item}(?:{COMMA}{item})*)?\]"

    def spec(self, layout: Layout) -> Any:
        """A list of what the items are read as."""
        if self._is_empty(layout):
            return "JSON[]"
        spec = self.item.spec(layout)
        return f"{spec}[]" if isinstance(spec, str) else [spec]

    def value(self, ref: str, layout: Layout) -> str:
        """Each item's value."""
        if self._is_empty(layout):
            return f"CASE WHEN {ref} IS NOT NULL THEN []::{self.sql} END"
        value = self.item.value(self._each, layout)
        return ref if value == self._each else f"list_transform({ref}, lambda {self._each}: {value})"

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """Any item that is bad."""
        if self._is_empty(layout):
            return []
        found = self.item.bad(self._each, layout)
        told = f"coalesce({' OR '.join(found)}, false)"
        return [f"len(list_filter({ref}, lambda {self._each}: {told})) > 0"] if found else []

    def texts(self, ref: str, layout: Layout) -> list[str]:
        """Those of each item, joined."""
        found = self.item.texts(self._each, layout)
        told = f"concat_ws(chr(10), {', '.join(found)})"
        return [f"array_to_string(list_transform({ref}, lambda {self._each}: {told}), chr(10))"] if found else []


@dataclass(frozen=True, slots=True)
class Member:
    """A field of an object: its type, whether it has to be there, may be null, and what stands for it otherwise."""

    node: Node
    required: bool
    nullable: bool
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Object(Node):
    """A model, by the names that its fields have on the wire."""

    members: Mapping[str, Member] = field(default_factory=dict)

    def member_patterns(self, layout: Layout) -> list[tuple[str, bool]]:
        """The expressions for the known keys of a layout, with whether each has to be there."""
        found = []
        for name, child in layout.items():
            member = self.members[name]
            value = member.node.pattern(child)
            told = f"(?:null|{value})" if member.nullable else value
            found.append((f'"{name}"{COLON}{told}', member.required))
        return found

    def pattern(self, layout: Layout) -> str:
        """The keys of the layout in its order; those that may be absent may be."""
        if any(member.required and name not in layout for name, member in self.members.items()):
            return NEVER
        return rf"\{{{members(self.member_patterns(layout))}\}}"

    def spec(self, layout: Layout) -> Any:
        """A struct of the layout's keys, in the order of the model; of one without keys, whatever is there."""
        if not layout:
            return "JSON"
        return {name: self.members[name].node.spec(layout[name]) for name in self.members if name in layout}

    def fields(self, ref: str, layout: Layout) -> dict[str, str]:
        """The SQL value of every field of the model."""
        found = {}
        for name, member in self.members.items():
            if name in layout:
                told = member.node.value(f"{ref}.{quoted(name)}", layout[name])
                found[name] = told if member.default is None else f"coalesce({told}, {member.default})"
            else:
                found[name] = member.default or f"NULL::{member.node.sql}"
        return found

    def value(self, ref: str, layout: Layout) -> str:
        """A struct of all fields of the model."""
        fields = self.fields(ref, layout)
        if all(told == f"{ref}.{quoted(name)}" for name, told in fields.items()):
            return ref
        packed = ", ".join(f"{quoted(name)} := {told}" for name, told in fields.items())
        return f"CASE WHEN {ref} IS NOT NULL THEN struct_pack({packed}) END"

    def bad(self, ref: str, layout: Layout) -> list[str]:
        """Any field that is bad."""
        return [told for name in layout for told in self.members[name].node.bad(f"{ref}.{quoted(name)}", layout[name])]

    def texts(self, ref: str, layout: Layout) -> list[str]:
        """Those of every field."""
        return [
            told for name in layout for told in self.members[name].node.texts(f"{ref}.{quoted(name)}", layout[name])
        ]


BOOLEAN = Fixed("BOOLEAN", "(?:true|false)")
FLOAT = Fixed("DOUBLE", f"(?:{UNSIGNED}|{NEGATIVE})")
AMOUNT = Fixed("DOUBLE", f"(?:{UNSIGNED})")


def integer(least: int, most: int) -> Fixed:
    """A whole number from 0 or 1 on, or of one digit."""
    if most < 10:
        return Fixed("BIGINT", f"[{least}-{most}]")
    if least not in (0, 1) or most < 10**18 - 1:
        raise TypeError(f"no expression for integers from {least} to {most}")
    return Fixed("BIGINT", "[1-9][0-9]{0,17}" if least else "(?:0|[1-9][0-9]{0,17})")
