"""Every number of the overview against values worked out by hand: a wrong one misleads the manager who reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from dashboard.queries import choices, findings, overview
from dashboard.queries.base import Scope
from dashboard.snapshot import Snapshots
from tests.dashboard.snapshots import EMPTY, NORMAL, at, finding, publish


@pytest.fixture(scope="module")
def con(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    data = tmp_path_factory.mktemp("normal")
    publish(data, **NORMAL)
    return Snapshots(data).current().con


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    data = tmp_path_factory.mktemp("empty")
    publish(data, **EMPTY)
    return Snapshots(data).current().con


def _row(frame: pl.DataFrame) -> dict[str, Any]:
    assert frame.height == 1
    return frame.row(0, named=True)


def test_gate_totals_count_settled_checks_and_silent_drops(con: duckdb.DuckDBPyConnection) -> None:
    row = _row(overview.gate_totals(con, Scope()))

    assert (row["checks"], row["silent"], row["pending"], row["shipments"]) == (7, 1, 1, 5)
    # Wilson, z = 1.96, 1 of 7: centre (1 + 1.9207) / 10.8415, half-width 1.96 · √(6/7 + 0.9604) / 10.8415.
    assert row["rate"] == pytest.approx(1 / 7)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((0.02568, 0.51313), abs=1e-5)


def test_a_flag_is_broken_when_evidence_contradicts_it_and_only_checkable_flags_count(
    con: duckdb.DuckDBPyConnection,
) -> None:
    row = _row(overview.flag_totals(con, Scope()))

    assert (row["claims"], row["broken"]) == (6, 3)
    assert (row["phantom"], row["hidden"], row["partial"]) == (1, 1, 1)
    assert (row["unverifiable"], row["pending"]) == (1, 1)


def test_success_counts_calls_and_not_attempts(con: duckdb.DuckDBPyConnection) -> None:
    row = _row(overview.success_total(con, Scope()))

    assert (row["success"], row["total"]) == (11, 14)
    assert row["rate"] == pytest.approx(11 / 14)


def test_tools_come_with_the_lowest_rate_first_and_their_hours_added_up(con: duckdb.DuckDBPyConnection) -> None:
    found = overview.success_by_tool(con, Scope(), 10)

    assert found.select("tool", "success", "total").rows() == [
        ("pii_scan", 0, 1),
        ("kb_search", 8, 10),
        ("issue_refund", 3, 3),
    ]
    # 8 of 10: the textbook's Wilson interval.
    assert found.row(1, named=True)["ci_low"] == pytest.approx(0.4902, abs=1e-4)
    assert found.row(1, named=True)["ci_high"] == pytest.approx(0.9433, abs=1e-4)


def test_of_too_many_tools_those_with_most_calls_stay_and_the_number_of_all_is_told(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = overview.success_by_tool(con, Scope(), 2)

    assert set(found["tool"]) == {"kb_search", "issue_refund"}
    assert found["tools"].to_list() == [3, 3]


def test_nothing_known_is_null_and_never_zero(empty: duckdb.DuckDBPyConnection) -> None:
    for row in (
        _row(overview.gate_totals(empty, Scope())),
        _row(overview.flag_totals(empty, Scope())),
        _row(overview.success_total(empty, Scope())),
    ):
        assert (row["rate"], row["ci_low"], row["ci_high"]) == (None, None, None)
    assert overview.success_by_tool(empty, Scope(), 10).is_empty()


def test_pending_findings_are_not_open(con: duckdb.DuckDBPyConnection) -> None:
    assert _row(findings.finding_totals(con, Scope())) == {"open": 4, "critical": 2, "pending": 1}


def test_findings_come_by_severity_and_then_newest_first(con: duckdb.DuckDBPyConnection) -> None:
    found = findings.open_findings(con, Scope(), 10)

    assert found["finding_id"].to_list() == ["f3", "f1", "f2", "f4"]
    assert found["place"].to_list() == ["issue_refund", "quality", "quality", "quality"]


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(severities=("critical",)), ["f3", "f1"]),
        (Scope(rules=("gate_late", "unverifiable")), ["f2", "f4"]),
        (Scope(tenants=("",)), ["f2"]),
        (Scope(tenants=("", "globex")), ["f2", "f4"]),
        (Scope(severities=("critical",), tenants=("acme",), rules=("gate_missing",)), ["f1"]),
        (Scope(severities=("' OR 1=1 --",)), []),
    ],
    ids=["severity", "two rules", "no tenant", "no tenant or one", "all three", "an injection"],
)
def test_filters_narrow_the_table(con: duckdb.DuckDBPyConnection, scope: Scope, expected: list[str]) -> None:
    assert findings.open_findings(con, scope, 10)["finding_id"].to_list() == expected


def test_a_cut_table_still_says_how_many_match(con: duckdb.DuckDBPyConnection) -> None:
    found = findings.open_findings(con, Scope(), 2)

    assert found.height == 2
    assert found["matching"].to_list() == [4, 4]


def test_filters_offer_what_there_is(con: duckdb.DuckDBPyConnection) -> None:
    found = choices.choices(con)

    assert found.columns == ["field", "value"]
    assert found.filter(pl.col("field") == "tenant")["value"].to_list() == ["", "acme", "globex"]
    assert set(found.filter(pl.col("field") == "severity")["value"]) == {"critical", "high", "low"}
    assert found.filter(pl.col("field") == "gate")["value"].to_list() == ["clearance", "quality"]
    assert found.filter(pl.col("field") == "tool")["value"].to_list() == ["issue_refund", "kb_search", "pii_scan"]


def test_rules_come_by_severity_and_then_by_count(con: duckdb.DuckDBPyConnection) -> None:
    found = findings.findings_by_rule(con, Scope(), 10)

    assert found.select("rule", "severity", "n").rows() == [
        ("gate_missing", "critical", 1),
        ("phantom_execution", "critical", 1),
        ("gate_late", "high", 1),
        ("unverifiable", "low", 1),
    ]


def test_a_timeline_holds_the_evidence_and_the_rest_of_the_ticket_in_order(con: duckdb.DuckDBPyConnection) -> None:
    found = findings.timeline(con, "f1", 50)

    assert found.select("event_id", "is_evidence").rows() == [
        ("e1-call", False),
        ("e1-quality", True),
        ("e1-ship", True),
        ("e1-closed", False),
    ]
    assert set(found["others"]) == {2}


def test_a_cut_timeline_keeps_the_evidence_and_what_is_nearest_in_time(con: duckdb.DuckDBPyConnection) -> None:
    found = findings.timeline(con, "f1", 3)

    assert found["event_id"].to_list() == ["e1-quality", "e1-ship", "e1-closed"]
    assert set(found["others"]) == {2}


def test_evidence_outside_the_ticket_is_in_the_timeline(tmp_path: Path) -> None:
    # Two effects under one idempotency key may belong to two tickets.
    publish(tmp_path, **NORMAL | {"findings": [finding(1, evidence=["e1-ship", "e2-ship"])]})
    con = Snapshots(tmp_path).current().con

    found = findings.timeline(con, "f1", 50)

    assert found.filter(pl.col("is_evidence"))["event_id"].to_list() == ["e1-ship", "e2-ship"]


def test_a_finding_is_found_by_its_id_and_its_past_is_known(con: duckdb.DuckDBPyConnection) -> None:
    assert _row(findings.finding(con, "f5"))["status"] == "pending"
    assert findings.finding(con, "f9").is_empty()
    assert _row(findings.last_change(con, "f9")) == {"at": at(4), "change": "cleared", "reason": "policy"}
    assert findings.last_change(con, "nobody's").is_empty()
