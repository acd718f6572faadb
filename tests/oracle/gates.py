"""Gate status of every (shipment, pipeline, gate): 03, "The two decisions, exactly", first part."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.oracle.history import (
    History,
    Row,
    in_call_order,
    notes_degradation,
    order_of,
    still_running,
)
from tests.oracle.rows import GateCheck
from tests.oracle.rulebook import Rulebook, duration
from tests.oracle.shipments import Shipment, shipments_of

SILENT = ("gate_missing", "gate_errored_open", "gate_late", "gate_stale", "gate_reused", "gate_out_of_order")
RELIED_ON = ("passed", "gate_out_of_order")
NOT_RUN = ("failed", "unavailable", "denied", "stale_target")


@dataclass
class Decision:
    """A gate decision; a stand-in from a record has no time, `by` or digest of its own."""

    event_id: str
    decision: str
    row: Row | None = None


@dataclass
class Outcome:
    """The status of one check, the decision that it rests on, and the failing call that is its cause."""

    status: str
    decision: Decision | None = None
    cause: Row | None = None


def gate_checks(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[GateCheck]:
    """03: "for each shipment (or other subject of a pipeline) x each required gate, exactly one status"."""
    checks: list[GateCheck] = []
    for pipeline in rules.pipelines:
        by_subject: dict[tuple[str | None, str, str], list[Shipment]] = {}
        for shipment in shipments_of(history, pipeline, rules):
            key = (shipment.row["tenant"], shipment.row["correlation_id"], shipment.subject)
            by_subject.setdefault(key, []).append(shipment)
        for shipments in by_subject.values():
            checks += _checks_of_subject(history, rules, watermark, pipeline, shipments)
    return checks


def _checks_of_subject(
    history: History,
    rules: Rulebook,
    watermark: datetime | None,
    pipeline: dict[str, Any],
    shipments: list[Shipment],
) -> list[GateCheck]:
    """All checks of one subject in one pipeline. `covered` remembers, per gate, which passes covered a shipment."""
    checks: list[GateCheck] = []
    covered: dict[str, set[str]] = {}
    previous: Shipment | None = None
    for shipment in shipments:
        relied: list[Decision] = []  # passes of the gates before, that this shipment relied on
        for position, name in enumerate(pipeline["gates"], start=1):
            gate = name.lower()
            used = covered.setdefault(gate, set())
            outcome = _status(history, rules, pipeline, gate, shipment, previous, used, relied)
            if outcome.status in RELIED_ON and outcome.decision is not None:
                relied.append(outcome.decision)
                used.add(outcome.decision.event_id)
            # Lines 1 and 2 only: an `errored` decision is there already, and a late pass has settled its check.
            waits = outcome.status == "gate_missing" or (
                outcome.status == "gate_errored_open" and outcome.decision is None
            )
            grace = duration(pipeline.get("grace", "60s"))
            pending = waits and still_running(watermark, shipment.ts, grace)
            status = "pending" if pending else outcome.status
            checks.append(
                GateCheck(
                    tenant=shipment.row["tenant"],
                    correlation_id=shipment.row["correlation_id"],
                    subject=shipment.subject,
                    shipped_event_id=shipment.row["event_id"],
                    pipeline=pipeline["name"],
                    gate=gate,
                    position=position,
                    status=status,
                    decision_event_id=outcome.decision.event_id if outcome.decision else None,
                    cause_event_id=outcome.cause["event_id"] if outcome.cause else None,
                    silent=status in SILENT and not _declared(history, rules, gate, shipment, previous, outcome.cause),
                    settled=outcome.status,
                )
            )
        previous = shipment
    return checks


def _status(
    history: History,
    rules: Rulebook,
    pipeline: dict[str, Any],
    gate: str,
    shipment: Shipment,
    previous: Shipment | None,
    used: set[str],
    relied: list[Decision],
) -> Outcome:
    """03: "First line that fits", lines 1 to 8."""
    in_time, later = _decisions(history, rules, gate, shipment)
    if not in_time:
        for late in later:
            if late.decision == "passed":
                return Outcome("gate_late", late)  # line 1
        cause = _failed_review(history, rules, gate, shipment, previous)
        return Outcome("gate_errored_open" if cause else "gate_missing", cause=cause)  # line 2
    last = in_time[-1]
    if last.decision != "passed":  # line 3
        failed = {"blocked": "gate_blocked_shipped", "errored": "gate_errored_open"}
        cause = _failed_review(history, rules, gate, shipment, previous) if last.decision == "errored" else None
        return Outcome(failed.get(last.decision, f"gate_{last.decision}"), last, cause)
    if last.row is not None:
        by = rules.person(last.row["by"])
        reviewers = rules.reviewers(gate)
        if reviewers and by not in reviewers:
            return Outcome("gate_foreign_reviewer", last)  # line 4
        if pipeline.get("separate_author", False) and by == rules.person(shipment.author):
            return Outcome("gate_self_passed", last)
        if _stale(rules, gate, last.row, shipment):
            return Outcome("gate_stale", last)  # line 5
    if last.event_id in used and not _covers_all(pipeline, last, shipment):
        return Outcome("gate_reused", last)  # line 6
    for before in relied:  # line 7; a stand-in is never out of order, nor makes another so
        if last.row is not None and before.row is not None and order_of(before.row) > order_of(last.row):
            return Outcome("gate_out_of_order", last)
    return Outcome("passed", last)  # line 8


def _decisions(
    history: History, rules: Rulebook, gate: str, shipment: Shipment
) -> tuple[list[Decision], list[Decision]]:
    """03: "Decisions of that gate whose `subject` is the shipment's subject, in the same correlation id".

    Returns those in time ("`ts` <= shipment `ts` + `clock_skew`") and those after, each in order. 02: stand-ins
    "count as in time and in order": they come before every decision that has a time.
    """
    tenant, run = shipment.row["tenant"], shipment.row["correlation_id"]
    in_time: list[Decision] = []
    stands_for = rules.gates[gate].get("stands_for", [])
    for record in history.records_of(tenant, run):
        verdicts = record.get("rubric_verdicts") or []
        if "rubric_verdicts" in stands_for and verdicts:
            every = all(verdict.get("pass") is True for verdict in verdicts)
            in_time.append(Decision(record["event_id"], "passed" if every else "blocked"))
        if "clearance" in stands_for and record.get("clearance") is not None:
            in_time.append(Decision(record["event_id"], "passed" if record["clearance"] == "cleared" else "blocked"))
    later: list[Decision] = []
    for row in history.of_kind("gate.decision"):
        if (row["tenant"], row["correlation_id"], row["gate"], row["subject"]) == (tenant, run, gate, shipment.subject):
            decision = Decision(row["event_id"], row["decision"], row)
            (in_time if row["ts"] <= shipment.ts + rules.clock_skew else later).append(decision)
    return in_time, later


def _failed_review(
    history: History, rules: Rulebook, gate: str, shipment: Shipment, previous: Shipment | None
) -> Row | None:
    """03, line 2: "a tool call of one of its reviewers in this correlation id failed before the shipment and after the
    previous shipment": per call its last attempt in between; the latest one that failed is the cause.
    """
    window: dict[str, list[Row]] = {}
    for attempt in history.attempts:
        same_run = (attempt["tenant"], attempt["correlation_id"]) == (
            shipment.row["tenant"],
            shipment.row["correlation_id"],
        )
        before = order_of(attempt) < order_of(shipment.row)
        after = previous is None or order_of(attempt) > order_of(previous.row)
        if same_run and before and after and rules.person(attempt["caller"]) in rules.reviewers(gate):
            window.setdefault(attempt["call_id"], []).append(attempt)
    failed = [in_call_order(attempts)[-1] for attempts in window.values()]
    failed = [attempt for attempt in failed if attempt["outcome"] in NOT_RUN]
    return max(failed, key=order_of) if failed else None


def _stale(rules: Rulebook, gate: str, decision: Row, shipment: Shipment) -> bool:
    """03, line 5: "both sides carry a digest and they differ, or it had expired, or was older than `max_age`"."""
    digest = decision.get("digest")
    if digest is not None and shipment.digest is not None and digest != shipment.digest:
        return True
    if decision.get("expires_at") is not None and decision["expires_at"] < shipment.ts:
        return True
    max_age = rules.gates[gate].get("max_age")
    return max_age is not None and shipment.ts - decision["ts"] > duration(max_age)


def _covers_all(pipeline: dict[str, Any], decision: Decision, shipment: Shipment) -> bool:
    """03, line 6: "With digests on both sides and binding `per_digest` it covers every shipment of that digest"."""
    per_digest = pipeline.get("binding", "per_digest") == "per_digest"
    has_digest = decision.row is not None and decision.row.get("digest") is not None
    return per_digest and has_digest and shipment.digest is not None


def _declared(
    history: History, rules: Rulebook, gate: str, shipment: Shipment, previous: Shipment | None, cause: Row | None
) -> bool:
    """03: "unless the run's record or a waiver declared it before the shipment"."""
    tenant, run = shipment.row["tenant"], shipment.row["correlation_id"]
    in_time, _ = _decisions(history, rules, gate, shipment)
    for decision in in_time:
        if decision.decision in ("skipped", "waived") and decision.row is not None:
            expires, used = decision.row.get("expires_at"), previous is not None and decision.row["ts"] <= previous.ts
            if not used and (expires is None or expires >= shipment.ts):
                return True
    call_id = cause["call_id"] if cause else None
    for record in history.records:
        before = (record["tenant"], record["correlation_id"]) == (tenant, run) and record["ts"] <= shipment.ts
        if before and notes_degradation(record, tool=gate, call_id=call_id):
            return True
    return False
