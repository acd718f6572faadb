"""Generated files: deterministic, valid where they claim to be, exactly accounted for, and believable."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from sample_data.generate import generate
from sample_data.plan import SCENARIOS, Scenario, rules
from sample_data.writer import Summary
from tests.sample_data.reading import Reading, truth_of


@pytest.fixture(scope="module", params=SCENARIOS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    """One file of 12,000 events of each scenario."""
    out = tmp_path_factory.mktemp("made") / "events.jsonl"
    return out, generate(12_000, 11, out, scenario=request.param)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_equal_arguments_give_equal_files(scenario: Scenario, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        generate(2_500, 3, tmp_path / folder / "events.jsonl", scenario=scenario)
    generate(2_500, 4, tmp_path / "other" / "events.jsonl", scenario=scenario)
    for name in ("events.jsonl", "truth.jsonl", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert (tmp_path / "one" / "events.jsonl").read_bytes() != (tmp_path / "other" / "events.jsonl").read_bytes()


def test_every_line_is_what_the_summary_counts_it_as(made: tuple[Path, Summary]) -> None:
    """Whoever tests an ingest against this file relies on the four numbers."""
    path, summary = made
    reading = Reading(path)
    assert len(reading.events) == summary.accepted == summary.events == 12_000
    assert reading.duplicate == summary.duplicate > 0
    assert reading.blank == summary.blank > 0
    assert reading.conflicts == summary.conflicts > 0
    assert reading.malformed == summary.malformed > 0
    assert len(reading.lines) == summary.lines
    assert summary.lines == summary.accepted + summary.duplicate + sum(summary.quarantined.values()) + summary.blank
    assert json.loads((path.parent / "summary.json").read_text(encoding="utf-8"))["quarantined"] == summary.quarantined


def test_the_truth_names_every_rule_and_nothing_unknown(made: tuple[Path, Summary]) -> None:
    path, summary = made
    truth = truth_of(path)
    assert set(summary.truth) == set(rules(summary.policy))  # type: ignore[arg-type]
    assert Counter(row["rule"] for row in truth) == summary.truth
    runs = Reading(path).runs()
    for row in truth:
        assert (row["tenant"], row["correlation_id"]) in runs or row["rule"] in ("pii_redacted", "event_conflict")
        assert row.keys() == {"rule", "subject", "correlation_id", "tenant"}


def test_runs_have_believable_sizes_and_hours(made: tuple[Path, Summary]) -> None:
    path, summary = made
    runs = Reading(path).runs()
    sizes = [len(events) for events in runs.values()]
    assert len(runs) == summary.runs
    assert min(sizes) >= 5
    assert max(sizes) <= 40
    assert sum(sizes) / len(sizes) > 10
    starts = [min(datetime.fromisoformat(event["ts"]) for event in events) for events in runs.values()]
    utc = [start.astimezone(UTC) for start in starts]
    assert sum(8 <= start.hour < 18 for start in utc) > 0.7 * len(utc)
    assert sum(start.weekday() >= 5 for start in utc) < 0.2 * len(utc)
    assert max(utc) - min(utc) > timedelta(days=20)


def test_labels_recur_in_other_tenants(made: tuple[Path, Summary]) -> None:
    """A join that forgets the tenant has to fail on this data."""
    tenants = defaultdict(set)
    for tenant, correlation in Reading(made[0]).runs():
        tenants[correlation].add(tenant)
    assert max(len(found) for found in tenants.values()) == 4


def test_events_arrive_out_of_order_but_within_the_allowed_lateness(made: tuple[Path, Summary]) -> None:
    times = [datetime.fromisoformat(event["ts"]) for event in Reading(made[0]).arrivals]
    newest, worst = times[0], timedelta(0)
    for ts in times:
        newest = max(newest, ts)
        worst = max(worst, newest - ts)
    assert timedelta(seconds=5) < worst < timedelta(seconds=30)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_about_the_asked_share_of_events_belongs_to_faulty_runs(scenario: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "events.jsonl"
    generate(20_000, 5, out, scenario=scenario, fault_rate=0.25)
    guilty = {(row["tenant"], row["correlation_id"]) for row in truth_of(out)}
    runs = Reading(out).runs()
    assert 0.24 < sum(len(runs[run]) for run in guilty) / 20_000 < 0.26


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (datetime(2031, 7, 9, 3, 30, tzinfo=UTC), "2031-07-09T03:30:00Z"),
        (datetime(2024, 2, 29, 23, 59, tzinfo=timezone(timedelta(hours=5))), "2024-02-29T18:59:00Z"),
    ],
)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_an_end_moves_everything_by_whole_days(scenario: Scenario, end: datetime, told: str, tmp_path: Path) -> None:
    """The newest event lies within the day up to the end; nothing but the dates differs."""
    fixed, moved = tmp_path / "fixed" / "events.jsonl", tmp_path / "moved" / "events.jsonl"
    assert generate(2_500, 3, fixed, scenario=scenario).end is None
    assert generate(2_500, 3, moved, scenario=scenario, end=end).end == told
    before, after = Reading(fixed), Reading(moved)
    newest = max(datetime.fromisoformat(event["ts"]) for event in after.events.values())
    assert end - timedelta(days=1) < newest <= end
    shifts = {
        datetime.fromisoformat(now["ts"]) - datetime.fromisoformat(then["ts"])
        for then, now in zip(before.arrivals, after.arrivals, strict=True)
    }
    assert len(shifts) == 1
    assert shifts.pop() % timedelta(days=1) == timedelta(0)
    assert truth_of(moved) == truth_of(fixed)
    assert json.loads((moved.parent / "summary.json").read_text(encoding="utf-8"))["end"] == told


def test_without_an_end_the_dates_never_change(tmp_path: Path) -> None:
    """The four weeks from Monday, 2 March 2026; what takes days to end begins earlier rather than end later."""
    generate(12_000, 3, tmp_path / "events.jsonl")
    times = [datetime.fromisoformat(event["ts"]) for event in Reading(tmp_path / "events.jsonl").events.values()]
    assert datetime(2026, 3, 29, tzinfo=UTC) < max(times) < datetime(2026, 3, 30, tzinfo=UTC)
    assert min(times) > datetime(2026, 2, 23, tzinfo=UTC)
    assert sum(ts < datetime(2026, 3, 2, tzinfo=UTC) for ts in times) < 0.05 * len(times)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_file_without_faults_has_no_truth_but_of_its_forgeries(scenario: Scenario, tmp_path: Path) -> None:
    out = tmp_path / "events.jsonl"
    summary = generate(20_000, 5, out, scenario=scenario, fault_rate=0)
    assert summary.truth == {"event_conflict": summary.conflicts} == {"event_conflict": 2}
    assert len(truth_of(out)) == 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_small_file_shows_each_rule_where_it_can(seed: int, tmp_path: Path) -> None:
    """What the first look at the project shows: in the squad all of it, in the longer runs of the workbench most."""
    shown = {
        scenario: generate(600, seed, tmp_path / "events.jsonl", scenario=scenario).truth.keys()
        for scenario in SCENARIOS
    }
    assert shown["support-squad"] == set(rules("support-squad"))
    assert len(shown["workbench"]) >= 50
    assert generate(850, seed, tmp_path / "events.jsonl", scenario="workbench").truth.keys() == set(rules("workbench"))


@pytest.mark.parametrize("events", [1, 2, 7, 60])
def test_small_files_hold_exactly_the_asked_number_of_events(events: int, tmp_path: Path) -> None:
    generate(events, 1, tmp_path / "events.jsonl")
    assert len(Reading(tmp_path / "events.jsonl").events) == events


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"events": 0}, "at least 1"),
        ({"scenario": "helpdesk"}, "support-squad, workbench"),
        ({"fault_rate": 1.5}, "between 0 and 1"),
        ({"days": 0}, "at least 1"),
        ({"end": datetime.fromisoformat("2026-11-30T12:00:00")}, "offset from UTC"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        generate(**{"events": 10, "seed": 1, "out": tmp_path / "events.jsonl", **arguments})
    assert list(tmp_path.iterdir()) == []
