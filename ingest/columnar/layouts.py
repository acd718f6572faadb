"""Learning the order in which producers write keys.

A layout is learnt from a parsed line and merged into those that are known of its kind: keys that are sometimes left out
do not make another layout, keys in another order do. What is learnt decides only which road a line takes, never its
verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ingest.columnar.nodes import Layout, Many, Object

MAX_UNKNOWN = 16
"""Most unknown fields of one kind that are learnt: a producer whose field names are data would never end."""

_NAME = re.compile(r"[A-Za-z0-9_.:@$-]{1,64}")
"""Names of unknown fields that are learnt: what needs escapes nowhere."""


def layout_of(node: Object, parsed: Mapping[str, Any], unknown: bool = True) -> Layout | None:
    """The layout of an object; None when it cannot be learnt: a field is missing that has to be there, or one inside
    is unknown (at the top, with `unknown`, some may be)."""
    if any(member.required and name not in parsed for name, member in node.members.items()):
        return None
    layout: Layout = {}
    for name, value in parsed.items():
        member = node.members.get(name)
        child: Layout | None = {}
        if member is not None:
            child = _inside(member.node, value)
        elif not unknown or not _NAME.fullmatch(name):
            return None
        if child is None:
            return None
        layout[name] = child
    return layout


def _inside(node: Any, value: Any) -> Layout | None:
    if isinstance(node, Object) and isinstance(value, dict) and value:
        return layout_of(node, value, unknown=False)
    if isinstance(node, Many) and isinstance(node.item, Object) and isinstance(value, list):
        found: Layout = {}
        for item in value:
            one = layout_of(node.item, item, unknown=False) if isinstance(item, dict) else None
            both = None if one is None else merged(found, one)
            if both is None:
                return None
            found = both
        return found
    return {}


def merged(one: Layout, other: Layout) -> Layout | None:
    """The layout that has the keys of both, in an order that both agree with; None when they contradict each other."""
    order: list[str] = list(one)
    after = 0  # where in `order` the next key of `other` may be at the earliest
    for name in other:
        if name in one:
            place = order.index(name)
            if place < after:
                return None
            after = place + 1
        else:
            order.insert(after, name)
            after += 1
    found: Layout = {}
    for name in order:
        inside = one.get(name) if name not in other else other[name] if name not in one else None
        if inside is None:
            inside = merged(one[name], other[name])
        if inside is None:
            return None
        found[name] = inside
    return found


def clusters(node: Object, parsed: Iterable[Mapping[str, Any]]) -> list[tuple[Layout, int]]:
    """The layouts of events, merged where they can be, the commonest first, each with how many events have it."""
    found: list[tuple[Layout, int]] = []
    for event in parsed:
        layout = layout_of(node, event)
        if layout is None or not _can_be_read(node, [layout]):
            continue
        for index, (known, count) in enumerate(found):
            both = merged(known, layout)
            if both is not None and _can_be_read(node, [both]):
                found[index] = both, count + 1
                break
        else:
            found.append((layout, 1))
    return sorted(found, key=lambda one: one[1], reverse=True)


def learnt(layouts: Iterable[Layout], more: Layout, node: Object) -> list[Layout] | None:
    """The layouts with another one among them; None when nothing is new, or too much would be unknown."""
    found = list(layouts)
    for index, layout in enumerate(found):
        both = merged(layout, more)
        if both is None:
            continue
        if both == layout:
            return None
        found[index] = both
        break
    else:
        found.append(more)
    return found if _can_be_read(node, found) else None


def _can_be_read(node: Object, layouts: Iterable[Layout]) -> bool:
    """Whether one query can read all of them: few unknown names, and no two that only differ by case, which DuckDB
    does not tell apart."""
    names = {name for layout in layouts for name in layout if name not in node.members}
    return len(names) <= MAX_UNKNOWN and len({name.lower() for name in (*node.members, *names)}) == (
        len(node.members) + len(names)
    )
