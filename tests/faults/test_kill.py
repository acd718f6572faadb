"""SIGKILL at every point of a run costs nothing: the next run ends with the tables of an undisturbed one."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

from ingest.pipeline import verify
from tests.faults.conftest import Run
from tests.ingest.builders import CLOCK, query, tables

ALL = os.environ.get("GATEWATCH_FAULTS") == "all"
"""Kill at every single point; else at one of each kind, which takes a minute instead of several."""

Tables = dict[str, list[tuple[Any, ...]]]
LAW = "SELECT sum(lines), sum(accepted), sum(duplicate), sum(quarantined), sum(blank), sum(redacted) FROM batches"


def outcome(data: Path) -> Tables:
    """What must not depend on kills: every row, but of batches the sums, since chunks may begin elsewhere."""
    found = tables(data, CLOCK)
    found["batches"] = query(data, LAW)
    found["positions"] = [row for row in found["positions"] if not row[0].startswith("stdin:")]
    return found


def assert_like_undisturbed(trials: list[dict[str, Any]], undisturbed: Path) -> None:
    """No line lost, none doubled, ledger and database consistent."""
    expected = outcome(undisturbed)
    ((lines, accepted, duplicate, quarantined, blank, redacted),) = expected["batches"]
    # 24 lines of a.jsonl, 6 of b.jsonl.gz, 3 records, 13 of standard input.
    assert (lines, accepted, duplicate, quarantined, blank, redacted) == (46, 40, 1, 4, 1, 1)
    for trial in trials:
        data = Path(trial["data"])
        assert outcome(data) == expected, trial
        assert verify(data).problems == [], trial


def chosen(points: list[str]) -> list[int]:
    """The numbers (from 1) of the points to be killed at: all of them, or one of each name, not always the first."""
    if ALL:
        return list(range(1, len(points) + 1))
    passings: dict[str, list[int]] = {}
    for number, name in enumerate(points, start=1):
        passings.setdefault(name, []).append(number)
    return sorted(numbers[position % len(numbers)] for position, numbers in enumerate(passings.values()))


def test_killed_at_every_kind_of_point(run: Run) -> None:
    counted = run("count", "ingest")
    points = Counter(counted["points"])
    commits = points["store.commit"]
    assert points["ledger.fsync"] == points["ledger.written"] == commits >= 4
    assert points["ledger.write"] > commits  # several chunks in a commit
    assert points["ledger.segment"] >= 2
    assert points["seal.written"] == points["seal.named"] == points["seal.done"] >= 1
    numbers = chosen(counted["points"])
    trials = run("kill", "ingest", *numbers)
    assert [trial["signals"] for trial in trials] == [[9]] * len(numbers)
    assert_like_undisturbed(trials, Path(counted["data"]))


def test_killed_in_the_middle_of_a_write(run: Run) -> None:
    counted = run("count", "ingest")
    writes = counted["points"].count("ledger.write")
    numbers = range(1, writes + 1) if ALL else (1, writes // 2, writes)
    trials = run("tear", "ingest", *numbers)
    assert [trial["signals"] for trial in trials] == [[9]] * len(numbers)
    assert_like_undisturbed(trials, Path(counted["data"]))


def test_killed_five_times_in_a_row(run: Run) -> None:
    counted = run("count", "ingest")
    trials = run("storm", "ingest", *range(30 if ALL else 2))
    assert sum(trial["signals"].count(9) for trial in trials) >= 3 * len(trials)
    assert_like_undisturbed(trials, Path(counted["data"]))


def test_rebuild_killed_at_every_kind_of_point(run: Run, folder: Path) -> None:
    whole = Path(run("count", "ingest")["data"])
    shutil.copytree(whole, folder / "data")
    (folder / "points").unlink()
    shutil.rmtree(whole)
    counted = run("count", "rebuild")
    points = counted["points"]
    assert {"store.create", "rebuild.filled", "store.replace", "store.replaced"} <= set(points)
    trials = run("kill", "rebuild", *chosen(points))
    assert_like_undisturbed(trials, Path(counted["data"]))
    for trial in trials:
        assert tables(Path(trial["data"])) == tables(folder / "data")
