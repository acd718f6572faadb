"""Producers of valid lines: every kind, every field, in many hands."""

from __future__ import annotations

import random
from typing import Any

from pydantic import BaseModel

from schemas.columns import fields_of
from schemas.events import KINDS
from tests.ingest.columnar.hands import Style
from tests.ingest.columnar.values import Writer, quoted, unknown_of, writer_of

NESTED_UNKNOWN = ("owner", "x", "a.b", "kind", "event_id", "é", "")
_WRITERS: dict[type[BaseModel], dict[str, tuple[Writer, bool]]] = {}


def _members(model: type[BaseModel]) -> dict[str, tuple[Writer, bool]]:
    """By the name on the wire: the writer, and whether the field has to be there."""
    found = _WRITERS.get(model)
    if found is None:
        found = {
            name: (writer_of(info.annotation, [info]), info.is_required()) for name, info in fields_of(model).items()
        }
        _WRITERS[model] = found
    return found


def _nullable(model: type[BaseModel], name: str) -> bool:
    return fields_of(model)[name].default is None


def object_of(model: type[BaseModel]) -> Writer:
    """The writer of a model inside of an event; whether it has unknown fields is up to the producer."""

    def write(chance: random.Random, hand: Style) -> str:
        names = list(fields_of(model))
        if hand.unknown and (hand.stable or chance.random() < 0.3):
            names.append(NESTED_UNKNOWN[len(hand.unknown[0]) % len(NESTED_UNKNOWN)])
        return write_object(model, ordered(names, model.__name__, chance, hand), chance, hand)

    return write


def ordered(names: list[str], of: str, chance: random.Random, hand: Style) -> list[str]:
    """The names in the order in which this producer writes them."""
    if hand.order == "sorted":
        return sorted(names)
    if hand.order == "reversed":
        return names[::-1]
    if hand.order in ("shuffled", "chaos"):
        # The same order for every object of this model, unless the producer has none.
        random.Random(f"{of} {hand.unknown} {hand.offsets}" if hand.order == "shuffled" else chance.random()).shuffle(
            names
        )
    return names


def write_object(
    model: type[BaseModel], names: list[str], chance: random.Random, hand: Style, full: bool = False
) -> str:
    """An object with these names, of which those that may be absent sometimes are."""
    members = _members(model)
    pairs = []
    for name in names:
        if name not in members:
            text = unknown_of(chance, hand)
        else:
            writer, required = members[name]
            if required or full or chance.random() < hand.share:
                text = writer(chance, hand)
            elif chance.random() < hand.null and _nullable(model, name):
                text = "null"
            else:
                continue
        pairs.append(f"{quoted(name, chance, hand) if name not in members else name_of(name)}{hand.colon}{text}")
    return "{" + hand.comma.join(pairs) + "}"


def name_of(name: str) -> str:
    """A contract field's name in quotes; producers do not escape what needs no escape."""
    return f'"{name}"'


def event_line(kind: str, chance: random.Random, hand: Style, full: bool = False) -> bytes:
    """A valid line of this kind; `full`: with every field."""
    model: Any = KINDS[kind]
    names = list(fields_of(model))
    if hand.unknown and (hand.stable or full or chance.random() < 0.7):
        # A name that the contract knows in this kind would be no unknown one.
        names += [name for name in hand.unknown if name not in names]
    return (write_object(model, ordered(names, kind, chance, hand), chance, hand, full) + hand.tail).encode()
