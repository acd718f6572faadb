"""The whole way, on real files and made ones: what goes in is in the tables, again and from the ledger alone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.errors import LedgerError, LockedError, SourceError, StoreError
from ingest.pipeline import Pipeline, Progress, rebuild, verify
from tests.ingest.builders import Ingest, line, lines, query, record, tables

SQL_VERDICTS = "SELECT sum(lines), sum(accepted), sum(duplicate), sum(quarantined), sum(blank) FROM batches"


def test_the_real_files(shared_data: Path, ingest: Ingest, data: Path) -> None:
    folder = shared_data / "xenia-support"
    found = ingest(folder / "events.jsonl", folder / "TICKET-SMOKE-001-2026-06-03.md")
    assert (found.lines, found.accepted, found.quarantined, found.warnings) == (6, 6, 0, 2)
    assert query(data, "SELECT kind, count(*) FROM events GROUP BY kind ORDER BY kind") == [
        ("decision.record", 1),
        ("xenia.escalated", 2),
        ("xenia.output_written", 2),
        ("xenia.ticket_resolved", 1),
    ]
    (cost,) = query(data, "SELECT event_id, cost_usd, tokens, model_tier FROM events WHERE cost_usd IS NOT NULL")
    assert cost == ("x-639161791505650296-12c6", 0.033, {"in": 1000, "out": 2000}, "sonnet")
    again = ingest(folder)
    assert (again.lines, len(again.unchanged)) == (0, 2)
    assert verify(data).consistent


def test_foreign_dialects_are_refused_by_name(shared_data: Path, ingest: Ingest, data: Path) -> None:
    found = ingest(shared_data / "otlp", shared_data / "claude-code")
    assert found.accepted == 0
    assert found.reasons == {"dialect": 122, "not_an_object": 3, "schema": 1}


def test_dialects_can_be_demanded(ingest: Ingest, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a"))
    with pytest.raises(SourceError, match="the dialect klingon is not read: choose auto or one of native, xenia, dec"):
        ingest(tmp_path / "e.jsonl", dialect="klingon")
    assert ingest(tmp_path / "e.jsonl", dialect="xenia").reasons == {"dialect": 1}


def test_progress_is_told(data: Path, tmp_path: Path, small_chunks: None) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines(*"abcdefgh"))
    told: list[Progress] = []
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(tmp_path / "e.jsonl")], report=told.append)
    size = (tmp_path / "e.jsonl").stat().st_size
    assert [(progress.source, progress.done, progress.total) for progress in told] == [
        (str(tmp_path / "e.jsonl"), size, size)
    ] * 2
    rebuilt: list[Progress] = []
    rebuild(data, rebuilt.append)
    assert [progress.lines for progress in rebuilt] == [4, 8]
    assert rebuilt[-1].done == rebuilt[-1].total


PIECES = st.sampled_from(
    [b"", b"{", b"[]", b"\xff", line("a"), line("b"), line("a", tool="fax"), line("c", reason="a@b.co"), line("d", x=1)]
)


@given(contents=st.lists(st.lists(PIECES, max_size=6), max_size=3))
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_is_a_function_of_the_ledger(contents: list[list[bytes]], tmp_path: Path) -> None:
    data = tmp_path / "data"
    shutil.rmtree(data, ignore_errors=True)
    with Pipeline(data) as pipeline:
        for number, content in enumerate(contents):
            path = tmp_path / f"{number}.jsonl"
            path.write_bytes(b"\n".join(content))
            assert pipeline.ingest_paths([str(path)]).balanced
        pipeline.connection.execute("SELECT 1").fetchall()
    before = tables(data)
    assert verify(data).problems == []
    rebuild(data)
    assert tables(data) == before
    (data / "work.duckdb").unlink()
    with Pipeline(data) as pipeline:
        pipeline.connection.execute("SELECT 1").fetchall()
    assert tables(data) == before


@pytest.mark.parametrize("cuts", [[10], [3, 7], [1, 2, 3, 4, 5]])
def test_how_lines_fall_into_chunks_changes_no_event(cuts: list[int], tmp_path: Path) -> None:
    contents = [line(event_id) for event_id in "abcabdaefg"] + [line("a", tool="fax"), b"", b"{"]
    found = []
    for name, limits in (("one", [len(contents)]), ("many", [*cuts, len(contents)])):
        data = tmp_path / name
        path = tmp_path / f"{name}.jsonl"
        for limit in limits:
            path.write_bytes(b"".join(content + b"\n" for content in contents[:limit]))
            with Pipeline(data) as pipeline:
                pipeline.ingest_paths([str(path)])
        found.append(
            [
                query(data, "SELECT * EXCLUDE (floor_ts) FROM events ORDER BY seq"),  # which speaks of arrival
                query(data, "SELECT seq, reason FROM quarantine ORDER BY seq"),
            ]
        )
    assert found[0] == found[1]


def test_a_torn_end_is_healed_and_read_again(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a"))
    ingest(path)
    segment = data / "ledger" / "00000001.ndjson"
    whole = segment.stat().st_size
    shutil.copy(data / "work.duckdb", tmp_path / "before.duckdb")
    path.write_bytes(lines("a", "b"))
    ingest(path)
    for size in (whole + 1, segment.stat().st_size - 1):
        content = segment.read_bytes()
        segment.write_bytes(content[:size])
        shutil.copy(tmp_path / "before.duckdb", data / "work.duckdb")
        found = ingest(path)
        assert (found.accepted, found.recovered) == (1, 0)
        assert query(data, "SELECT event_id FROM events ORDER BY seq") == [("a",), ("b",)]
        assert verify(data).consistent


def test_a_chunk_that_only_the_ledger_has_is_applied(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a"))
    ingest(path)
    shutil.copy(data / "work.duckdb", tmp_path / "before.duckdb")
    path.write_bytes(lines("a", "b", "c"))
    ingest(path)
    expected = tables(data)
    shutil.copy(tmp_path / "before.duckdb", data / "work.duckdb")
    report = verify(data)
    assert (report.consistent, report.pending) == (True, 1)
    found = ingest(path)
    assert (found.lines, found.recovered) == (0, 2)
    assert tables(data) == expected


def test_a_store_ahead_of_the_ledger_is_refused_until_it_is_made_again(
    ingest: Ingest, data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a"))
    ingest(path)
    segment = data / "ledger" / "00000001.ndjson"
    first = segment.stat().st_size
    path.write_bytes(lines("a", "b"))
    ingest(path)
    with segment.open("r+b") as file:
        file.truncate(first)
    again = r"is ahead of the ledger: .*`gatewatch rebuild --force` makes the database again"
    with pytest.raises(StoreError, match=again):
        ingest(path)
    assert verify(data).problems[0].startswith("the ledger ends at byte")
    with pytest.raises(LedgerError, match="the ledger ends before the database, which knows 2 lines"):
        rebuild(data)
    rebuild(data, force=True)
    assert ingest(path).accepted == 1  # the source still has what the ledger lost
    assert query(data, "SELECT event_id FROM events ORDER BY seq") == [("a",), ("b",)]


def test_rebuild_needs_a_ledger(tmp_path: Path) -> None:
    for work in (rebuild, verify):
        with pytest.raises(LedgerError, match="holds no ledger to"):
            work(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_rebuild_heals_a_broken_database_and_a_torn_ledger(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a", "b"))
    ingest(tmp_path / "e.jsonl")
    expected = tables(data)
    (data / "work.duckdb").write_bytes(b"broken")
    (data / "work.duckdb.wal").write_bytes(b"broken too")
    (data / "work.duckdb.rebuild").write_bytes(b"left over")
    with (data / "ledger" / "00000001.ndjson").open("ab") as file:
        file.write(b'{"v":1,"seq":3,"lines":')
    assert rebuild(data).accepted == 2
    assert tables(data) == expected
    assert sorted(path.name for path in data.iterdir()) == ["ledger", "lock", "work.duckdb"]


def test_verify_names_what_was_changed(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a", "b", "c") + b"{\n")
    ingest(tmp_path / "e.jsonl")
    report = verify(data)
    assert (report.chunks, report.lines, report.events, report.pending, report.consistent) == (1, 4, 3, 0, True)
    assert report.statement.startswith("internally consistent only")
    changes = {
        "UPDATE events SET tool = 'fax' WHERE event_id = 'b'": [
            "events: 1 rows are missing from the database or changed in it, among them b",
            "events: 1 rows are not what the ledger says, among them b",
        ],
        "DELETE FROM events WHERE event_id = 'a'": [
            "events: 1 rows are missing from the database or changed in it, among them a"
        ],
        "INSERT INTO events SELECT * FROM events WHERE event_id = 'c'": [
            "events: 1 rows are not what the ledger says, among them c"
        ],
        "UPDATE quarantine SET reason = 'schema'": [
            "quarantine: 1 rows are missing from the database or changed in it, among them q4",
            "quarantine: 1 rows are not what the ledger says, among them q4",
        ],
        "UPDATE sources SET max_ts = NULL": ["sources: 1 rows are missing", "sources: 1 rows are not"],
    }
    kept = (data / "work.duckdb").read_bytes()
    for change, problems in changes.items():
        (data / "work.duckdb").write_bytes(kept)
        with duckdb.connect(str(data / "work.duckdb")) as connection:
            connection.execute(change)
        found = verify(data).problems
        assert len(found) == len(problems)
        assert all(said.startswith(start) for said, start in zip(found, problems, strict=True))
    (data / "work.duckdb").write_bytes(kept)
    segment = data / "ledger" / "00000001.ndjson"
    content = bytearray(segment.read_bytes())
    content[-20] ^= 1
    segment.write_bytes(content)
    assert verify(data).problems[0].startswith(f"the ledger is damaged in {segment} at byte 0: ")
    assert sorted(path.name for path in data.iterdir()) == ["ledger", "lock", "work.duckdb"]


def test_a_ledger_and_a_database_of_two_histories(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a"))
    ingest(tmp_path / "e.jsonl")
    segment = data / "ledger" / "00000001.ndjson"
    swapped = segment.read_bytes().replace(b'"event_id":"a"', b'"event_id":"b"')
    header, _, payload = swapped.partition(b"\n")
    changed = json.loads(header) | {"sha256": hashlib.sha256(payload[:-1]).hexdigest()}
    segment.write_bytes(json.dumps(changed, separators=(",", ":")).encode() + b"\n" + payload)
    with pytest.raises(StoreError, match="was not made from this ledger"):
        ingest(tmp_path / "e.jsonl")
    problems = verify(data).problems
    assert any(problem.startswith("batches: ") for problem in problems)


def test_a_second_process_is_refused_by_name(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a"))
    code = (
        "import sys; from pathlib import Path; from ingest.pipeline import Pipeline\n"
        "with Pipeline(Path(sys.argv[1])) as pipeline:\n"
        "    pipeline.connection; print('open', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", code, str(data)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        message = rf"{data} is in use by process {other.pid} \(-c {data}, since 20.*\): wait for it, stop it, or choose"
        for work in (lambda: ingest(tmp_path / "e.jsonl"), lambda: rebuild(data), lambda: verify(data)):
            if (data / "ledger").exists():
                with pytest.raises(LockedError, match=message) as raised:
                    work()
                assert "\n" not in str(raised.value)
        other.communicate()
    assert ingest(tmp_path / "e.jsonl").accepted == 1


def test_the_lock_goes_with_its_holder(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(lines("a"))
    code = (
        "import os, sys; from pathlib import Path; from ingest.pipeline import Pipeline\n"
        "Pipeline(Path(sys.argv[1])).connection; os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(data)], check=False)
    assert killed.returncode == -9
    assert json.loads((data / "lock").read_text())["pid"] != os.getpid()
    assert ingest(tmp_path / "e.jsonl").accepted == 1


def test_records_and_lines_share_one_ledger(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "e.jsonl").write_bytes(lines("a", "b"))
    (tmp_path / "in" / "r.md").write_text(record())
    assert ingest(tmp_path / "in").accepted == 3
    assert query(data, "SELECT batch_id, first_seq, lines, dialect FROM batches ORDER BY batch_id") == [
        (1, 1, 2, "auto"),
        (2, 3, 1, "decision_record"),
    ]
    assert query(data, SQL_VERDICTS) == [(3, 3, 0, 0, 0)]
