"""What readers see: a versioned copy with the pinned tables, explained, swapped in atomically, never half-written."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.transforms.conftest import Desk
from transforms.errors import PublishError

# Written down from the interface that others rely on. Changing it is a breaking change.
PINNED = {
    "findings": "finding_id rule severity status subject correlation_id run_id tenant caller tool gate event_ts "
    "message evidence policy_digest",
    "finding_history": "finding_id at change reason rule severity subject correlation_id tenant message",
    "gate_checks": "correlation_id subject shipped_event_id shipped_ts pipeline gate position status decided_by "
    "decided_ts decision_event_id cause_event_id silent",
    "reconciliation": "correlation_id action target claimed evidenced status match_key claim_event_id "
    "evidence_event_ids amount_claimed amount_evidenced age_seconds",
    "outcome_rates": "hour tool caller level outcome n total rate ci_low ci_high",
    "retry_degrade": "hour tool caller error_class calls attempts retries recovered degraded degraded_noted violations",
    "kpis": "period_start period_end segment kpi value numerator denominator ci_low ci_high coverage note definition",
    "runs": "correlation_id run_id tenant decision_id intent priority terminal_state received_at first_response_at "
    "terminal_at dispatches judge_cycles rubric_score cost_usd model_tier findings_open",
    "quarantine": "quarantine_id source position received_at reason errors line line_sha256",
}
PUBLIC = (
    "events tool_invocations tool_calls gate_decisions shipments gate_checks claims evidence reconciliation "
    "outcome_rates retry_degrade runs kpis findings finding_history quarantine batches sources policy_tools "
    "policy_gates about"
)


@pytest.fixture
def snapshot(desk: Desk) -> Iterator[duckdb.DuckDBPyConnection]:
    """The newest snapshot, as a reader opens it."""
    with duckdb.connect(str(desk.link.resolve(strict=True)), read_only=True) as con:
        yield con


def relations(con: duckdb.DuckDBPyConnection) -> dict[str, str | None]:
    """Tables and views with their comments."""
    return dict(
        con.execute(
            "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal "
            "UNION ALL SELECT view_name, comment FROM duckdb_views() WHERE NOT internal"
        ).fetchall()
    )


def test_every_table_that_others_rely_on_is_there_and_nothing_private(snapshot: duckdb.DuckDBPyConnection) -> None:
    """Positions and the store's own facts, intermediate tables and leftovers of a refresh stay behind."""
    found = relations(snapshot)
    assert set(PUBLIC.split()) <= set(found)
    private = ("int_", "stg_", "fct_", "rule_", "scope_", "all_")
    assert not {name for name in found if name.startswith(private)} - {"rule_texts"}
    assert not {"positions", "meta", "findings_before", "outbox", "groups", "event_groups", "links"} & set(found)


@pytest.mark.parametrize("table", PINNED)
def test_the_pinned_columns(table: str, snapshot: duckdb.DuckDBPyConnection) -> None:
    """The names that everyone's queries use, in the order in which they were promised."""
    found = [name for name, *_ in snapshot.execute(f"DESCRIBE {table}").fetchall()]
    assert [name for name in found if name in PINNED[table].split()] == PINNED[table].split()


@pytest.mark.parametrize("table", PINNED)
def test_every_column_of_a_pinned_table_says_what_it_holds(table: str, snapshot: duckdb.DuckDBPyConnection) -> None:
    """An analyst who describes the table learns unit and meaning, also of the columns beyond the promised ones."""
    query = "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND coalesce(comment, '') = ''"
    assert snapshot.execute(query, [table]).fetchall() == []


def test_every_other_column_says_what_it_holds(snapshot: duckdb.DuckDBPyConnection) -> None:
    """The published file has comments on every column."""
    tables = {name for (name,) in snapshot.execute("SELECT table_name FROM duckdb_tables()").fetchall()} - set(PINNED)
    query = "SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal AND coalesce(comment, '') = ''"
    missing = sorted(f"{table}.{column}" for table, column in snapshot.execute(query).fetchall() if table in tables)
    assert missing == []


def test_every_table_and_view_says_what_a_row_is(snapshot: duckdb.DuckDBPyConnection) -> None:
    """One sentence each."""
    silent = [name for name, comment in relations(snapshot).items() if not (comment or "").startswith("One row")]
    assert silent == []


