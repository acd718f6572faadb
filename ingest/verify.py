"""Does the database say what the ledger says, and is the ledger whole? Every chunk is hashed and validated again.

Without a checkpoint from outside this shows consistency only: who can rewrite the ledger can rewrite the database too.
`ingest.verify_copy` does it for a copied ledger alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import duckdb
import polars as pl

from ingest.columnar import ColumnarValidator
from ingest.errors import LedgerError, StoreError
from ingest.ledger.chunks import Place
from ingest.ledger.database import check_version, remove_database, store_error
from ingest.ledger.recovery import in_sequence, known_end, replay
from ingest.ledger.segments import Segments, Stored
from ingest.ledger.store import Store
from ingest.ledger.tables import TABLES
from ingest.ledger.tear import torn_at
from ingest.lock import holding
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER, STORE
from ingest.tree_check import NOTHING, Outside, TreeCheck, TreeReport
from ingest.validate import Validator

STATEMENT = (
    "internally consistent only: without a checkpoint from outside, a ledger and a database that were rewritten "
    "together look the same"
)
_FORGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, pl.exceptions.PolarsError)
"""What a well-formed chunk with senseless content may raise on its way into tables. No run ever wrote such a one."""

_MISSING = "missing from the database or changed in it"
_FOREIGN = "not what the ledger says"
_COMPARED = {
    "events": "event_id",
    "quarantine": "quarantine_id",
    "batches": "cast(batch_id AS VARCHAR)",
    "sources": "source",
    "positions": "key",
    "gaps": "source",
    "retries": "quarantine_id",
    "meta": "key",
}
_NOT_OURS = """
SELECT 'schema', schema_name, 'SCHEMA {db}.{0} CASCADE' FROM duckdb_schemas()
    WHERE database_name = $db AND NOT internal
UNION ALL SELECT 'macro', function_name, CASE function_type WHEN 'table_macro' THEN 'MACRO TABLE' ELSE 'MACRO' END
    || ' {db}.main.{0}' FROM duckdb_functions() WHERE database_name = $db AND NOT internal
UNION ALL SELECT 'trigger', trigger_name, 'TRIGGER {0} ON {db}.main."' || replace(table_name, '"', '""') || '"'
    FROM duckdb_triggers() WHERE database_name = $db
UNION ALL SELECT 'index', index_name, 'INDEX {db}.main.{0}' FROM duckdb_indexes() WHERE database_name = $db
UNION ALL SELECT 'sequence', sequence_name, 'SEQUENCE {db}.main.{0}' FROM duckdb_sequences() WHERE database_name = $db
UNION ALL SELECT 'type', type_name, 'TYPE {db}.main.{0}' FROM duckdb_types() WHERE database_name = $db AND NOT internal
UNION ALL SELECT 'constraint', table_name || ': ' || coalesce(constraint_text, ''), '' FROM duckdb_constraints()
    WHERE database_name = $db
UNION ALL SELECT 'default', table_name || '.' || column_name, '' FROM duckdb_columns()
    WHERE database_name = $db AND NOT internal AND column_default IS NOT NULL
ORDER BY ALL
"""
"""What a database may hold beside tables and views: its kind, its name, and how it is dropped (empty: not alone). Above
all macros, which take the place of built-in functions."""


def foreign_objects(connection: duckdb.DuckDBPyConnection, database: str) -> list[str]:
    """What an attached database holds that none of ours does, tables and views apart; as in "macro 'lower'".

    The connection is to a database of our own making: in one that may hold such objects no answer can be trusted.
    """
    rows = connection.execute(_NOT_OURS, {"db": database}).fetchall()
    return [f"{what} {name!r}" for what, name, _ in rows]


def take_out_foreign(path: Path) -> None:
    """Drop from a database what `foreign_objects` finds, as far as that goes. Raises DiskError, StoreError."""
    try:
        with attached(path, read_only=False) as connection:
            for _, name, drop in connection.execute(_NOT_OURS, {"db": "kept"}).fetchall():
                quoted = '"' + name.replace('"', '""') + '"'
                with suppress(duckdb.CatalogException, duckdb.DependencyException):  # gone with another, or in use
                    if drop:
                        connection.execute("DROP " + drop.replace("{db}", "kept").replace("{0}", quoted))
    except duckdb.Error as error:
        raise store_error(error, path) from None


@contextmanager
def attached(path: Path, *, read_only: bool = True) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to an empty database in memory, to which the one at `path` is attached as `kept`."""
    with duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}) as con:
        attach(con, path, "kept", read_only=read_only)
        yield con


def attach(connection: duckdb.DuckDBPyConnection, path: Path, name: str, *, read_only: bool = True) -> None:
    """Attach a database under a name of our own. Raises duckdb.Error."""
    quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
    connection.execute(f"ATTACH '{quoted}' AS {name} ({'READ_ONLY' if read_only else 'READ_WRITE'})")


@dataclass(slots=True)
class VerifyReport:
    """What was compared, and every difference in a sentence; `pending` chunks wait for the next start to be applied.

    `left_out` says what could not be compared since an interrupted run left it behind, which is no difference.
    `unfinished`: the ledger ends with a part of a commit, which is torn or still being written. `tree` is the ledger
    held against checkpoints, `statement` what can honestly be said when there is no problem.
    """

    chunks: int = 0
    lines: int = 0
    events: int = 0
    pending: int = 0
    unfinished: bool = False
    problems: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    tree: TreeReport = field(default_factory=TreeReport)
    statement: str = STATEMENT

    @property
    def consistent(self) -> bool:
        """Whether ledger and database agree with each other and with themselves."""
        return not self.problems


