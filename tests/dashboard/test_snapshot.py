"""Readers always get a whole snapshot, the newest one, and can do nothing but read it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dashboard.errors import NoSnapshotError, UnreadableError
from dashboard.snapshot import Snapshots
from tests.dashboard.snapshots import NORMAL, about, publish


def _number(snapshots: Snapshots) -> int:
    (number,) = snapshots.current().con.execute("SELECT snapshot FROM about").fetchone() or (None,)
    assert isinstance(number, int)
    return number


def test_without_a_snapshot_the_error_says_what_to_do(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path / "nowhere")

    assert snapshots.identity() is None
    with pytest.raises(NoSnapshotError, match="gatewatch ingest"):
        snapshots.current()


def test_a_newer_snapshot_is_opened_once_the_link_moves(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    publish(tmp_path, 1, about=[about(snapshot=1)])
    before = snapshots.current()
    assert _number(snapshots) == 1

    publish(tmp_path, 2, about=[about(snapshot=2)])

    assert snapshots.identity() != before.identity
    assert _number(snapshots) == 2
    # Whoever was in the middle of a page finishes it on the snapshot that it began with.
    assert before.con.execute("SELECT snapshot FROM about").fetchone() == (1,)


def test_a_snapshot_stays_readable_after_its_file_was_deleted(tmp_path: Path) -> None:
    first = publish(tmp_path, 1, **NORMAL)
    snapshot = Snapshots(tmp_path).current()

    first.unlink()

    assert snapshot.con.execute("SELECT count(*) FROM events").fetchone() == (6,)


def test_a_file_that_starts_again_with_the_same_number_is_noticed(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    first = publish(tmp_path, 1, about=[about(snapshot=1)])
    before = snapshots.identity()
    assert _number(snapshots) == 1

    first.unlink()
    publish(tmp_path, 1, about=[about(snapshot=100)])

    assert snapshots.identity() != before
    assert _number(snapshots) == 100


def test_a_damaged_file_is_unreadable_and_a_mended_one_is_read_again(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    publish(tmp_path, 1).write_bytes(b"no database" * 1000)
    with pytest.raises(UnreadableError, match="not a valid DuckDB database"):
        snapshots.current()

    publish(tmp_path, 2, about=[about(snapshot=2)])

    assert _number(snapshots) == 2


def test_a_link_to_nothing_is_unreadable_and_named(tmp_path: Path) -> None:
    publish(tmp_path, 1).unlink()

    with pytest.raises(UnreadableError, match=r"gatewatch-1\.duckdb, which is gone"):
        Snapshots(tmp_path).current()


def test_a_plain_file_in_place_of_the_link_is_read_too(tmp_path: Path) -> None:
    # Copies of a data directory often lose the symlink.
    target = publish(tmp_path, 1, about=[about(snapshot=1)])
    (tmp_path / "gatewatch.duckdb").unlink()
    target.rename(tmp_path / "gatewatch.duckdb")

    assert _number(Snapshots(tmp_path)) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events",
        "SET enable_external_access = true",
        "SELECT * FROM read_text('/etc/hostname')",
        "ATTACH 'other.duckdb'",
        "COPY (SELECT 1) TO 'out.csv'",
    ],
)
def test_a_reader_cannot_write_or_leave_its_file(tmp_path: Path, statement: str) -> None:
    publish(tmp_path, 1)
    con = Snapshots(tmp_path).current().con

    with pytest.raises(duckdb.Error):
        con.execute(statement)
