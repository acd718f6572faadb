"""Folders of decision records: each file one ledger line, an unchanged one never twice, an edited one a new event."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.ingest.builders import Ingest, ledger_bytes, query, record


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "records"
    (found / "deep").mkdir(parents=True)
    (found / "a.md").write_text(record("A"))
    (found / "deep" / "b.yaml").write_text("decision_id: B\nterminal_state: RESOLVED\n")
    os.utime(found / "deep" / "b.yaml", ns=(0, 1_750_000_000_123_456_789))
    (found / "README.md").write_text("# About\n")
    return found


def test_each_file_is_one_line(folder: Path, ingest: Ingest, data: Path) -> None:
    found = ingest(folder)
    assert (found.lines, found.accepted, found.skipped) == (2, 2, [str(folder / "README.md")])
    _, *payload = ledger_bytes(data).splitlines()
    assert [json.loads(entry) for entry in payload] == [
        {"path": "a.md", "mtime": json.loads(payload[0])["mtime"], "text": record("A")},
        {
            "path": "deep/b.yaml",
            "mtime": "2025-06-15T15:06:40.123456+00:00",
            "text": "decision_id: B\nterminal_state: RESOLVED\n",
        },
    ]
    rows = query(data, "SELECT decision_id, correlation_id, ts::VARCHAR, dialect FROM events ORDER BY seq")
    assert rows == [
        ("A", "T-1", "2026-06-03 12:00:00", "decision_record"),
        ("B", "B", "2025-06-15 15:06:40.123456", "decision_record"),
    ]
    assert query(data, "SELECT kind, path, complete FROM sources") == [("decision_record", str(folder), True)]


def test_unchanged_files_are_not_read_twice(folder: Path, ingest: Ingest, data: Path) -> None:
    ingest(folder)
    (folder / "a.md").touch()
    again = ingest(folder)
    assert (again.lines, again.unchanged) == (0, [str(folder)])
    assert query(data, "SELECT count(*) FROM batches") == [(1,)]


def test_an_edited_record_is_a_new_event_and_the_old_one_stays(folder: Path, ingest: Ingest, data: Path) -> None:
    ingest(folder)
    (folder / "a.md").write_text(record("A") + "later\n")
    assert ingest(folder).accepted == 1
    (folder / "a.md").write_text(record("A"))  # back to what it was: nothing new
    assert (ingest(folder).duplicate, ingest(folder).lines) == (1, 0)
    assert query(data, "SELECT count(*), count(DISTINCT event_id) FROM events WHERE decision_id = 'A'") == [(2, 2)]


def test_a_single_file_and_its_folder_are_the_same(folder: Path, ingest: Ingest) -> None:
    assert ingest(folder / "a.md").accepted == 1
    assert ingest(folder).lines == 1


def test_what_claims_to_be_a_record_and_is_none_is_quarantined(folder: Path, ingest: Ingest, data: Path) -> None:
    (folder / "c.md").write_text("# DecisionRecord — C\n\nto be written\n")
    (folder / "d.md").write_bytes(b"# DecisionRecord \xff\n```yaml\ndecision_id: D\nterminal_state: RESOLVED\n```\n")
    (folder / "e.md").write_text(record("E") + "x" * ((1 << 20) + 1 - len(record("E"))))
    (folder / "f.md").write_text("x" * (2 << 20))
    (folder / "g.md").write_text(record("G") + "\x01" * 1_000_000)
    found = ingest(folder)
    assert (found.accepted, found.quarantined, len(found.skipped)) == (2, 4, 2)
    rows = query(data, "SELECT position, reason, errors FROM quarantine ORDER BY seq")
    assert rows == [
        ("c.md", "dialect", "has no decision_id: a decision record needs one"),
        ("d.md", "encoding", "byte 18 of the file is not valid UTF-8"),
        ("e.md", "line_too_long", rows[2][2]),
        ("g.md", "line_too_long", rows[3][2]),
    ]
    assert rows[2][2].startswith("has 1,048,577 bytes")


def test_warnings_are_counted(shared_data: Path, ingest: Ingest, data: Path) -> None:
    assert ingest(shared_data / "xenia-support" / "TICKET-SMOKE-001-2026-06-03.md").warnings == 2
    assert query(data, "SELECT len(warnings) FROM events") == [(2,)]


def test_names_that_are_no_utf8(folder: Path, ingest: Ingest, data: Path) -> None:
    (folder / os.fsdecode(b"caf\xe9.md")).write_text(record("L"))
    (folder / os.fsdecode(b"caf\xe9.jsonl")).write_text("{}\n")
    assert ingest(folder).lines == 4
    assert ingest(folder).lines == 0
    assert query(data, "SELECT source, position FROM quarantine") == [(f"{folder}/caf\\xe9.jsonl", "line 1")]
