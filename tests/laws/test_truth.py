"""Findings = truth, no more and no less: what the generator injected is what the whole pipeline finds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from gatewatch.work import ingest_and_publish
from sample_data import sample_path
from sample_data.generate import generate
from sample_data.plan import SCENARIOS, Scenario

Rows = Counter[tuple[str, str, str | None, str | None]]


def _truth(path: Path) -> Rows:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return Counter((row["rule"], row["subject"], row["correlation_id"], row["tenant"]) for row in rows)


def _found(snapshot: Path) -> Rows:
    with duckdb.connect(str(snapshot), read_only=True) as con:
        return Counter(con.execute("SELECT rule, subject, correlation_id, tenant FROM findings").fetchall())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_findings_are_the_truth(tmp_path: Path, scenario: Scenario, seed: int) -> None:
    """A finding too many costs an auditor's trust, one too few the point of the whole thing."""
    events = tmp_path / "events.jsonl"
    summary = generate(4_000, seed, events, scenario=scenario, fault_rate=0.2)
    accounting, _, snapshot = ingest_and_publish(
        tmp_path / "data", [str(events)], dialect="auto", choice=summary.policy
    )
    assert _found(snapshot) == _truth(tmp_path / "truth.jsonl")
    assert (accounting.lines, accounting.accepted, accounting.duplicate, accounting.blank) == (
        summary.lines,
        summary.accepted,
        summary.duplicate,
        summary.blank,
    )
    assert dict(accounting.reasons) == summary.quarantined


def test_the_committed_sample_leads_to_its_truth(tmp_path: Path) -> None:
    """The sample that ships is the first thing that a newcomer looks at."""
    _, _, snapshot = ingest_and_publish(tmp_path / "data", [str(sample_path())], dialect="auto", choice="support-squad")
    assert _found(snapshot) == _truth(sample_path("truth.jsonl"))
