"""From a validated chunk to the rows of one transaction: first events, duplicates, conflicts, and what is counted."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from ingest.accounting import COUNTS, Accounting
from ingest.dialects.decision_record import TS_SOURCE
from ingest.errors import StoreError
from ingest.ledger.chunks import Chunk
from ingest.ledger.segments import Stored
from ingest.ledger.tables import BATCHES, POSITIONS, QUARANTINE, SOURCES
from ingest.lines import OverLong
from ingest.sentences import short
from ingest.validate import Reject, Validated
from schemas.columns import POLARS_SCHEMA, Column


@dataclass(frozen=True, slots=True)
class SortedOut:
    """A chunk after deduplication: rows of `events` and of `quarantine`, and the accounting."""

    events: pl.DataFrame
    quarantine: pl.DataFrame
    accounting: Accounting


def sort_out(
    validated: Validated, chunk: Chunk, known: Mapping[str, tuple[str, int]], floor: datetime | None
) -> SortedOut:
    """Tell first events from duplicates and conflicts.

    `known` is (content hash, seq) of stored ids of this chunk, `floor` the source's `floor_ts` (naive UTC) before it.
    """
    accepted = validated.accepted
    events = accepted
    conflicts: list[Reject] = []
    if known or accepted["event_id"].n_unique() < accepted.height:
        events, conflicts = _without_repeats(accepted, chunk, known)
    rejects = sorted(validated.rejects + conflicts, key=lambda reject: reject.seq)
    accounting = Accounting(
        lines=len(chunk.lines),
        accepted=events.height,
        duplicate=accepted.height - events.height - len(conflicts),
        quarantined=len(rejects),
        blank=validated.blank,
        warnings=int(events["warnings"].list.len().sum() or 0),
        drift=_drifted(events),
        redacted=len(chunk.redactions),
        reasons=Counter(reject.reason for reject in rejects),
    )
    if not accounting.balanced:
        raise StoreError(f"the lines from {chunk.seq} on do not add up ({accounting}): please report this fault")
    quarantine = _frame(QUARANTINE, [_quarantined(reject, chunk) for reject in rejects])
    return SortedOut(_with_arrival(events, chunk, floor), quarantine, accounting)


def _with_arrival(events: pl.DataFrame, chunk: Chunk, floor: datetime | None) -> pl.DataFrame:
    """The events with what only their arrival says: what was taken from the line, and what came before it."""
    taken = [chunk.seq + index for index in chunk.redactions]
    return events.with_columns(
        redacted=pl.col("seq").is_in(taken), floor_ts=pl.lit(floor, dtype=POLARS_SCHEMA["floor_ts"])
    )


def _without_repeats(
    accepted: pl.DataFrame, chunk: Chunk, known: Mapping[str, tuple[str, int]]
) -> tuple[pl.DataFrame, list[Reject]]:
    firsts = dict(known)
    keep: list[bool] = []
    conflicts: list[Reject] = []
    for seq, event_id, content in accepted.select("seq", "event_id", "content_sha256").iter_rows():
        first = firsts.setdefault(event_id, (content, seq))
        keep.append(first[1] == seq)
        if first[0] != content:
            errors = f"event_id {short(event_id)} was used before, with other content, by line {first[1]} of the ledger"
            line = chunk.lines[seq - chunk.seq]
            text = line if isinstance(line, bytes) else None
            conflicts.append(Reject(seq, "event_conflict", errors, text, event_id))
    return accepted.filter(pl.Series(keep, dtype=pl.Boolean())), conflicts


def _drifted(events: pl.DataFrame) -> int:
    """Events with an unknown field, other than the note that the decision-record reader itself makes."""
    extra = events["extra"].drop_nulls()
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
        "quarantine_id": f"q{reject.seq}",
        "seq": reject.seq,
        "source": chunk.source.name,
        "position": place_of(chunk, index),
        "received_at": naive(chunk.received_at),
        "reason": reject.reason,
        "errors": reject.errors,
        "line": None if reject.line is None else reject.line.decode("utf-8", "backslashreplace"),
        "line_sha256": sha256,
        "event_id": reject.event_id,
    }


def place_of(chunk: Chunk, index: int) -> str:
    """Where in its source a line stands, for people: the file of a record, else the line's number."""
    files = chunk.end.get("files")
    return str(files[index][0]) if files else f"line {int(chunk.start.get('line', 0)) + index + 1}"


