"""Every start is a recovery: the store is brought to where the ledger ends, and the ledger's torn end is cut off."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.errors import LedgerError, StoreError
from ingest.ledger.segments import Segments, Stored
from ingest.ledger.store import Store
from ingest.validate import Validator

_AGAIN = "makes the database again from what the ledger holds"


def recover(ledger: Segments, store: Store, validator: Validator) -> tuple[int, int]:
    """Apply what the ledger has and the store has not; afterwards the ledger can be appended to.

    Returns the number of the next line and how many lines were applied. Raises LedgerError when the ledger is damaged,
    StoreError when the store is ahead of the ledger or belongs to another one, DiskError.
    """
    _check_extent(ledger, store)
    end = store.end()
    next_seq, after = 1, (1, 0)
    if end is not None:
        last = next(ledger.read(end.location.segment, end.location.offset))
        if last.leaf != end.leaf:
            raise StoreError(f"{store.path} was not made from this ledger: `gatewatch rebuild` {_AGAIN}")
        next_seq, after = end.next_seq, end.location.end
    ledger.open_for_append(*after)
    applied = 0
    for stored in in_sequence(ledger.read(*after), next_seq, ledger):
        chunk = stored.chunk
        validated = validator.validate(chunk.lines, chunk.seq, chunk.source.dialect)
        applied += store.apply(stored, validated).lines
        next_seq = chunk.next_seq
    return next_seq, applied


def in_sequence(chunks: Iterator[Stored], next_seq: int, ledger: Segments) -> Iterator[Stored]:
    """The chunks, each beginning where the one before ended. Raises LedgerError where one is missing or twice."""
    for stored in chunks:
        if stored.chunk.seq != next_seq:
            raise LedgerError(
                f"the ledger is damaged in {ledger.path(stored.location.segment)} at byte {stored.location.offset}: "
                f"line {next_seq} should follow, but line {stored.chunk.seq} does; put the file back from a backup"
            )
        yield stored
        next_seq = stored.chunk.next_seq


def _check_extent(ledger: Segments, store: Store) -> None:
    sizes = ledger.sizes()
    ends = store.segment_ends()
    newest = max(ends, default=0)
    for segment, known in ends.items():
        size = sizes.get(segment, 0)
        if size >= known:
            continue
        if segment < newest and segment in sizes:
            raise LedgerError(
                f"the ledger is cut short: {ledger.path(segment)} has {size} bytes, but had {known}; "
                "put the file back from a backup"
            )
        raise StoreError(
            f"{store.path} is ahead of the ledger: {ledger.path(segment)} ends at byte {size}, but the database knows "
            f"{known} bytes of it; put the ledger back from a backup, or `gatewatch rebuild --force` {_AGAIN}"
        )
