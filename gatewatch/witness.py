"""Whether ledger, database and snapshot still say the same, and a record of each time that this was asked.

The tables that people read are judged anew beside them, and compared.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import duckdb

from gatewatch.comparison import State, compare_snapshot, compare_work, older_state
from gatewatch.policies import current_policy
from gatewatch.times import utc_now
from gatewatch.work import judge_and_publish
from ingest.errors import IngestError, StoreError, disk_error
from ingest.ledger.database import remove_database, store_error
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store
from ingest.ledger.tables import TABLES
from ingest.lock import holding
from ingest.pipeline import VerifyReport
from ingest.pipeline import verify as verify_ledger
from ingest.progress import Report, silent
from ingest.rebuild import LEDGER, STORE
from ingest.tree_check import NOTHING, Outside
from ingest.verify import attach, bring_up_to_date, replay_first, take_out_foreign
from schemas.errors import PolicyError
from schemas.policy import Policy
from transforms.errors import TransformError
from transforms.own_rules import NO_RULES, OwnRules, judged_by
from transforms.refresh import refresh

_UNJUDGED = """
SELECT coalesce((SELECT max(seq) FROM kept.refreshed)
    < (SELECT max(seq) FROM (SELECT seq FROM kept.events UNION ALL SELECT seq FROM kept.quarantine)), FALSE)
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
        if problems:  # a macro would hide the very finding; the problems say that it was there
            take_out_foreign(data / STORE)
        store = Store(data / STORE)
        try:
            store.keep_verification(verified_at, problems)
            judge_and_publish(store.connection, data, policy, own)
        finally:
            store.close()


def _compare_tables(data: Path, policy: Policy, own: OwnRules, report: VerifyReport) -> None:
    """Report each table of the work database or the snapshot that is not what events and policy lead to.

    Judges them in a new database, which holds nothing but what the ledger led to. Whether `<data>/work.duckdb` has the
    same is for `ingest.verify` to say, first. Raises LockedError, LedgerError, StoreError or DiskError.
    """
    with holding(data):
        judged, caught_up = data / f"{STORE}.judged", data / f"{STORE}.caught-up"
        try:
            _judge_again(data, judged, caught_up, policy, own, report)
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


@contextmanager
def _empty(path: Path) -> Iterator[Store]:
    """A new database, closed afterwards."""
    remove_database(path)
    with closing(Store(path)) as store:
        yield store


def _judge_again(
    data: Path, judged: Path, caught_up: Path, policy: Policy, own: OwnRules, report: VerifyReport
) -> None:
    work, link, ledger = data / STORE, data / "gatewatch.duckdb", Segments(data / LEDGER)
    with _empty(judged) as store:
        digest, unjudged = _take_over(store.connection, work)
        if digest is None:
            report.problems.append("nothing has been judged yet: run `gatewatch rebuild`")
            return
        if digest != judged_by(policy, own):
            report.problems.append(
                f"the tables were judged by another policy or own rules ({digest}): run `gatewatch rebuild`"
            )
            return
        if report.pending or unjudged:
            # A run was interrupted. What the next one will do is done here, or a changed table could hide in it.
            remove_database(caught_up)
            _copy(work, caught_up)
            with closing(Store(caught_up)) as late:
                bring_up_to_date(ledger, late)
                refresh(late.connection, policy, now=utc_now(), own=own)
            work = caught_up
            _take_over(store.connection, work)
        refresh(store.connection, policy, now=utc_now(), own=own, full=True)
        report.problems += compare_work(store.connection, work)
        if not link.exists():
            return
        snapshot = link.resolve()
        state = older_state(store.connection, work, snapshot)
        if state is None:
            report.problems += compare_snapshot(store.connection, work, snapshot)
            return
    with _empty(judged) as store:
        replay_first(state.chunks, ledger, store)
        _take_over(store.connection, work, state)
        refresh(store.connection, policy, now=utc_now(), own=own, full=True)
        report.problems += compare_snapshot(store.connection, work, snapshot, older=True)
        report.left_out.append(
            "the end of the snapshot's finding_history: a run was interrupted before it was published anew"
        )


def _take_over(con: duckdb.DuckDBPyConnection, work: Path, state: State | None = None) -> tuple[str | None, bool]:
    """Bring what the ledger led to, and the verifications, from the work database into a new one.

    With `state`, only its verifications. Returns by what the work database was judged (None: it was not), and whether
    something in it was not.
    """
    attach(con, work, "kept")
    try:
        for table in TABLES if state is None else ("verifications",):
            con.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
            limit = "" if state is None else f"ORDER BY rowid LIMIT {state.verifications}"
            con.execute(f"INSERT INTO {table} FROM kept.{table} {limit}")
        names = "SELECT 1 FROM duckdb_tables() WHERE database_name = 'kept' AND table_name = 'policy_about'"
        if not con.execute(names).fetchall():
            return None, False
        digests = con.execute("SELECT digest FROM kept.policy_about").fetchall()
        return (str(digests[0][0]) if digests else None), con.execute(_UNJUDGED).fetchall() == [(True,)]
    finally:
        con.execute("DETACH kept")
