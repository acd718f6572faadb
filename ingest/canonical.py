"""The canonical JSON (RFC 8785) of an event, whose SHA-256 tells a duplicate from a conflict.

Canonical is the *normalised* event: nulls left out, defaults filled in, slugs lower-cased, timestamps in UTC with six
digits, unknown fields included. So `+00:00` and `Z`, or 1 and 1.0, are one content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

import rfc8785
from pydantic import BaseModel
from pydantic_core import to_json

_SAFE_INTEGER = 2**53 - 1


class _Unusual(Exception):
    """A number that our fast writer would spell differently from RFC 8785."""


def content_sha256(event: BaseModel, without: frozenset[str] = frozenset()) -> str:
    """SHA-256 (hex) of the event's canonical JSON; top-level fields in `without` do not count."""
    return hashlib.sha256(canonical_json(event, without)).hexdigest()


def canonical_json(event: BaseModel, without: frozenset[str] = frozenset()) -> bytes:
    """The RFC 8785 form of the normalised event, UTF-8.

    An integer beyond 2**53 - 1, which RFC 8785 cannot express, becomes the string ``int:<digits>``.
    """
    try:
        return to_json(_model(event, True, without))
    except _Unusual:
        return rfc8785.dumps(_model(event, False, without))


_NAMES: dict[type[BaseModel], tuple[tuple[str, str], ...]] = {}


def _names(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    """(name on the wire, attribute) of every field, in canonical order."""
    names = _NAMES.get(model)
    if names is None:
        names = tuple(sorted((info.alias or attr, attr) for attr, info in model.model_fields.items()))
        _NAMES[model] = names
    return names


def _model(model: BaseModel, fast: bool, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    fields = model.__dict__
    plain: dict[str, Any] = {}
    for name, attribute in _names(type(model)):
        value = fields[attribute]
        if value is not None:
            plain[name] = value if type(value) is str else _plain(value, fast)
    if model.__pydantic_extra__:
        plain = _mapping(plain | model.__pydantic_extra__, fast)
    for name in without:
        plain.pop(name, None)
    return plain


def _mapping(fields: dict[str, Any], fast: bool) -> dict[str, Any]:
    names = sorted(fields) if all(map(str.isascii, fields)) else sorted(fields, key=_utf16)
    return {name: _plain(fields[name], fast) for name in names if fields[name] is not None}


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be")


def _plain(value: Any, fast: bool) -> Any:
    writer = _WRITERS.get(type(value))
    return writer(value, fast) if writer is not None else _model(value, fast)


def _same(value: Any, fast: bool) -> Any:
    return value


def _datetime(value: datetime, fast: bool) -> str:
    return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _integer(value: int, fast: bool) -> int | str:
    return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else f"int:{value}"


def _number(value: float, fast: bool) -> int | float:
    # Whole numbers are written as integers; between 1e-4 and 1e15 Python, Rust and ECMAScript spell the rest alike.
    if value.is_integer() and abs(value) <= _SAFE_INTEGER:
        return int(value)
    if fast and not 1e-4 <= abs(value) < 1e15:
        raise _Unusual
    return value


def _list(value: list[Any], fast: bool) -> list[Any]:
    return [_plain(item, fast) for item in value]


_WRITERS: dict[type, Callable[[Any, bool], Any]] = {
    str: _same,
    bool: _same,
    type(None): _same,
    datetime: _datetime,
    int: _integer,
    float: _number,
    dict: _mapping,
    list: _list,
}
