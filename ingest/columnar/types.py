"""From the annotations of the event models to the nodes of the grammar, so that a new field needs no entry here."""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ingest.columnar.grammar import ANY, PLAIN
from ingest.columnar.nodes import (
    AMOUNT,
    BOOLEAN,
    FLOAT,
    Fixed,
    Many,
    Member,
    Node,
    Object,
    Scores,
    Text,
    Time,
    integer,
)
from schemas.columns import fields_of, sql_type
from schemas.fields import NO_CONTROLS, SLUG

_SLUG_ANY_CASE = "[A-Za-z0-9][A-Za-z0-9._:/-]*"
_AS_THEY_ARE = re.compile(r"\^((?:[A-Za-z0-9:]|\[[a-z0-9-]+\]|\{[0-9,]+\})+)\$")
"""Patterns of nothing but ASCII letters, digits and colons, which need no escapes in JSON."""

_DIGEST = re.compile(r"\^([a-z0-9:]*)(\[[a-z0-9-]+\])\{([0-9]+)\}\$")
"""Such ones that end in so many of some characters. They are counted afterwards: matching any number of them is three
times as fast, since an expression counts by having a state for each."""


class _Limits:
    """What the metadata of an annotation says, wherever it stands."""

    def __init__(self, metadata: Iterable[Any]) -> None:
        self.least: Any = None
        self.most: Any = None
        self.shortest = 0
        self.longest: int | None = None
        self.text: str | None = None
        self.free = False
        for entry in metadata:
            self._add(entry)

    def _add(self, entry: Any) -> None:
        if isinstance(entry, FieldInfo):
            self.free = self.free or entry.json_schema_extra == {"x-free-text": True}
            for inner in entry.metadata:
                self._add(inner)
            return
        self.least = getattr(entry, "ge", self.least)
        self.most = getattr(entry, "le", self.most)
        self.shortest = getattr(entry, "min_length", self.shortest)
        self.longest = getattr(entry, "max_length", self.longest)
        self.text = getattr(entry, "pattern", self.text)


def object_of(model: type[BaseModel], depth: int = 0) -> Object:
    """The node of a model, whose lists are `depth` lists down. Raises TypeError for a field without an expression."""
    return Object(sql_type(model), {name: _member(info, depth) for name, info in fields_of(model).items()})


def _member(info: FieldInfo, depth: int) -> Member:
    annotation, nullable = info.annotation, False
    if get_origin(annotation) in (Union, types.UnionType):
        (annotation,) = [part for part in get_args(annotation) if part is not type(None)]
        nullable = True
    required = info.is_required()
    default = None if required or info.default is None else str(info.default).lower()  # as SQL spells it
    return Member(_node(annotation, [info], depth), required, nullable, default)


def _node(annotation: Any, metadata: list[Any], depth: int) -> Node:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _node(parts[0], [*metadata, *parts[1:]], depth)
    if origin is list:
        return Many(sql_type(annotation), _node(parts[0], [], depth + 1), depth)
    if origin is dict:
        return _scores(annotation)
    if origin is Literal:
        return Text("VARCHAR", "(?:" + "|".join(map(re.escape, parts)) + ")")
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return object_of(annotation, depth)
    return _scalar(annotation, _Limits(metadata))


def _scalar(annotation: Any, limits: _Limits) -> Node:
    if annotation is datetime:
        return Time("TIMESTAMP")
    if annotation is bool:
        return BOOLEAN
    if annotation is int:
        return integer(limits.least, limits.most)
    if annotation is float and limits.least in (None, 0) and limits.most is None:
        return FLOAT if limits.least is None else AMOUNT
    if annotation is str:
        return _string(limits)
    raise TypeError(f"no expression for {annotation!r}")


def _string(limits: _Limits) -> Text:
    if limits.text == SLUG:
        return Text("VARCHAR", _SLUG_ANY_CASE, longest=limits.longest, lower=True)
    if limits.text in (None, NO_CONTROLS) and limits.shortest in (0, 1):
        character = ANY if limits.text is None else PLAIN
        many = character + ("+" if limits.shortest else "*")
        return Text("VARCHAR", many, longest=limits.longest, free=limits.free)
    if limits.text and (found := _DIGEST.fullmatch(limits.text)) and limits.shortest == 0 and limits.longest is None:
        size = len(found[1]) + int(found[3])
        return Text("VARCHAR", f"{found[1]}{found[2]}*", size, size)
    found = _AS_THEY_ARE.fullmatch(limits.text or "")
    if found is None or limits.shortest or limits.longest is not None:
        raise TypeError(f"no expression for the pattern {limits.text}")
    return Text("VARCHAR", found[1])


def _scores(annotation: Any) -> Scores:
    """Of a dictionary whose keys are strings and whose values are whole numbers of one digit."""
    name, number = (_node(part, [], 0) for part in get_args(annotation))
    if not isinstance(name, Text) or name.longest is None or not isinstance(number, Fixed):
        raise TypeError(f"no expression for {annotation!r}")
    return Scores(sql_type(annotation), name.longest, number.expression)
