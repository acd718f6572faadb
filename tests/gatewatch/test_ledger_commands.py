"""`verify` finds what was changed, `rebuild` gives the same tables, and conflicting identities are kept apart."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.gatewatch.terminal import gatewatch, process

TABLES = (
    "events", "gate_checks", "reconciliation", "findings", "kpis", "runs", "outcome_rates", "retry_degrade",
    "quarantine",
)  # fmt: skip


def rows(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the tables that rest on events, in one order, as a reader of the snapshot gets them."""
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve(strict=True)), read_only=True) as con:
        return {name: sorted(con.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in TABLES}


@pytest.mark.parametrize("lost", ["nothing", "the database"])
def test_rebuild_gives_row_identical_tables(lost: str, sample: Path, tmp_path: Path) -> None:
    """From the ledger alone, whether or not the work database is still there: all rows, all columns."""
    data = tmp_path / "data"
    shutil.copytree(sample, data, symlinks=True)
    before = rows(data)
    if lost == "the database":
        (data / "work.duckdb").unlink()
    result = gatewatch("--data", data, "rebuild", "--json")
    assert result.code == 0
    assert result.json["accounting"]["accepted"] == len(before["events"]) == 600
    after = rows(data)
    for name in TABLES:
        assert after[name] == before[name], name
        assert before[name], name


def test_an_untouched_directory_is_consistent_and_claims_no_more(copy: Path) -> None:
    """Without a checkpoint from outside it says so."""
    result = gatewatch("--data", copy, "verify", "--json")
    assert result.code == 0
    found = result.json
    assert (found["consistent"], found["lines"], found["events"], found["problems"]) == (True, 6, 6, [])
    assert found["statement"].startswith("internally consistent only")


def test_a_changed_byte_in_the_ledger_is_named(copy: Path) -> None:
    """Exit 3, with the file; and nothing goes on as if it were whole."""
    segment = copy / "ledger" / "00000001.ndjson"
    content = segment.read_bytes()
    segment.write_bytes(content.replace(b'"TICKET-900"', b'"TICKET-901"', 1))
    result = gatewatch("--data", copy, "verify")
    assert result.code == 3
    assert f"the ledger is damaged in {segment}" in result.out
    assert result.err.startswith("gatewatch: ")
    assert "problems" in result.err
    assert gatewatch("--data", copy, "rebuild").code == 3


def test_a_changed_row_in_the_database_is_named(copy: Path) -> None:
    """The event's id is in the problem; `rebuild` mends it."""
    with duckdb.connect(str(copy / "work.duckdb")) as con:
        con.execute("UPDATE events SET agent = 'nobody' WHERE event_id = 'x-639161224895169205-b456'")
    result = gatewatch("--data", copy, "verify", "--json")
    assert result.code == 3
    assert not result.json["consistent"]
    assert any("x-639161224895169205-b456" in problem for problem in result.json["problems"])
    assert gatewatch("--data", copy, "rebuild").code == 0
    assert gatewatch("--data", copy, "verify").code == 0


EVENT = {
    "event_id": "e1",
    "ts": "2026-06-03T10:00:00Z",
    "kind": "tool.degradation",
    "correlation_id": "c1",
    "caller": "hermes",
    "tool": "mail",
    "fallback": "by hand",
}


def test_one_identity_with_two_contents(tmp_path: Path) -> None:
    """The first stays, the second is quarantined as a conflict, the same again is a duplicate; read from a pipe."""
    lines = [EVENT, {**EVENT, "fallback": "not at all"}, dict(reversed(EVENT.items())), {"x": "\x1b[31m"}]
    stdin = "\n".join([*map(json.dumps, lines), "", "{"]).encode()
    result = process("--data", tmp_path / "data", "ingest", "-", stdin=stdin)
    assert result.code == 0
    assert result.out.splitlines()[0] == "6 lines = 1 accepted + 1 duplicate + 3 quarantined + 1 blank"
    assert "judged by the shipped policy support-squad; choose one with --policy FILE" in result.err
    listed = gatewatch("--data", tmp_path / "data", "quarantine", "list", "--json").json
    assert [row["reason"] for row in listed["quarantine"]] == ["event_conflict", "schema", "not_json"]
    only = gatewatch("--data", tmp_path / "data", "quarantine", "list", "--reason", "event_conflict", "--json").json
    assert only["count"] == 1
    identity = only["quarantine"][0]["quarantine_id"]
    shown = gatewatch("--data", tmp_path / "data", "quarantine", "show", identity)
    assert "reason: event_conflict" in shown.out
    assert '"fallback": "not at all"' in shown.out
    document = gatewatch("--data", tmp_path / "data", "quarantine", "show", identity, "--json").json["quarantine"]
    assert json.loads(document["line"])["fallback"] == "not at all"
    kept = gatewatch("--data", tmp_path / "data", "sql", "SELECT fallback FROM events", "--json").json["rows"]
    assert kept == [{"fallback": "by hand"}]
    unknown = gatewatch("--data", tmp_path / "data", "quarantine", "show", "q99")
    assert unknown.code == 2
    assert unknown.complaint == "no quarantined line q99; `gatewatch quarantine list` lists them"
