"""Does the database say what the ledger says, and is the ledger whole? Every chunk is hashed and validated again.

Without a checkpoint from outside this shows consistency only: who can rewrite the ledger can rewrite the database too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from ingest.errors import LedgerError, StoreError
from ingest.ledger.recovery import in_sequence
from ingest.ledger.segments import Segments, Stored
from ingest.ledger.store import Store, remove_database, store_error
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
    """What was compared, and every difference in a sentence; `pending` chunks wait for the next start to be applied."""

    chunks: int = 0
    lines: int = 0
    events: int = 0
    pending: int = 0
    problems: list[str] = field(default_factory=list)
    statement: str = STATEMENT

    @property
    def consistent(self) -> bool:
        """Whether ledger and database agree with each other and with themselves."""
        return not self.problems


def verify(data: Path, report: Report = silent, validator: Validator | None = None) -> VerifyReport:
    """Compare `<data>/work.duckdb` with `<data>/ledger`, row by row. Changes neither.

    Raises LedgerError or StoreError when one of them is not there or cannot be opened, LockedError, DiskError.
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
            except duckdb.Error as error:
                raise store_error(error, data / STORE) from None
            finally:
                fresh.close()
        finally:
            remove_database(path)


def _compare(data: Path, fresh: Store, report: Report, validator: Validator) -> VerifyReport:
    found = VerifyReport()
    kept = str(data / STORE).replace("'", "''")
    fresh.connection.execute(f"ATTACH '{kept}' AS kept (READ_ONLY)")  # ATTACH takes no parameters
    query = "SELECT segment, segment_offset + bytes FROM kept.batches ORDER BY batch_id DESC LIMIT 1"
    end = next(iter(fresh.connection.execute(query).fetchall()), (1, 0))
    ledger = Segments(data / LEDGER)
    size = sum(ledger.sizes().values())
    done, after = 0, (1, 0)
    try:
        for stored in in_sequence(ledger.read(), 1, ledger):
            done += stored.location.length
            after = stored.location.end
            report(Progress("ledger", done, size, found.lines))
            if (stored.location.segment, stored.location.offset) >= end:
                found.pending += 1
            else:
                _apply(stored, fresh, validator, found)
    except LedgerError as error:
        if after < end or not ledger.is_torn(*after):
            found.problems.append(str(error))
    else:
        if after < end:
            found.problems.append(f"the ledger ends at byte {after[1]} of segment {after[0]}, the database has more")
    for table, name in _COMPARED.items():
        found.problems += _differences(fresh.connection, table, name)
    ((found.events,),) = fresh.connection.execute("SELECT count(*) FROM kept.events").fetchall()
    return found


def _apply(stored: Stored, fresh: Store, validator: Validator, found: VerifyReport) -> None:
    chunk = stored.chunk
    fresh.apply(stored, validator.validate(chunk.lines, chunk.seq, chunk.source.dialect))
    found.chunks += 1
    found.lines += len(chunk.lines)


def _differences(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> list[str]:
    problems = []
    for here, there, told in (("main", "kept", _MISSING), ("kept", "main", _FOREIGN)):
        rows = f'SELECT * FROM {here}."{table}" EXCEPT ALL SELECT * FROM {there}."{table}"'  # noqa: S608 - our own tables
        query = f"SELECT count(*), min({name}) FROM ({rows})"  # noqa: S608
        ((count, first),) = connection.execute(query).fetchall()
        if count:
            problems.append(f"{table}: {count} rows are {told}, among them {first}")
    return problems
