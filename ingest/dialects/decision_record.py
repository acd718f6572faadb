"""Decision records: Markdown with one fenced yaml block, or bare YAML, read into a `decision.record` event.

A ledger line of this dialect is a JSON object ``{"path": relative path, "mtime": RFC 3339, "text": the file}``, so that
a rebuild reads the same text again. What cannot be read is left out and named in the event's warnings; only a record
without `decision_id` or `terminal_state` is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from ingest.dialects.lenient_yaml import Document
from ingest.dialects.lenient_yaml import read as read_yaml
from ingest.dialects.yaml_values import mapping_of
from ingest.sentences import explain, short, where
from schemas.columns import fields_of
from schemas.events import DecisionRecordEvent
from schemas.fields import parse_rfc3339

TS_SOURCE = "ts_source"
"""Name of the note that the reader makes in a record: where its time was taken from."""

FILE_NAME, FILE_TIME = "file name", "file modification time"
TIMES_OF_FILES = frozenset({FILE_NAME, FILE_TIME})
"""What the note says of a time that the text itself does not give."""

INVALID = "invalid"
"""Name of the member that a line has instead of a readable text: why the file is not UTF-8."""

OLDER_SPELLINGS: Mapping[tuple[str, str], str] = {
    ("", "themis_cycle"): "judge_cycles",
    ("", "eunomia_seal"): "clearance",
    ("", "seal"): "clearance",
    ("sla", "sla_state"): "state",
}
_OURS = ("event_id", "ts", "kind")
_ANNOTATIONS = {name: info.annotation for name, info in fields_of(DecisionRecordEvent).items()}
_KNOWN = {**_ANNOTATIONS, "ticket_id": str}
_PROVISIONAL = "1970-01-01T00:00:00Z"
_MOST_WARNINGS = 50
_MOST_ROUNDS = 100

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?:yaml|yml)\b[^\n]*\n", re.MULTILINE | re.IGNORECASE)
_HEADING = re.compile(r"^#[ \t]*Decision[ _-]?Record\b", re.MULTILINE | re.IGNORECASE)
_ID_LINE = re.compile(r"^[ \t]*[\"']?decision_id[\"']?[ \t]*:", re.MULTILINE)
_DATE_IN_NAME = re.compile(r"(?<![0-9])([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")


class NoRecord(ValueError):
    """The text holds no decision record; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Record:
    """A record as an event, and what could not be read of it."""

    event: DecisionRecordEvent
    warnings: tuple[str, ...]


def looks_like_record(text: str) -> bool:
    """Whether a file among others claims to be a decision record, by its heading or by a `decision_id`."""
    return bool(_HEADING.search(text) or _ID_LINE.search(text))


def yaml_span(text: str) -> tuple[int, int]:
    """Where the YAML stands: the first fenced block with a `decision_id`, else the first one, else the whole text."""
    spans = _fenced(text)
    return next((span for span in spans if _ID_LINE.search(text, *span)), spans[0] if spans else (0, len(text)))


def _fenced(text: str) -> list[tuple[int, int]]:
    spans = []
    position = 0
    while opening := _FENCE.search(text, position):
        fence = opening["fence"]
        closing = re.compile(rf"^ {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*\r?$", re.MULTILINE)
        end = closing.search(text, opening.end())
        spans.append((opening.end(), end.start() if end else len(text)))
        position = end.end() if end else len(text)
    return spans


def read(line: Mapping[str, Any]) -> Record:
    """The event of one ledger line's object. Raises NoRecord when there is none in it."""
    path, text = line.get("path"), line.get("text")
    if not isinstance(path, str) or not isinstance(text, str):
        raise NoRecord("is no decision record as the reader writes them: path or text is missing")
    start, end = yaml_span(text)
    document = read_yaml(text[start:end])
    warnings = [*_lines_left_out(document, text.count("\n", 0, start) + 1), *_other_blocks(text, start)]
    fields = _fields(document, warnings)
    fields |= {"event_id": _event_id(fields["decision_id"], text), "kind": "decision.record", "ts": _PROVISIONAL}
    event = _validated(fields, warnings)
    ts, source = _time_of(event, path, line.get("mtime"))
    final = DecisionRecordEvent.model_validate({**fields, "ts": ts, TS_SOURCE: source})
    if len(warnings) > _MOST_WARNINGS:
        warnings[_MOST_WARNINGS:] = [f"and {len(warnings) - _MOST_WARNINGS} more"]
    return Record(final, tuple(warnings))


