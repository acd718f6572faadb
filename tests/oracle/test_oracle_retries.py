"""Retries and degradation, worked out by hand from 03: every rule and the nearest case that must not fire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.oracle import Finding, evaluate
from tests.oracle.cases import NOON, POLICY, at, attempt, event, policy, record

RED, BLUE = "sha256:" + "a" * 64, "sha256:" + "b" * 64
ESCALATED = {"event_id": "x", "ts": at(50), "kind": "xenia.escalated", "ticket_id": "c1"}


def call(*outcomes: str, **fields: Any) -> list[dict[str, Any]]:
    """One read-only call `k` of `search`, an attempt a second."""
    base = {"tool": "search", "side_effects": "none", "privilege": "read", "call_id": "k", **fields}
    return [attempt(f"t{n}", n, outcome, attempt=n, **base) for n, outcome in enumerate(outcomes, start=1)]


def degradation(**fields: Any) -> dict[str, Any]:
    """The call gave up and took its fallback."""
    return event("tool.degradation", "g", 40, **{"caller": "hermes", "tool": "search", "fallback": "cache", **fields})


def broken(*events: dict[str, Any], rules: dict[str, Any] = POLICY) -> set[str]:
    """The retry rules that the events break; every finding names its call."""
    verdicts = evaluate(list(events), rules).retries
    assert {verdict.subject for verdict in verdicts} <= {"k"}
    assert len({verdict.rule for verdict in verdicts}) == len(verdicts)
    return {verdict.rule for verdict in verdicts}


def test_retry_over_limit_counts_the_retries_after_that_class() -> None:
    assert broken(*call("unavailable", "success")) == set()
    assert broken(*call("unavailable", "unavailable", "success")) == {"retry_over_limit"}
    assert broken(*call("unavailable", "failed", "success")) == set()  # `other` has no limit
    assert broken(*call("unavailable", "failed", "unavailable", "success")) == {"retry_over_limit"}


def test_retry_forbidden_after_a_denial() -> None:
    assert broken(*call("denied", "success")) == {"retry_forbidden"}
    once = policy(retry={"permission_denied": {"max_retries": 1}})
    assert broken(*call("denied", "success"), rules=once) == set()
    assert broken(*call("denied", "denied", "success"), rules=once) == {"retry_over_limit"}


def test_attempts_go_by_their_number_then_time() -> None:
    first, second = call("denied", "success")
    assert broken({**first, "attempt": 2}, {**second, "attempt": 1}, ESCALATED) == set()  # the denial came last
    assert broken({**first, "attempt": 1}, {**second, "attempt": 1}) == {"retry_forbidden"}


def test_blind_retry_repeats_the_same_invalid_input() -> None:
    again = call("failed", "success", error_class="validation")
    again[1].pop("error_class")
    same = [{**one, "input_digest": RED} for one in again]
    assert broken(*same) == {"blind_retry"}
    assert broken(same[0], {**same[1], "input_digest": BLUE}) == set()
    assert broken(*again) == set()
    assert broken(*same, rules=policy(retry={"validation": {"max_retries": 5}})) == set()


def test_unsafe_replay_of_a_mutating_call() -> None:
    writes = {"side_effects": "reversible", "idempotency_key": "K"}
    kept = call("unavailable", "success", **writes)
    assert broken(*kept) == set()
    assert broken(kept[0], {**kept[1], "idempotency_key": "L"}) == {"unsafe_replay"}
    assert broken({**kept[0], "idempotency_key": None}, kept[1]) == {"unsafe_replay"}
    bare = call("unavailable", "success", side_effects="reversible")
    assert broken(*bare) == {"unsafe_replay"}
    assert broken(bare[0], {**bare[1], "side_effects": "none"}) == set()
    assert broken({**bare[0], "outcome": "failed", "error_class": "validation"}, bare[1]) == set()
    assert broken({**bare[0], "outcome": "denied", "error_class": "other"}, bare[1]) == set()


def test_degrade_missing_without_fallback_or_escalation() -> None:
    lost = call("unavailable")
    assert broken(*lost) == {"degrade_missing"}
    assert broken(*lost, degradation(call_id="k")) == set()
    assert broken(*lost, degradation(caller="HERMES")) == set()
    assert broken(*lost, degradation(call_id="j")) == {"degrade_missing"}
    assert broken(*lost, degradation(tool="fetch")) == {"degrade_missing"}
    assert broken(*lost, degradation(call_id="k", tenant="t2")) == {"degrade_missing"}
    assert broken(*lost, ESCALATED) == set()
    assert broken(*lost, record("d", 60, terminal_state="ESCALATED_TO_HUMAN")) == set()
    assert broken(*lost, record("d", 60, escalation={"triggered": True})) == set()
    assert broken(*lost, record("d", 60)) == {"degrade_missing"}
    assert broken(*call("unavailable", "success")) == set()
    assert broken(*lost, rules=policy(retry={"transient": {"max_retries": 1, "then": "fail"}})) == set()


def test_permission_unsurfaced() -> None:
    assert broken(*call("denied")) == {"permission_unsurfaced"}
    assert broken(*call("denied"), degradation(call_id="k")) == {"permission_unsurfaced"}
    assert broken(*call("denied"), ESCALATED) == set()
    assert broken(*call("denied"), record("d", 60, degradations=[{"tool": "Search"}])) == set()
    assert broken(*call("denied"), record("d", 60, degradations=[{"call_id": "k"}])) == set()
    assert broken(*call("denied"), record("d", 60, degradations=[{"tool": "fetch"}])) == {"permission_unsurfaced"}


def test_degrade_unnoted_only_where_there_is_a_record() -> None:
    fell_back = degradation(call_id="k")
    assert broken(fell_back) == set()
    assert broken(fell_back, record("d", 60)) == {"degrade_unnoted"}
    assert broken(fell_back, record("d", 60, degradations=[{"call_id": "k"}])) == set()
    assert broken(fell_back, record("d", 60, degradations=[{"tool": "search"}])) == set()
    other = record("e", 61, decision_id="D2", degradations=[{"tool": "search"}])
    assert broken(fell_back, record("d", 60), other) == set()
    nameless = evaluate([degradation(), record("d", 60)], policy())
    assert nameless.findings == {Finding("degrade_unnoted", None, "c1", "g")}


def test_a_finding_waits_for_its_grace() -> None:
    # Without any contract no tool is undeclared, which would be found at once.
    waiting = evaluate(call("unavailable"), policy(tools=[]), NOON + timedelta(seconds=61))
    assert waiting.pending == {Finding("degrade_missing", None, "c1", "k")}
    assert waiting.findings == set()
