"""Does the database say what the ledger says, and is the ledger whole? Every chunk is hashed and validated again.

Without a checkpoint from outside this shows consistency only: who can rewrite the ledger can rewrite the database too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.errors import LedgerError, StoreError
from ingest.ledger.recovery import in_sequence
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store, check_version, remove_database, store_error
from ingest.lock import holding
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER, STORE
from ingest.validate import RowValidator, Validator

STATEMENT = (
    "internally consistent only: without a checkpoint from outside, a ledger and a database that were rewritten "
    "together look the same"
)
_MISSING = "missing from the database or changed in it"
_FOREIGN = "not what the ledger says"
_COMPARED = {
    "events": "event_id",
    "quarantine": "quarantine_id",
    "batches": "cast(batch_id AS VARCHAR)",
    "sources": "source",
    "positions": "key",
}


@dataclass(slots=True)
class VerifyReport:
    """What was compared, and every difference in a sentence; `pending` chunks wait for the next start to be applied.

    `left_out` says what could not be compared since an interrupted run left it behind, which is no difference.
    """

    chunks: int = 0
    lines: int = 0
    events: int = 0
    pending: int = 0
    problems: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    statement: str = STATEMENT

    @property
    def consistent(self) -> bool:
        """Whether ledger and database agree with each other and with themselves."""
        return not self.problems


def verify(data: Path, report: Report = silent, validator: Validator | None = None) -> VerifyReport:
    """Compare `<data>/work.duckdb` with `<data>/ledger`, row by row. Changes neither.

    A database that cannot be used is a problem in the report; the ledger is hashed all the same. `verifications` has no
    second source to be compared with. Raises LedgerError or StoreError when the one or the other is not there,
    LockedError, DiskError.
    """
    if not (data / LEDGER).is_dir():
        raise LedgerError(f"{data} holds no ledger to verify: check --data")
    if not (data / STORE).is_file():
        raise StoreError(f"{data} holds no {STORE}: make it with `gatewatch rebuild`")
    with holding(data):
        path = data / f"{STORE}.verify"
        remove_database(path)
        try:
            fresh = Store(path)
            try:
                return _compare(data, fresh, report, validator or RowValidator())
            finally:
                fresh.close()
        finally:
            remove_database(path)


def _compare(data: Path, fresh: Store, report: Report, validator: Validator) -> VerifyReport:
    found = VerifyReport()
    end: tuple[int, int] | None = None
    with _problem(data / STORE, found):
        end = _attach(fresh.connection, data / STORE)
    _hash(Segments(data / LEDGER), fresh, end, report, validator, found)
    if end is not None:
        with _problem(data / STORE, found):
            for table, name in _COMPARED.items():
                found.problems += _differences(fresh.connection, table, name)
            ((found.events,),) = fresh.connection.execute("SELECT count(*) FROM kept.events").fetchall()
    return found


@contextmanager
def _problem(path: Path, found: VerifyReport) -> Iterator[None]:
    """Make a problem of a database that cannot be used. Raises LockedError, DiskError."""
    try:
        yield
    except StoreError as error:
        found.problems.append(str(error))
    except duckdb.Error as error:
        known = store_error(error, path)
        if not isinstance(known, StoreError):
            raise known from None
        found.problems.append(str(known))


def _attach(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[int, int]:
    """Attach the database as `kept`: the (segment, offset) to which it knows the ledger. Raises StoreError."""
    quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
    connection.execute(f"ATTACH '{quoted}' AS kept (READ_ONLY)")
    check_version(connection, path, "kept")
    query = "SELECT segment, segment_offset + bytes FROM kept.batches ORDER BY batch_id DESC LIMIT 1"
    return next(iter(connection.execute(query).fetchall()), (1, 0))


def _hash(
    ledger: Segments,
    fresh: Store,
    end: tuple[int, int] | None,
    report: Report,
    validator: Validator,
    found: VerifyReport,
) -> None:
    """Hash every chunk, and bring it into `fresh` as far as the database goes; None: there is none to compare with."""
    done, after = 0, (1, 0)
    try:
        size = sum(ledger.sizes().values())
        for stored in in_sequence(ledger.read(), 1, ledger):
            done += stored.location.length
            after = stored.location.end
            report(Progress("ledger", done, size, found.lines))
            if end is not None and (stored.location.segment, stored.location.offset) >= end:
                found.pending += 1
                continue
            chunk = stored.chunk
            if end is not None:
                fresh.apply(stored, validator.validate(chunk.lines, chunk.seq, chunk.source.dialect))
            found.chunks += 1
            found.lines += len(chunk.lines)
    except LedgerError as error:
        if after < (end or after) or not _torn(ledger, after):
            found.problems.append(str(error))
    else:
        if after < (end or after):
            found.problems.append(f"the ledger ends at byte {after[1]} of segment {after[0]}, the database has more")


def _torn(ledger: Segments, after: tuple[int, int]) -> bool:
    """Whether a crash explains what follows the last whole chunk; the next start cuts that off."""
    try:
        return ledger.torn_at(*after) is not None
    except LedgerError:  # a segment is missing
        return False


def _differences(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> list[str]:
    problems = []
    for here, there, told in (("main", "kept", _MISSING), ("kept", "main", _FOREIGN)):
        rows = f'SELECT * FROM {here}."{table}" EXCEPT ALL SELECT * FROM {there}."{table}"'  # noqa: S608 - our own tables
        query = f"SELECT count(*), min({name}) FROM ({rows})"  # noqa: S608
        ((count, first),) = connection.execute(query).fetchall()
        if count:
            problems.append(f"{table}: {count} rows are {told}, among them {first}")
    return problems
