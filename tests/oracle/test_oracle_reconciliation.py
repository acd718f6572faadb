"""Reconciliation, worked out by hand from 03: what is one effect, which claim takes which, and every status."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.oracle import Finding, ReconciliationRow, evaluate
from tests.oracle.cases import NOON, POLICY, attempt, claim, policy, receipt, record

MAIL = {"tool": "send_mail", "side_effects": "reversible"}


def rows(*events: dict[str, Any], rules: dict[str, Any] = POLICY) -> list[ReconciliationRow]:
    """All rows of the reconciliation."""
    return evaluate(list(events), rules).reconciliation


def outcomes(*events: dict[str, Any], rules: dict[str, Any] = POLICY) -> dict[str, str]:
    """Status by subject."""
    return {row.subject: row.status for row in rows(*events, rules=rules)}


def test_claim_attempt_and_receipt_match_by_the_first_key_that_they_share() -> None:
    events = [attempt("t", 1, idempotency_key="K"), receipt("r", 2, idempotency_key="K"), record("d", 9, claim())]
    assert rows(*events) == [ReconciliationRow(None, "c1", "matched", "action", "d", 0, ("r", "t"), "D1#0", "matched")]
    keyed = record("d", 9, claim(action="other", idempotency_key="K"))
    assert [row.match_key for row in rows(*events[:2], keyed)] == ["idempotency_key"]
    by_call = record("d", 9, claim(action="other", call_id="t"))
    assert [row.match_key for row in rows(*events[:2], by_call)] == ["call_id"]
    by_receipt = record("d", 9, claim(action="other", receipt_id="R1", call_id="t"))
    assert [row.match_key for row in rows(*events[:2], by_receipt)] == ["receipt_id"]


def test_phantom_execution_also_after_a_timeout() -> None:
    assert outcomes(record("d", 9, claim())) == {"D1#0": "phantom_execution"}
    assert outcomes(attempt("t", 1, "unavailable"), record("d", 9, claim())) == {"D1#0": "phantom_execution"}
    read = attempt("t", 1, side_effects="none")
    assert outcomes(read, record("d", 9, claim())) == {"D1#0": "phantom_execution"}


def test_hidden_execution_and_a_denial_that_holds() -> None:
    assert outcomes(receipt("r", 1), record("d", 9, claim(False))) == {"D1#0": "hidden_execution"}
    assert outcomes(record("d", 9, claim(False))) == {"D1#0": "matched"}


def test_unclaimed_execution_needs_a_record_of_the_run() -> None:
    assert outcomes(receipt("r", 1), record("d", 9)) == {"r": "unclaimed_execution"}
    assert outcomes(receipt("r", 1)) == {}
    assert outcomes(receipt("r", 1), record("d", 9, correlation_id="c2")) == {}
    assert outcomes(receipt("r", 1), record("d", 9, tenant="t2")) == {}


def test_partial_as_executed_unless_verified() -> None:
    assert outcomes(receipt("r", 1, "partial"), record("d", 9, claim())) == {"D1#0": "partial_as_executed"}
    half = attempt("t", 1, "partial", **MAIL)
    mailed = record("d", 9, claim(action="mail"))
    assert outcomes(half, mailed) == {"D1#0": "partial_as_executed"}
    assert outcomes({**half, "verified": True}, mailed) == {"D1#0": "matched"}


def test_amount_break_beyond_the_tolerance() -> None:
    assert outcomes(receipt("r", 1, amount=10), record("d", 9, claim(amount=10.5))) == {"D1#0": "matched"}
    assert outcomes(receipt("r", 1, amount=10), record("d", 9, claim(amount=10.75))) == {"D1#0": "amount_break"}
    assert outcomes(receipt("r", 1), record("d", 9, claim(amount=99))) == {"D1#0": "matched"}
    # The receipt has the say, not the attempt's own amount.
    both = [attempt("t", 1, receipt_id="R1", amount=99), receipt("r", 2, amount=10)]
    assert outcomes(*both, record("d", 9, claim(amount=10))) == {"D1#0": "matched"}


def test_unreceipted_execution_where_the_contract_requires_a_receipt() -> None:
    assert outcomes(attempt("t", 1), record("d", 9, claim())) == {"D1#0": "unreceipted_execution"}
    assert outcomes(attempt("t", 1, **MAIL), record("d", 9, claim(action="mail"))) == {"D1#0": "matched"}


def test_duplicate_execution_is_a_row_of_its_own_and_not_unclaimed() -> None:
    twice = [receipt("r1", 1, idempotency_key="K"), receipt("r2", 2, idempotency_key="K", receipt_id="R2")]
    assert outcomes(*twice) == {"r2": "duplicate_execution"}
    assert outcomes(*twice, record("d", 9)) == {"r1": "unclaimed_execution", "r2": "duplicate_execution"}
    assert outcomes(*twice, record("d", 9, claim(), claim())) == {
        "D1#0": "matched",
        "D1#1": "matched",
        "r2": "duplicate_execution",
    }
    elsewhere = {**twice[1], "tenant": "t2"}
    assert outcomes(twice[0], elsewhere) == {}


def test_a_receipt_exists_proves_that_it_did_not_happen_twice() -> None:
    tries = [attempt("t1", 1, idempotency_key="K"), attempt("t2", 2, idempotency_key="K")]
    first = receipt("r1", 1.5, idempotency_key="K")
    assert outcomes(*tries, first) == {"t2": "duplicate_execution"}
    assert outcomes(*tries, first, receipt("r2", 2.5, "exists", receipt_id="R2", idempotency_key="K")) == {}


def test_attempts_with_one_receipt_id_are_one_effect() -> None:
    tries = [attempt("t1", 1, idempotency_key="K", receipt_id="R1"), attempt("t2", 2, idempotency_key="K")]
    assert outcomes(*tries) == {"t2": "duplicate_execution"}
    assert outcomes(tries[0], {**tries[1], "receipt_id": "R1"}) == {}


@pytest.mark.parametrize("effect", ["rolled_back", "rejected"])
def test_a_cancelled_effect_is_none(effect: str) -> None:
    tried = attempt("t", 1, idempotency_key="K")
    assert outcomes(tried, receipt("r", 2, effect, idempotency_key="K"), record("d", 9)) == {}
    # The same receipt, first committed: its last word counts.
    undone = [receipt("r1", 2, idempotency_key="K"), receipt("r2", 3, effect, idempotency_key="K")]
    assert outcomes(tried, *undone, record("d", 9)) == {}
    # A receipt of its own for the reversal cancels the effect with that key.
    reversal = receipt("r2", 3, effect, idempotency_key="K", receipt_id="R2")
    assert outcomes(tried, receipt("r1", 2, idempotency_key="K"), reversal, record("d", 9)) == {}


def test_key_conflict_by_digest_target_or_amount_whatever_came_of_the_attempts() -> None:
    first = attempt("t1", 1, "failed", idempotency_key="K", amount=5, target="x")
    same = attempt("t2", 2, "failed", idempotency_key="K", target="x")
    assert rows(first, same) == []
    for difference in ({"amount": 6}, {"target": "y"}):
        assert rows(first, {**same, **difference}) == [
            ReconciliationRow(
                None, "c1", "key_conflict", "idempotency_key", None, None, ("t1", "t2"), "K", "key_conflict"
            )
        ]
    digests = [{"input_digest": "sha256:" + letter * 64} for letter in "ab"]
    assert outcomes({**first, **digests[0]}, {**same, **digests[1]}) == {"K": "key_conflict"}
    assert rows(first, {**same, "amount": 6, "side_effects": "none"}) == []
    booked = [
        receipt("r1", 1, idempotency_key="K", amount=5),
        receipt("r2", 2, idempotency_key="K", amount=6, receipt_id="R2"),
    ]
    assert outcomes(*booked) == {"r2": "duplicate_execution", "K": "key_conflict"}


def test_conflicting_claims_of_two_decisions_about_one_key() -> None:
    says = record("d1", 8, claim(receipt_id="R1"), claim(action="mail"))
    denies = record("d2", 9, claim(False, receipt_id="R1"), decision_id="D2")
    assert outcomes(receipt("r", 1), says, denies) == {
        "D1#0": "conflicting_claims",
        "D1#1": "phantom_execution",
        "D2#0": "conflicting_claims",
    }
    # An edited record is not a second opinion: only its newest version claims.
    assert outcomes(receipt("r", 1), says, {**denies, "decision_id": "D1"}) == {"D1#0": "hidden_execution"}


def test_unverifiable_after_a_timeout_that_no_receipt_feed_can_tell() -> None:
    no = record("d", 9, claim(False, action="mail"))
    assert outcomes(attempt("t", 1, "unavailable", **MAIL), no) == {"D1#0": "unverifiable"}
    assert outcomes(attempt("t", 1, "failed", error_class="transient", **MAIL), no) == {"D1#0": "unverifiable"}
    assert outcomes(attempt("t", 1, "failed", **MAIL), no) == {"D1#0": "matched"}
    told = receipt("r", 2, "rejected", call_id="t", action="mail")
    assert outcomes(attempt("t", 1, "unavailable", **MAIL), told, no) == {"D1#0": "matched"}
    # A tool whose contract requires receipts would have sent one.
    assert outcomes(attempt("t", 1, "unavailable"), record("d", 9, claim(False))) == {"D1#0": "matched"}


def test_repeated_claims_are_a_multiset_and_those_that_claim_execution_choose_first() -> None:
    events = [receipt("r", 1), record("d", 9, claim(False), claim(), claim())]
    assert outcomes(*events) == {"D1#0": "matched", "D1#1": "matched", "D1#2": "phantom_execution"}


def test_targets_equal_first_then_null_on_either_side() -> None:
    events = [
        receipt("r1", 1, target="x"),
        receipt("r2", 2, receipt_id="R2"),
        record("d", 9, claim(), claim(target="y"), claim(target="x")),
    ]
    evidence = {row.subject: row.evidence for row in rows(*events)}
    assert evidence == {"D1#0": (), "D1#1": ("r2",), "D1#2": ("r1",)}
    differs = [receipt("r1", 1, target="x"), record("d", 9, claim(target="y"))]
    assert outcomes(*differs) == {"D1#0": "phantom_execution", "r1": "unclaimed_execution"}


def test_rows_wait_for_their_grace() -> None:
    waiting = evaluate([record("d", 9, claim())], policy(), NOON + timedelta(seconds=69))
    assert [(row.status, row.settled) for row in waiting.reconciliation] == [("pending", "phantom_execution")]
    assert waiting.pending == {Finding("phantom_execution", None, "c1", "D1#0")}
    assert waiting.findings == set()
