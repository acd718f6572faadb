"""From a validated chunk to the rows of one transaction: first events, duplicates, conflicts, and what is counted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import polars as pl

from ingest.accounting import Accounting
from ingest.dialects.decision_record import TS_SOURCE
from ingest.errors import StoreError
from ingest.ledger.chunks import Chunk
from ingest.ledger.deliveries import SourceRow, counts_of, source_row
from ingest.ledger.repeats import Conflict, first_and_conflicts
from ingest.ledger.retries import is_retry, quarantine_id, retry_rows
from ingest.ledger.segments import Stored
from ingest.ledger.tables import BATCHES, GAPS, POSITIONS, QUARANTINE, RETRIES, SOURCES, naive
from ingest.lines import OverLong, Position
from ingest.validate import Reject, Validated
from schemas.columns import POLARS_SCHEMA, Column


@dataclass(frozen=True, slots=True)
class SortedOut:
    """A chunk after deduplication: the highest time that it shows, rows of `quarantine`, and the accounting."""

    max_ts: Any
    quarantine: list[dict[str, Any]]
    accounting: Accounting


@dataclass(frozen=True, slots=True)
class Rows:
    """What one transaction brings: new rows by table, those of `sources` and `positions` in place of older ones.

    Of `events` only those for which `FIRST` is true, where there is such a column: leaving out a few of so many rows
    would copy all others, which the insert does anyway. `ids` are the ``event_id`` and ``seq`` of those.
    """

    tables: dict[str, pl.DataFrame]
    ids: pl.DataFrame
    accounting: Accounting


FIRST = "=first"
"""The column that says which events are the first with their ids."""


def rows_of(
    commit: Sequence[tuple[Stored, Validated]],
    known: pl.DataFrame | None,
    sources: Mapping[str, SourceRow],
    batches: int,
) -> Rows:
    """The rows for chunks in ledger order.

    `known` are the stored events whose ids are among theirs, `sources` the rows of their sources by name, `batches` how
    many chunks the store has.
    """
    accepted = accepted_of(commit)
    first_ones, conflicts = first_and_conflicts(accepted, known)
    counted = accepted.select("seq", "event_id", "extra", "warnings")
    if first_ones is not None:
        counted = counted.filter(first_ones)
    total = Accounting()
    current = dict(sources)
    positions: dict[str, Position] = {}
    floors: list[Any] = []
    quarantine: list[dict[str, Any]] = []
    batch_rows: list[dict[str, Any]] = []
    gaps: list[dict[str, Any]] = []
    retries: list[dict[str, Any]] = []
    parts = _by_chunk([stored.chunk for stored, _ in commit], counted, conflicts)
    for number, ((stored, validated), (first, found)) in enumerate(zip(commit, parts, strict=True), start=batches + 1):
        chunk = stored.chunk
        before = current.get(chunk.source.name, {})
        sorted_out = _sort_out(validated, chunk, first, found)
        floors.append(before.get("floor_ts"))
        quarantine += sorted_out.quarantine
        batch_rows.append(_batch_row(stored, number, sorted_out.accounting))
        current[chunk.source.name] = source_row(chunk, sorted_out.accounting, sorted_out.max_ts, before)
        positions.update(chunk.positions)
        gaps += _gap_rows(chunk)
        if is_retry(chunk):
            retries += retry_rows(chunk, set(first["seq"]), {row["seq"] for row in sorted_out.quarantine})
        total.add(sorted_out.accounting)
    events = _with_arrival(accepted, commit, floors)
    touched = dict.fromkeys(stored.chunk.source.name for stored, _ in commit)
    return Rows(
        {
            "events": events if first_ones is None else events.with_columns(first_ones.alias(FIRST)),
            "quarantine": _frame(QUARANTINE, quarantine),
            "batches": _frame(BATCHES, batch_rows),
            "sources": _frame(SOURCES, [current[name] for name in touched]),
            "positions": _frame(
                POSITIONS, [{"key": key, "position": json.dumps(value)} for key, value in positions.items()]
            ),
            "gaps": _frame(GAPS, gaps),
            "retries": _frame(RETRIES, retries),
        },
        counted.select("event_id", "seq"),
        total,
    )


def accepted_of(commit: Sequence[tuple[Stored, Validated]]) -> pl.DataFrame:
    """What was accepted of a commit's lines, before deduplication, as one frame."""
    return pl.concat([validated.accepted for _, validated in commit], rechunk=False)


def _by_chunk(
    chunks: Sequence[Chunk], counted: pl.DataFrame, conflicts: Sequence[Conflict]
) -> Iterator[tuple[pl.DataFrame, Sequence[Conflict]]]:
    """The events and the conflicts that belong to each chunk."""
    bounds = pl.Series([*(chunk.seq for chunk in chunks), chunks[-1].next_seq])
    rows = counted["seq"].search_sorted(bounds).to_list()
    seqs = pl.Series([conflict.seq for conflict in conflicts], dtype=pl.Int64()).search_sorted(bounds).to_list()
    for (row, next_row), (first, last) in zip(pairwise(rows), pairwise(seqs), strict=True):
        yield counted.slice(row, next_row - row), conflicts[first:last]


