"""Validation: lines in, rows and rejects out, every line accounted for.

`Validator` is the seam: `RowValidator` judges line by line with pydantic and is the authority; another, like
`ingest.columnar.ColumnarValidator`, may stand in for it as long as its verdicts and values are the same.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import polars as pl

from ingest.contract import Judged, Problem, judge
from ingest.frame import event_frame
from ingest.lines import MAX_LINE_BYTES, Line, OverLong
from ingest.redact import Redacted, redact_all


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


class Batch(NamedTuple):
    """Lines with the ledger sequence numbers from `first_seq` on, in the dialect that their source is read with."""

    lines: Sequence[Line]
    first_seq: int
    dialect: str


class Validator(Protocol):
    """Judges the lines of one commit; the verdict on a line depends on nothing but the line and its dialect.

    The batches of one call follow each other: their numbers ascend and do not overlap.
    """

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts on lines as they are in the ledger, batch by batch."""

    def receive_all(self, batches: Sequence[Batch]) -> list[tuple[Redacted, Validated]]:
        """Lines as a source gave them without what may not be kept, and the verdicts on what is left of them."""


class RowValidator:
    """Line by line, by the event models themselves."""

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts on lines as they are in the ledger, batch by batch."""
        return [validated(judge_each(batch.lines, batch.first_seq, batch.dialect)) for batch in batches]

    def receive_all(self, batches: Sequence[Batch]) -> list[tuple[Redacted, Validated]]:
        """Lines as a source gave them without what may not be kept, and the verdicts on what is left of them."""
        redacted = redact_all([(batch.lines, batch.dialect) for batch in batches])
        clean = [batch._replace(lines=one.lines) for batch, one in zip(batches, redacted, strict=True)]
        return list(zip(redacted, self.validate_all(clean), strict=True))


@dataclass(slots=True)
class Verdicts:
    """What `judge_each` found: accepted events and rejects by their ledger numbers, and how many lines were blank."""

    accepted: list[tuple[int, Judged]] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    blank: int = 0


def judge_each(lines: Iterable[Line], first_seq: int, dialect: str) -> Verdicts:
    """The models' verdicts on lines, one by one."""
    return judge_numbered(enumerate(lines, start=first_seq), dialect)


def judge_numbered(lines: Iterable[tuple[int, Line]], dialect: str) -> Verdicts:
    """The models' verdicts on lines with their ledger numbers."""
    found = Verdicts()
    with _garbage_collection_paused():
        for seq, line in lines:
            if isinstance(line, OverLong):
                found.rejects.append(Reject(seq, "line_too_long", _too_long(line), None))
                continue
            verdict = judge(line, dialect)
            if isinstance(verdict, Judged):
                found.accepted.append((seq, verdict))
            elif isinstance(verdict, Problem):
                found.rejects.append(Reject(seq, verdict.reason, verdict.errors, line))
            else:
                found.blank += 1
    return found


def validated(found: Verdicts) -> Validated:
    """Verdicts as the rows that they stand for."""
    return Validated(event_frame(found.accepted), found.rejects, found.blank)


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