def verify(
    data: Path, report: Report = silent, validator: Validator | None = None, outside: Outside = NOTHING
) -> VerifyReport:
    """Compare `<data>/work.duckdb` with `<data>/ledger`, row by row, and that with what was signed. Changes neither.

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
                return _compare(data, fresh, report, validator or ColumnarValidator(), outside)
            finally:
                fresh.close()
        finally:
            remove_database(path)


def _compare(data: Path, fresh: Store, report: Report, validator: Validator, outside: Outside) -> VerifyReport:
    found = VerifyReport()
    end: tuple[int, int] | None = None
    with _problem(data / STORE, found):
        attach(fresh.connection, data / STORE, "kept")
        found.problems += [
            f"the work database: there is a {foreign}, which is none of ours: make it again with `gatewatch rebuild`"
            for foreign in foreign_objects(fresh.connection, "kept")
        ]
        end = _known_to(fresh.connection, data / STORE)
    tree = TreeCheck(data / LEDGER, outside, data=data, copied=False)
    whole = _hash(Segments(data / LEDGER), fresh, end, report, validator, found, tree)
    take_over(found, tree, whole)
    if end is not None:
        with _problem(data / STORE, found):
            for table, name in _COMPARED.items():
                found.problems += _differences(fresh.connection, table, name)
            ((found.events,),) = fresh.connection.execute("SELECT count(*) FROM kept.events").fetchall()
    return found


def take_over(found: VerifyReport, tree: TreeCheck, whole: bool) -> None:
    """What the tree shows, as a part of the report."""
    found.tree = tree.report(whole=whole)
    found.problems += found.tree.problems
    found.left_out += found.tree.left_out
    found.statement = found.tree.shown or found.statement


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


def _known_to(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[int, int]:
    """The (segment, offset) to which the database that is attached as `kept` knows the ledger. Raises StoreError."""
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
    tree: TreeCheck,
) -> bool:
    """Hash every chunk, and bring it into `fresh` as far as the database goes; None: there is none to compare with.

    Whether the ledger was read to its end.
    """
    done, place, after = 0, Place(), (1, 0)

    def known() -> Iterator[Stored]:
        """The chunks that the database has to have."""
        nonlocal done, place, after
        size = sum(ledger.sizes().values())
        for stored in in_sequence(ledger.read(), ledger):
            done += stored.location.length
            place, after = stored.chunk.after, stored.location.end
            tree.add(stored)
            report(Progress("ledger", done, size, found.lines))
            if end is not None and (stored.location.segment, stored.location.offset) >= end:
                found.pending += 1
                continue
            found.chunks += 1
            found.lines += len(stored.chunk.lines)
            yield stored

    try:
        if end is None:
            deque(known(), maxlen=0)
        else:
            deque(replay(known(), fresh, validator), maxlen=0)
    except LedgerError as error:
        if after < (end or after) or not is_torn(ledger, after, place.leaf):
            found.problems.append(str(error))
            return False
        found.unfinished = True
    except _FORGED as error:
        found.problems.append(f"the ledger holds what cannot be brought into tables ({type(error).__name__}: {error})")
        return False
    else:
        if after < (end or after):
            found.problems.append(f"the ledger ends at byte {after[1]} of segment {after[0]}, the database has more")
    return True


def bring_up_to_date(ledger: Segments, store: Store, validator: Validator | None = None) -> None:
    """Apply to a copy of the database what only the ledger has, as the next start will. A torn end is left alone.

    Raises LedgerError, StoreError, DiskError.
    """
    place, after = known_end(ledger, store)
    judge = validator or ColumnarValidator()
    try:
        for replayed in replay(in_sequence(ledger.read(*after), ledger, place), store, judge):
            place, after = replayed.chunks[-1].chunk.after, replayed.chunks[-1].location.end
    except LedgerError:
        if not is_torn(ledger, after, place.leaf):
            raise


def replay_first(chunks: int, ledger: Segments, store: Store) -> None:
    """Bring the ledger's first chunks into an empty store. Raises LedgerError, StoreError, DiskError."""
    deque(replay(islice(in_sequence(ledger.read(), ledger), chunks), store, ColumnarValidator()), maxlen=0)


def is_torn(ledger: Segments, after: tuple[int, int], leaf: int) -> bool:
    """Whether a crash explains what follows the last whole chunk; the next start cuts that off."""
    try:
        return torn_at(ledger.directory, *after, leaf) is not None
    except LedgerError:  # a segment is missing
        return False


def _differences(connection: duckdb.DuckDBPyConnection, table: str, name: str) -> list[str]:
    columns = ", ".join(f'"{column.name}"' for column in TABLES[table])
    both = f'SELECT *, TRUE AS here FROM main."{table}" UNION ALL SELECT *, FALSE FROM kept."{table}"'  # noqa: S608 - our own
    # Counts what EXCEPT ALL would in either direction, at once and at a quarter of the cost.
    sides = "count(*) FILTER (here) AS ours, count(*) FILTER (NOT here) AS theirs"
    query = (
        f"SELECT sum(ours - theirs) FILTER (ours > theirs), min({name}) FILTER (ours > theirs), "  # noqa: S608
        f"sum(theirs - ours) FILTER (theirs > ours), min({name}) FILTER (theirs > ours) "
        f"FROM (SELECT {columns}, {sides} FROM ({both}) GROUP BY {columns})"
    )
    ((missing, first_missing, foreign, first_foreign),) = connection.execute(query).fetchall()
    told = ((missing, first_missing, _MISSING), (foreign, first_foreign, _FOREIGN))
    return [f"{table}: {count} rows are {what}, among them {first}" for count, first, what in told if count]
