"""A line taken apart into tokens, once, so that a mutant of it costs microseconds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[{}\[\],:]', re.DOTALL)
TIME = re.compile(rb'"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]')
"""How a time begins."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Base:
    """A line and where its tokens are.

    `scalars` are all of them, `times` and `numbers` (and literals) those that look like it; `values` are scalars and
    containers, `members` keys with their values, `gaps` where tokens begin.
    """

    line: bytes
    keys: list[Span] = field(default_factory=list)
    scalars: list[Span] = field(default_factory=list)
    times: list[Span] = field(default_factory=list)
    numbers: list[Span] = field(default_factory=list)
    values: list[Span] = field(default_factory=list)
    members: list[Span] = field(default_factory=list)
    objects: list[Span] = field(default_factory=list)
    gaps: list[int] = field(default_factory=list)


def base_of(line: bytes) -> Base:
    """Take a valid line apart."""
    base = Base(line)
    opened: list[tuple[int, int | None]] = []
    last: Span | None = None
    key: int | None = None
    for token in _TOKEN.finditer(line):
        start, end = token.span()
        base.gaps.append(start)
        first = line[start : start + 1]
        if first == b":" and last is not None:
            base.keys.append(last)
            if base.values and base.values[-1] == last:
                base.values.pop()
                base.scalars.pop()
            key = last[0]
        elif first in b"{[":
            opened.append((start, key))
            key = None
        elif first in b"}]":
            begun, key = opened.pop()
            base.values.append((begun, end))
            if first == b"}":
                base.objects.append((begun, end))
            if key is not None:
                base.members.append((key, end))
            key = None
        elif first != b",":
            base.values.append((start, end))
            base.scalars.append((start, end))
            if key is not None:
                base.members.append((key, end))
            key = None
        last = (start, end)
    base.gaps.append(len(line))
    for start, end in base.scalars:
        if line[start : start + 1] != b'"':
            base.numbers.append((start, end))
        elif TIME.match(line, start):
            base.times.append((start, end))
    return base
