"""Gate status, worked out by hand from 03: one test per line of the table, and the boundaries of each."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.oracle import Finding, GateCheck, evaluate
from tests.oracle.cases import NOON, POLICY, approval, at, attempt, decide, event, policy, record, ship

CLEAR = decide("clear", 8, "clearance")
RED, BLUE = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def checks(*events: dict[str, Any], gate: str = "quality", rules: dict[str, Any] = POLICY) -> list[GateCheck]:
    """The checks of one gate, in the order of their shipments' event ids."""
    found = [check for check in evaluate(list(events), rules).gate_checks if check.gate == gate]
    return sorted(found, key=lambda check: check.shipped_event_id)


def status(*events: dict[str, Any], gate: str = "quality", rules: dict[str, Any] = POLICY) -> str:
    """The status of the only shipment."""
    (check,) = checks(*events, gate=gate, rules=rules)
    return check.status


def test_passed_by_an_alias_of_the_reviewer_within_the_clock_skew() -> None:
    result = evaluate([decide("q", 12, "quality", by="quality-REVIEW"), CLEAR, ship("s", 10)], policy())
    assert [(check.gate, check.status) for check in result.gate_checks if check.gate == "quality"] == [
        ("quality", "passed")
    ]


def test_no_decision_is_the_silent_drop() -> None:
    (check,) = checks(ship("s", 10), CLEAR)
    assert check == GateCheck(
        None, "c1", "a", "s", "reply", "quality", 1, "gate_missing", None, None, True, "gate_missing"
    )


@pytest.mark.parametrize("other", [{"tenant": "t2"}, {"correlation_id": "c2"}, {"subject": "b"}, {"gate": "clearance"}])
def test_a_decision_about_something_else_is_none(other: dict[str, Any]) -> None:
    assert status(ship("s", 10), {**decide("q", 5, "quality"), **other}) == "gate_missing"


def test_a_pass_after_the_skew_is_late_and_a_late_block_is_none() -> None:
    assert status(ship("s", 10), decide("q", 12.000001, "quality")) == "gate_late"
    assert status(ship("s", 10), decide("q", 13, "quality", "blocked")) == "gate_missing"
    (check,) = checks(ship("s", 10), decide("x", 13, "quality", "blocked"), decide("y", 14, "quality"))
    assert (check.status, check.decision_event_id, check.silent) == ("gate_late", "y", True)


def test_a_reviewers_failed_call_is_the_cause() -> None:
    tries = [attempt("t1", 5, "failed", caller="Quality-review"), attempt("t2", 6, "denied", caller="themis")]
    (check,) = checks(ship("s", 10), *tries)
    assert (check.status, check.cause_event_id) == ("gate_errored_open", "t2")


def test_a_call_that_recovered_or_came_before_the_previous_shipment_is_no_cause() -> None:
    recovered = [
        attempt("t1", 5, "failed", caller="themis", call_id="k"),
        attempt("t2", 6, caller="themis", call_id="k", attempt=2),
    ]
    assert status(ship("s", 10), *recovered) == "gate_missing"
    earlier, later = checks(ship("s1", 10), ship("s2", 20), attempt("t", 5, "unavailable", caller="themis"))
    assert (earlier.status, later.status) == ("gate_errored_open", "gate_missing")
    assert status(ship("s", 10), attempt("t", 5, "failed", caller="hermes")) == "gate_missing"


@pytest.mark.parametrize(
    ("decision", "expected", "silent"),
    [
        ("blocked", "gate_blocked_shipped", False),
        ("errored", "gate_errored_open", True),
        ("skipped", "gate_skipped", False),
        ("waived", "gate_waived", False),
    ],
)
def test_the_last_decision_in_time_counts(decision: str, expected: str, silent: bool) -> None:
    (check,) = checks(ship("s", 10), decide("q1", 5, "quality"), decide("q2", 5, "quality", decision))
    assert (check.status, check.decision_event_id, check.silent) == (expected, "q2", silent)


def test_foreign_reviewer_before_self_and_anybody_where_none_is_listed() -> None:
    assert status(ship("s", 10), decide("q", 5, "quality", by="hestia")) == "gate_foreign_reviewer"
    assert status(ship("s", 10, author="Quality-Review"), decide("q", 5, "quality")) == "gate_self_passed"
    assert status(ship("s", 10, by="themis"), decide("q", 5, "quality")) == "gate_self_passed"
    open_gate = policy(gates=[{"name": "quality"}, {"name": "clearance"}])
    assert status(ship("s", 10), decide("q", 5, "quality", by="zoe"), rules=open_gate) == "passed"


