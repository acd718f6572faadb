"""`verify` tells and records: whoever looks at the dashboard must learn of it, and nothing may be mended on the way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gatewatch.witness import verify_and_record
from ingest.lock import DataLock, hold
from ingest.pipeline import Pipeline, VerifyReport
from sample_data import policy_path
from schemas.policy_file import parse_policy
from tests.gatewatch.terminal import ROOT, gatewatch
from tests.ingest.builders import ledger_bytes, lines
from transforms.refresh import refresh

THEN = datetime(2026, 7, 1, 12)  # noqa: DTZ001 - naive UTC, as the store has it
LEFT_OUT = "not compared: the end of the snapshot's finding_history: a run was interrupted before it was published anew"
JUDGED_AND_KILLED = """
import os, sys
from datetime import datetime
from pathlib import Path
from ingest.pipeline import Pipeline
from schemas.policy_file import parse_policy
from transforms.refresh import refresh

pipeline = Pipeline(Path(sys.argv[1]))
pipeline.ingest_paths([sys.argv[2]])
refresh(pipeline.connection, parse_policy(Path(sys.argv[3]).read_text()), now=datetime(2026, 7, 1))
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three chunks with five lines, judged and published. Read only."""
    folder = tmp_path_factory.mktemp("verification")
    for name, ids in (("1", "ab"), ("2", "cd"), ("3", "e")):
        (folder / f"{name}.jsonl").write_bytes(lines(*ids))
    found = gatewatch("--data", folder / "data", "ingest", *sorted(folder.glob("*.jsonl")), "--policy", "support-squad")
    assert found.code == 0, found.err
    return folder / "data"


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be tampered with."""
    return shutil.copytree(made, tmp_path / "data", symlinks=True)


