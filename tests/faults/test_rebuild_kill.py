"""A killed rebuild is gone on with, and a retry is whole or not at all; what must not be gone on with is begun anew."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.ledger.store import Store
from ingest.pipeline import Pipeline, rebuild, verify
from ingest.progress import Progress
from tests.faults.conftest import Run
from tests.faults.test_kill import ALL, chosen
from tests.ingest.builders import CLOCK, line, query, tables


def prepare(folder: Path, dialect: str = "auto") -> Path:
    """`folder/data`, to start from: a hundred lines in many small chunks."""
    (folder / "e.jsonl").write_bytes(b"".join(line(f"e{number}") + b"\n" for number in range(100)))
    with pytest.MonkeyPatch.context() as patch, Pipeline(folder / "data") as pipeline:
        patch.setattr("ingest.sources.jsonl._BLOCK_BYTES", 256)
        patch.setattr("ingest.sources.jsonl.MAX_CHUNK_BYTES", 1_000)
        pipeline.ingest_paths([str(folder / "e.jsonl")], dialect)
    return folder / "data"


@pytest.fixture
def small_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction for each chunk."""
    monkeypatch.setattr("ingest.ledger.recovery.MAX_COMMIT_LINES", 1)


def test_killed_at_a_point_it_brings_in_only_the_rest(run: Run, folder: Path) -> None:
    """Hours of work are not lost to a restart: what the killed run committed is not committed again."""
    data = prepare(folder)
    points = run("count", "rebuild")["points"]
    commits = points.count("store.commit")
    assert commits >= 5
    numbers = [at for at, name in enumerate(points, start=1) if name == "store.committed"]
    numbers = numbers if ALL else numbers[:: len(numbers) // 2]
    trials = run("again", "rebuild", *numbers)
    for number, trial in zip(numbers, trials, strict=True):
        assert trial["signals"] == [9]
        before = points[:number].count("store.committed")
        # The thread may have committed more than the point at which the other one was killed.
        assert commits - before - 1 <= trial["points"].count("store.commit") <= commits - before
        assert tables(Path(trial["data"])) == tables(data)
        assert verify(Path(trial["data"])).problems == []
        assert list(Path(trial["data"]).glob("work.duckdb.rebuild*")) == []


def test_a_retry_killed_at_every_kind_of_point(run: Run, folder: Path) -> None:
    """Afterwards each line was tried exactly once, whether the kill came before or after the ledger had it."""
    prepare(folder, dialect="xenia")
    counted = run("count", "retry")
    expected = tables(Path(counted["data"]), (*CLOCK, "segment"))
    assert query(Path(counted["data"]), "SELECT outcome, count(*) FROM retries GROUP BY ALL") == [("accepted", 100)]
    for trial in run("again", "retry", *chosen(counted["points"])):
        assert trial["signals"] == [9]
        assert tables(Path(trial["data"]), (*CLOCK, "segment")) == expected
        assert verify(Path(trial["data"])).problems == []


class Crash(BaseException):
    """What no code of ours catches."""


def crash_after(commits: int) -> Callable[[str], None]:
    """Crash once so many transactions are done."""
    left = commits

    def at(name: str) -> None:
        nonlocal left
        left -= name == "store.committed"
        if left == 0:
            raise Crash

    return at


def interrupted(data: Path) -> Path:
    """A rebuild that got half-way; the file that it left."""
    with pytest.raises(Crash):
        rebuild(data, at=crash_after(8))
    (left,) = data.glob("work.duckdb.rebuild-????????????????")
    return left


@pytest.mark.usefixtures("small_commits")
def test_it_says_how_much_is_there_and_counts_it(tmp_path: Path) -> None:
    """The sum at the end is that of everything, and the bar starts where the first run stopped."""
    data = prepare(tmp_path)
    before = tables(data)
    left = interrupted(data)
    ((lines, size),) = query_of(left, "SELECT sum(lines), sum(bytes) FROM batches")
    told: list[int] = []
    shown: list[Progress] = []
    found = rebuild(data, shown.append, resumed=told.append)
    assert told == [lines]
    assert 0 < lines < 100
    assert (found.lines, found.accepted) == (100, 100)
    assert size < shown[0].done < shown[-1].done == shown[-1].total
    assert tables(data) == before
    rebuild(data, resumed=told.append)
    assert told == [lines]  # nothing is left to go on with


def query_of(file: Path, sql: str) -> list[tuple[int, ...]]:
    """The rows of a query on an unfinished database."""
    copy = file.parent.parent / "copy"
    copy.mkdir(exist_ok=True)
    shutil.copy(file, copy / "work.duckdb")
    return query(copy, sql)


def other_code(data: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
    """The code that judges lines has changed since."""
    patch.setattr("ingest.rebuild._fingerprint", lambda validator: "0123456789abcdef")


def other_ledger(data: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
    """The unfinished file is from another directory, where the same lines had come later."""
    other = data.parent / "other"
    other.mkdir()
    unfinished = interrupted(prepare(other))
    shutil.copy(unfinished, left)


def other_layout(data: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
    """The unfinished file lacks a column."""
    store = Store(left)
    store.connection.execute("UPDATE meta SET value = 'x' WHERE key = 'layout'")
    store.close()


def garbage(data: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
    """The unfinished file is no database."""
    left.write_bytes(b"not a database" * 1000)


def flipped(data: Path, left: Path, patch: pytest.MonkeyPatch) -> None:
    """Every block of the unfinished file is damaged."""
    content = bytearray(left.read_bytes())
    for position in range(4096, len(content), 4096):
        content[position + 8] ^= 0xFF
    left.write_bytes(content)


@pytest.mark.usefixtures("small_commits")
@pytest.mark.parametrize("change", [other_code, other_ledger, other_layout, garbage, flipped])
def test_what_cannot_be_gone_on_with_is_begun_anew(
    change: Callable[[Path, Path, pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database made half by one version and half by another would be that of neither."""
    data = prepare(tmp_path)
    before = tables(data)
    change(data, interrupted(data), monkeypatch)
    told: list[int] = []
    assert rebuild(data, resumed=told.append).lines == 100
    assert told == []
    assert tables(data) == before
    assert sorted(path.name for path in data.iterdir()) == ["ledger", "lock", "work.duckdb"]


@pytest.mark.usefixtures("small_commits")
def test_lines_that_came_since_are_brought_in_as_well(tmp_path: Path) -> None:
    """Between the two runs an ingest may have worked on the old database; its lines are the ledger's as well."""
    data = prepare(tmp_path)
    interrupted(data)
    (tmp_path / "f.jsonl").write_bytes(line("late") + b"\n")
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(tmp_path / "f.jsonl")])
    before = tables(data)
    told: list[int] = []
    assert rebuild(data, resumed=told.append).lines == 101
    assert len(told) == 1
    assert tables(data) == before