def _sort_out(validated: Validated, chunk: Chunk, events: pl.DataFrame, conflicts: Sequence[Conflict]) -> SortedOut:
    """What became of a chunk's lines, when `events` are the first with their ids and `conflicts` those that are not."""
    rejects = validated.rejects
    if conflicts:
        found = (_reject(conflict, chunk) for conflict in conflicts)
        rejects = sorted([*rejects, *found], key=lambda reject: reject.seq)
    accounting = Accounting(
        lines=len(chunk.lines),
        accepted=events.height,
        duplicate=validated.accepted.height - events.height - len(conflicts),
        quarantined=len(rejects),
        blank=validated.blank,
        warnings=int(events["warnings"].drop_nulls().list.len().sum()),
        drift=0 if is_retry(chunk) else _drifted(events["extra"].drop_nulls()),  # no producer sends these lines now
        redacted=len(chunk.redactions),
        reasons=Counter(reject.reason for reject in rejects),
    )
    if not accounting.balanced:
        raise StoreError(f"the lines from {chunk.seq} on do not add up ({accounting}): please report this fault")
    return SortedOut(_highest(validated, conflicts), [_quarantined(reject, chunk) for reject in rejects], accounting)


def _highest(validated: Validated, conflicts: Sequence[Conflict]) -> Any:
    """The highest time that a chunk shows. Repeats count: which of two sources sent an event first is chance, and how
    far either of them has come must not depend on it."""
    seen = validated.accepted.select("seq", "ts")
    if conflicts:
        seen = seen.filter(~pl.col("seq").is_in([conflict.seq for conflict in conflicts]))
    return seen["ts"].max()


def _reject(conflict: Conflict, chunk: Chunk) -> Reject:
    line = chunk.lines[conflict.seq - chunk.seq]
    text = line if isinstance(line, bytes) else None
    return Reject(conflict.seq, "event_conflict", conflict.errors, text, conflict.event_id)


def _with_arrival(
    events: pl.DataFrame, commit: Sequence[tuple[Stored, Validated]], floors: Sequence[Any]
) -> pl.DataFrame:
    """The events with what only their arrival says: what was taken from the line, and what came before it.

    `floors` says for each chunk the `floor_ts` (naive UTC) of its source before it.
    """
    taken = [stored.chunk.seq + index for stored, _ in commit for index in stored.chunk.redactions]
    redacted: pl.Expr = pl.col("seq").is_in(taken) if taken else pl.lit(value=False)
    floor = pl.Series(floors, dtype=POLARS_SCHEMA["floor_ts"])
    if len(set(floors)) == 1:
        return events.with_columns(redacted=redacted, floor_ts=pl.lit(floor[0], dtype=floor.dtype))
    heights = pl.Series([validated.accepted.height for _, validated in commit])
    chunk_of = pl.Series(range(len(heights))).repeat_by(heights).explode().drop_nulls()
    return events.with_columns(floor.gather(chunk_of).alias("floor_ts"), redacted=redacted)


def _drifted(extra: pl.Series) -> int:
    """Events with an unknown field, other than the note that the decision-record reader itself makes."""
    return extra.len() - int(extra.str.contains(rf'^\{{"{TS_SOURCE}":"[^"]*"\}}$').sum() or 0)


def _quarantined(reject: Reject, chunk: Chunk) -> dict[str, Any]:
    index = reject.seq - chunk.seq
    line = chunk.lines[index]
    redaction = chunk.redactions.get(index)
    if redaction is not None:
        sha256 = redaction.sha256
    else:
        sha256 = line.sha256 if isinstance(line, OverLong) else hashlib.sha256(line).hexdigest()
    return {
        "quarantine_id": quarantine_id(reject.seq),
        "seq": reject.seq,
        "source": chunk.source.name,
        "position": place_of(chunk, index),
        "received_at": naive(chunk.received_at),
        "reason": reject.reason,
        "errors": reject.errors,
        "line": None if reject.line is None else reject.line.decode("utf-8", "backslashreplace"),
        "line_sha256": sha256,
        "event_id": reject.event_id,
        "redacted": redaction is not None,
    }


def place_of(chunk: Chunk, index: int) -> str:
    """Where in its source a line stands, for people: a record's file, a message's offset, else the line's number.

    Of a line that was tried again, the rejected line that it was.
    """
    if is_retry(chunk):
        return quarantine_id(chunk.end["retries"][index])
    files = chunk.end.get("files")
    if files:
        return str(files[index][0])
    before = index
    for first, count in chunk.end.get("offsets", ()):
        if before < count:
            return f"offset {first + before}"
        before -= count
    return f"line {int(chunk.start.get('line', 0)) + index + 1}"


def _gap_rows(chunk: Chunk) -> list[dict[str, Any]]:
    """The row of `gaps` for a chunk before which something could not be read any more."""
    gap = chunk.end.get("gap")
    if not gap:
        return []
    return [
        {
            "source": chunk.source.name,
            "seq": chunk.seq,
            "received_at": naive(chunk.received_at),
            "from_position": str(gap.get("from")),
            "to_position": str(gap.get("to")),
            "why": str(gap.get("why")),
        }
    ]


def _batch_row(stored: Stored, batch_id: int, accounting: Accounting) -> dict[str, Any]:
    chunk, location = stored.chunk, stored.location
    return {
        "batch_id": batch_id,
        "source": chunk.source.name,
        "dialect": chunk.source.dialect,
        "first_seq": chunk.seq,
        **counts_of(accounting),
        "received_at": naive(chunk.received_at),
        "final": chunk.final,
        "segment": location.segment,
        "segment_offset": location.offset,
        "bytes": location.length,
        "leaf_hash": stored.leaf,
    }


def _frame(columns: tuple[Column, ...], found: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {column.name: column.polars for column in columns}
    return pl.DataFrame({name: [row[name] for row in found] for name in schema}, schema=schema)
