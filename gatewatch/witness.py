"""Whether ledger, database and snapshot still say the same, and a record of each time that this was asked.

The tables that people read are judged anew beside them, and compared.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import duckdb

from gatewatch.comparison import compare
from gatewatch.policies import current_policy
from gatewatch.times import utc_now
from gatewatch.work import judge_and_publish
from ingest.errors import IngestError, StoreError, disk_error
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store, remove_database, store_error
from ingest.lock import holding
from ingest.pipeline import VerifyReport
from ingest.pipeline import verify as verify_ledger
from ingest.progress import Report, silent
from ingest.rebuild import LEDGER, STORE
from ingest.tree_check import NOTHING, Outside
from ingest.verify import bring_up_to_date
from schemas.errors import PolicyError
from schemas.policy import Policy
from transforms.errors import TransformError
from transforms.own_rules import NO_RULES, OwnRules, judged_by
from transforms.refresh import refresh

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
    outside: Outside = NOTHING,
) -> tuple[VerifyReport, str | None]:
    """Compare ledger, database and snapshot; then record the outcome, judge by it, and publish.

    `told` gets the report before anything is written, so that no failure to record it can keep it back; `now` (naive
    UTC) dates the record. Returns the report, and why its outcome could not be recorded (None: it was). The ledger is
    only ever read. For a service: it has to close its own Pipeline first, which the next use opens again.
    Raises LedgerError or StoreError when there is nothing to compare, LockedError, DiskError, PolicyError.
    """
    report = verify_ledger(data, progress, outside=outside)
    try:
        policy, _ = current_policy(data, None, own)
    except PolicyError as error:
        if report.consistent:
            raise
        told(report)
        return report, str(error)
    if report.consistent:
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
        judged, caught_up = data / f"{STORE}.judged", data / f"{STORE}.caught-up"
        for copy in (judged, caught_up):
            remove_database(copy)
        try:
            _copy(data / STORE, judged)
            store = Store(judged)
            try:
                _judge_again(store, data, caught_up, policy, own, report)
            finally:
                store.close()
        except duckdb.Error as error:
            raise store_error(error, data / STORE) from None
        except OSError as error:
            raise disk_error(error, judged) from None
        finally:
            for copy in (judged, caught_up):
                remove_database(copy)


def _copy(database: Path, copy: Path) -> None:
    """The database as it is, with what a killed process left in its write-ahead log."""
    shutil.copyfile(database, copy)
    log = database.with_name(f"{database.name}.wal")
    if log.exists():
        shutil.copyfile(log, copy.with_name(f"{copy.name}.wal"))


def _judge_again(
    store: Store, data: Path, caught_up: Path, policy: Policy, own: OwnRules, report: VerifyReport
) -> None:
    con, work = store.connection, data / STORE
    digest = _digest(con)
    if digest is None:
        report.problems.append("nothing has been judged yet: run `gatewatch rebuild`")
        return
    if digest != judged_by(policy, own):
        report.problems.append(
            f"the tables were judged by another policy or own rules ({digest}): run `gatewatch rebuild`"
        )
        return
    if report.pending or con.execute(_UNJUDGED).fetchall() == [(True,)]:
        # A run was interrupted. What the next one will do about it is done here, or a changed table could hide in it.
        bring_up_to_date(Segments(data / LEDGER), store)
        refresh(con, policy, now=utc_now(), own=own)
        store.checkpoint()
        work = caught_up
        shutil.copyfile(store.path, work)
    refresh(con, policy, now=utc_now(), own=own, full=True)
    link = data / "gatewatch.duckdb"
    problems, left_out = compare(con, work, link.resolve() if link.exists() else None)
    report.problems += problems
    report.left_out += left_out


def _digest(con: duckdb.DuckDBPyConnection) -> str | None:
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = 'policy_about'").fetchall()
    rows = con.execute("SELECT digest FROM policy_about").fetchall() if tables else []
    return str(rows[0][0]) if rows else None
