"""Bad input: one line with cause and fix, the right exit code, nothing half-written that a second run does not heal."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from ingest.lock import holding
from sample_data import sample_path
from tests.gatewatch.terminal import XENIA, gatewatch, process

EVENTS = sample_path()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "data"


def test_a_missing_file(data: Path) -> None:
    """Exit 2, in a process of its own as a user sees it; no data directory is left behind."""
    result = process("--data", data, "ingest", "no-such.jsonl")
    assert (result.code, result.complaint) == (2, "no-such.jsonl does not exist: check the path")
    assert not data.exists()


@pytest.mark.parametrize("argument", ["empty", "*.nothing", "notes.md"])
def test_nothing_to_read(argument: str, data: Path, tmp_path: Path) -> None:
    """A directory without records, a pattern without matches, a text that is no record: exit 2, nothing is made."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.md").write_text("# Shopping\n")
    result = gatewatch("--data", data, "ingest", argument)
    assert result.code == 2
    assert argument in result.complaint
    assert not data.exists()


@pytest.mark.parametrize("command", [["ingest", EVENTS, "--policy"], ["policy", "validate"]])
def test_a_policy_with_a_typo(command: list[str], data: Path, tmp_path: Path) -> None:
    """Names file, table and key, suggests the right one, and is found before anything is written."""
    (tmp_path / "p.toml").write_text('name = "p"\nversion = 1\n[time]\nclok_skew = "2s"\n')
    result = gatewatch("--data", data, *command, "p.toml")
    assert result.code == 2
    assert result.complaint == 'policy p.toml: [time] has no key "clok_skew"; did you mean "clock_skew"?'
    assert not data.exists()


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (
            "support-sqad",
            'policy support-sqad: no such file, and no shipped policy of that name; did you mean "support-squad"?',
        ),
        ("nope.toml", "policy nope.toml: no such file; name an existing .toml or .yaml file"),
        (".", "policy .: is a directory; name the .toml or .yaml file in it"),
        ("latin1.toml", "policy latin1.toml: cannot be read"),
        ("rule.toml", 'policy rule.toml: [severity] knows no rule "gate_mising"; did you mean "gate_missing"?'),
    ],
)
def test_a_policy_that_cannot_be_used(choice: str, said: str, tmp_path: Path) -> None:
    """Each with its own cause and fix."""
    (tmp_path / "latin1.toml").write_bytes('name = "é"\n'.encode("latin-1"))
    (tmp_path / "rule.toml").write_text('name = "p"\nversion = 1\n[severity]\ngate_mising = "low"\n')
    result = gatewatch("policy", "validate", choice)
    assert result.code == 2
    assert result.complaint.startswith(said)


@pytest.mark.parametrize(
    "command",
    [
        ["check"],
        ["findings"],
        ["kpi"],
        ["explain", "abc"],
        ["sql", "SELECT 1"],
        ["quarantine", "list"],
        ["quarantine", "show", "q1"],
    ],
)
def test_no_snapshot_yet(command: list[str], data: Path) -> None:
    """Exit 2, and what to run first."""
    result = gatewatch("--data", data, *command)
    assert result.code == 2
    assert result.complaint == f"{data} holds no snapshot yet; run `gatewatch --data {data} ingest PATH` first"
    assert not data.exists()


@pytest.mark.parametrize("command", [["rebuild"], ["verify"]])
def test_no_ledger_yet(command: list[str], data: Path) -> None:
    """What works on the ledger says that there is none."""
    result = gatewatch("--data", data, *command)
    assert result.code == 2
    assert result.complaint.startswith(f"{data} holds no ledger")
    assert not data.exists()


def test_a_data_directory_that_another_gatewatch_holds(copy: Path) -> None:
    """Exit 3, naming the process; readers are not locked out, and afterwards everything works again."""
    with holding(copy):
        for command in (["ingest", str(EVENTS)], ["rebuild"], ["verify"]):
            result = gatewatch("--data", copy, *command)
            assert result.code == 3
            assert f"{copy} is in use by process {os.getpid()} (" in result.complaint
        assert gatewatch("--data", copy, "check").code == 1
    assert gatewatch("--data", copy, "verify").code == 0


def test_a_folder_that_cannot_be_written() -> None:
    """Exit 3, with the path and what to do; not even root makes folders in the kernel's own file system."""
    if not Path("/sys").is_dir():
        pytest.skip("platform: no folder that even root cannot write to")
    result = gatewatch("--data", "/sys/gatewatch-data", "ingest", EVENTS)
    assert result.code == 3
    assert result.complaint.startswith("/sys/gatewatch-data cannot be written (")
    assert result.complaint.endswith("make it writable or choose another --data directory")


