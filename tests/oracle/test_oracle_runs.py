"""Runs, worked out by hand: budgets, ends, what follows an end, and model tiers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from tests.oracle import evaluate
from tests.oracle.cases import NOON, attempt, event, policy, record

BUDGETS = {
    "default": {"dispatches": 1, "judge_cycles": 1, "retries_per_caller": 1},
    "triage": {"dispatches": 2},
}
RULES = policy(
    budgets=BUDGETS,
    time={"clock_skew": "2s", "run_timeout": "1m"},
    agents={"themis": {"aliases": ["Quality-Review"], "model_tier": "Small"}, "dora": {}},
)
ESCALATED = "ESCALATED_TO_HUMAN"


def start(event_id: str, seconds: float, command: str = "reply", **fields: Any) -> dict[str, Any]:
    """An agent is started."""
    return event("agent.dispatch", event_id, seconds, command=command, caller="iris", agent="hermes", **fields)


def feedback(event_id: str, seconds: float, signal: str = "reopened") -> dict[str, Any]:
    """A person speaks about run `c1`."""
    return event("human.feedback", event_id, seconds, signal=signal)


def again(event_id: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """The second attempt of a call whose first failed a second before."""
    return attempt(event_id, seconds, **{"attempt": 2, "call_id": event_id[0], **fields})


def found(*events: dict[str, Any], rules: dict[str, Any] = RULES) -> list[tuple[str, str, tuple[str, ...]]]:
    """(rule, subject, evidence) of every finding about runs."""
    return [(verdict.rule, verdict.subject, verdict.evidence) for verdict in evaluate(list(events), rules).runs]


END = record("z", 50)


def test_dispatches_of_each_command() -> None:
    assert found(start("a", 1), END) == []
    assert found(start("b", 1), start("a", 1), END) == [("budget_exceeded", "c1", ("b",))]
    assert found(start("a", 1), start("b", 1, "triage"), start("c", 2, "triage"), END) == []
    both = [start(f"a{n}", n) for n in (1, 2)] + [start(f"b{n}", n, "triage") for n in (1, 2, 3)]
    assert found(*both, END) == [("budget_exceeded", "c1", ("a2",)), ("budget_exceeded", "c1", ("b3",))]
    assert found(*both, END, rules=policy(budgets={})) == []


def test_the_records_count_speaks_where_the_events_do_not() -> None:
    assert found(record("z", 50, dispatch_count=2)) == [("budget_exceeded", "c1", ("z",))]
    assert found(start("a", 1, "triage"), record("z", 50, dispatch_count=2)) == []
    assert found(start("a", 1), start("b", 2), record("z", 50, dispatch_count=9)) == [("budget_exceeded", "c1", ("b",))]
    assert found(record("y", 49, dispatch_count=9), record("z", 50, dispatch_count=1)) == []


def test_retries_of_a_caller_over_all_its_calls() -> None:
    calls = [attempt("k", 1, call_id="k"), again("k2", 2), attempt("l", 3, call_id="l"), again("l2", 4)]
    assert found(*calls[:3]) == []
    assert found(*calls) == [("budget_exceeded", "c1", ("l2",))]
    assert found(*calls[:3], again("l2", 4, caller="themis")) == []
    names = [again("k2", 2, caller="themis"), again("l2", 4, caller="Quality-Review")]
    assert found(calls[0], names[0], calls[2], names[1]) == [("budget_exceeded", "c1", ("l2",))]
    assert found(start("a", 0, "triage"), *calls, END) == []  # the triage's own table sets no limit


def test_judge_cycles_by_record_or_decision() -> None:
    judged = {"gate": "quality", "subject": "a", "decision": "blocked", "by": "themis"}
    assert found(record("z", 50, judge_cycles=1), event("gate.decision", "g", 1, **judged, cycle=1)) == []
    two = event("gate.decision", "g", 1, **judged, cycle=2)
    assert found(record("z", 50, judge_cycles=3), two) == [("judge_cycles_exceeded", "c1", ("g", "z"))]
    assert [verdict.ts for verdict in evaluate([record("z", 50, judge_cycles=3), two], RULES).runs] == [
        (NOON + timedelta(seconds=1)).replace(tzinfo=None)
    ]


def test_terminal_state_missing_waits_for_the_timeout_of_a_run_that_stands_still() -> None:
    left = [start("a", 1), attempt("t", 10)]
    assert found(*left) == [("terminal_state_missing", "c1", ("a", "t"))]
    assert found(left[1]) == []
    for kind in ("xenia.ticket_resolved", "xenia.escalated"):
        assert found(*left, {**event(kind, "x", 11), "ticket_id": "c1"}) == []
    assert found(*left, {**END, "tenant": "t2"}) == [("terminal_state_missing", "c1", ("a", "t"))]

    def waits(until: datetime) -> list[bool]:
        return [verdict.pending for verdict in evaluate(left, RULES, until).runs]

    assert waits(NOON + timedelta(seconds=70)) == [True]
    assert waits(NOON + timedelta(seconds=70, microseconds=1)) == [False]


def test_terminal_state_conflict_with_the_record_before() -> None:
    first = record("y", 10, run_id="R1")
    second = record("z", 50, decision_id="D2", terminal_state=ESCALATED)
    conflict = [("terminal_state_conflict", "D2", ("y", "z"))]
    assert found(first, second) == conflict
    assert found(first, {**second, "terminal_state": "RESOLVED"}) == []
    assert found(first, {**second, "run_id": "R1"}) == conflict
    assert found(first, {**second, "run_id": "R2"}) == []
    assert found(first, {**second, "decision_id": "D1"}) == []
    assert found(first, {**second, "follow_up_of": "D1"}) == found(first, {**second, "follow_up_of": "c1"}) == []
    assert found(first, {**second, "follow_up_of": "D7"}) == conflict
    for seconds, said in ((10, []), (50, []), (9.9, conflict), (50.1, conflict)):
        assert found(first, second, feedback("f", seconds)) == said
    assert found(first, second, feedback("f", 20, "csat")) == conflict


def test_activity_after_terminal_unless_reopened() -> None:
    late = [("activity_after_terminal", "c1", ("t", "z"))]
    assert found(END, attempt("t", 52)) == []
    assert found(END, attempt("t", 52.1)) == late
    assert found(END, attempt("t", 60), feedback("f", 60)) == found(END, attempt("t", 60), feedback("f", 50)) == []
    assert found(END, attempt("t", 60), feedback("f", 60.1)) == late
    # An edit does not close the run again; another decision does.
    edited = record("zz", 70)
    assert found(END, attempt("t", 60), edited) == [("activity_after_terminal", "c1", ("t", "zz"))]
    assert found(END, attempt("t", 60), {**edited, "decision_id": "D2"}) == []
    named = {**END, "run_id": "R1"}
    assert found(named, attempt("t", 60, run_id="R2")) == []
    assert found(named, attempt("t", 60, run_id="R1")) == found(named, attempt("t", 60)) == late
    assert found(END, attempt("t", 60, run_id="R2")) == late


def test_model_tier_mismatch_per_agent_and_tier() -> None:
    assert found(attempt("t", 1, caller="themis", model_tier="small"), attempt("u", 2, model_tier="big")) == []
    file = {"event_id": "x", "ts": END["ts"], "kind": "xenia.output_written", "ticket_id": "c1", "agent": "THEMIS"}
    ran = [attempt("t", 1, caller="quality-review", model_tier="big"), {**file, "model_tier": "BIG"}]
    assert found(*ran) == [("model_tier_mismatch", "themis", ("t", "x"))]
    assert found({**file, "model_tier": "big", "ticket_id": None}) == []
    assert found(attempt("t", 1, caller="dora", model_tier="big"), attempt("u", 1, caller="themis")) == []
