"""`quarantine retry`: from a refused line to its event, and what each command says of it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ingest.lock import holding
from tests.gatewatch.terminal import gatewatch
from tests.ingest.builders import event, line


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """q1 and q2 are events refused since xenia was asked for, q3 is half a line, q4 was too long to keep."""
    content = [line("e1"), line("e2", note="write to a@b.co"), b'{"event_id":', b"x" * (1 << 20) + b"yz"]
    (tmp_path / "e.jsonl").write_bytes(b"\n".join(content) + b"\n")
    found = gatewatch(
        "--data", tmp_path / "data", "ingest", tmp_path / "e.jsonl", "--dialect", "xenia", "--policy", "support-squad"
    )
    assert found.code == 0, found.err
    return tmp_path / "data"


def listed(data: Path, *options: str) -> list[str]:
    """The names that `quarantine list` prints."""
    rows = gatewatch("--data", data, "quarantine", "list", "--json", *options).json["quarantine"]
    return [row["quarantine_id"] for row in rows]


def test_a_refused_line_becomes_an_event(data: Path) -> None:
    """What can be read is judged and published at once; the rest stays open under a new name, and nothing is hidden."""
    result = gatewatch("--data", data, "quarantine", "retry", "--dialect", "native")
    assert result.code == 0, result.err
    assert result.out == (
        "3 lines tried again = 2 accepted + 0 duplicate + 1 quarantined again\n  quarantined: 1 not_json\n"
    )
    assert "1 line left out: too long to be kept, so that only the producer can send it again" in result.err
    rows = gatewatch("--data", data, "sql", "SELECT event_id, seq FROM events ORDER BY seq", "--json").json["rows"]
    assert rows == [{"event_id": "e1", "seq": 5}, {"event_id": "e2", "seq": 6}]
    assert listed(data) == ["q4", "q7"]
    assert listed(data, "--all") == ["q1", "q2", "q3", "q4", "q7"]
    assert gatewatch("--data", data, "verify").code == 0


def test_the_history_of_a_line_is_shown(data: Path) -> None:
    """From the line to what became of it, and back from what was refused again."""
    again = gatewatch("--data", data, "quarantine", "retry", "q1", "q3", "--dialect", "native", "--json")
    assert again.json["too_long"] == 0
    assert [again.json["accounting"][name] for name in ("lines", "accepted", "quarantined")] == [2, 1, 1]
    assert gatewatch("--data", data, "quarantine", "retry", "q1").out.startswith("1 line tried again = 0 accepted + 0 ")
    shown = gatewatch("--data", data, "quarantine", "show", "q1").out.splitlines()[-2:]
    assert [text.split(" as ", 1)[1] for text in shown] == [
        "native, accepted as event e1",
        "xenia, quarantined again as q7",
    ]
    document = gatewatch("--data", data, "quarantine", "show", "q6", "--json").json["quarantine"]
    assert (document["retry_of"], document["retries"]) == ("q3", [])
    assert (document["source"], document["position"], document["reason"]) == ("retry", "q3", "not_json")


def test_a_line_that_is_rejected_again_keeps_where_it_came_from(data: Path) -> None:
    """Twice over: whoever has to mend it looks for a file and a place in it, and not for `retry`, `q3`."""
    for _ in range(2):
        gatewatch("--data", data, "quarantine", "retry", "--reason", "not_json")
    rows = gatewatch("--data", data, "quarantine", "list", "--all", "--json").json["quarantine"]
    found = {row["quarantine_id"]: row for row in rows}
    first = found["q3"]
    assert first["source"].endswith("e.jsonl")
    for name in ("q5", "q6"):
        assert (found[name]["source"], found[name]["position"]) == (first["source"], first["position"])
    assert [found[name]["retry_of"] for name in ("q3", "q5", "q6")] == [None, "q3", "q5"]
    assert [found[name]["tried_again"] for name in ("q1", "q3", "q5", "q6")] == [
        None,
        "quarantined",
        "quarantined",
        None,
    ]
    again = gatewatch("--data", data, "quarantine", "retry", "--source", first["source"], "--reason", "not_json")
    assert again.out.startswith("1 line tried again")


def test_a_source_that_nothing_was_rejected_from(data: Path) -> None:
    """`0 lines tried again` would read as if all were well."""
    source = gatewatch("--data", data, "quarantine", "list", "--json").json["quarantine"][0]["source"]
    result = gatewatch("--data", data, "quarantine", "retry", "--source", f"{source}x")
    assert result.code == 2
    assert result.complaint == f'no line from a source {source}x was rejected; did you mean "{source}"?'
    assert listed(data) == ["q1", "q2", "q3", "q4"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["q1", "q99"], "no quarantined line q99 that fits; `gatewatch quarantine list --all` lists them"),
        (["q1", "--reason", "schema"], "no quarantined line q1 that fits"),
        (["q1", "q4"], "q4 was too long to be kept: shorten it at its producer, and send it again"),
    ],
)
def test_a_line_that_cannot_be_tried(arguments: list[str], said: str, data: Path) -> None:
    """One line says which and why, and none of the others was touched."""
    result = gatewatch("--data", data, "quarantine", "retry", *arguments)
    assert result.code == 2
    assert result.complaint.startswith(said)
    assert listed(data) == ["q1", "q2", "q3", "q4"]


def test_whoever_holds_the_directory_is_named(data: Path) -> None:
    """A service that runs on it has to stop first."""
    with holding(data):
        result = gatewatch("--data", data, "quarantine", "retry")
    assert result.code == 3
    assert f"{data} is in use by process {os.getpid()} (" in result.complaint


def test_no_ledger_yet(tmp_path: Path) -> None:
    """It says so, and makes none."""
    result = gatewatch("--data", tmp_path / "nothing", "quarantine", "retry")
    assert result.code == 2
    assert result.complaint.startswith(f"{tmp_path / 'nothing'} holds no ledger")
    assert not (tmp_path / "nothing").exists()


def test_a_reused_id_counts_once_however_often_its_line_is_tried(tmp_path: Path) -> None:
    """Trying the second content again gives the same answer, and the finding goes on speaking of one line."""
    lines = [json.dumps(event("e1")), json.dumps(event("e1", tool="fax"))]
    (tmp_path / "e.jsonl").write_text("\n".join(lines) + "\n")
    data = tmp_path / "data"
    assert gatewatch("--data", data, "ingest", tmp_path / "e.jsonl", "--policy", "support-squad").code == 0
    message = "SELECT message FROM findings WHERE rule = 'event_conflict'"
    before = gatewatch("--data", data, "sql", message, "--json").json["rows"]
    assert len(before) == 1
    for _ in range(2):
        assert "1 event_conflict" in gatewatch("--data", data, "quarantine", "retry").out
    assert gatewatch("--data", data, "sql", message, "--json").json["rows"] == before
    assert listed(data) == ["q4"]