def published(data: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows that a reader of the snapshot gets."""
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve(strict=True)), read_only=True) as con:
        return con.execute(query).fetchall()


def test_each_outcome_is_a_row_that_readers_see(data: Path) -> None:
    """With its time; the next one stands beside it and finds no fault in the first."""
    assert published(data, "SELECT * FROM verifications") == []
    assert verify_and_record(data, now=lambda: THEN)[1] is None
    result = gatewatch("--data", data, "verify", "--json")
    assert (result.code, result.err) == (0, "")
    assert (result.json["problems"], result.json["left_out"]) == ([], [])
    assert published(data, "SELECT ok, problems FROM verifications") == [(True, []), (True, [])]
    assert published(data, "SELECT min(verified_at) FROM verifications") == [(THEN,)]


def _flip(segment: Path) -> None:
    content = segment.read_bytes()
    segment.write_bytes(content.replace(b'"event_id":"c"', b'"event_id":"x"', 1))


def _cut(segment: Path) -> None:
    segment.write_bytes(segment.read_bytes()[:-20])


def _drop_first(segment: Path) -> None:
    content = segment.read_bytes()
    segment.write_bytes(content[content.index(b'\n{"v":') + 1 :])


def _empty(segment: Path) -> None:
    segment.write_bytes(b"")


def _remove(segment: Path) -> None:
    segment.unlink()


def _forge_the_next(segment: Path) -> None:
    shutil.copy(segment, segment.with_name("00000003.ndjson"))


@pytest.mark.parametrize("tamper", [_flip, _cut, _drop_first, _empty, _remove, _forge_the_next])
def test_a_tampered_ledger_is_told_recorded_and_left_as_it_is(tamper: Callable[[Path], None], data: Path) -> None:
    """Also where nothing else would start on such a ledger: that is when readers must learn of it."""
    tamper(data / "ledger" / "00000001.ndjson")
    before = ledger_bytes(data)
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "problem: " in result.out
    assert "the ledger was not touched" in result.err
    assert "not recorded" not in result.err
    assert ledger_bytes(data) == before
    ((problems,),) = published(data, "SELECT problems FROM verifications WHERE NOT ok")
    told = [line for line in result.out.splitlines() if line.startswith("problem: ")]
    assert [f"problem: {problem}" for problem in problems] == told
    findings = published(data, "SELECT subject FROM findings WHERE rule = 'ledger_tampered' AND status = 'open'")
    assert sorted(subject for (subject,) in findings) == sorted(problem[:200] for problem in problems)


def test_a_torn_end_is_neither_a_problem_nor_cut_off(data: Path) -> None:
    """Healing is for the next run that writes; who only looks changes nothing."""
    with (data / "ledger" / "00000001.ndjson").open("ab") as file:
        file.write(b'{"v":1,"seq":6,"lines":')
    before = ledger_bytes(data)
    assert gatewatch("--data", data, "verify").code == 0
    assert ledger_bytes(data) == before
    assert published(data, "SELECT ok FROM verifications") == [(True,)]


def test_a_rebuild_starts_without_verifications(data: Path) -> None:
    assert gatewatch("--data", data, "verify").code == 0
    assert gatewatch("--data", data, "rebuild").code == 0
    assert published(data, "SELECT * FROM verifications") == []


@pytest.mark.parametrize("damage", ["no database", "another layout", "a lost page"])
def test_an_unusable_database_does_not_keep_the_result_back(damage: str, data: Path) -> None:
    """The ledger is hashed, the problem named, and that nothing could be recorded said on stderr."""
    database = data / "work.duckdb"
    if damage == "no database":
        database.write_bytes(b"not a database")
    elif damage == "another layout":
        with duckdb.connect(str(database)) as con:
            con.execute(
                "ALTER TABLE events ADD COLUMN surprise INTEGER; UPDATE meta SET value = 'x' WHERE key = 'layout'"
            )
    else:
        content = bytearray(database.read_bytes())
        content[12_288:] = bytes(len(content) - 12_288)
        database.write_bytes(content)
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "3 chunks with 5 lines hashed; 0 events compared" in result.out
    assert f"problem: {database} " in result.out
    assert "`gatewatch rebuild`" in result.out
    assert "the outcome was not recorded: " in result.err
    assert "Traceback" not in result.err
    assert gatewatch("--data", data, "rebuild").code == 0
    assert gatewatch("--data", data, "verify").code == 0


def test_a_directory_that_somebody_takes_meanwhile(data: Path) -> None:
    """The report is there all the same, with why it was not recorded."""
    held: list[DataLock] = []
    reports: list[VerifyReport] = []

    def told(report: VerifyReport) -> None:
        reports.append(report)
        held.append(hold(data))

    report, unrecorded = verify_and_record(data, told=told)
    held[0].release()
    assert reports == [report]
    assert report.consistent
    assert unrecorded is not None
    assert "is in use by process" in unrecorded
    assert published(data, "SELECT * FROM verifications") == []


def test_a_policy_that_cannot_be_read_does_not_hide_a_tampered_ledger(data: Path) -> None:
    _flip(data / "ledger" / "00000001.ndjson")
    (data / "policy.toml").write_text("nonsense")
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "problem: the ledger is damaged in " in result.out
    assert "the outcome was not recorded: policy " in result.err


def test_lines_that_an_interrupted_run_left_unjudged_are_no_tampering(data: Path, tmp_path: Path) -> None:
    """A power cut between ledger and judgement must not accuse anybody; the recording judges them, and publishes."""
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(tmp_path / "more.jsonl")])
    first = gatewatch("--data", data, "verify")
    assert first.code == 0
    assert (
        "not compared: the end of the snapshot's finding_history: a run was interrupted before it was published anew"
        in first.out
    )
    second = gatewatch("--data", data, "verify", "--json")
    assert (second.code, second.json["left_out"], second.json["events"]) == (0, [], 6)


def test_a_snapshot_that_an_interrupted_run_left_behind_is_no_tampering(data: Path, tmp_path: Path) -> None:
    """Killed after judging: what is still in the write-ahead log counts, and the old snapshot accuses nobody."""
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    command = [
        sys.executable,
        "-c",
        JUDGED_AND_KILLED,
        str(data),
        str(tmp_path / "more.jsonl"),
        str(policy_path("support-squad")),
    ]
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == -9
    assert (data / "work.duckdb.wal").exists()
    first = gatewatch("--data", data, "verify")
    assert first.code == 0, first.out
    assert (
        "not compared: the end of the snapshot's finding_history: a run was interrupted before it was published anew"
        in first.out
    )
    assert published(data, "SELECT count(*) FROM events") == [(6,)]
    assert gatewatch("--data", data, "verify", "--json").json["left_out"] == []


def test_the_work_database_is_compared_even_when_the_snapshot_is_old(data: Path, tmp_path: Path) -> None:
    """An old snapshot is no excuse for a changed table."""
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"))
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(tmp_path / "more.jsonl")])
        refresh(pipeline.connection, policy, now=THEN)
        pipeline.connection.execute("UPDATE policy_severity SET severity = 'info'")
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "problem: the work database: policy_severity: " in result.out


def tampered(path: Path, *statements: str) -> None:
    """Do something to a database that only the service should write."""
    with duckdb.connect(str(path.resolve())) as con:
        for statement in statements:
            con.execute(statement)


HIDE_FINDINGS = "CREATE MACRO list_position(a, b) AS NULL"
"""With it, no finding gets a severity that `check` asks for."""


def test_a_macro_in_the_work_database_hides_nothing(data: Path) -> None:
    """Not even its own finding; it never gets into a snapshot, and `rebuild` makes good what it falsified."""
    tampered(data / "work.duckdb", HIDE_FINDINGS, "CREATE MACRO lower(x) AS 'hidden'", "CREATE SCHEMA s")
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "problem: the work database: there is a macro 'list_position', which is none of ours" in result.out
    assert "problem: the work database: there is a schema 's', which is none of ours" in result.out
    assert published(data, "SELECT count(*) FROM duckdb_functions() WHERE NOT internal") == [(0,)]
    found = published(data, "SELECT count(*) FROM findings WHERE rule = 'ledger_tampered' AND status = 'open'")
    assert found == [(3,)]
    assert gatewatch("--data", data, "check").code == 1
    assert gatewatch("--data", data, "rebuild").code == 0
    assert gatewatch("--data", data, "verify").code == 0


def test_nothing_is_published_of_what_a_macro_may_have_falsified(data: Path, tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    tampered(data / "work.duckdb", HIDE_FINDINGS)
    before = (data / "gatewatch.duckdb").resolve()
    result = gatewatch("--data", data, "ingest", tmp_path / "more.jsonl")
    assert result.code != 0
    assert "holds a macro 'list_position', which is none of ours" in result.err
    assert (data / "gatewatch.duckdb").resolve() == before
    assert [path.name for path in (data / "published").glob(".draft*")] == []


@pytest.mark.parametrize("table", ["finding_history", "verifications", "batches"])
def test_a_snapshot_is_compared_however_old_it_looks(table: str, data: Path, tmp_path: Path) -> None:
    """Who takes the newest row of a table that grows does not get the findings past us."""
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    assert gatewatch("--data", data, "verify").code == 0
    tampered(
        data / "gatewatch.duckdb",
        f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})",
        "INSERT INTO findings (finding_id) VALUES ('forged')",
    )
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    assert "problem: the snapshot: findings: 0 rows are missing or changed, 1 are not what" in result.out


def test_an_older_snapshot_is_judged_as_what_it_was(data: Path, tmp_path: Path) -> None:
    """In the place of the newest it is what an interrupted run leaves; with one row changed it is a forgery."""
    (tmp_path / "more.jsonl").write_bytes(lines("f"))
    old = (data / "gatewatch.duckdb").resolve()
    kept = shutil.copy(old, tmp_path / "old.duckdb")
    for changed in (False, True):
        assert gatewatch("--data", data, "ingest", tmp_path / "more.jsonl").code == 0
        newest = (data / "gatewatch.duckdb").resolve()
        shutil.copyfile(kept, newest)
        if changed:
            tampered(newest, "INSERT INTO findings (finding_id) VALUES ('forged')")
        result = gatewatch("--data", data, "verify")
        assert result.code == (3 if changed else 0), result.out
        assert ("problem: the snapshot: findings: " in result.out) is changed
        assert "not compared: the end of the snapshot's finding_history: " in result.out