def test_the_snapshot_counts_what_it_covers(snapshot: duckdb.DuckDBPyConnection) -> None:
    """Of the sample's 600 events and its rejects; the accounting of its chunks adds up inside the file."""
    about = snapshot.execute(
        "SELECT events, quarantined, policy, policy_version, software_version, ledger_bytes FROM about"
    ).fetchall()
    rejects = snapshot.execute("SELECT count(*) FROM quarantine").fetchall()[0][0]
    assert about == [(600, rejects, "support-squad", 1, "1.2.3", 77)]
    assert snapshot.execute(
        "SELECT sum(lines) = sum(accepted) + sum(duplicate) + sum(quarantined) + sum(blank), sum(accepted) FROM batches"
    ).fetchall() == [(True, 600)]
    assert snapshot.execute(
        "SELECT first_event_ts = (SELECT min(ts) FROM events), last_event_ts = (SELECT max(ts) FROM events) FROM about"
    ).fetchall() == [(True, True)]


def test_the_link_is_relative_and_the_number_goes_up(desk: Desk, tmp_path: Path) -> None:
    """A data directory can be moved or mounted elsewhere, and a copy of it still opens."""
    first = desk.publish()
    second = desk.publish()
    numbers = [int(path.stem.removeprefix("gatewatch-")) for path in (first, second)]
    assert numbers[1] == numbers[0] + 1
    assert os.readlink(desk.link) == f"published/gatewatch-{numbers[1]}.duckdb"  # noqa: PTH115 - the text of the link
    moved = tmp_path / "elsewhere"
    (moved / "published").mkdir(parents=True)
    shutil.copy(second, moved / "published")
    shutil.copy(desk.link, moved / "gatewatch.duckdb", follow_symlinks=False)
    with duckdb.connect(str((moved / "gatewatch.duckdb").resolve(strict=True)), read_only=True) as con:
        assert con.execute("SELECT snapshot FROM about").fetchall() == [(numbers[1],)]


def _age(desk: Desk) -> None:
    """A minute passes."""
    for name in desk.versions():
        path = desk.folder / name
        then = path.stat().st_mtime - 60
        os.utime(path, (then, then))


def test_old_snapshots_go_and_a_reader_of_one_is_not_disturbed(desk: Desk) -> None:
    """An analyst may keep a shell open all day: the file under it is gone from the folder, its rows are not."""
    with duckdb.connect(str(desk.publish()), read_only=True) as reader:
        (number,) = reader.execute("SELECT snapshot FROM about").fetchall()[0]
        # Nothing of `findings` has been read so far, so this is no cache.
        second = desk.publish()
        _age(desk)
        third, fourth = desk.publish(), desk.publish()
        # The second one was the newest until a moment ago: somebody may be about to open it.
        assert desk.versions() == sorted([second.name, third.name, fourth.name])
        _age(desk)
        fifth = desk.publish()
        assert desk.versions() == sorted([fourth.name, fifth.name])
        assert reader.execute("SELECT count(*) > 0 FROM findings").fetchall() == [(True,)]
        assert reader.execute("SELECT snapshot FROM about").fetchall() == [(number,)]


@pytest.mark.parametrize("step", ["shutil.copyfile", "transforms.publish._prepare", "transforms.publish.fsync_path"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_error_leaves_the_former_snapshot(
    step: str, number: int, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copying, filling or making it durable fails: one error with cause and fix, no draft, readers notice nothing."""
    before = (os.readlink(desk.link), desk.versions())  # noqa: PTH115

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(step, fail)
        with pytest.raises(PublishError, match=rf"^cannot publish .*{os.strerror(number)}.*free space") as raised:
            desk.publish()
    assert "\n" not in str(raised.value)
    assert (os.readlink(desk.link), desk.versions()) == before  # noqa: PTH115


def test_a_crash_before_the_swap_leaves_the_former_snapshot_and_is_healed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the draft and the link: the link still leads to a whole file, and the next run clears up."""
    before = desk.link.resolve(strict=True)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("transforms.publish._prepare", "transforms.publish._point"):
        with monkeypatch.context() as patched:
            patched.setattr(step, crash)
            with pytest.raises(KeyboardInterrupt):
                desk.publish()
        assert desk.link.resolve(strict=True) == before
        with duckdb.connect(str(before), read_only=True) as con:
            assert con.execute("SELECT events FROM about").fetchall() == [(600,)]
    newest = desk.publish()
    assert desk.link.resolve(strict=True) == newest.resolve()
    assert not [name for name in desk.versions() if name.startswith(".")]
    assert not list(desk.data.glob(".gatewatch.duckdb.*"))
