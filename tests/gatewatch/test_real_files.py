"""The files that nobody here wrote: the numbers that the issue promises, through the commands that people type."""

from __future__ import annotations

from pathlib import Path

from tests.gatewatch.terminal import XENIA, Result, gatewatch

RECORD = "dr:DR-TICKET-SMOKE-001-1:"
Real = tuple[Path, Result]


def test_everything_is_accepted_and_two_lines_are_warned_about(real: Real) -> None:
    """5 events and 1 decision record, nothing quarantined; two lines of the record are not YAML."""
    data, result = real
    assert result.code == 0
    accounting = result.json["accounting"]
    counts = {name: accounting[name] for name in ("lines", "accepted", "duplicate", "quarantined", "blank", "warnings")}
    assert counts == {"lines": 6, "accepted": 6, "duplicate": 0, "quarantined": 0, "blank": 0, "warnings": 2}
    assert result.json["open_findings"] == {"critical": 4}
    rows = gatewatch("--data", data, "sql", "SELECT kind, count(*) AS n FROM events GROUP BY 1 ORDER BY 1", "--json")
    assert {row["kind"]: row["n"] for row in rows.json["rows"]} == {
        "decision.record": 1,
        "xenia.escalated": 2,
        "xenia.output_written": 2,
        "xenia.ticket_resolved": 1,
    }
    assert gatewatch("--data", data, "quarantine", "list").out == "nothing is quarantined\n"


def test_two_tickets_were_shipped_without_verdict_or_clearance(real: Real) -> None:
    """TICKET-900 and TICKET-SMOKE: two silent drops each, and `check` fails on them."""
    result = gatewatch("--data", real[0], "check", "--json")
    assert result.code == 1
    found = {(row["correlation_id"], row["gate"], row["rule"], row["status"]) for row in result.json["findings"]}
    assert found == {
        (ticket, gate, "gate_missing", "open")
        for ticket in ("TICKET-900", "TICKET-SMOKE")
        for gate in ("quality", "clearance")
    }
    assert (result.json["count"], result.json["failing"], result.json["by_severity"]["critical"]) == (4, 4, 4)


def test_the_third_ticket_passed_through_its_record_and_quality_files_are_no_shipments(real: Real) -> None:
    """TICKET-SMOKE-001 passed both gates by the record's verdicts and seal; three tickets, two gates, six checks."""
    query = (
        "SELECT correlation_id, gate, position, status, silent, stand_in, decision_event_id FROM gate_checks "
        "ORDER BY correlation_id, position"
    )
    rows = gatewatch("--data", real[0], "sql", query, "--json").json["rows"]
    assert len(rows) == 6
    passed = [row for row in rows if row["correlation_id"] == "TICKET-SMOKE-001"]
    assert [(row["gate"], row["status"], row["silent"], row["stand_in"]) for row in passed] == [
        ("quality", "passed", False, True),
        ("clearance", "passed", False, True),
    ]
    assert all(row["decision_event_id"].startswith(RECORD) for row in passed)
    assert {row["silent"] for row in rows if row not in passed} == {True}
    shipments = gatewatch(
        "--data", real[0], "sql", "SELECT count(*) AS n FROM shipments WHERE phase = 'quality'", "--json"
    )
    assert shipments.json["rows"] == [{"n": 0}]


def test_the_cost_per_resolution_is_unknown_and_not_zero(real: Real) -> None:
    """The one resolved ticket carries no cost: coverage 0 of 1, null for programs and `unknown` for people."""
    rows = gatewatch("--data", real[0], "kpi", "--json").json["kpis"]
    (cost,) = [row for row in rows if row["kpi"] == "cost_per_resolution"]
    assert (cost["value"], cost["covered"], cost["eligible"], cost["coverage"]) == (None, 0, 1, 0.0)
    (line,) = [line for line in gatewatch("--data", real[0], "kpi").out.splitlines() if "cost_per_resolution" in line]
    assert "unknown" in line
    assert "0 of 1" in line


def test_a_second_ingest_finds_nothing_new(copy: Path) -> None:
    """The same tables; the sources are named as unchanged on stderr, the accounting is all zeros on stdout."""
    query = "SELECT finding_id, evidence FROM findings ORDER BY 1"
    before = gatewatch("--data", copy, "sql", query).out
    again = gatewatch("--data", copy, "ingest", XENIA)
    assert again.code == 0
    assert again.out == "0 lines = 0 accepted + 0 duplicate + 0 quarantined + 0 blank\n"
    assert again.err.count("nothing new in ") == 2
    assert gatewatch("--data", copy, "sql", query).out == before
    history = gatewatch("--data", copy, "sql", "SELECT count(*) AS n FROM finding_history", "--json")
    assert history.json["rows"] == [{"n": 4}]


def test_the_policy_is_kept_for_later_runs(real: Real) -> None:
    """Whoever ingested with a policy does not have to name it again."""
    shown = gatewatch("--data", real[0], "policy", "show", "--json").json
    assert shown["policy"]["name"] == "support-squad"
    assert shown["origin"].startswith("kept in ")
