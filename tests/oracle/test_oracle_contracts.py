"""Tool contracts, worked out by hand: every rule and the nearest case that must not fire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.oracle import evaluate
from tests.oracle.cases import NOON, POLICY, attempt, policy, record
from tests.oracle.rows import DatedVerdict

RED = "sha256:" + "a" * 64
SEARCH = {
    "name": "search",
    "privilege": "read",
    "side_effects": "none",
    "allowed_callers": ["metis", "Quality-Review"],
    "error_types": ["timeout"],
}
RULES = policy(tools=[*POLICY["tools"], SEARCH])


def call(event_id: str = "t", seconds: float = 1, outcome: str = "success", **fields: Any) -> dict[str, Any]:
    """A search as its contract has it."""
    agreed = {"tool": "search", "caller": "metis", "privilege": "read", "side_effects": "none", "call_id": "k"}
    return attempt(event_id, seconds, outcome, **{**agreed, **fields})


def refund(event_id: str = "t", seconds: float = 1, outcome: str = "success", **fields: Any) -> dict[str, Any]:
    """A refund as its contract has it."""
    return attempt(event_id, seconds, outcome, **{"input_digest": RED, "call_id": "k", **fields})


def found(*events: dict[str, Any], rules: dict[str, Any] = RULES) -> list[tuple[str, str, tuple[str, ...]]]:
    """(rule, subject, evidence) of every contract finding; none of them ever waits."""
    verdicts = evaluate(list(events), rules, NOON).contracts
    assert not any(verdict.pending for verdict in verdicts)
    return [(verdict.rule, verdict.subject, verdict.evidence) for verdict in verdicts]


def test_tool_undeclared() -> None:
    assert found(call(tool="fetch")) == [("tool_undeclared", "k", ("t",))]
    assert found(call(tool="SEARCH")) == []
    assert found(call(tool="fetch"), rules=policy(tools=[])) == []


def test_caller_not_allowed_under_any_name() -> None:
    assert found(call(caller="hermes", outcome="denied")) == [("caller_not_allowed", "k", ("t",))]
    assert found(call(caller="themis")) == []  # the contract names its alias
    assert found(call(caller="Quality-Review")) == []
    assert found(refund(caller="anybody")) == []


def test_privilege_and_side_effects_against_the_contract() -> None:
    assert found(call(privilege="execute")) == [("privilege_mismatch", "k", ("t",))]
    assert found(refund(side_effects="none")) == [("side_effects_understated", "k", ("t",))]
    assert found(refund(side_effects="reversible", undo="ask")) == [("side_effects_understated", "k", ("t",))]
    assert found(call(side_effects="irreversible", input_digest=RED)) == []


def test_undo_and_digest() -> None:
    mail: dict[str, Any] = {"tool": "send_mail", "side_effects": "reversible"}
    assert found(refund(**mail, outcome="partial")) == [("undo_missing", "k", ("t",))]
    assert found(refund(**mail, undo="recall")) == []
    assert found(refund(**mail, outcome="failed")) == []
    assert found(refund(input_digest=None, outcome="failed")) == [("digest_missing", "k", ("t",))]
    assert found(call(input_digest=None)) == []


def test_error_undeclared() -> None:
    assert found(call(outcome="failed", error_type="quota")) == [("error_undeclared", "k", ("t",))]
    assert found(call(outcome="failed", error_type="timeout"), call("u", outcome="failed")) == []
    assert found(refund(outcome="failed", error_type="quota")) == []


def test_one_finding_for_the_attempts_of_a_call_dated_by_the_earliest() -> None:
    late, early = call("a", 5, tool="fetch", attempt=1), call("b", 3, tool="fetch", attempt=2)
    ts = (NOON + timedelta(seconds=3)).replace(tzinfo=None)
    assert evaluate([late, early], RULES).contracts == [
        DatedVerdict("tool_undeclared", None, "c1", "k", False, ts, ("a", "b"))
    ]


def test_injection_unflagged_unless_a_finding_speaks_of_it() -> None:
    orders = call(outcome="failed", error_class="tool_instructions")
    other = refund("u", 2, "failed", error_class="tool_instructions", call_id="l")

    def flagged(*refs: str | None) -> dict[str, Any]:
        return record("d", 9, injection_findings=[{"ref": ref} for ref in refs])

    assert found(orders) == []
    assert found(orders, record("d", 9)) == [("injection_unflagged", "k", ("d", "t"))]
    for ref in ("k", "t", "Search", None, "ticket body"):
        assert found(orders, flagged(ref)) == []
    assert found(orders, other, flagged("k")) == [("injection_unflagged", "l", ("d", "u"))]
    assert found(orders, other, flagged("k", "nowhere")) == []
    edited = record("e", 10)
    assert found(orders, flagged("k"), edited) == [("injection_unflagged", "k", ("e", "t"))]
    assert found(orders, flagged("k"), {**edited, "decision_id": "D2"}) == []
    assert found({**orders, "tenant": "t2"}, flagged("k"), {**edited, "tenant": "t2"}) == [
        ("injection_unflagged", "k", ("e", "t"))
    ]