def test_stale_by_digest_age_or_expiry() -> None:
    assert status(ship("s", 10, digest=RED), decide("q", 5, "quality", digest=BLUE)) == "gate_stale"
    assert status(ship("s", 10, digest=RED), decide("q", 5, "quality")) == "passed"
    assert status(ship("s", 3605), decide("q", 5, "quality")) == "passed"  # exactly an hour
    assert status(ship("s", 3605.5), decide("q", 5, "quality")) == "gate_stale"
    assert status(ship("s", 10), decide("q", 5, "quality", expires_at=at(10))) == "passed"
    assert status(ship("s", 10), decide("q", 5, "quality", expires_at=at(9.9))) == "gate_stale"


def test_gate_ship_ship_has_a_drop() -> None:
    events = [decide("q", 5, "quality"), ship("s1", 10), ship("s2", 20)]
    assert [check.status for check in checks(*events)] == ["passed", "gate_reused"]


def test_one_digest_covers_its_shipments_unless_the_pass_is_single_use() -> None:
    events = [decide("q", 5, "quality", digest=RED), ship("s1", 10, digest=RED), ship("s2", 20, digest=RED)]
    assert [check.status for check in checks(*events)] == ["passed", "passed"]
    single = policy(pipelines=[{**POLICY["pipelines"][0], "binding": "single_use"}])
    assert [check.status for check in checks(*events, rules=single)] == ["passed", "gate_reused"]
    without = [*events, ship("s3", 30)]
    assert [check.status for check in checks(*without)] == ["passed", "passed", "gate_reused"]


def test_a_shipment_that_a_pass_did_not_cover_leaves_it_free() -> None:
    events = [decide("q", 5, "quality", digest=RED), ship("s1", 10, digest=BLUE), ship("s2", 20)]
    assert [check.status for check in checks(*events)] == ["gate_stale", "passed"]


def test_out_of_order_is_said_of_the_gate_that_passed_too_early_and_covers_its_shipment() -> None:
    events = [decide("c", 4, "clearance"), decide("q", 5, "quality"), ship("s", 10)]
    assert status(*events) == "passed"
    assert status(*events, gate="clearance") == "gate_out_of_order"
    again = [*events, ship("t", 20)]
    assert [check.status for check in checks(*again, gate="clearance")] == ["gate_out_of_order", "gate_reused"]
    tie = [decide("d", 5, "clearance"), decide("e", 5, "quality"), ship("s", 10)]
    assert status(*tie, gate="clearance") == "gate_out_of_order"  # the same instant: the event id decides
    failed = [decide("c", 4, "clearance"), decide("q", 5, "quality", by="zoe"), ship("s", 10)]
    assert status(*failed, gate="clearance") == "passed"  # no pass of quality was relied on


def test_a_record_stands_for_both_gates_whenever_it_was_written() -> None:
    verdicts = [{"rubric_id": "r1", "pass": True}, {"rubric_id": "r2", "pass": True}]
    closed = record("d", 9000, rubric_verdicts=verdicts, clearance="cleared")
    result = evaluate([ship("s1", 10), closed, ship("s2", 20), ship("s3", 20, artifact_id="b")], policy())
    assert {(c.shipped_event_id, c.gate): c.status for c in result.gate_checks} == {
        ("s1", "quality"): "passed",
        ("s1", "clearance"): "passed",
        ("s2", "quality"): "gate_reused",
        ("s2", "clearance"): "gate_reused",
        ("s3", "quality"): "passed",
        ("s3", "clearance"): "passed",
    }


def test_a_stand_in_is_blocked_unless_every_verdict_passed_and_yields_to_a_timed_decision() -> None:
    closed = record("d", 9000, rubric_verdicts=[{"rubric_id": "r1", "pass": True}, {"rubric_id": "r2"}])
    assert status(ship("s", 10), closed) == "gate_blocked_shipped"
    assert status(ship("s", 10), closed, decide("q", 5, "quality")) == "passed"
    assert status(ship("s", 10), closed, decide("q", 13, "quality")) == "gate_blocked_shipped"
    edited = record("e", 9001, rubric_verdicts=[{"rubric_id": "r1", "pass": True}])
    assert status(ship("s", 10), closed, edited) == "passed"
    assert status(ship("s", 10), record("d", 1, rubric_verdicts=[])) == "gate_missing"


