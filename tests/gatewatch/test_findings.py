"""What is open: as a table, as an exit code, one by one with its evidence, and as the manager's numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.gatewatch.terminal import Result, gatewatch

Real = tuple[Path, Result]


@pytest.mark.parametrize(
    ("options", "code", "listed"),
    [
        ([], 1, 4),
        (["--fail-on", "critical"], 1, 4),
        (["--since", "2026-06-03"], 1, 4),
        (["--since", "2026-06-03T22:30:00Z"], 1, 2),
        (["--since", "2026-06-04T00:30:00+02:00"], 1, 2),
        (["--since", "2026-06-04"], 0, 0),
    ],
)
def test_the_exit_code_follows_the_threshold_and_the_time(
    options: list[str], code: int, listed: int, real: Real
) -> None:
    """TICKET-900 left at 22:28:09 and TICKET-SMOKE at 22:33:17 UTC, with two critical findings each."""
    result = gatewatch("--data", real[0], "check", *options)
    assert result.code == code
    assert result.out.count("gate_missing") == listed
    assert f"{listed} at or above" in result.err


def test_what_is_below_the_threshold_is_listed_and_does_not_fail(sample: Path) -> None:
    """The counts by severity add up; the exit code is 1 exactly when one at or above the threshold is open."""
    order = ["critical", "high", "medium", "low", "info"]
    found = {level: gatewatch("--data", sample, "check", "--fail-on", level, "--json") for level in order}
    counts = found["info"].json["by_severity"]
    assert sum(counts.values()) == found["info"].json["count"] == found["info"].json["failing"] > 30
    for index, level in enumerate(order):
        above = sum(counts[name] for name in order[: index + 1])
        assert found[level].json["failing"] == above
        assert found[level].code == (1 if above else 0)
    assert gatewatch("--data", sample, "findings").code == 0


@pytest.mark.parametrize(
    "since", ["yesterday", "2026-13-01", "2026-06-03T10:00:00", "0d", "-3d", "12", "3 d", "999999w", "infinity", ""]
)
def test_a_since_that_is_no_time_is_one_line(since: str, real: Real) -> None:
    """Naming the option, the value and how to write it."""
    result = gatewatch("--data", real[0], "check", f"--since={since}")
    assert result.code == 2
    assert result.complaint.startswith(f"--since {since}")


@pytest.mark.parametrize("period", ["30", "12h", "0d", "36h", "month", "999999w"])
def test_a_period_that_is_no_whole_number_of_days_is_one_line(period: str, real: Real) -> None:
    """KPIs are per UTC day."""
    result = gatewatch("--data", real[0], "kpi", "--period", period)
    assert result.code == 2
    assert result.complaint.startswith(f"--period {period}")


def test_findings_can_be_narrowed_down(real: Real) -> None:
    """Each filter alone, and one that matches nothing says so."""
    for options, expected in (
        (["--gate", "quality"], 2),
        (["--correlation", "TICKET-900"], 2),
        (["--rule", "gate_missing"], 4),
        (["--severity", "low"], 4),
        (["--status", "pending"], 0),
        (["--limit", "3"], 3),
        (["--tenant", "acme"], 0),
    ):
        result = gatewatch("--data", real[0], "findings", "--json", *options)
        assert (result.code, result.json["count"], len(result.json["findings"])) == (0, expected, expected)
    assert gatewatch("--data", real[0], "findings", "--rule", "gate_late").out == "no findings\n"
    misspelt = gatewatch("--data", real[0], "findings", "--rule", "gate_mising")
    assert (misspelt.code, misspelt.out) == (2, "")
    assert "gate_missing" in misspelt.err  # a typo must not look like "nothing found"


def test_explain_tells_the_story_of_one_finding(real: Real) -> None:
    """By a short id: what it means, what to do, what would have satisfied it, and the evidence in the timeline."""
    rows = gatewatch("--data", real[0], "findings", "--correlation", "TICKET-900", "--gate", "quality", "--json")
    (finding,) = rows.json["findings"]
    result = gatewatch("--data", real[0], "explain", finding["finding_id"][:12].upper())
    assert result.code == 0
    for part in ("gate_missing", "Means:", "Do:", "Satisfied by:", "support-squad version 1", finding["policy_digest"]):
        assert part in result.out
    assert re.search(r"^\* +2026-06-03 22:28:09 +0 s +x-639161224895169205-b456 ", result.out, re.MULTILINE)
    told = gatewatch("--data", real[0], "explain", finding["finding_id"], "--json").json
    assert told["finding"] == finding
    assert [event["event_id"] for event in told["timeline"] if event["evidence"]] == finding["evidence"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("zz", "no finding zz; `gatewatch findings` lists them"),
        ("%", "no finding %"),
        ("", "fits more than one finding; give more characters"),
        ("\x1b[31m", "no finding \\x1b[31m"),
    ],
)
def test_an_id_that_is_not_one_finding_is_one_line(wanted: str, said: str, real: Real) -> None:
    """Unknown, ambiguous, or made of control characters that must not reach the terminal."""
    result = gatewatch("--data", real[0], "explain", wanted)
    assert result.code == 2
    assert said in result.complaint


def test_kpis_by_intent_stand_below_the_total(real: Real) -> None:
    """Billing was resolved and defects escalated, so containment is 1 of 1 and 0 of 2; all together 1 of 3."""
    rows = gatewatch("--data", real[0], "kpi", "--by", "intent", "--json").json["kpis"]
    containment = {
        row["segment"]: (row["numerator"], row["denominator"]) for row in rows if row["kpi"] == "containment"
    }
    assert containment == {"all": (1, 3), "intent:billing": (1, 1), "intent:defect": (0, 2)}
    assert rows[0]["segment"] == "all"
    text = gatewatch("--data", real[0], "kpi", "--by", "intent").out
    assert text.startswith("2026-05-05 to 2026-06-04 (UTC, end exclusive)\n")
    assert "intent:billing" in text
