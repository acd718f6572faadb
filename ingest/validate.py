"""Validation of a chunk: lines in, rows and rejects out, every line accounted for.

`Validator` is the seam: `RowValidator` judges line by line with pydantic and is the authority; a columnar validator may
stand in for it as long as its verdicts and values are the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from ingest.contract import Judged, Problem, judge
from ingest.frame import event_frame
from ingest.lines import MAX_LINE_BYTES, Line, OverLong


@dataclass(frozen=True, slots=True)
class Reject:
    """A quarantined line: its ledger sequence number, the reason, a readable sentence, the line (None: too long).

    `event_id` is set where the reason is that this id was used before.
    """

    seq: int
    reason: str
    errors: str
    line: bytes | None
    event_id: str | None = None


@dataclass(frozen=True, slots=True)
class Validated:
    """The verdicts on one chunk; ``len(lines) == accepted.height + len(rejects) + blank`` always.

    `accepted` has exactly the columns of `schemas.columns.POLARS_SCHEMA`, in ledger order, before deduplication. What
    the lines themselves do not say (`redacted`, `floor_ts`) is NULL in it until the store knows.
    """

    accepted: pl.DataFrame
    rejects: list[Reject] = field(default_factory=list)
    blank: int = 0


class Validator(Protocol):
    """Judges the lines of one chunk; a pure function of its arguments."""

    def validate(self, lines: Sequence[Line], first_seq: int, dialect: str) -> Validated:
        """The verdicts on lines that have the ledger sequence numbers from `first_seq` on."""


class RowValidator:
    """Line by line, by the event models themselves."""

    def validate(self, lines: Sequence[Line], first_seq: int, dialect: str) -> Validated:
        """The verdicts on lines that have the ledger sequence numbers from `first_seq` on."""
        with _garbage_collection_paused():
            return self._validate(lines, first_seq, dialect)

    def _validate(self, lines: Sequence[Line], first_seq: int, dialect: str) -> Validated:
        found: list[tuple[int, Judged]] = []
        rejects: list[Reject] = []
        blank = 0
        for seq, line in enumerate(lines, start=first_seq):
            if isinstance(line, OverLong):
                rejects.append(Reject(seq, "line_too_long", _too_long(line), None))
                continue
            verdict = judge(line, dialect)
            if isinstance(verdict, Judged):
                found.append((seq, verdict))
            elif isinstance(verdict, Problem):
                rejects.append(Reject(seq, verdict.reason, verdict.errors, line))
            else:
                blank += 1
        return Validated(event_frame(found), rejects, blank)


@contextmanager
def _garbage_collection_paused() -> Iterator[None]:
    """A chunk makes a million objects and no cycle: looking for cycles among them would take half of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _too_long(line: OverLong) -> str:
    return f"has {line.bytes:,} bytes, but a line may have {MAX_LINE_BYTES:,}: only its length and hash are kept"