def batch_row(stored: Stored, batch_id: int, accounting: Accounting) -> pl.DataFrame:
    """The row of `batches` for one chunk."""
    chunk, location = stored.chunk, stored.location
    row = {
        "batch_id": batch_id,
        "source": chunk.source.name,
        "dialect": chunk.source.dialect,
        "first_seq": chunk.seq,
        **_counts(accounting),
        "received_at": naive(chunk.received_at),
        "final": chunk.final,
        "segment": location.segment,
        "segment_offset": location.offset,
        "bytes": location.length,
        "leaf_hash": stored.leaf,
    }
    return _frame(BATCHES, [row])


_ONE_SHOT = frozenset({"jsonl", "stdin", "decision_record"})
"""Kinds of sources that are read to their end in one go."""


_UNORDERED = frozenset({"stdin", "decision_record"})
"""Kinds whose deliveries have no order among themselves: each pipe is another one, and an old record may be edited."""


def ends_delivery(chunk: Chunk) -> bool:
    """Whether what the source handed over in one go ends with this chunk.

    What is read to its end is one delivery, in however many chunks: within a file the order of lines says nothing, so
    that it must not accuse itself of being late. A source that never ends (any other kind) delivers chunk by chunk.
    """
    return chunk.final or chunk.source.kind not in _ONE_SHOT


def _floor(chunk: Chunk, highest: Any, before: datetime | None) -> Any:
    """What the source's next delivery is held against; nothing, where its deliveries have no order."""
    if chunk.source.kind in _UNORDERED:
        return None
    return highest if ends_delivery(chunk) else before


def source_row(chunk: Chunk, sorted_out: SortedOut, old: Mapping[str, Any]) -> pl.DataFrame:
    """The row of `sources` after this chunk; `old` is the one that it replaces, empty when there is none."""
    received = naive(chunk.received_at)
    heard = received if chunk.lines else old.get("last_received_at", received)
    times = [time for time in (old.get("max_ts"), sorted_out.events["ts"].max()) if time is not None]
    highest = max(times, default=None)
    row = {
        "source": chunk.source.name,
        "kind": chunk.source.kind,
        "path": chunk.source.path,
        "dialect": chunk.source.dialect,
        **{name: old.get(name, 0) + count for name, count in _counts(sorted_out.accounting).items()},
        "max_ts": highest,
        "floor_ts": _floor(chunk, highest, old.get("floor_ts")),
        "complete": old.get("complete", False) if chunk.is_tick else chunk.final,
        "first_received_at": old.get("first_received_at", received),
        "last_received_at": heard,
    }
    return _frame(SOURCES, [row])


def position_rows(chunk: Chunk) -> pl.DataFrame:
    """The rows of `positions` that hold after this chunk."""
    entries = chunk.positions.items()
    return _frame(POSITIONS, [{"key": key, "position": json.dumps(value)} for key, value in entries])


def naive(time: datetime) -> datetime:
    """A time as the tables keep it: UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None)


def _counts(accounting: Accounting) -> dict[str, int]:
    return {name: getattr(accounting, name) for name in COUNTS}


def _frame(columns: tuple[Column, ...], found: list[dict[str, Any]]) -> pl.DataFrame:
    schema = {column.name: column.polars for column in columns}
    return pl.DataFrame({name: [row[name] for row in found] for name in schema}, schema=schema)
