"""What a source handed over in one go, and the row of `sources` that is kept of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ingest.accounting import COUNTS, Accounting
from ingest.ledger.chunks import Chunk
from ingest.ledger.tables import naive

SourceRow = dict[str, Any]
"""A row of `sources` by column."""

_ONE_SHOT = frozenset({"jsonl", "stdin", "decision_record", "retry"})
"""Kinds of sources that are read to their end in one go."""

_UNORDERED = frozenset({"stdin", "decision_record", "retry"})
"""Kinds whose deliveries have no order among themselves: each pipe is another one, an old record may be edited, and an
old line tried again."""


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


def source_row(chunk: Chunk, accounting: Accounting, max_ts: datetime | None, old: SourceRow) -> SourceRow:
    """The row of `sources` after this chunk, whose highest time is `max_ts`; `old` is the one that it replaces, empty
    when there is none."""
    received = naive(chunk.received_at)
    heard = received if chunk.lines else old.get("last_received_at", received)
    times = [time for time in (old.get("max_ts"), max_ts) if time is not None]
    highest = max(times, default=None)
    return {
        "source": chunk.source.name,
        "kind": chunk.source.kind,
        "path": chunk.source.path,
        "dialect": chunk.source.dialect,
        **{name: old.get(name, 0) + count for name, count in counts_of(accounting).items()},
        "max_ts": highest,
        "floor_ts": _floor(chunk, highest, old.get("floor_ts")),
        "complete": old.get("complete", False) if chunk.is_tick else chunk.final,
        "first_received_at": old.get("first_received_at", received),
        "last_received_at": heard,
    }


def counts_of(accounting: Accounting) -> dict[str, int]:
    """What became of lines, as the columns of `batches` and `sources`."""
    return {name: getattr(accounting, name) for name in COUNTS}
