"""Redaction inside the text of a decision record, so that it stays a decision record.

A scalar with a hit is written anew as a double-quoted one, which is valid wherever the old one stood; the scalars of
contract fields that are no free text stay as they are. Prose, comments and broken lines are scrubbed in place.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from ingest.dialects.decision_record import OLDER_SPELLINGS, yaml_span
from ingest.dialects.lenient_yaml import read as read_yaml
from ingest.dialects.yaml_values import NULLS
from ingest.patterns import hashed_reference, scrub
from ingest.shape import SHAPES, Shape
from schemas.fields import TEXT_MAX

_PLAIN = Shape()
_UNKNOWN: Mapping[str, Shape] = {}
_RECORD: Mapping[str, Shape] = {**SHAPES["decision.record"], "ticket_id": _PLAIN}


@dataclass(frozen=True, slots=True)
class _Place:
    """A scalar in the text, from `start` to `end`; `shape` is None where the contract does not know the field."""

    start: int
    end: int
    node: yaml.ScalarNode
    shape: Shape | None
    name: str


def redact_record(text: str, counts: Counter[str]) -> str:
    """The text of an accepted record without personal data; `counts` is added to."""
    first, last = yaml_span(text)
    parts: list[str] = []
    done = 0
    for place in _places(text[first:last]):
        start, end = first + place.start, first + place.end
        if start < done:
            continue
        parts += (scrub(text[done:start], counts), _rewritten(text[start:end], place, counts))
        done = end
    return "".join(parts) + scrub(text[done:], counts)


def _rewritten(old: str, place: _Place, counts: Counter[str]) -> str:
    value: str = place.node.value
    if place.shape == _PLAIN:
        return old
    if place.name == "customer_ref":
        clean = value if place.node.style is None and value in NULLS else hashed_reference(value)
        if clean != value:
            counts["customer_ref"] += 1
    else:
        clean = scrub(value, counts)
    if clean == value:
        return old
    if place.shape is not None and place.shape.free_text:
        clean = clean[:TEXT_MAX]  # a placeholder may be longer than what it replaces
    return json.dumps(clean, ensure_ascii=False) + ("\n" if place.node.style in ("|", ">") else "")


def _places(text: str) -> Iterator[_Place]:
    for entry in read_yaml(text).entries:
        for place in _walk([(entry.key, entry.value)], _RECORD, ""):
            yield _Place(place.start + entry.offset, place.end + entry.offset, place.node, place.shape, place.name)


def _walk(pairs: list[tuple[yaml.Node, yaml.Node]], shapes: Mapping[str, Shape], path: str) -> Iterator[_Place]:
    for key, node in pairs:
        name = OLDER_SPELLINGS.get((path, key.value), key.value) if isinstance(key, yaml.ScalarNode) else ""
        shape = shapes.get(name)
        yield from _scalars(key, _PLAIN if shape is not None else None, "")
        yield from _scalars(node, shape, name)


def _scalars(node: yaml.Node, shape: Shape | None, name: str) -> Iterator[_Place]:
    if isinstance(node, yaml.ScalarNode):
        yield _Place(node.start_mark.index, node.end_mark.index, node, shape, name)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _scalars(item, shape, name)
    elif isinstance(node, yaml.MappingNode):
        if shape == _PLAIN:  # a dictionary of the contract, like a verdict's scores
            for pair in node.value:
                for part in pair:
                    yield from _scalars(part, shape, "")
        else:
            known = shape.fields if shape is not None and shape.fields is not None else _UNKNOWN
            yield from _walk(node.value, known, name)
