"""The benchmarks run, and their inputs are what they say; how fast anything is, is not a test's business."""

from __future__ import annotations

import importlib
import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks import loading, results
from benchmarks.__main__ import STEPS, kafka_figures
from benchmarks.declare import gate_relations
from benchmarks.growing import CHUNK, History, squad
from benchmarks.histories import Weeks
from benchmarks.inputs import made, tool_calls
from benchmarks.memory import MIB, peak_bytes
from benchmarks.report import BEGIN, END, with_results
from benchmarks.results import Figure, keep
from ingest.pipeline import Pipeline
from ingest.validate import Batch, RowValidator, Validated

MODULES = sorted({step.split()[0] for step in STEPS} | {"inputs", "report"})


def _validated(lines: bytes) -> Validated:
    (found,) = RowValidator().validate_all([Batch(lines.splitlines(), 1, "auto")])
    return found


@pytest.mark.parametrize("module", ["__main__", *MODULES])
def test_every_benchmark_says_how_it_is_run(
    module: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    with pytest.raises(SystemExit) as ended:
        importlib.import_module(f"benchmarks.{module}").main()
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("usage: ")


def test_the_wanted_share_of_tool_calls_is_broken_in_all_seven_ways() -> None:
    """Three of the seven ways break the JSON, its encoding or nothing but one field; each is told by its own reason."""
    lines = list(tool_calls(2_000, 0.2, seed=1))
    found = _validated(b"".join(lines))
    # 2,000 draws at 0.2: 400 expected, with a standard deviation of 18.
    assert 300 < len(found.rejects) < 500
    assert found.accepted.height + len(found.rejects) == 2_000
    reasons = Counter(reject.reason for reject in found.rejects)
    # By turns: within one of each other, five of the seven are the contract's business.
    ways = len(found.rejects) / 7
    assert abs(reasons["schema"] - 5 * ways) <= 5
    assert reasons["not_json"] + reasons["encoding"] == len(found.rejects) - reasons["schema"]
    assert _validated(b"".join(tool_calls(500, 0.0, seed=1))).accepted.height == 500


def test_a_made_file_is_found_again_and_follows_from_its_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = made("mixed", 200)
    assert tmp_path in path.parents
    before = path.stat()
    assert made("mixed", 200) == path
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert made("mixed", 200, seed=2) != path
    assert sorted(file.name for file in path.parent.iterdir() if file.is_dir()) == []
    with pytest.raises(ValueError, match="no input is called dirty"):
        made("dirty", 200)


def test_bare_loading_and_ours_read_the_same_clean_lines(tmp_path: Path) -> None:
    """A type that bare loading could not take would make it an unfair or an empty comparison; it ends with an error."""
    path = tmp_path / "clean.jsonl"
    path.write_bytes(b"".join(tool_calls(300, 0.0, seed=1)))
    for took in (
        loading.bare(path, loading.wide_columns(), ignore_errors=False),
        loading.bare(path, loading.kind_columns("tool.invocation"), ignore_errors=False),
        loading.validate_and_load(path),
        loading.row_by_row(path),
        loading.end_to_end(path),
    ):
        assert took.wall > 0


def test_weeks_of_lines_share_no_event_and_no_run() -> None:
    weeks = Weeks(600)
    first, third = _validated(weeks.lines(0)).accepted, _validated(weeks.lines(2)).accepted
    assert first.height == third.height > 600 * 0.95
    for column in ("event_id", "correlation_id", "call_id", "idempotency_key", "receipt_id"):
        assert not set(first[column].drop_nulls()) & set(third[column].drop_nulls())
    moved = third.filter(third["event_id"].str.strip_suffix("~2") == "ev-000000-00")["ts"]
    there = first.filter(first["event_id"].str.strip_suffix("~0") == "ev-000000-00")["ts"]
    assert {(late - early).days for late, early in zip(moved, there, strict=True)} <= {14}


def test_a_round_of_growth_adds_a_week_and_a_chunk_that_is_all_accepted(tmp_path: Path) -> None:
    history = History(tmp_path / "data", Weeks(400), squad())
    history.grow(2)
    with Pipeline(history.data) as pipeline:
        ((before,),) = pipeline.connection.execute("SELECT count(*) FROM events").fetchall()
    copy = history.copy(tmp_path / "copy")
    costs = copy.measure()
    assert min(took.wall for took in costs) > 0
    assert (history.weeks, copy.weeks) == (2, 3)
    with Pipeline(copy.data) as pipeline:
        ((after, chunk),) = pipeline.connection.execute(
            "SELECT count(*), count(*) FILTER (WHERE starts_with(event_id, 'chunk-')) FROM events"
        ).fetchall()
    assert chunk == CHUNK
    assert after - chunk == before + before // 2  # each week brings as many
    assert (copy.data / "gatewatch.duckdb").exists()


def test_memory_is_told_in_bytes_of_this_process() -> None:
    """A Python with DuckDB and Polars in it has used between 50 MiB and what the machine has."""
    assert 50 * MIB < peak_bytes() < 1024 * 1024 * MIB


def test_the_gate_relations_reach_from_the_rules_down_to_staging() -> None:
    found = gate_relations()
    assert {"rule_gates", "gate_checks", "stg_gate_decisions"} <= found
    assert not {"rule_retries", "reconciliation", "kpis"} & found


def test_the_report_says_which_bars_are_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results.json")
    figures = [
        Figure("a", "faster than", 0.51, bar=0.5, detail="1 s ÷ 2 s"),
        Figure("b", "bigger than", 1.3, " times", 1.2, "at most"),
        Figure("c", "so many", 123_456.7, " events/s"),
    ]
    keep("memory", figures, wanted=True)
    keep("memory", figures[:1], wanted=False)
    kept = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    told = with_results(f"before\n{BEGIN}\nold\n{END}\nafter\n", kept)
    assert told.startswith("before\n")
    assert told.endswith("\nafter\n")
    assert "old" not in told
    rows = [line for line in told.splitlines() if line.startswith("| ")][1:]
    assert rows == [
        "| faster than | 0.51 | at least 0.5 | yes | 1 s ÷ 2 s |",
        "| bigger than | 1.3 times | at most 1.2 | **no** |  |",
        "| so many | 123,457 events/s |  |  |  |",
    ]
    assert with_results(told, kept) == told
    with pytest.raises(ValueError, match="no place for the results"):
        with_results("nothing", kept)


def test_what_the_kafka_benchmark_prints_becomes_figures() -> None:
    line = (
        "rate of run ÷ poll and discard, 1,000,000 messages, at least 0.85: 0.87 by wall clock, 0.40 by processor "
        "time; 8.700 s ÷ 10.000 s\n"
    )
    (figure,) = kafka_figures(["run: 10.00 s, 20.00 s of processor\n", line])
    assert (figure.value, figure.bar, figure.met) == (0.87, 0.85, True)
    assert figure.what == "rate of run ÷ poll and discard, 1,000,000 messages"
