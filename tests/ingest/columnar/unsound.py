"""Validators with one hole each, as a fast reader or a careless expression would have it: the test must find them all.

A hole is written as what such a validator takes a line for: it judges that other line instead. The one exception is
Polars' own reader, which accepts whatever it can read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ingest.lines import Line
from ingest.redact import Redacted, redact_lines
from ingest.validate import Batch, RowValidator, Validated
from schemas.columns import POLARS_SCHEMA

Hole = Callable[[bytes], bytes]


def _sub(pattern: bytes, to: bytes | Callable[[re.Match[bytes]], bytes]) -> Hole:
    expression = re.compile(pattern)
    return lambda line: expression.sub(to, line)


def _parsed(hook: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Hole:
    def reread(line: bytes) -> bytes:
        try:
            return json.dumps(json.loads(line, object_pairs_hook=hook)).encode()
        except (ValueError, RecursionError):
            return line

    return reread


def _first_of_equal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Where no name comes twice, the line is its own first reading.
    if len({name for name, _ in pairs}) == len(pairs):
        return dict(pairs)
    return dict(reversed(pairs))


def _lenient_utf8(line: bytes) -> bytes:
    return line.decode("utf-8", "replace").encode()


def _rounded(match: re.Match[bytes]) -> bytes:
    return match[1] + b"%06d" % min(999_999, round(int(match[2][:7]) / 10)) + match[3]


_SECOND = rb'("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:)'
LAX: dict[str, Hole] = {
    "no calendar check": _sub(rb'("[0-9]{4}-0[2469]-)(?:29|30|31)T', rb"\g<1>28T"),
    "the 29th of February in every year": _sub(rb'"([0-9]{4})-02-29T', rb'"2024-02-29T'),
    "hour 24": _sub(rb'("[0-9]{4}-[0-9]{2}-[0-9]{2}T)24:', rb"\g<1>00:"),
    "no offset means UTC": _sub(_SECOND + rb'([0-9]{2})"', rb'\1\2Z"'),
    "date only": _sub(rb'"([0-9]{4}-[0-9]{2}-[0-9]{2})"', rb'"\1T00:00:00Z"'),
    "infinity is a time": _sub(rb'"infinity"', b'"2026-06-03T00:00:00Z"'),
    "offset of more than a day": _sub(rb'([0-9])[+-]24:00"', rb'\1Z"'),
    "$ before a final newline": _sub(rb'\\n"', b'"'),
    "enumeration by its beginning": _sub(rb'"(P[1-4]|success|partial|read|write|granted|passed)[^"\\]*"', rb'"\1"'),
    "enumeration in any case": _sub(
        rb'"(?:p[1-4]|[A-Z]{2,12})"', lambda match: match[0].upper() if len(match[0]) == 4 else match[0].lower()
    ),
    "negative amounts": _sub(rb'("(?:amount|cost_usd|duration_ms|amount_limit)" ?: ?)-', rb"\1"),
    "attempt 0": _sub(rb'("(?:attempt|cycle)" ?: ?)0([,}])', rb"\g<1>1\2"),
    "score 4": _sub(rb"(: ?)4([,}])", rb"\g<1>3\2"),
    "integers beyond 64 bits clipped": _sub(
        rb"(: ?)(?:9223372036854775808|18446744073709551616)", rb"\g<1>9223372036854775807"
    ),
    "5.5 is an integer": _sub(rb"(: ?)5\.5([,}])", rb"\g<1>5\2"),
    "1.0 is an integer": _sub(rb"(: ?)1\.0([,}])", rb"\g<1>1\2"),
    "text is a number": _sub(rb'(: ?)"([0-9]+)"', rb"\1\2"),
    "a number is text": _sub(rb"(_id\" ?: ?)([0-9]+)", rb'\1"\2"'),
    "yes is true": _sub(rb'"(?:yes|true)"', b"true"),
    "NaN is null": _sub(rb"(: ?)NaN", rb"\1null"),
    "trailing commas": _sub(rb",[ \t]*\}", b"}"),
    "comments": _sub(rb"/\*\*/", b""),
    "leading zeros": _sub(rb"(: ?)0+([1-9])", rb"\1\2"),
    "form feeds are blanks": _sub(rb'([,:])[\x0b\x0c]', rb"\1"),
    "invalid UTF-8 replaced": _lenient_utf8,
    "lone surrogates replaced": _sub(rb"(?<!\\)\\ud800(?!\\u[dD][c-fC-F])", b"\\\\ufffd"),
    "NUL ends nothing": _sub(rb"\\u0000", b""),
    "raw control characters": _sub(rb"[\x01-\x08\x0e-\x1f]", b" "),
    "DEL and C1 are characters": _sub(rb"\x7f|\xc2[\x80-\x9f]", b"x"),
    "escaped C1 are characters": _sub(rb"\\u00(?:7f|8[05]|9f)", b"x"),
    "length one too long": _sub(rb'"x(x{200}|x{1000}|x{2000})"', rb'"\1"'),
    "empty text": _sub(rb'(_id" ?: ?)""', rb'\1"x"'),
    "Kelvin is a k": _sub(rb"\xe2\x84\xaa", b"k"),
    "byte order mark": _sub(rb"^\xef\xbb\xbf", b""),
    "what follows the object": _sub(rb"^(\{.*\})(?:\{.*\}|[^{}]*)$", rb"\1"),
    "upper-case digests": _sub(
        rb'"(?:(?i:sha256:|customer:)[0-9a-fA-F]{6,64}|[0-9A-F]{16,32})"', lambda match: match[0].lower()
    ),
    "a list may hold null": _sub(rb"\[null,", b"["),
}  # fmt: skip
"""What a line that is refused is taken for, and accepted."""

WRONG: dict[str, Hole] = {
    "leap second cut": _sub(_SECOND + rb"60", rb"\g<1>59"),
    "microseconds rounded": _sub(_SECOND[:-1] + rb"[0-9]{2}\.)([0-9]{7,9})([Z+-])", _rounded),
    "milliseconds only": _sub(_SECOND[:-1] + rb"[0-9]{2}\.[0-9]{3})[0-9]+([Z+-])", rb"\1\2"),
    "minus nought is nought": _sub(rb"(: ?)-0\.0([,}])", rb"\g<1>0.0\2"),
    "floats of single precision": _sub(rb"(: ?)0\.1([,}])", rb"\g<1>0.10000000149011612\2"),
    "integers as floats": _sub(rb"9007199254740993", b"9007199254740992"),
    "the first of equal keys": _parsed(_first_of_equal),
    "nulls of unknown fields dropped": _parsed(
        lambda pairs: {n: v for n, v in pairs if v is not None or n not in ("owner", "x")}
    ),
    "length in bytes": _sub(rb'"((?:\xc3\xa9){101,200}|(?:\xe6\xbc\xa2){67,200})"', rb'""'),
    "length in UTF-16": _sub(rb'"(?:\xf0\x9f\x98\x80){101,200}"', b'""'),
    "an escaped key is another key": _sub(rb'"(?:\\u0074s|t\\u0073|kin\\u0064|k\\u0069nd)"', rb'"other"'),
}  # fmt: skip
"""What any line is taken for, with other values or another verdict."""


class Unsound:
    """The row validator, with a hole; `lax`: only lines that it refuses are taken for others."""

    def __init__(self, hole: Hole, lax: bool) -> None:
        self._hole = hole
        self._lax = lax

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts on what each line is taken for."""
        return [self._validated(batch) for batch in batches]

    def receive_all(self, batches: Sequence[Batch]) -> list[tuple[Redacted, Validated]]:
        """Redaction has no hole here."""
        redacted = [redact_lines(batch.lines, batch.dialect) for batch in batches]
        clean = [batch._replace(lines=one.lines) for batch, one in zip(batches, redacted, strict=True)]
        return list(zip(redacted, self.validate_all(clean), strict=True))

    def _validated(self, batch: Batch) -> Validated:
        if not self._lax:
            return _judged_as(batch, [self._taken(line) for line in batch.lines])
        (found,) = RowValidator().validate_all([batch])
        lines = list(batch.lines)
        for reject in found.rejects:
            at = reject.seq - batch.first_seq
            lines[at] = self._taken(lines[at])
        return found if lines == batch.lines else _judged_as(batch, lines)

    def _taken(self, line: Line) -> Line:
        return self._hole(line) if isinstance(line, bytes) else line


