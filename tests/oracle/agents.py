"""The agent lane: who held a task when they reported on it, who verified it, and what was shipped unverified."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.oracle.history import History, Row, order_of, still_running
from tests.oracle.rows import Verdict
from tests.oracle.rulebook import Rulebook

_HOLDING = ("granted", "renewed")


def agents(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[Verdict]:
    """One verdict per report, per (task, gate) and per shipment that breaks a rule."""
    verdicts: list[Verdict] = []
    for report in history.of_kind("agent.report"):
        rule = _broken_by_report(report, history, rules)
        if rule is not None:
            verdicts.append(Verdict(rule, report["tenant"], report["correlation_id"], report["task_id"], False))
    passes = _passes_of_own_work(history, rules)
    verdicts += [Verdict("self_verified", tenant, run, task, False) for tenant, run, task, _ in sorted(passes, key=str)]
    for shipment in history.of_kind("artifact.shipment"):
        if _unverified(shipment, history, rules.clock_skew):
            waits = still_running(watermark, shipment["ts"], rules.grace)
            tenant, run = shipment["tenant"], shipment["correlation_id"]
            verdicts.append(Verdict("shipped_unverified", tenant, run, shipment["artifact_id"], waits))
    return verdicts


def _same_run(one: Row, other: Row) -> bool:
    return (one["tenant"], one["correlation_id"]) == (other["tenant"], other["correlation_id"])


def _broken_by_report(report: Row, history: History, rules: Rulebook) -> str | None:
    """`foreign_report` or `lease_expired_report`; None when the reporter held the task or nobody ever leased it."""
    leases: dict[str, list[Row]] = {}
    for change in history.of_kind("agent.lease"):  # in order
        if _same_run(change, report) and change["task_id"] == report["task_id"]:
            slack = rules.clock_skew if change["state"] in _HOLDING else timedelta(0)
            if change["ts"] <= report["ts"] + slack:
                leases.setdefault(change["lease_id"], []).append(change)
    if not leases:
        return None
    reporter = rules.person(report["by"])
    named = report.get("lease_id")
    judged_by = {named: leases[named]} if named in leases else leases
    own = {lease_id: changes for lease_id, changes in judged_by.items() if _holder(changes, rules) == reporter}
    if not own:
        return "foreign_report"
    good = [changes for changes in own.values() if _is_good(changes, report["ts"])]
    if not good:
        return "lease_expired_report"
    held_since = max(order_of(_holding(changes)[-1]) for changes in good)
    for changes in leases.values():
        for change in changes:
            to_another = change["state"] == "granted" and rules.person(change["holder"]) != reporter
            if to_another and held_since < order_of(change) < order_of(report):
                return "foreign_report"
    return None


def _holding(changes: list[Row]) -> list[Row]:
    return [change for change in changes if change["state"] in _HOLDING]


def _holder(changes: list[Row], rules: Rulebook) -> str | None:
    """Who holds one lease: its last grant or renewal says so; where none was seen, its end does."""
    return rules.person((_holding(changes) or changes)[-1]["holder"])


def _is_good(changes: list[Row], at: datetime) -> bool:
    """Nothing ended the lease last, and it had not run out: an expiry at the very instant still holds."""
    last = changes[-1]
    if last["state"] not in _HOLDING:
        return False
    expires = last.get("expires_at")
    return expires is None or expires >= at


def _passes_of_own_work(history: History, rules: Rulebook) -> set[tuple[str | None, str, str, str]]:
    """(tenant, run, task, gate) that somebody passed who made a report on the task, before or after."""
    found: set[tuple[str | None, str, str, str]] = set()
    for decision in history.of_kind("gate.decision"):
        for report in history.of_kind("agent.report"):
            about_it = decision["subject"] == report["task_id"] and _same_run(decision, report)
            own = rules.person(decision["by"]) == rules.person(report["by"])
            if decision["decision"] == "passed" and about_it and own:
                found.add((decision["tenant"], decision["correlation_id"], report["task_id"], decision["gate"]))
    return found


def _unverified(shipment: Row, history: History, skew: timedelta) -> bool:
    """Whether the shipped artifact was reported by an agent, and neither it nor the task had been passed by then."""
    by_then = [row for row in history.rows if _same_run(row, shipment) and row["ts"] <= shipment["ts"] + skew]
    subjects = {
        report["task_id"]
        for report in by_then
        if report["kind"] == "agent.report"
        and report.get("artifact_id") == shipment["artifact_id"]
        and report["claim"] in ("completed", "partial")
    }
    if not subjects:
        return False
    subjects.add(shipment["artifact_id"])
    return not any(
        row["kind"] == "gate.decision" and row["decision"] == "passed" and row["subject"] in subjects for row in by_then
    )
