"""The database again, from the ledger alone: the answer to a damaged or deleted file and to a new schema.

What a killed rebuild left is gone on with, when it was made from this ledger by this code: the name of the unfinished
file holds a fingerprint of all that judges lines, and its last chunk has to be the ledger's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import duckdb

from ingest.accounting import COUNTS, Accounting
from ingest.columnar import ColumnarValidator
from ingest.errors import LedgerError, StoreError
from ingest.ledger.database import remove_database, replace_database
from ingest.ledger.recovery import in_sequence, known_end, replay
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store
from ingest.lock import holding
from ingest.progress import Progress, Report, silent
from ingest.validate import Validator

LEDGER = "ledger"
STORE = "work.duckdb"

_PACKAGES = ("ingest", "schemas")
_LIBRARIES = ("duckdb", "polars", "pydantic", "pydantic_core", "PyYAML", "rfc8785")
"""Whose code has a part in the verdict on a line, or in how it is stored."""


def rebuild(
    data: Path,
    report: Report = silent,
    validator: Validator | None = None,
    at: Callable[[str], None] = lambda point: None,
    *,
    force: bool = False,
    resumed: Callable[[int], None] = lambda lines: None,
) -> Accounting:
    """Make `<data>/work.duckdb` again from `<data>/ledger`: beside the old one, which it replaces when it is complete.

    A torn chunk at the ledger's end is cut off first. `resumed` is told how many lines an interrupted rebuild had
    brought in already; they are in the accounting. Raises LedgerError when there is no ledger or it is damaged, or when
    it ends before the database does (unless `force`: what only the database holds would be gone), LockedError,
    DiskError.
    """
    if not (data / LEDGER).is_dir():
        raise LedgerError(f"{data} holds no ledger to rebuild from: check --data")
    with holding(data):
        ledger = Segments(data / LEDGER, at)
        if not force:
            _refuse_a_loss(data / STORE, ledger)
        judge = validator or ColumnarValidator()
        fresh = data / f"{STORE}.rebuild-{_fingerprint(judge)}"
        _remove_others(fresh)
        store, begun = _begin(fresh, ledger, at)
        try:
            accounting = _fill(ledger, store, judge, report, resumed)
        except StoreError:
            if not begun:
                raise
            remove_database(fresh)  # what was there is damaged after all
            accounting = _fill(ledger, Store(fresh, at), judge, report, resumed)
        at("rebuild.filled")
        replace_database(fresh, data / STORE, at)
    return accounting


def _fingerprint(validator: Validator) -> str:
    """A name for the code that makes rows of lines: another version of it must not go on with what this one began."""
    digest = hashlib.sha256(type(validator).__qualname__.encode())
    for package in _PACKAGES:
        for name, content in _sources(files(package), package):
            digest.update(f"{name} {len(content)}\n".encode() + content)
    for library in _LIBRARIES:
        digest.update(f"{library} {metadata.version(library)}\n".encode())
    return digest.hexdigest()[:16]


def _sources(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        inside = f"{name}/{entry.name}"
        if entry.is_dir():
            yield from _sources(entry, inside)
        elif entry.name.endswith(".py"):
            yield inside, entry.read_bytes()


def _remove_others(fresh: Path) -> None:
    """Remove what rebuilds by other versions left unfinished. Raises DiskError."""
    for other in fresh.parent.glob(f"{STORE}.rebuild*"):
        if not other.name.startswith(fresh.name):
            remove_database(other)


def _begin(fresh: Path, ledger: Segments, at: Callable[[str], None]) -> tuple[Store, bool]:
    """The unfinished database where it can be gone on with (and whether), else a new one. Raises DiskError."""
    if fresh.exists():
        store = None
        try:
            store = Store(fresh, at)
            known_end(ledger, store)
            return store, True
        except (StoreError, LedgerError):
            if store is not None:
                store.close()
        remove_database(fresh)
    return Store(fresh, at), False


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


def _fill(
    ledger: Segments, store: Store, validator: Validator, report: Report, resumed: Callable[[int], None]
) -> Accounting:
    """Bring what the ledger holds and the store has not into the store, and close it; what all of it came to."""
    try:
        place, after = known_end(ledger, store)
        total = _accounting(store)
        size = sum(ledger.sizes().values())
        ((done,),) = store.rows("SELECT coalesce(sum(bytes), 0) FROM batches")
        if total.lines:
            resumed(total.lines)
        try:
            for replayed in replay(in_sequence(ledger.read(*after), ledger, place), store, validator):
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


def _accounting(store: Store) -> Accounting:
    """What became of the lines that are in the store already."""
    sums = ", ".join(f"CAST(coalesce(sum({name}), 0) AS BIGINT)" for name in COUNTS)
    (row,) = store.rows(f"SELECT {sums} FROM batches")  # noqa: S608 - our own columns
    found = Accounting(**dict(zip(COUNTS, row, strict=True)))
    found.reasons.update(dict(store.rows("SELECT reason, count(*) FROM quarantine GROUP BY reason")))
    return found
