"""What the pages show was run: queries, programs, and commands with what they print."""

from __future__ import annotations

import re
import runpy
import shlex
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from tests.docs.conftest import run
from tests.docs.pages import blocks, sessions

QUESTIONS = blocks("docs/query.md", "sql")


def test_there_are_twenty_questions() -> None:
    assert len(QUESTIONS) == 20


@pytest.mark.parametrize("number", range(len(QUESTIONS)))
def test_each_question_has_an_answer_in_the_sample(number: int, sample: Path) -> None:
    with duckdb.connect(str((sample / "gatewatch.duckdb").resolve()), read_only=True) as con:
        assert con.execute(QUESTIONS[number]).fetchall(), QUESTIONS[number]


def test_the_program_for_analysts_runs(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (program,) = blocks("docs/query.md", "python")
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "gatewatch-data").symlink_to(sample)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("program.py")
    assert "gate_missing" in capsys.readouterr().out


def test_the_producers_story_ends_as_told(tmp_path: Path) -> None:
    story, late = blocks("docs/emit.md", "json")
    (tmp_path / "story.jsonl").write_text(story)
    (tmp_path / "late.jsonl").write_text(late)
    data = tmp_path / "story"
    assert "3 lines = 3 accepted" in run(data, "ingest", str(tmp_path / "story.jsonl"), "--policy", "support-squad")
    assert _open(data) == {"gate_missing": 2, "approval_missing": 1, "hidden_execution": 1}
    run(data, "ingest", str(tmp_path / "late.jsonl"))
    assert _open(data) == {"approval_missing": 1, "hidden_execution": 1}


def _open(data: Path) -> Counter[str]:
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve()), read_only=True) as con:
        return Counter(rule for (rule,) in con.execute("SELECT rule FROM findings WHERE status = 'open'").fetchall())


@pytest.mark.slow
def test_the_number_of_the_readme_is_traced_as_shown(demo: Path) -> None:
    shown = sessions("README.md")
    assert len(shown) == 4
    for session in shown:
        _compare(session.command, session.output, demo)


def test_the_operators_session_is_what_is_printed(sample: Path) -> None:
    (session,) = sessions("docs/operate.md")
    _compare(session.command, session.output, sample)


def _compare(command: str, output: str, data: Path) -> None:
    printed = run(data, *shlex.split(command)[1:])
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else re.escape(line.rstrip()) + r" *\n" for line in output.splitlines()
    ).replace(re.escape("YYYY-MM-DD"), r"\d{4}-\d\d-\d\d")
    assert re.fullmatch(pattern, printed), f"{command} prints\n{printed}"
