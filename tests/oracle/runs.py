"""Runs: 03, "`budget_exceeded`, `judge_cycles_exceeded`, `terminal_state_missing`, `terminal_state_conflict`,
`activity_after_terminal`, `model_tier_mismatch`".
"""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from tests.oracle.history import History, Row, in_call_order, order_of, still_running
from tests.oracle.rows import DatedVerdict
from tests.oracle.rulebook import Rulebook

_REOPENING = ("reopened", "complaint", "resolution_rejected")
_ACTIVITY = ("tool.invocation", "agent.dispatch", "artifact.shipment", "action.proposal")


class Run:
    """Everything of one correlation id of one tenant, in (`ts`, `event_id`) order."""

    def __init__(self, tenant: str | None, correlation_id: str, history: History) -> None:
        self.tenant, self.correlation_id = tenant, correlation_id
        self.rows = [r for r in history.rows if (r["tenant"], r["correlation_id"]) == (tenant, correlation_id)]
        self.records = history.records_of(tenant, correlation_id)
        self.dispatches = self.of_kind("agent.dispatch")
        self.reopenings = [row for row in self.of_kind("human.feedback") if row["signal"] in _REOPENING]

    def of_kind(self, kind: str) -> list[Row]:
        """The run's events of one kind, in order."""
        return [row for row in self.rows if row["kind"] == kind]

    def limit(self, key: str, rules: Rulebook) -> int | None:
        """The run's ceiling: its command's, where it has exactly one."""
        commands = {row["command"] for row in self.dispatches}
        return rules.ceiling(commands.pop() if len(commands) == 1 else None, key)

    def reopened(self, since: datetime, until: datetime) -> bool:
        """Whether somebody asked to take the run up again, both ends included."""
        return any(since <= row["ts"] <= until for row in self.reopenings)

    def verdict(self, rule: str, first: Row, evidence: list[Row], subject: str | None = None) -> DatedVerdict:
        """A finding about this run, open, dated by its first event."""
        ids = tuple(sorted({row["event_id"] for row in evidence}))
        about = self.correlation_id if subject is None else subject
        return DatedVerdict(rule, self.tenant, self.correlation_id, about, False, first["ts"], ids)


def runs(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[DatedVerdict]:
    """Verdicts run by run; only a missing end waits."""
    verdicts: list[DatedVerdict] = []
    names = {(row["tenant"], row["correlation_id"]) for row in history.rows if row["correlation_id"] is not None}
    for tenant, correlation_id in sorted(names, key=str):
        run = Run(tenant, correlation_id, history)
        verdicts += _over_dispatches(run, rules)
        verdicts += _over_retries(run, rules)
        verdicts += _over_cycles(run, rules)
        verdicts += _without_end(run, rules, watermark)
        verdicts += _conflicts(run)
        verdicts += _after_the_end(run, history, rules)
        verdicts += _other_tiers(run, rules)
    return verdicts


def _over_dispatches(run: Run, rules: Rulebook) -> list[DatedVerdict]:
    """Each command by its own dispatches; the record's count only where these show nothing."""
    found: list[DatedVerdict] = []
    for command in sorted({row["command"] for row in run.dispatches}):
        limit = rules.ceiling(command, "dispatches")
        over = [] if limit is None else [row for row in run.dispatches if row["command"] == command][limit:]
        if over:
            found.append(run.verdict("budget_exceeded", over[0], over))
    limit = run.limit("dispatches", rules)
    counted = [record for record in run.records if record.get("dispatch_count") is not None]
    if not found and counted and limit is not None:
        greatest = max(record["dispatch_count"] for record in counted)
        first = next(record for record in counted if record["dispatch_count"] == greatest)
        if greatest > limit:
            found.append(run.verdict("budget_exceeded", first, [first]))
    return found


def _over_retries(run: Run, rules: Rulebook) -> list[DatedVerdict]:
    """A retry is every attempt of a call but the first, by whoever made it."""
    limit = run.limit("retries_per_caller", rules)
    if limit is None:
        return []
    attempts = run.of_kind("tool.invocation")
    retries: dict[str | None, list[Row]] = {}
    for call_id in {row["call_id"] for row in attempts}:
        for retry in in_call_order([row for row in attempts if row["call_id"] == call_id])[1:]:
            retries.setdefault(rules.person(retry["caller"]), []).append(retry)
    over = [sorted(made, key=order_of)[limit:] for made in retries.values()]
    return [run.verdict("budget_exceeded", beyond[0], beyond) for beyond in over if beyond]


def _over_cycles(run: Run, rules: Rulebook) -> list[DatedVerdict]:
    limit = run.limit("judge_cycles", rules)
    if limit is None:
        return []
    over = [row for row in run.records if (row.get("judge_cycles") or 0) > limit]
    over += [row for row in run.of_kind("gate.decision") if (row.get("cycle") or 0) > limit]
    over.sort(key=order_of)
    return [run.verdict("judge_cycles_exceeded", over[0], over)] if over else []


def _without_end(run: Run, rules: Rulebook, watermark: datetime | None) -> list[DatedVerdict]:
    closed = run.records or run.of_kind("xenia.ticket_resolved") or run.of_kind("xenia.escalated")
    if closed or not run.dispatches:
        return []
    first, last = run.dispatches[0], run.rows[-1]
    verdict = run.verdict("terminal_state_missing", first, [first, last])
    return [verdict._replace(pending=still_running(watermark, last["ts"], rules.run_timeout))]


def _conflicts(run: Run) -> list[DatedVerdict]:
    """A record against the one before it."""
    found: list[DatedVerdict] = []
    for earlier, later in pairwise(run.records):
        differ = earlier["terminal_state"] != later["terminal_state"]
        known = {row["run_id"] for row in (earlier, later) if row.get("run_id") is not None}
        follows = later.get("follow_up_of") in (earlier["decision_id"], run.correlation_id)
        if differ and len(known) < 2 and not follows and not run.reopened(earlier["ts"], later["ts"]):
            found.append(run.verdict("terminal_state_conflict", later, [earlier, later], later["decision_id"]))
    return found


def _after_the_end(run: Run, history: History, rules: Rulebook) -> list[DatedVerdict]:
    """The end is when the last of the run's decisions was first recorded; an edit is not another end."""
    if not run.records:
        return []
    ends = []
    for record in run.records:
        same = (record["tenant"], record["decision_id"])
        ends.append(min(r["ts"] for r in history.records if (r["tenant"], r["decision_id"]) == same))
    end = max(ends)
    named = [record.get("run_id") for record in run.records]
    late = [
        row
        for row in run.rows
        if row["kind"] in _ACTIVITY
        and row["ts"] > end + rules.clock_skew
        and not run.reopened(end, row["ts"])
        and (row.get("run_id") is None or None in named or row["run_id"] in named)
    ]
    return [run.verdict("activity_after_terminal", late[0], [run.records[-1], *late])] if late else []


def _other_tiers(run: Run, rules: Rulebook) -> list[DatedVerdict]:
    ran: dict[tuple[str, str], list[Row]] = {}
    for row in run.rows:
        if row["kind"] == "tool.invocation" or row["kind"].startswith("xenia."):
            who, tier = rules.person(row.get("caller") or row.get("agent")), row.get("model_tier")
            expected = rules.expected_tier(who)
            if who is not None and tier is not None and expected is not None and tier.lower() != expected.lower():
                ran.setdefault((who, tier.lower()), []).append(row)
    return [run.verdict("model_tier_mismatch", rows[0], rows, who) for (who, _), rows in ran.items()]
