"""What the benchmarks measure on is a history like any other: a benchmark of something else would prove nothing."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import duckdb

from benchmarks.histories import chunk, repeat, template
from sample_data import policy_path
from schemas.policy_file import parse_policy
from tests.laws.test_incremental import difference, tables
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it


def test_weeks_repeat_without_touching_each_other_and_chunks_lead_to_the_same(tmp_path: Path) -> None:
    """Each week has its own runs and findings, and a chunk on top is judged as one look at everything would."""
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"), name="support-squad")
    template(tmp_path / "week.duckdb", 600)
    with duckdb.connect() as con:
        assert repeat(con, tmp_path / "week.duckdb", 3) == 1_800
        refresh(con, policy, now=NOW)
        weekly = con.execute(
            "SELECT regexp_extract(correlation_id, '~(.*)$', 1) AS week, count(*) FROM findings "
            "WHERE correlation_id IS NOT NULL AND rule <> 'event_conflict' GROUP BY week ORDER BY week"
        ).fetchall()
        assert [week for week, _ in weekly] == ["0", "1", "2"]
        assert len({count for _, count in weekly}) == 1
        for number, recent in enumerate((True, False)):
            chunk(con, 10, 50, recent=recent, number=number)
            refresh(con, policy, now=NOW)
        assert con.execute("SELECT count(*) FROM events").fetchall() == [(1_900,)]
        gradually = tables(con)
        refresh(con, policy, now=NOW, full=True)
        assert difference(gradually, tables(con)) == {}
