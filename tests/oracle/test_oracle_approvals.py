"""Approvals and confirmation, worked out by hand from 03: every rule and the nearest case that must not fire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.oracle import evaluate
from tests.oracle.cases import NOON, POLICY, approval, at, attempt, event, policy, receipt

RED, BLUE = "sha256:" + "a" * 64, "sha256:" + "b" * 64


def broken(*events: dict[str, Any], rules: dict[str, Any] = POLICY) -> list[tuple[str, str]]:
    """(rule, subject) of every approval finding."""
    return [(verdict.rule, verdict.subject) for verdict in evaluate(list(events), rules).approvals]


def test_approved_by_a_human_in_time() -> None:
    assert broken(approval("a", 1), attempt("t", 5)) == []
    assert broken(approval("a", 7), attempt("t", 5)) == []  # within the clock skew
    assert broken(approval("a", 1), receipt("r", 5)) == []


def test_approval_missing() -> None:
    assert broken(attempt("t", 5)) == [("approval_missing", "t")]
    assert broken(approval("a", 7.1), attempt("t", 5)) == [("approval_missing", "t")]
    assert broken(approval("a", 1, correlation_id="c2"), attempt("t", 5)) == [("approval_missing", "t")]
    assert broken(approval("a", 1, tenant="t2"), attempt("t", 5, approval_id="A1")) == [("approval_missing", "t")]
    assert broken(approval("a", 1), attempt("t", 5, approval_id="A9")) == [("approval_missing", "t")]
    assert broken(receipt("r", 5)) == [("approval_missing", "r")]
    assert broken(attempt("t", 5), receipt("r", 6, call_id="t")) == [("approval_missing", "t")]


def test_only_what_took_effect_and_needs_one() -> None:
    assert broken(attempt("t", 5, "failed")) == []
    # The contract of the tool says irreversible: a call that understates that is not let off.
    assert broken(attempt("t", 5, side_effects="reversible")) == [("approval_missing", "t")]
    assert broken(attempt("t", 5, tool="other", side_effects="reversible")) == []
    assert broken(attempt("t", 5), receipt("r", 6, "rolled_back", call_id="t")) == []
    named = policy(approvals={"actions": ["mail"]})
    mail = attempt("t", 5, tool="send_mail", side_effects="reversible")
    assert broken(mail, rules=named) == [("approval_missing", "t")]


def test_declined_and_the_last_answer_counts() -> None:
    assert broken(approval("a", 1, "declined"), attempt("t", 5)) == [("approval_declined_executed", "t")]
    assert broken(approval("a", 1, "declined"), approval("b", 2), attempt("t", 5)) == []


def test_expired_by_decision_date_or_default() -> None:
    for decision in ("expired", "superseded"):
        assert broken(approval("a", 1, decision), attempt("t", 5)) == [("approval_expired", "t")]
    assert broken(approval("a", 1, expires_at=at(4.9)), attempt("t", 5)) == [("approval_expired", "t")]
    assert broken(approval("a", 1, expires_at=at(5)), attempt("t", 5)) == []
    day = 24 * 3600
    assert broken(approval("a", 1), attempt("t", day + 1)) == []
    assert broken(approval("a", 1), attempt("t", day + 1.1)) == [("approval_expired", "t")]


def test_not_human() -> None:
    assert broken(approval("a", 1, by_kind="agent"), attempt("t", 5)) == [("approval_not_human", "t")]
    assert broken(approval("a", 1, by_kind="policy"), attempt("t", 5)) == [("approval_not_human", "t")]


@pytest.mark.parametrize("other", [{"action": "mail"}, {"target": "y"}])
def test_mismatch_of_action_or_target(other: dict[str, Any]) -> None:
    assert broken(approval("a", 1, **other), attempt("t", 5, approval_id="A1", target="x")) == [
        ("approval_mismatch", "t")
    ]
    given = approval("a", 1, target="x")
    assert broken(given, attempt("t", 5, approval_id="A1", target="x")) == []
    assert broken(given, attempt("t", 5, approval_id="A1")) == []
    assert broken(approval("a", 1, target="y"), attempt("t", 5, target="x")) == [("approval_missing", "t")]


def test_exceeded_beyond_the_tolerance() -> None:
    limited = approval("a", 1, amount_limit=10)
    assert broken(limited, attempt("t", 5, amount=10.5)) == []
    assert broken(limited, attempt("t", 5, amount=10.75)) == [("approval_exceeded", "t")]
    assert broken(limited, attempt("t", 5)) == []


def test_stale_confirmation() -> None:
    assert broken(approval("a", 1, digest=RED), attempt("t", 5, input_digest=BLUE)) == [("confirmation_stale", "t")]
    assert broken(approval("a", 1, digest=RED), attempt("t", 5, input_digest=RED)) == []
    assert broken(approval("a", 1), attempt("t", 5, input_digest=RED)) == []


def test_reused_unless_it_may_be() -> None:
    twice = [attempt("t1", 5), attempt("t2", 6)]
    assert broken(approval("a", 1), *twice) == [("approval_reused", "t2")]
    assert broken(approval("a", 1, single_use=False), *twice) == []
    # Two approvals are good for two alike actions, whichever they name.
    assert broken(approval("a", 1), approval("b", 2, approval_id="A2"), *twice) == []
    third = [*twice, attempt("t3", 7)]
    assert broken(approval("a", 1), approval("b", 2, approval_id="A2"), *third) == [("approval_reused", "t3")]
    assert broken(approval("a", 1), approval("b", 8, approval_id="A2"), *[twice[0], attempt("t2", 9)]) == []
    # A second effect under one idempotency key is a duplicate execution, said once.
    assert broken(approval("a", 1), *[{**one, "idempotency_key": "K"} for one in twice]) == []


def test_by_the_receipts_proposal() -> None:
    mail = approval("a", 1, proposal_id="P", action=None)
    assert broken(mail, receipt("r", 5, proposal_id="P")) == []
    assert broken(approval("a", 1), receipt("r", 5, proposal_id="P")) == [("approval_missing", "r")]


def test_execution_after_supersession() -> None:
    stop = event("safety.supersession", "s", 4, policy="self-harm")
    assert broken(approval("a", 1), stop, attempt("t", 5)) == [("execution_after_supersession", "t")]
    assert broken(approval("a", 1), stop, attempt("a0", 4)) == []  # the same instant: the event id decides
    assert broken(approval("a", 1), {**stop, "correlation_id": "c2"}, attempt("t", 5)) == []
    mail = attempt("t", 5, tool="send_mail", side_effects="reversible")
    assert broken(stop, mail) == [("execution_after_supersession", "t")]


def test_a_finding_waits_for_its_grace() -> None:
    waiting = evaluate([attempt("t", 5, input_digest=RED)], policy(), NOON + timedelta(seconds=65))
    assert [verdict.pending for verdict in waiting.approvals] == [True]
    assert waiting.findings == set()
