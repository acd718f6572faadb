"""The database again, from the ledger alone: the answer to a damaged or deleted file and to a new schema."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ingest.accounting import Accounting
from ingest.errors import LedgerError
from ingest.ledger.recovery import in_sequence
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
) -> Accounting:
    """Make `<data>/work.duckdb` again from `<data>/ledger`: beside the old one, which it replaces when it is complete.

    A torn chunk at the ledger's end is cut off first. Raises LedgerError when there is no ledger or it is damaged,
    LockedError, DiskError.
    """
    if not (data / LEDGER).is_dir():
        raise LedgerError(f"{data} holds no ledger to rebuild from: check --data")
    with holding(data):
        ledger = Segments(data / LEDGER, at)
        fresh = data / f"{STORE}.rebuild"
        remove_database(fresh)
        accounting = fill(ledger, Store(fresh, at), validator or RowValidator(), report)
        at("rebuild.filled")
        replace_database(fresh, data / STORE, at)
    return accounting


def fill(ledger: Segments, store: Store, validator: Validator, report: Report) -> Accounting:
    """Bring everything that the ledger holds into a new store, and close it."""
    total = Accounting()
    size = sum(ledger.sizes().values())
    done = 0
    after = (1, 0)
    try:
        try:
            for stored in in_sequence(ledger.read(), 1, ledger):
                chunk = stored.chunk
                total.add(store.apply(stored, validator.validate(chunk.lines, chunk.seq, chunk.source.dialect)))
                done += stored.location.length
                after = stored.location.end
                report(Progress("ledger", done, size, total.lines))
        except LedgerError:
            ledger.open_for_append(*after)  # cuts off a torn end, or says what is damaged
            ledger.close()
        store.checkpoint()
    finally:
        store.close()
    return total
