"""Rejected lines once more: as the ledger keeps them, in a new chunk of it, so that trying again is audited as well."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import duckdb

from ingest.accounting import Accounting
from ingest.ledger.retries import RETRY
from ingest.ledger.segments import Segments
from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, Received, Source
from ingest.pipeline import Pipeline
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER
from ingest.redact import Redaction

FIRST_LINES = """ origins AS (
    SELECT q.seq, r.quarantine_id AS first_id, q.quarantine_id
    FROM retries AS r
    INNER JOIN quarantine AS q ON q.seq = r.seq
    UNION
    SELECT o.seq, r.quarantine_id AS first_id, o.quarantine_id
    FROM origins AS o
    INNER JOIN quarantine AS q ON q.quarantine_id = o.first_id
    INNER JOIN retries AS r ON r.seq = q.seq
),

first_lines AS (
    SELECT o.seq, arg_min(q.source, q.seq) AS source, arg_min(q.position, q.seq) AS position
    FROM origins AS o
    INNER JOIN quarantine AS q ON q.quarantine_id = o.first_id
    GROUP BY o.seq
)
"""
"""For WITH RECURSIVE: `first_lines` has, by `seq`, where each line that was rejected again first came from."""

_REJECTED = (
    "WITH RECURSIVE"  # noqa: S608 - both parts are constants
    + FIRST_LINES
    + """
SELECT q.quarantine_id, q.seq, q.reason, b.dialect, b.segment, b.segment_offset
FROM quarantine AS q
INNER JOIN batches AS b ON b.first_seq <= q.seq AND q.seq < b.first_seq + b.lines
LEFT JOIN first_lines AS f ON f.seq = q.seq
WHERE ($reason IS NULL OR q.reason = $reason)
    AND ($source IS NULL OR q.source = $source OR f.source = $source)
    AND CASE
        WHEN len($ids) > 0 THEN list_contains($ids, q.quarantine_id)
        ELSE q.quarantine_id NOT IN (SELECT r.quarantine_id FROM retries AS r)
    END
ORDER BY q.seq
"""
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A quarantined line: its name and ledger number, why, the dialect that it was read in, where its chunk begins."""

    quarantine_id: str
    seq: int
    reason: str
    dialect: str
    segment: int
    offset: int

    @property
    def kept(self) -> bool:
        """Whether the ledger has the line itself: of one that was too long it has only length and hash."""
        return self.reason != "line_too_long"


def rejected_lines(
    connection: duckdb.DuckDBPyConnection, ids: Sequence[str] = (), reason: str | None = None, source: str | None = None
) -> list[Rejected]:
    """The quarantined lines with these names; without names, those that were not tried again yet. In ledger order.

    `connection` is a Pipeline's. None does not narrow the choice. `source` is also where a line that was rejected again
    first came from.
    """
    chosen = {"ids": list(ids), "reason": reason, "source": source}
    return [Rejected(*row) for row in connection.execute(_REJECTED, chosen).fetchall()]


def retry(
    pipeline: Pipeline, rejected: Sequence[Rejected], dialect: str | None = None, report: Report = silent
) -> Accounting:
    """Bring rejected lines in again, each in the dialect that it was read in or all in `dialect`; what became of them.

    Every line must be `kept`. Raises LedgerError, DiskError, StoreError; what was committed before counts, and is
    not open any more. Lines that are rejected again are quarantined again, under a new number.
    """
    total = Accounting()
    for received in _chunks(Segments(pipeline.data / LEDGER), rejected, dialect):
        total.add(pipeline.commit([received]))
        report(Progress("quarantine", total.lines, len(rejected), total.lines))
    return total


def _chunks(ledger: Segments, rejected: Sequence[Rejected], dialect: str | None) -> Iterator[Received]:
    """The lines by dialect, in chunks that are not too large."""
    for spelled in sorted({one.dialect for one in rejected}):
        source = Source(RETRY, RETRY, "-", dialect or spelled)
        gathered, size = _empty(source), 0
        for one, line, redaction in _lines(ledger, [one for one in rejected if one.dialect == spelled]):
            full = len(gathered.lines) >= MAX_CHUNK_LINES or size + len(line) > MAX_CHUNK_BYTES
            if gathered.lines and full:
                yield gathered
                gathered, size = _empty(source), 0
            size += len(line) + 1
            if redaction is not None:
                gathered.redactions[len(gathered.lines)] = redaction
            gathered.lines.append(line)
            gathered.end["retries"].append(one.seq)
        if gathered.lines:
            yield gathered


def _empty(source: Source) -> Received:
    return Received(source, [], {}, {"retries": []}, final=True)


def _lines(ledger: Segments, rejected: Sequence[Rejected]) -> Iterator[tuple[Rejected, bytes, Redaction | None]]:
    """The lines as the ledger keeps them, and what was taken from them before; every chunk is read once."""
    for place, ones in itertools.groupby(rejected, key=lambda one: (one.segment, one.offset)):
        chunk = next(ledger.read(*place)).chunk
        for one in ones:
            line = chunk.lines[one.seq - chunk.seq]
            if isinstance(line, bytes):
                yield one, line, chunk.redactions.get(one.seq - chunk.seq)