def test_silence_ends_with_a_declaration_before_the_shipment() -> None:
    noted = record("d", 10, degradations=[{"tool": "Quality"}])
    (check,) = checks(ship("s", 10), noted)
    assert (check.status, check.silent) == ("gate_missing", False)
    (check,) = checks(ship("s", 10), record("d", 10.5, degradations=[{"tool": "quality"}]))
    assert check.silent
    (check,) = checks(ship("s", 10), decide("w", 3, "quality", "waived"), decide("x", 5, "quality", "errored"))
    assert (check.status, check.silent) == ("gate_errored_open", False)
    failing = attempt("t", 5, "failed", caller="themis", call_id="k")
    (check,) = checks(ship("s", 10), failing, record("d", 10, degradations=[{"call_id": "k"}]))
    assert (check.status, check.silent) == ("gate_errored_open", False)


def test_a_check_without_evidence_waits_for_its_grace() -> None:
    events = [ship("s", 10), decide("c", 13, "clearance")]
    waiting = evaluate(events, policy(), NOON + timedelta(seconds=70))
    assert {check.gate: (check.status, check.silent) for check in waiting.gate_checks} == {
        "quality": ("pending", False),
        "clearance": ("gate_late", True),
    }
    assert waiting.pending == {Finding("gate_missing", None, "c1", "a")}
    assert waiting.findings == {Finding("gate_late", None, "c1", "a")}
    settled = evaluate(events, policy(), NOON + timedelta(seconds=70.000001))
    assert settled.pending == set()
    assert Finding("gate_missing", None, "c1", "a") in settled.findings


def test_when_looks_at_records_and_ticket_events_of_the_run() -> None:
    urgent = {
        "name": "p1",
        "gates": ["quality"],
        "applies_to": {"kind": "artifact.shipment"},
        "when": {"priority": "P1"},
    }
    rules = policy(pipelines=[urgent])
    ticket = {"event_id": "x", "ts": at(99), "kind": "xenia.ticket_created", "ticket_id": "c1", "severity": "P1"}
    assert status(ship("s", 10), ticket, rules=rules) == "gate_missing"
    assert status(ship("s", 10), record("d", 99, priority="P1"), rules=rules) == "gate_missing"
    assert checks(ship("s", 10), record("d", 99, priority="P2"), rules=rules) == []
    assert checks(ship("s", 10), {**ticket, "tenant": "t2"}, rules=rules) == []


def test_other_subjects_calls_reports_proposals_and_xenia_outputs() -> None:
    def one(kind: str, **matchers: Any) -> dict[str, Any]:
        return {"name": kind, "gates": ["quality"], "applies_to": {"kind": kind, **matchers}, "separate_author": True}

    kinds = ["tool.invocation", "agent.report", "action.proposal", "artifact.shipment"]
    rules = policy(pipelines=[one(kind) for kind in kinds])
    xenia = {"kind": "xenia.escalated", "ts": at(4), "ticket_id": "c1", "path": "out/a.md", "agent": "hestia"}
    events = [
        attempt("t2", 1, attempt=2, call_id="k"),
        attempt("t1", 2, "failed", attempt=1, call_id="k"),
        event("agent.report", "r", 3, task_id="task", by="themis", claim="completed"),
        decide("q", 2, "quality", subject="task"),
        event("action.proposal", "p", 3, proposal_id="P", action="refund", actor="hermes"),
        {**xenia, "event_id": "x1", "phase": "escalations"},
        {**xenia, "event_id": "x2", "phase": "quality"},
        {**xenia, "event_id": "x3", "phase": "tickets", "ticket_id": None},
        approval("ap", 1),
    ]
    found = evaluate(events, rules).gate_checks
    assert {(c.pipeline, c.subject, c.shipped_event_id, c.status) for c in found} == {
        ("tool.invocation", "k", "t1", "gate_missing"),
        ("agent.report", "task", "r", "gate_self_passed"),
        ("action.proposal", "P", "p", "gate_missing"),
        ("artifact.shipment", "out/a.md", "x1", "gate_missing"),
        ("artifact.shipment", "out/a.md", "x3", "gate_missing"),
    }
    failed_ones = policy(pipelines=[one("tool.invocation", outcome=["success", "partial"])])
    assert [c.shipped_event_id for c in evaluate(events, failed_ones).gate_checks] == ["t2"]
