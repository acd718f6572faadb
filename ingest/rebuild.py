"""The database again, from the ledger alone: the answer to a damaged or deleted file and to a new schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from ingest.accounting import Accounting
from ingest.errors import LedgerError
from ingest.ledger.chunks import Place
from ingest.ledger.recovery import in_sequence, replay
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store, remove_database, replace_database
from ingest.lock import holding
from ingest.progress import Progress, Report, silent
from ingest.validate import RowValidator, Validator

LEDGER = "ledger"
STORE = "work.duckdb"


def rebuild(
    data: Path,
    report: Report = silent,
    validator: Validator | None = None,
    at: Callable[[str], None] = lambda point: None,
    *,
    force: bool = False,
) -> Accounting:
    """Make `<data>/work.duckdb` again from `<data>/ledger`: beside the old one, which it replaces when it is complete.

    A torn chunk at the ledger's end is cut off first. Raises LedgerError when there is no ledger or it is damaged, or
    when it ends before the database does (unless `force`: what only the database holds would be gone), LockedError,
    DiskError.
    """
    if not (data / LEDGER).is_dir():
        raise LedgerError(f"{data} holds no ledger to rebuild from: check --data")
    with holding(data):
        ledger = Segments(data / LEDGER, at)
        if not force:
            _refuse_a_loss(data / STORE, ledger)
        fresh = data / f"{STORE}.rebuild"
        remove_database(fresh)
        accounting = fill(ledger, Store(fresh, at), validator or RowValidator(), report)
        at("rebuild.filled")
        replace_database(fresh, data / STORE, at)
    return accounting


def _refuse_a_loss(path: Path, ledger: Segments) -> None:
    """Raise LedgerError when the database holds chunks that the ledger no longer has."""
    query = (
        "SELECT segment, segment_offset + bytes, (SELECT sum(lines) FROM batches) FROM batches ORDER BY batch_id DESC"
    )
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            rows = connection.execute(f"{query} LIMIT 1").fetchall()
    except duckdb.Error:
        return  # missing or damaged: that is what a rebuild is for
    for segment, end, lines in rows:
        if ledger.sizes().get(segment, 0) < end:
            raise LedgerError(
                f"the ledger ends before the database, which knows {lines} lines: restore the ledger from a copy, "
                "or give up what only the database holds with --force"
            )


def fill(ledger: Segments, store: Store, validator: Validator, report: Report) -> Accounting:
    """Bring everything that the ledger holds into a new store, and close it."""
    total = Accounting()
    size = sum(ledger.sizes().values())
    done = 0
    place, after = Place(), (1, 0)
    try:
        try:
            for replayed in replay(in_sequence(ledger.read(), ledger), store, validator):
                total.add(replayed.accounting)
                done += sum(stored.location.length for stored in replayed.chunks)
                last = replayed.chunks[-1]
                place, after = last.chunk.after, last.location.end
                report(Progress("ledger", done, size, total.lines))
        except LedgerError:
            ledger.open_for_append(*after, place.leaf)  # cuts off a torn end, or says what is damaged
            ledger.close()
        store.checkpoint()
    finally:
        store.close()
    return total
