"""Every start is a recovery: the store is brought to where the ledger ends, and the ledger's torn end is cut off."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ingest.accounting import Accounting
from ingest.commits import Applier, Commit
from ingest.errors import LedgerError, StoreError
from ingest.ledger.chunks import Place
from ingest.ledger.segments import Segments, Stored
from ingest.ledger.store import Store
from ingest.lines import MAX_COMMIT_BYTES, MAX_COMMIT_LINES
from ingest.validate import Batch, Validator

_AGAIN = "makes the database again from what the ledger holds"


@dataclass(frozen=True, slots=True)
class Replayed:
    """Chunks that were brought into the store together, and what became of their lines."""

    chunks: list[Stored]
    accounting: Accounting


def recover(ledger: Segments, store: Store, validator: Validator) -> tuple[Place, int]:
    """Apply what the ledger has and the store has not; afterwards the ledger can be appended to.

    Returns where the ledger goes on and how many lines were applied. Raises LedgerError when the ledger is damaged,
    StoreError when the store is ahead of the ledger or belongs to another one, DiskError.
    """
    place, after = known_end(ledger, store)
    ledger.open_for_append(*after, place.leaf)
    applied = 0
    for replayed in replay(in_sequence(ledger.read(*after), ledger, place), store, validator):
        applied += replayed.accounting.lines
        place = replayed.chunks[-1].chunk.after
    return place, applied


def known_end(ledger: Segments, store: Store) -> tuple[Place, tuple[int, int]]:
    """Where the ledger goes on after what the store has: the next chunk and line, and its (segment, offset).

    Raises LedgerError when the ledger is cut short, StoreError when the store is ahead of it or of another ledger.
    """
    _check_extent(ledger, store)
    end = store.end()
    if end is None:
        return Place(), (1, 0)
    last = next(ledger.read(end.location.segment, end.location.offset))
    if last.leaf != end.leaf:
        raise StoreError(f"{store.path} was not made from this ledger: `gatewatch rebuild` {_AGAIN}")
    return end.place, end.location.end


def in_sequence(chunks: Iterable[Stored], ledger: Segments, place: Place | None = None) -> Iterator[Stored]:
    """The chunks, each beginning where the one before ended, the first at `place` (None: the ledger's beginning).

    Raises LedgerError where one is missing or twice.
    """
    place = place or Place()
    for stored in chunks:
        chunk = stored.chunk
        if (chunk.leaf, chunk.seq) != (place.leaf, place.seq) or not 0 <= chunk.commit <= chunk.leaf:
            raise LedgerError(
                f"the ledger is damaged in {ledger.path(stored.location.segment)} at byte {stored.location.offset}: "
                f"chunk {place.leaf} with line {place.seq} should follow, but chunk {chunk.leaf} with line "
                f"{chunk.seq} does; put the file back from a backup"
            )
        yield stored
        place = chunk.after


def replay(chunks: Iterable[Stored], store: Store, validator: Validator) -> Iterator[Replayed]:
    """Bring chunks into the store, as many at once as make a commit. Raises what reading and applying them raises.

    Chunks that were read before one that cannot be are applied first. While this runs nothing else may use the store:
    as in ingest, one commit goes into it while the next is read and judged.
    """
    fault: LedgerError | None = None
    group: list[Stored] = []
    behind: list[Stored] = []  # on their way into the store
    lines = size = 0
    source = iter(chunks)
    applier = Applier(store)
    try:
        while True:
            try:
                stored = next(source, None)
            except LedgerError as error:
                stored, fault = None, error
            more = 0 if stored is None else len(stored.chunk.lines)
            if group and (
                stored is None or lines + more > MAX_COMMIT_LINES or size + stored.location.length > MAX_COMMIT_BYTES
            ):
                accounting = applier.submit(judged(group, validator))
                if behind:
                    yield Replayed(behind, accounting)
                behind, group, lines, size = group, [], 0, 0
            if stored is None:
                break
            group.append(stored)
            lines += more
            size += stored.location.length
        if behind:
            yield Replayed(behind, applier.wait())
    finally:
        applier.close()
    if fault is not None:
        raise fault


def judged(chunks: Sequence[Stored], validator: Validator) -> Commit:
    """Chunks of the ledger with the verdicts on their lines."""
    batches = [Batch(one.chunk.lines, one.chunk.seq, one.chunk.source.dialect) for one in chunks]
    return list(zip(chunks, validator.validate_all(batches), strict=True))


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
