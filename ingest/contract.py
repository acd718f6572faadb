"""One ledger line in, one verdict out: an event, a problem with its reason, or nothing (a blank line).

This is a pure function of the bytes of the line and of the dialect in its chunk's header, so that rebuilding from the
ledger gives the same rows for ever. The reasons are those of 05-interface: ``not_json``, ``not_an_object``,
``unknown_kind``, ``schema``, ``encoding``, ``dialect`` (and, elsewhere, ``line_too_long`` and ``event_conflict``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import from_json

from ingest import dialects
from ingest.dialects import decision_record
from ingest.sentences import problems, short
from ingest.shape import unknown_fields
from schemas.common import Event
from schemas.events import KINDS

_VALIDATORS = {kind: model.__pydantic_validator__ for kind, model in KINDS.items()}
_BLANK = b" \t\r\x0b\x0c"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a line is quarantined: the reason and a readable line of text."""

    reason: str
    errors: str


class Judged(NamedTuple):
    """An accepted event, its dialect, its unknown fields by path, and what had to be left unread to accept it."""

    event: Event
    dialect: str
    extra: dict[str, Any]
    warnings: tuple[str, ...] = ()


def judge(line: bytes, dialect: str) -> Judged | Problem | None:
    """The verdict on one line; None when it is blank. `dialect` is ``auto`` or the one that was asked for."""
    if not line.strip(_BLANK):
        return None
    try:
        parsed = from_json(line, allow_inf_nan=False)
    except ValueError as error:
        return _unreadable(line, error)
    if not isinstance(parsed, dict):
        return Problem("not_an_object", f"is a JSON {_json_type(parsed)}, but an event is a JSON object")
    if dialect == dialects.DECISION_RECORD:
        return _judge_record(parsed)
    return judge_object(parsed, dialect)


def judge_object(parsed: dict[str, Any], dialect: str) -> Judged | Problem:
    """The verdict on one parsed object in a dialect other than ``decision_record``."""
    spoken = dialects.recognise(parsed)
    if spoken not in dialects.READ:
        return Problem("dialect", f"is written in the {spoken} dialect, which this version does not read yet")
    if dialect not in ("auto", spoken):
        return Problem("dialect", f"is written in the {spoken} dialect, but only {dialect} was asked for")
    kind = parsed.get("kind")
    if not isinstance(kind, str):
        return Problem("schema", "kind: Field required" if kind is None else "kind: Input should be a valid string")
    validator = _VALIDATORS.get(kind)
    if validator is None:
        return Problem("unknown_kind", f"kind {short(kind)} is not one of the {len(KINDS)} kinds of the contract")
    try:
        event: Event = validator.validate_python(parsed)
    except ValidationError as error:
        return Problem("schema", problems(error))
    extra = unknown_fields(event)
    unwritable = _infinite(extra, "") if extra else None
    if unwritable is not None:
        name = short(unwritable) or "a field without a name"
        return Problem("schema", f"{name}: is a number that is too large to be represented")
    return Judged(event, spoken, extra)


def _judge_record(parsed: dict[str, Any]) -> Judged | Problem:
    if isinstance(parsed.get(decision_record.INVALID), str):
        return Problem("encoding", parsed[decision_record.INVALID])
    try:
        record = decision_record.read(parsed)
    except decision_record.NoRecord as error:
        return Problem("dialect", str(error))
    return Judged(record.event, dialects.DECISION_RECORD, unknown_fields(record.event), record.warnings)


def _unreadable(line: bytes, error: ValueError) -> Problem:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as wrong:
        return Problem("encoding", f"byte {wrong.start + 1} of the line is not valid UTF-8")
    # A line of ours is always the first line of what the parser sees.
    return Problem("not_json", short(str(error).replace(" line 1 column ", " column "), 200))


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "boolean", str: "string", list: "array"}
    return names.get(type(value), "number")


def _infinite(value: Any, path: str) -> str | None:
    """The path of the first number that overflowed to infinity; None when there is none."""
    if isinstance(value, float):
        return path if value in (float("inf"), float("-inf")) else None
    inside: Iterator[tuple[Any, str]]
    if isinstance(value, dict):
        inside = ((item, f"{path}.{name}" if path else name) for name, item in value.items())
    elif isinstance(value, list):
        inside = ((item, f"{path}[{index}]") for index, item in enumerate(value))
    else:
        return None
    # A field may have an empty name: its path counts as well.
    return next((found for item, place in inside if (found := _infinite(item, place)) is not None), None)
