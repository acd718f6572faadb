"""What reaches a terminal: no control character of anybody's text, no complaint when the reader has gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatewatch.output import clean, table, width
from tests.gatewatch.terminal import ROOT, Result, gatewatch

ESC = "\x1b[31m\x07"
"""Red, and a bell: click takes colours out where there is no terminal, so the bell is what shows a hole here."""
TURN = "\u202e"
"""Right-to-left override: makes `exe.gpj` out of `jpg.exe`."""

EVENTS = [
    {
        "kind": "artifact.shipment",
        "event_id": f"s{TURN}1",
        "artifact_id": f"reply{TURN}fdp",
        "by": "hestia",
        "phase": "tickets",
    },
    {
        "kind": "gate.decision",
        "event_id": "g1",
        "gate": "quality",
        "subject": f"reply{TURN}fdp",
        "decision": "skipped",
        "by": "themis",
        "reason": f"no\n{ESC}time\x07\u009b2J",
    },
    {"kind": "nonsense", "event_id": "n1", "text": f"{ESC}\u0000{TURN}"},
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events whose texts try to steer the reader's terminal, from a file whose name does as well."""
    folder = tmp_path_factory.mktemp("hostile")
    file = folder / f"e{ESC}.jsonl"
    common = {"ts": "2026-06-03T10:00:00Z", "correlation_id": "c1"}
    lines = [json.dumps({**common, **event}, ensure_ascii=number % 2 == 0) for number, event in enumerate(EVENTS)]
    file.write_text("\n".join(lines) + f"\n{ESC}\n", encoding="utf-8")
    for _ in range(2):  # the second time names the unchanged file
        result = gatewatch("--data", folder / "data", "ingest", file, "--policy", "support-squad")
        assert result.code == 0
        assert harmless(result)
    return folder / "data"


def harmless(result: Result) -> bool:
    """Whether every line is made of printable characters."""
    return all(line.isprintable() for line in (result.out + result.err).split("\n"))


@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["findings"],
        ["explain", ""],
        ["quarantine", "list"],
        ["sql", "SELECT event_id, reason, artifact_id, extra FROM events"],
        ["sql", 'SELECT 1 AS "a\x1b[31m\u202e"'],
        ["sql", 'SELECT "\x1b[31m"'],
        ["kpi", "--period", "\x1b[31m\x07\u202e"],
        ["check", "--since", "\x1b[31m\x07\u202e"],
        ["quarantine", "show", "\x1b[31m\x07\u202e"],
        ["ingest", "missing-\x1b[31m\x07\u202e.jsonl"],
        ["policy", "validate", "\x1b[31m\x07\u202e.toml"],
    ],
)
def test_no_text_reaches_the_terminal_raw(command: list[str], hostile: Path) -> None:
    """Escape sequences, bells and direction overrides are shown, not obeyed: from events, names and arguments alike."""
    if command[0] == "explain":
        rows = gatewatch("--data", hostile, "findings", "--json").json["findings"]
        for row in rows:
            assert harmless(gatewatch("--data", hostile, "explain", row["finding_id"]))
        assert rows
        return
    assert harmless(gatewatch("--data", hostile, *command))


def test_a_rejected_line_is_shown_whole_and_harmless(hostile: Path) -> None:
    """The person who mends it sees what is in it."""
    listed = gatewatch("--data", hostile, "quarantine", "list", "--json").json["quarantine"]
    assert [row["reason"] for row in listed] == ["unknown_kind", "not_json"]
    shown = gatewatch("--data", hostile, "quarantine", "show", listed[1]["quarantine_id"])
    assert harmless(shown)
    assert "\\x1b[31m" in shown.out


def test_control_characters_are_made_visible() -> None:
    """And everything that people can read stays as it is."""
    assert clean("a\x1b[31m\nb\u202ec") == "a\\x1b[31m\\x0ab\\u202ec"
    assert clean("Grüße, 票 – ok 😀") == "Grüße, 票 – ok 😀"


def test_columns_line_up_also_with_wide_characters() -> None:
    """East Asian characters take two columns, combining marks none."""
    assert (width("票"), width("e\u0301"), width("abc")) == (2, 1, 3)
    lines = table(("a", "b"), [("票票", 1), ("x", 2)]).splitlines()
    assert [width(line) for line in lines] == [7, 7, 7, 7]
    assert lines[3] == "x     2"


def test_a_reader_that_goes_away_is_no_error(real: tuple[Path, Result]) -> None:
    """`gatewatch sql … | head -1`: no traceback and exit 0."""
    query = "SELECT repeat('x', 1000) FROM range(2000)"
    with subprocess.Popen(
        [sys.executable, "-m", "gatewatch", "--data", str(real[0]), "sql", query, "--limit", "2000"],
        cwd=ROOT,
        env=os.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=60) == 0
        messages = running.stderr.read().decode()
    assert "Traceback" not in messages
    assert "Exception" not in messages
    assert "BrokenPipe" not in messages
