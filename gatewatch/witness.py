"""Whether ledger, database and snapshot still say the same, and a record of each time that this was asked.

The tables that people read are judged anew beside them, and compared.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb

from gatewatch.policies import current_policy
from gatewatch.times import utc_now
from gatewatch.work import judge_and_publish
from ingest.errors import IngestError, StoreError, disk_error
from ingest.ledger.store import Store, remove_database, store_error
from ingest.lock import holding
from ingest.pipeline import VerifyReport
from ingest.pipeline import verify as verify_ledger
from ingest.progress import Report, silent
from ingest.rebuild import STORE
from schemas.errors import PolicyError
from schemas.policy import Policy
from transforms.compute import NOT_PUBLIC
from transforms.errors import TransformError
from transforms.own_rules import NO_RULES, OwnRules, judged_by
from transforms.publish import public_tables
from transforms.refresh import refresh

_NOT_REPLAYED = {"finding_history"}
"""What says when something was noticed; it has no second source to be held against."""

_UNJUDGED = """
SELECT coalesce((SELECT max(seq) FROM refreshed)
    < (SELECT max(seq) FROM (SELECT seq FROM events UNION ALL SELECT seq FROM quarantine)), FALSE)
"""


def verify_and_record(
    data: Path,
    *,
    progress: Report = silent,
    told: Callable[[VerifyReport], None] = lambda report: None,
    now: Callable[[], datetime] = utc_now,
    own: OwnRules = NO_RULES,
) -> tuple[VerifyReport, str | None]:
    """Compare ledger, database and snapshot; then record the outcome, judge by it, and publish.

    `told` gets the report before anything is written, so that no failure to record it can keep it back; `now` (naive
    UTC) dates the record. Returns the report, and why its outcome could not be recorded (None: it was). The ledger is
    only ever read. For a service: it has to close its own Pipeline first, which the next use opens again.
    Raises LedgerError or StoreError when there is nothing to compare, LockedError, DiskError, PolicyError.
    """
    report = verify_ledger(data, progress)
    try:
        policy, _ = current_policy(data, None, own)
    except PolicyError as error:
        if report.consistent:
            raise
        told(report)
        return report, str(error)
    if report.consistent and not report.pending:
        try:
            _compare_tables(data, policy, own, report)
        except StoreError as error:
            report.problems.append(str(error))
    told(report)
    try:
        _record(data, report.problems, now(), policy, own)
    except (IngestError, TransformError) as error:
        return report, str(error)
    return report, None


def _record(data: Path, problems: list[str], verified_at: datetime, policy: Policy, own: OwnRules) -> None:
    # The store alone: a Pipeline would first bring ledger and database together, and so change what was found, or
    # refuse to, and then no reader of the snapshot would ever learn of it.
    with holding(data):
        store = Store(data / STORE)
        try:
            store.keep_verification(verified_at, problems)
            judge_and_publish(store.connection, data, policy, own)
        finally:
            store.close()


def _compare_tables(data: Path, policy: Policy, own: OwnRules, report: VerifyReport) -> None:
    """Report each table of the work database or the snapshot that is not what events and policy lead to.

    Judges the events of a copy of `<data>/work.duckdb` again. Whether those events are the ledger's is for
    `ingest.verify` to say, first. Raises LockedError, StoreError or DiskError.
    """
    with holding(data):
        copy = data / f"{STORE}.judged"
        remove_database(copy)
        try:
            _copy(data / STORE, copy)
            with duckdb.connect(str(copy)) as con:
                _judge_again(con, data, policy, own, report)
        except duckdb.Error as error:
            raise store_error(error, data / STORE) from None
        except OSError as error:
            raise disk_error(error, copy) from None
        finally:
            remove_database(copy)


def _copy(database: Path, copy: Path) -> None:
    """The database as it is, with what a killed process left in its write-ahead log."""
    shutil.copyfile(database, copy)
    log = database.with_name(f"{database.name}.wal")
    if log.exists():
        shutil.copyfile(log, copy.with_name(f"{copy.name}.wal"))


def _judge_again(
    con: duckdb.DuckDBPyConnection, data: Path, policy: Policy, own: OwnRules, report: VerifyReport
) -> None:
    digest = _digest(con)
    if digest is None:
        report.problems.append("nothing has been judged yet: run `gatewatch rebuild`")
        return
    if digest != judged_by(policy, own):
        report.problems.append(
            f"the tables were judged by another policy or own rules ({digest}): run `gatewatch rebuild`"
        )
        return
    if con.execute(_UNJUDGED).fetchall() == [(True,)]:
        report.left_out.append("the tables: a run was interrupted before its lines were judged")
        return
    kept = {"the work database": data / STORE}
    if (data / "gatewatch.duckdb").exists():
        kept["the snapshot"] = (data / "gatewatch.duckdb").resolve()
    refresh(con, policy, now=utc_now(), own=own, full=True)
    with con.cursor() as compared:  # which does not see the refresh's temporary tables: they hide kept ones of a name
        for number, path in enumerate(kept.values()):
            quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
            compared.execute(f"ATTACH '{quoted}' AS kept_{number} (READ_ONLY)")
        for number, name in enumerate(kept):
            if any(_is_shorter(compared, f"kept_{number}", table) for table in ("batches", "verifications")):
                report.left_out.append(f"{name}: a run was interrupted before it was published anew")
                continue
            for table in sorted(set(public_tables()) - _NOT_REPLAYED):
                report.problems += _differences(compared, f"kept_{number}", name, table)


def _is_shorter(con: duckdb.DuckDBPyConnection, kept: str, table: str) -> bool:
    """Whether a table that only ever grows has fewer rows there than here."""
    if not _columns(con, kept, table):
        return False
    query = f'SELECT (SELECT count(*) FROM {kept}."{table}") < (SELECT count(*) FROM "{table}")'  # noqa: S608 - our own
    return con.execute(query).fetchall() == [(True,)]


def _digest(con: duckdb.DuckDBPyConnection) -> str | None:
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = 'policy_about'").fetchall()
    rows = con.execute("SELECT digest FROM policy_about").fetchall() if tables else []
    return str(rows[0][0]) if rows else None


def _columns(con: duckdb.DuckDBPyConnection, database: str, table: str) -> list[str]:
    rows = con.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = $db AND table_name = $table ORDER BY ALL",
        {"db": database, "table": table},
    ).fetchall()
    return [name for (name,) in rows if name != NOT_PUBLIC]


def _differences(con: duckdb.DuckDBPyConnection, kept: str, name: str, table: str) -> list[str]:
    ((ours,),) = con.execute("SELECT current_database()").fetchall()
    columns = _columns(con, ours, table)
    found = _columns(con, kept, table)
    if found != columns:
        return [f"{name}: the table {table} {'has other columns' if found else 'is missing'}"]
    # All names are our own.
    listed = ", ".join(f'"{column}"' for column in columns)
    here = f'SELECT {listed} FROM "{table}"'  # noqa: S608
    there = f'SELECT {listed} FROM {kept}."{table}"'  # noqa: S608
    query = (
        f"SELECT (SELECT count(*) FROM ({here} EXCEPT ALL {there})), "  # noqa: S608
        f"(SELECT count(*) FROM ({there} EXCEPT ALL {here}))"
    )
    ((missing, foreign),) = con.execute(query).fetchall()
    if not missing and not foreign:
        return []
    return [f"{name}: {table}: {missing} rows are missing or changed, {foreign} are not what events and policy lead to"]
