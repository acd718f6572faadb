"""Redaction before the ledger: personal data and secrets never enter it.

Of an accepted event only what people write is looked at: the contract's free-text fields, everything that the contract
does not know, and a `customer_ref` that is no hash. Ids, digests, timestamps and every other contract field stay as
they are. A rejected line is looked at as a whole. A line without a hit keeps its exact bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from pydantic_core import from_json

from ingest import dialects
from ingest.contract import Judged, judge, judge_object
from ingest.forms import GLANCE, SUSPECT
from ingest.lines import Line, OverLong
from ingest.patterns import hashed_reference, scrub, scrub_named, scrub_number, unescaped
from ingest.redact_record import redact_record
from ingest.shape import SHAPES, Shape
from ingest.texts import texts_of
from schemas.fields import TEXT_MAX

CUSTOMER_REF = "customer_ref"
_REFERENCE = re.compile(r'("customer_ref"\s*:\s*")((?:[^"\\]|\\.)+)("|$)')
_FEW = 256
"""So many suspects or fewer are not looked at more closely: that would cost as much as looking into each of them."""

_OVERFLOW = "\ue000overflow\ue000"
_REF_MEMBER = r'"customer_ref"[ \t\r]*:[ \t\r]*'
_FINE_REF_MEMBER = _REF_MEMBER + r'(?:null|"customer:[0-9a-f]{6,64}")'


@dataclass(frozen=True, slots=True)
class Redaction:
    """What was taken out of one line: how often which type, and the SHA-256 of the line as it was received."""

    sha256: str
    counts: dict[str, int]


@dataclass(slots=True)
class Redacted:
    """Lines fit for the ledger, and for each changed one (by its index) what was taken out."""

    lines: list[Line]
    redactions: dict[int, Redaction] = field(default_factory=dict)


def redact_lines(lines: Sequence[Line], dialect: str) -> Redacted:
    """Redact the lines of one chunk in the dialect that its source was read with."""
    return redact_all([(lines, dialect)])[0]


def redact_all(chunks: Sequence[tuple[Sequence[Line], str]]) -> list[Redacted]:
    """Redact several chunks, each in its dialect; the lines that need it are found in one pass over all of them."""
    suspicious = _suspects([line for lines, _ in chunks for line in lines])
    found: list[Redacted] = []
    begin = at = 0
    for lines, dialect in chunks:
        result = Redacted(list(lines))
        end = begin + len(lines)
        while at < len(suspicious) and suspicious[at] < end:
            _redact_at(suspicious[at] - begin, result, dialect)
            at += 1
        found.append(result)
        begin = end
    return found


def _redact_at(index: int, result: Redacted, dialect: str) -> None:
    line = result.lines[index]
    if isinstance(line, OverLong):
        return
    counts: Counter[str] = Counter()
    changed = redact_line(line, dialect, counts)
    if counts:
        result.lines[index] = changed
        result.redactions[index] = Redaction(hashlib.sha256(line).hexdigest(), dict(sorted(counts.items())))


def suspects(texts: pl.Series) -> pl.Series:
    """Which texts could hold a hit: all that `SUSPECT` finds, and perhaps `_FEW` more; NULL could not.

    A call costs milliseconds before the first text (the engine learns its states anew): ask for many texts at once.
    """
    found = texts.str.contains(GLANCE).fill_null(False)
    places = found.arg_true()
    if len(places) <= _FEW:
        return found
    return found.scatter(places, texts.gather(places).str.contains(SUSPECT))


def _suspects(lines: Sequence[Line]) -> list[int]:
    """The lines that could hold a hit: one vectorised pass, since nearly all lines hold none."""
    texts = _looked_at(lines)
    found = suspects(texts)
    named = texts.str.contains(f'"{CUSTOMER_REF}"', literal=True).arg_true()
    if len(named):
        among = texts.gather(named)
        members, fine = (among.str.count_matches(form) for form in (_REF_MEMBER, _FINE_REF_MEMBER))
        found = found.scatter(named.filter(members != fine), True)
    return found.arg_true().to_list()


def _looked_at(lines: Sequence[Line]) -> pl.Series:
    """The lines as texts: NUL characters left out, what is no UTF-8 replaced; NULL for an over-long one."""
    texts = texts_of(lines)
    odd = texts.str.contains("\0", literal=True).fill_null(True).arg_true()
    if not len(odd):
        return texts
    return texts.scatter(odd, pl.Series([_plain(lines[place]) for place in odd], dtype=pl.String))


def _plain(line: Line) -> str | None:
    return line.replace(b"\0", b"").decode("utf-8", "replace") if isinstance(line, bytes) else None


def redact_line(line: bytes, dialect: str, counts: Counter[str]) -> bytes:
    """The line without personal data; `counts` is added to, and the same bytes come back when it stays empty."""
    try:
        pairs: list[tuple[str, Any]] = []
        parsed = from_json(line, allow_inf_nan=False)
        json.loads(line, object_pairs_hook=lambda found: _shadowed(found, pairs))
    except (ValueError, RecursionError):
        return _redact_broken(line, dialect, counts)
    if dialect == dialects.DECISION_RECORD:
        if not isinstance(judge(line, dialect), Judged):
            clean = _deep(parsed, counts)
        else:
            clean = {**parsed, "text": redact_record(parsed["text"], counts)}
    else:
        for name, value in pairs:
            _deep({name: value}, counts)
        clean = _clean(parsed, dialect, counts)
    if not counts:
        return line
    return _dumped(clean).encode("utf-8")


def _shadowed(found: list[tuple[str, Any]], shadowed: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object for `json`; values that a later equal key hides are noted, since they are in the line all the same."""
    last = dict(found)
    if len(last) != len(found):
        shadowed += [(name, value) for name, value in found if last[name] is not value]
    return last


