"""Two sets of verdicts side by side: the first thing in which they differ, to the last bit of a float."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from ingest.redact import Redacted
from ingest.validate import Validated
from schemas.columns import POLARS_SCHEMA

Outcome = tuple[Validated, Redacted | None]
"""The verdicts on one batch, and what was redacted if it was received."""


def _leaves(values: pl.Series, path: str) -> Iterator[tuple[str, pl.Series]]:
    """Every nested series down to the scalars: what is null, how long lists are, the bits of floats."""
    yield f"{path} is null", values.is_null()
    held = values.drop_nulls()
    if isinstance(values.dtype, pl.List):
        yield f"len({path})", held.list.len()
        yield from _leaves(held.filter(held.list.len() > 0).explode(empty_as_null=False), f"{path}[]")
    elif isinstance(values.dtype, pl.Struct):
        for field in values.dtype.fields:
            yield from _leaves(held.struct.field(field.name), f"{path}.{field.name}")
    elif values.dtype == pl.Float64:
        yield path, held.reinterpret(dtype=pl.UInt64)  # -0.0 is no 0.0
    else:
        yield path, held


def unequal_column(one: pl.DataFrame, other: pl.DataFrame) -> str | None:
    """The first place in which two frames of one schema and height differ; None when they are the same."""
    for name in one.columns:
        for (path, mine), (_, theirs) in zip(_leaves(one[name], name), _leaves(other[name], name), strict=True):
            if not mine.equals(theirs, null_equal=True):
                return path
    return None


def shape_of(frame: pl.DataFrame) -> str | None:
    """What is wrong with the columns of a frame; None when they are those of the `events` table."""
    return None if dict(frame.schema) == POLARS_SCHEMA else f"columns {dict(frame.schema)}"


def same(one: Outcome, other: Outcome) -> bool:
    """Whether all verdicts, values and redactions are the same."""
    (mine, my_redacted), (theirs, their_redacted) = one, other
    return (
        my_redacted == their_redacted
        and mine.rejects == theirs.rejects
        and mine.blank == theirs.blank
        and mine.accepted.schema == theirs.accepted.schema
        and mine.accepted.height == theirs.accepted.height
        and unequal_column(mine.accepted, theirs.accepted) is None
    )


def _integral(dtype: Any) -> Any:
    """The type with whole microseconds for times, since Python cannot hold all that a column can."""
    if isinstance(dtype, pl.List):
        return pl.List(_integral(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _integral(field.dtype) for field in dtype.fields})
    return pl.Int64() if isinstance(dtype, pl.Datetime) else dtype


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return frame.cast({name: _integral(dtype) for name, dtype in frame.schema.items()}).to_dicts()


def verdict_on(seq: int, outcome: Outcome, first_seq: int) -> dict[str, Any]:
    """Everything that was found about one line, readable; fields that are null are left out."""
    validated, redacted = outcome
    told: dict[str, Any] = {}
    for row in _rows(validated.accepted.filter(pl.col("seq") == seq)):
        told |= {"accepted": {name: value for name, value in row.items() if value is not None}}
    for reject in validated.rejects:
        if reject.seq == seq:
            told |= {"rejected": reject}
    if redacted is not None:
        told |= {"line": redacted.lines[seq - first_seq], "redaction": redacted.redactions.get(seq - first_seq)}
    return told or {"blank": True}


def differing(one: Outcome, other: Outcome, first_seq: int, lines: int) -> list[int]:
    """The numbers of the lines on which the verdicts differ; empty: it is not a line, but the order or the count."""
    mine, theirs = (_by_seq(outcome, first_seq) for outcome in (one, other))
    return [seq for seq in range(first_seq, first_seq + lines) if mine.get(seq) != theirs.get(seq)]


def _by_seq(outcome: Outcome, first_seq: int) -> dict[int, list[str]]:
    validated, redacted = outcome
    found: dict[int, list[str]] = {}
    for row in _rows(validated.accepted):
        found.setdefault(row["seq"], []).append(repr(row))  # repr tells -0.0 from 0.0
    for reject in validated.rejects:
        found.setdefault(reject.seq, []).append(repr(reject))
    if redacted is not None:
        for index, line in enumerate(redacted.lines):
            found.setdefault(first_seq + index, []).append(f"{line!r} {redacted.redactions.get(index)}")
    return found


def parts(verdict: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A verdict without the columns that are the same in the other one."""
    mine, theirs = verdict.get("accepted"), other.get("accepted")
    if mine is None or theirs is None:
        return verdict
    unlike = [name for name in {**mine, **theirs} if repr(mine.get(name)) != repr(theirs.get(name))]
    return {**verdict, "accepted": {name: mine.get(name) for name in sorted(unlike)}}
