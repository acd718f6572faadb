"""The agent lane, worked out by hand from 03: every rule and the nearest case that must not fire."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.oracle import Finding, evaluate
from tests.oracle.cases import NOON, POLICY, at, decide, event, ship


def lease(event_id: str, seconds: float, state: str = "granted", **fields: Any) -> dict[str, Any]:
    """Lease `L1` of task `t`, held by hestia."""
    facts = {"lease_id": "L1", "task_id": "t", "holder": "hestia", **fields}
    return event("agent.lease", event_id, seconds, **facts, state=state)


def report(event_id: str, seconds: float, **fields: Any) -> dict[str, Any]:
    """Hestia reports task `t` as completed."""
    return event("agent.report", event_id, seconds, **{"task_id": "t", "by": "hestia", "claim": "completed", **fields})


def broken(*events: dict[str, Any]) -> list[tuple[str, str]]:
    """(rule, subject) of each verdict of the agent lane."""
    return [(verdict.rule, verdict.subject) for verdict in evaluate(list(events), POLICY).agents]


FOREIGN, EXPIRED, SELF = [("foreign_report", "t")], [("lease_expired_report", "t")], [("self_verified", "t")]


def test_a_report_by_another_than_the_holder() -> None:
    held = lease("l", 0)
    assert broken(held, report("r", 10)) == []
    assert broken(held, report("r", 10, by="hermes")) == FOREIGN
    assert broken(held, report("r", 10, by="hermes", lease_id="L1")) == FOREIGN
    assert broken(report("r", 10, by="hermes")) == []  # nobody leases anything here
    assert broken(lease("l", 0, task_id="u"), report("r", 10, by="hermes")) == []
    assert broken(lease("l", 0, tenant="t2"), report("r", 10, by="hermes")) == []
    assert broken(lease("l", 0, holder="Quality-Review"), report("r", 10, by="THEMIS")) == []
    assert broken(held, report("r", 10, by="hermes"), report("s", 11, by="hermes")) == FOREIGN * 2


@pytest.mark.parametrize(("seconds", "expected"), [(12, FOREIGN), (12.000001, [])])
def test_a_grant_within_the_skew_was_there_before_the_report(seconds: float, expected: list[tuple[str, str]]) -> None:
    assert broken(lease("l", seconds, holder="dora"), report("r", 10)) == expected


def test_a_lease_that_the_report_names() -> None:
    own, other = lease("l", 0), lease("m", 1, lease_id="L2", holder="hermes")
    assert broken(other, own, report("r", 10, lease_id="L2")) == FOREIGN  # hermes' lease, though hestia has her own
    assert broken(own, report("r", 10, lease_id="L9")) == []
    assert broken(own, report("r", 10, by="hermes", lease_id="L9")) == FOREIGN


def test_a_task_that_was_given_to_another_meanwhile() -> None:
    own, other = lease("l", 0), lease("m", 5, lease_id="L2", holder="hermes")
    assert broken(own, other, report("r", 10)) == FOREIGN
    assert broken(own, other, report("r", 4)) == []
    assert broken(own, other, report("n", 5)) == FOREIGN  # m comes before n
    assert broken(own, other, report("a", 5)) == []
    assert broken(own, other, lease("n", 6, "renewed"), report("r", 10)) == []
    assert broken(own, {**other, "state": "renewed"}, report("r", 10)) == []
    assert broken(own, {**other, "holder": "hestia"}, report("r", 10)) == []
    assert broken(own, lease("m", 5, "renewed", holder="hermes"), report("r", 10)) == FOREIGN  # handed over


def test_a_report_after_the_lease_had_ended() -> None:
    for end in ("released", "expired", "revoked"):
        assert broken(lease("l", 0), lease("m", 10, end), report("r", 10)) == EXPIRED
        assert broken(lease("l", 0), lease("m", 11, end), report("r", 10)) == []  # no skew for an end
    assert broken(lease("l", 0, expires_at=at(10)), report("r", 10)) == []
    assert broken(lease("l", 0, expires_at=at(10)), report("r", 10.000001)) == EXPIRED
    assert broken(lease("l", 0, expires_at=at(5)), lease("m", 4, "renewed"), report("r", 10)) == []
    assert broken(lease("l", 0), lease("m", 4, "renewed", expires_at=at(5)), report("r", 10)) == EXPIRED
    assert broken(lease("l", 0), lease("m", 4, "released"), lease("n", 5, lease_id="L2"), report("r", 10)) == []
    second = [lease("m", 4, lease_id="L2"), lease("n", 5, "released", lease_id="L2")]
    assert broken(lease("l", 0), *second, report("r", 10)) == []
    assert broken(lease("m", 4, "released"), report("r", 10)) == EXPIRED
    taken = lease("n", 6, lease_id="L2", holder="hermes")
    assert broken(lease("l", 0, expires_at=at(5)), taken, report("r", 10)) == EXPIRED


def test_nobody_passes_their_own_task() -> None:
    own = decide("p", 20, "quality", subject="t", by="hestia")
    assert broken(report("r", 10), own) == SELF
    assert broken(report("r", 30, claim="failed"), own) == SELF
    assert broken(report("r", 10), own, {**own, "event_id": "q"}) == SELF
    assert broken(report("r", 10), own, {**own, "event_id": "q", "gate": "clearance"}) == SELF * 2
    assert broken(report("r", 10), {**own, "by": "themis"}) == []
    assert broken(report("r", 10, by="themis"), {**own, "by": "quality-review"}) == SELF
    assert broken(report("r", 10), {**own, "decision": "blocked"}) == []
    assert broken(report("r", 10), {**own, "subject": "a"}) == []
    assert broken(report("r", 10), {**own, "correlation_id": "c2"}) == []


def test_what_an_agent_made_is_verified_before_it_ships() -> None:
    made, shipped = report("r", 10, artifact_id="a"), ship("s", 20)
    unverified = [("shipped_unverified", "a")]
    passed = decide("p", 15, "quality", subject="t")
    assert broken(made, shipped) == unverified
    assert broken(made, shipped, ship("s2", 21)) == unverified * 2
    assert broken(shipped) == []
    assert broken(report("r", 10), shipped) == []
    assert broken({**made, "claim": "failed"}, shipped) == []
    assert broken({**made, "ts": at(22)}, shipped) == unverified
    assert broken({**made, "ts": at(22.000001)}, shipped) == []
    assert broken(made, passed, shipped) == []
    assert broken(made, {**passed, "subject": "a", "ts": at(22)}, shipped) == []
    assert broken(made, {**passed, "ts": at(22.000001)}, shipped) == unverified
    assert broken(made, {**passed, "decision": "waived"}, shipped) == unverified
    assert broken(made, {**passed, "tenant": "t2"}, shipped) == unverified


def test_only_a_shipment_waits_for_its_grace() -> None:
    events = [report("r", 10, artifact_id="a"), ship("s", 20), lease("l", 0, holder="dora")]
    waiting = evaluate(events, POLICY, NOON + timedelta(seconds=80))
    assert Finding("shipped_unverified", None, "c1", "a") in waiting.pending
    assert Finding("foreign_report", None, "c1", "t") in waiting.findings
    assert not any(verdict.pending for verdict in evaluate(events, POLICY, NOON + timedelta(seconds=80.000001)).agents)
