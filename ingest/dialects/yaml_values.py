"""From YAML nodes to values, guided by the field that they are meant for.

YAML guesses types from looks; a field knows better. ``ticket_id: 4711`` is text, ``executed: yes`` is a boolean,
``priority: no`` is text, a timestamp stays the text that it is. Only where no field says anything are numbers,
``true``/``false`` and ``null`` taken at their looks (YAML 1.2, never the wider list of YAML 1.1).
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel

from schemas.columns import fields_of

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,39})")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,3})?")

Warn = Callable[[str], None]
Rename = Callable[[str, str], str]
"""(path of the mapping, key) -> the name that the contract has for that key."""


def keep_name(path: str, key: str) -> str:
    """The `Rename` of a reader without older spellings."""
    return key


def _target(annotation: Any) -> Any:
    """The type that decides: the optional's inside, `str` for everything that is written as text."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _target(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _target(next(arg for arg in get_args(annotation) if arg is not types.NoneType))
    if origin is Literal or annotation is datetime:
        return str
    return annotation


def value_of(node: yaml.Node, annotation: Any, path: str, warn: Warn, rename: Rename = keep_name) -> Any:
    """The value of a node meant for a field of type `annotation` (None: no field knows it)."""
    target = _target(annotation)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, target)
    if isinstance(node, yaml.SequenceNode):
        inner = get_args(target)[0] if get_origin(target) is list else None
        return [value_of(item, inner, f"{path}[{index}]", warn, rename) for index, item in enumerate(node.value)]
    if isinstance(target, type) and issubclass(target, BaseModel):
        known = {name: info.annotation for name, info in fields_of(target).items()}
        return mapping_of(node.value, known, path, warn, rename)
    return mapping_of(node.value, {}, path, warn, rename, get_args(target)[1] if get_origin(target) is dict else None)


def mapping_of(
    pairs: list[tuple[yaml.Node, yaml.Node]],
    known: Mapping[str, Any],
    path: str,
    warn: Warn,
    rename: Rename = keep_name,
    other: Any = None,
) -> dict[str, Any]:
    """The values of a mapping whose fields have the annotations `known`, any other field `other`.

    Of a repeated key the last one counts; of an older spelling beside the newer one, the newer one. Both are warned
    of when the values differ.
    """
    found: dict[str, Any] = {}
    spelled: dict[str, str] = {}
    for key_node, node in pairs:
        if not isinstance(key_node, yaml.ScalarNode):
            warn(f"{path or 'the record'}: has a key that is not text: left out")
            continue
        key: str = key_node.value
        name = rename(path, key)
        value = value_of(node, known.get(name, other), f"{path}.{name}" if path else name, warn, rename)
        if name in found:
            if found[name] != value:
                warn(f"{f'{path}.' if path else ''}{name}: is given twice with different values")
            if spelled[name] == name != key:
                continue
        found[name] = value
        spelled[name] = key
    return found


def _scalar(node: yaml.ScalarNode, target: Any) -> Any:
    text: str = node.value
    if target is str:
        return None if node.style is None and text in NULLS else text.rstrip("\n")
    if node.style is not None:
        return text
    if text in NULLS:
        return None
    if target is bool:
        low = text.lower()
        return True if low in _TRUE else False if low in _FALSE else text
    return _looks(text)


def _looks(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text