def _event_id(decision_id: str, text: str) -> str:
    # The contract allows 200 characters: an id that leaves no room for the 64 of the hash is hashed itself.
    name = decision_id if len(decision_id) <= 132 else hashlib.sha256(decision_id.encode("utf-8")).hexdigest()
    return f"dr:{name}:{hashlib.sha256(text.encode('utf-8')).hexdigest()}"


def _lines_left_out(document: Document, first_line: int) -> list[str]:
    return [
        f"line {first_line + index} {reason} and was left out: {short(line)}"
        for index, reason, line in document.dropped
    ]


def _other_blocks(text: str, read_from: int) -> Iterator[str]:
    line = done = 0
    for start, _ in _fenced(text):
        line += text.count("\n", done, start)
        done = start
        if start != read_from:
            yield f"line {line} begins another yaml block, which was not read"


def _fields(document: Document, warnings: list[str]) -> dict[str, Any]:
    pairs = [(entry.key, entry.value) for entry in document.entries]
    fields = mapping_of(pairs, _KNOWN, "", warnings.append, lambda at, key: OLDER_SPELLINGS.get((at, key), key))
    for name in _OURS:
        if fields.pop(name, None) is not None:
            warnings.append(f"{name}: is set by the reader: left out")
    for name in ("decision_id", "terminal_state"):
        if not isinstance(fields.get(name), str) or not fields[name]:
            raise NoRecord(f"has no {name}: a decision record needs one")
    ticket = fields.pop("ticket_id", None)
    given = fields.get("correlation_id")
    fields["correlation_id"] = next((value for value in (ticket, given) if value), fields["decision_id"])
    if given and given != fields["correlation_id"]:
        warnings.append("correlation_id: differs from ticket_id, which counts")
    return fields


def _validated(fields: dict[str, Any], warnings: list[str]) -> DecisionRecordEvent:
    """Leave out what the contract refuses, from the inside out, until it accepts the rest; `fields` is changed."""
    for _ in range(_MOST_ROUNDS):
        try:
            return DecisionRecordEvent.model_validate(fields)
        except ValidationError as error:
            faults: dict[tuple[int | str, ...], str] = {}
            for item in error.errors(include_url=False, include_context=False, include_input=False):
                place = tuple(step for step in item["loc"] if step != "[key]")
                told = f"{where(place)}: {explain(item['type'], item['msg'])}"
                faults.setdefault(place[:-1] if item["type"] == "missing" else place, told)
            for place, told in reversed(faults.items()):
                if len(place) < 2 and (not place or place[0] in ("decision_id", "terminal_state", "event_id")):
                    raise NoRecord(told) from None
                if place == ("correlation_id",) and fields["correlation_id"] != fields["decision_id"]:
                    fields["correlation_id"] = fields["decision_id"]
                elif place == ("correlation_id",):
                    raise NoRecord(told) from None
                else:
                    _leave_out(fields, place)
                warnings.append(f"{told}: left out")
    raise NoRecord("has more faults than can be left out one by one")


def _leave_out(fields: Any, place: tuple[int | str, ...]) -> None:
    for step in place[:-1]:
        fields = fields[step]
    del fields[place[-1]]


def _time_of(event: DecisionRecordEvent, path: str, mtime: Any) -> tuple[str, str]:
    """(RFC 3339 time, where it was taken from)."""
    extra = event.__pydantic_extra__ or {}
    for name in ("resolved_at", "first_response_at", "received_at"):
        stated: datetime | None = getattr(event.sla, name) if event.sla else None
        if stated is not None:
            return stated.astimezone(UTC).isoformat(), f"sla.{name}"
        beside = extra.get(name)
        if isinstance(beside, str) and _exists(beside):
            return beside, name
    dated = _DATE_IN_NAME.search(path.rsplit("/", 1)[-1])
    if dated and _exists(f"{dated[1]}T00:00:00Z"):
        return f"{dated[1]}T00:00:00Z", FILE_NAME
    if isinstance(mtime, str) and _exists(mtime):
        return mtime, FILE_TIME
    raise NoRecord("has no time: neither in its sla, nor in the file's name, nor of the file")


def _exists(timestamp: str) -> bool:
    try:
        parse_rfc3339(timestamp)
    except ValueError:
        return False
    return True