def _judged_as(batch: Batch, taken: list[Line]) -> Validated:
    """The verdicts on other lines, but rejects keep the line that was sent."""
    (found,) = RowValidator().validate_all([batch._replace(lines=taken)])
    rejects = [replace(reject, line=_bytes(batch.lines[reject.seq - batch.first_seq])) for reject in found.rejects]
    return Validated(found.accepted, rejects, found.blank)


def _bytes(line: Line) -> bytes | None:
    return line if isinstance(line, bytes) else None


class ReadNdjson(Unsound):
    """Accepts what `polars.read_ndjson` can read into the contract's columns, besides what the models accept."""

    def __init__(self) -> None:
        super().__init__(lambda line: line, lax=True)
        self._schema = {name: dtype for name, dtype in POLARS_SCHEMA.items() if not dtype.is_nested()}

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The models' verdicts, and rows for what Polars reads although they refuse it."""
        return [self._more(found) for found in super().validate_all(batches)]

    def _more(self, found: Validated) -> Validated:
        frames, rejects = [found.accepted], []
        for reject in found.rejects:
            try:
                read = pl.read_ndjson(reject.line or b"", schema=self._schema)
                frames.append(read.with_columns(seq=pl.lit(reject.seq, pl.Int64())))
            except (pl.exceptions.PolarsError, ValueError):
                rejects.append(reject)
        accepted = pl.concat(frames, how="diagonal")
        return Validated(accepted.sort("seq"), rejects, found.blank)