def test_a_file_where_the_data_directory_should_be(tmp_path: Path) -> None:
    """Whatever the command, the line names the file."""
    (tmp_path / "file").write_text("x")
    for command in (["ingest", str(EVENTS)], ["check"]):
        result = gatewatch("--data", "file", *command)
        assert result.code in (2, 3)
        assert "file" in result.complaint
        assert "rebuild" not in result.complaint  # there is nothing to rebuild from


@pytest.mark.parametrize("step", ["ingest.ledger.segments.os.fsync", "shutil.copyfile"])
def test_a_full_disk(step: str, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 3 whether the ledger or the snapshot finds no room; the old snapshot answers, and the next run completes."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = gatewatch("--data", copy, "check").out
    with monkeypatch.context() as patched:
        patched.setattr(step, full)
        result = gatewatch("--data", copy, "ingest", EVENTS)
    assert result.code == 3
    assert "space" in result.complaint
    assert gatewatch("--data", copy, "check").out == before
    assert gatewatch("--data", copy, "ingest", EVENTS).code == 0
    counted = gatewatch("--data", copy, "sql", "SELECT count(*) AS n FROM events", "--json")
    assert counted.json["rows"] == [{"n": 606}]
    assert gatewatch("--data", copy, "verify").code == 0


def test_a_ledger_that_was_cut_in_the_middle(copy: Path) -> None:
    """Refused with the way out; `rebuild` from what is left, then the sources bring the rest back."""
    segment = copy / "ledger" / "00000001.ndjson"
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size // 3)
    for _ in range(2):
        result = gatewatch("--data", copy, "ingest", XENIA)
        assert result.code == 3
        assert str(segment) in result.complaint
        assert "`gatewatch rebuild --force`" in result.complaint
    assert gatewatch("--data", copy, "check").code == 1  # readers still have the last snapshot
    assert gatewatch("--data", copy, "rebuild").code == 3  # not by mistake: the database is all that is left of it
    assert gatewatch("--data", copy, "rebuild", "--force").code == 0
    assert gatewatch("--data", copy, "ingest", XENIA).code == 0
    rows = gatewatch("--data", copy, "sql", "SELECT count(*) AS n FROM events", "--json").json["rows"]
    assert rows == [{"n": 6}]
    assert gatewatch("--data", copy, "check", "--json").json["count"] == 4
    assert gatewatch("--data", copy, "verify").code == 0


def test_a_ledger_whose_last_chunk_is_torn(copy: Path) -> None:
    """What a power cut leaves behind is healed by the next run without a word of alarm."""
    with (copy / "ledger" / "00000001.ndjson").open("ab") as file:
        file.write(b'{"v":1,"seq":7,"lines":')
    assert gatewatch("--data", copy, "ingest", XENIA).code == 0
    assert gatewatch("--data", copy, "verify").code == 0


def test_a_damaged_work_database(copy: Path) -> None:
    """Exit 3 with the command that mends it, and it does."""
    (copy / "work.duckdb").write_bytes(b"not a database")
    result = gatewatch("--data", copy, "ingest", XENIA)
    assert result.code == 3
    assert "`gatewatch rebuild`" in result.complaint
    assert gatewatch("--data", copy, "rebuild").code == 0
    assert gatewatch("--data", copy, "check", "--json").json["count"] == 4


def test_a_damaged_snapshot(copy: Path) -> None:
    """A reader says what to run; a link into nothing counts as no snapshot."""
    file = (copy / "gatewatch.duckdb").resolve()
    file.write_bytes(b"not a database")
    result = gatewatch("--data", copy, "check")
    assert result.code == 3
    assert "run `gatewatch rebuild`" in result.complaint
    file.unlink()
    assert gatewatch("--data", copy, "check").code == 2


def test_one_source_that_breaks_off_does_not_keep_the_others_from_being_judged(data: Path, tmp_path: Path) -> None:
    """The good file is counted and judged, the bad one is the error; exit 2 all the same."""
    (tmp_path / "bad.jsonl.gz").write_bytes(b"\x1f\x8b\x08\x00 cut off")
    shutil.copy(EVENTS, tmp_path / "good.jsonl")
    result = gatewatch("--data", data, "ingest", "bad.jsonl.gz", "good.jsonl", "--policy", "support-squad")
    assert result.code == 2
    assert "600 accepted" in result.out
    assert "gatewatch: bad.jsonl.gz" in result.err.splitlines()[-1]
    assert gatewatch("--data", data, "check").code == 1


@pytest.mark.parametrize(
    "arguments", [["nosuch"], ["check", "--fail-on", "fatal"], ["ingest"], ["kpi", "--by", "moon"]]
)
def test_wrong_usage(arguments: list[str]) -> None:
    """Exit 2 on stderr with the word that was wrong or missing, and no traceback."""
    result = gatewatch(*arguments)
    assert (result.code, result.out) == (2, "")
    assert (arguments[-1] if len(arguments) > 1 or arguments == ["nosuch"] else "PATH") in result.err
    assert "Traceback" not in result.err