def _dumped(clean: Any) -> str:
    """Compact JSON; a number that overflowed, which gets the line rejected, is written so that it overflows again."""
    try:
        return json.dumps(clean, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:
        marked = json.dumps(_marked(clean), ensure_ascii=False, separators=(",", ":"))
        return marked.replace(f'"{_OVERFLOW}', "").replace(f'{_OVERFLOW}"', "")


def _marked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _marked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_marked(item) for item in value]
    overflowed = isinstance(value, float) and value in (float("inf"), float("-inf"))
    return f"{_OVERFLOW}{'-' if value < 0 else ''}1e999{_OVERFLOW}" if overflowed else value


def _redact_broken(line: bytes, dialect: str, counts: Counter[str]) -> bytes:
    """A line that is no JSON: with its escapes resolved when that shows something, else as it stands."""
    if b"\0" in line:  # nearly always UTF-16; as JSON it is refused, and with the NUL in front it stays so
        bare: Counter[str] = Counter()
        clean = redact_line(line.replace(b"\0", b""), dialect, bare)
        counts.update(bare)
        return b"\0" + clean if bare else line
    text = line.decode("utf-8", "surrogateescape")
    resolved = unescaped(text)
    if resolved == text:
        return _scrub_broken(text, counts).encode("utf-8", "surrogateescape")
    found: Counter[str] = Counter()
    clean = redact_line(resolved.encode("utf-8", "surrogateescape"), dialect, found)
    counts.update(found)
    return clean if found else line


def _scrub_broken(text: str, counts: Counter[str]) -> str:

    def hashed(match: re.Match[str]) -> str:
        reference = hashed_reference(match[2])
        if reference != match[2]:
            counts[CUSTOMER_REF] += 1
        return f"{match[1]}{reference}{match[3]}"

    return scrub(_REFERENCE.sub(hashed, text), counts)


def _clean(parsed: Any, dialect: str, counts: Counter[str]) -> Any:
    if not isinstance(parsed, dict):
        return _deep(parsed, counts)
    hashed: Counter[str] = Counter()
    candidate = {name: _reference(value, hashed) if name == CUSTOMER_REF else value for name, value in parsed.items()}
    if isinstance(judge_object(candidate, dialect), Judged):
        counts += hashed
        return _known(candidate, SHAPES[candidate["kind"]], counts)
    return _deep(parsed, counts)


def _known(value: Mapping[str, Any], shapes: Mapping[str, Shape], counts: Counter[str]) -> dict[str, Any]:
    clean: dict[str, Any] = {}
    for name, item in value.items():
        shape = shapes.get(name)
        if shape is None:
            clean[scrub(name, counts)] = _member(name, item, counts)
        else:
            clean[name] = _shaped(item, shape, counts)
    return clean


def _shaped(value: Any, shape: Shape, counts: Counter[str]) -> Any:
    if isinstance(value, list):
        return [_shaped(item, shape, counts) for item in value]
    if shape.free_text and isinstance(value, str):
        clean = scrub(value, counts)
        return clean if clean == value else clean[:TEXT_MAX]  # a placeholder may be longer than what it replaces
    if shape.fields is not None and isinstance(value, dict):
        return _known(value, shape.fields, counts)
    return value


def _member(name: str, value: Any, counts: Counter[str]) -> Any:
    """The value of an unknown field, whose name may be what tells that it is personal."""
    if name == CUSTOMER_REF:
        return _reference(value, counts)
    if isinstance(value, str):
        return scrub_named(name, value, counts)
    if isinstance(value, int) and not isinstance(value, bool):
        return scrub_number(name, value, counts)
    return _deep(value, counts)


def _deep(value: Any, counts: Counter[str]) -> Any:
    """A value of any shape with every text in it scrubbed, keys included."""
    if isinstance(value, str):
        return scrub(value, counts)
    if isinstance(value, dict):
        return {scrub(name, counts): _member(name, item, counts) for name, item in value.items()}
    if isinstance(value, list):
        return [_deep(item, counts) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        return scrub_number("", value, counts)
    return value


def _reference(value: Any, counts: Counter[str]) -> Any:
    """A customer reference that is no hash becomes its hash; null and hashes stay."""
    if value is None:
        return value
    hashed = hashed_reference(value if isinstance(value, str) else json.dumps(value, sort_keys=True))
    if hashed != value:
        counts[CUSTOMER_REF] += 1
    return hashed
