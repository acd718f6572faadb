"""Retries and degradation: 03, "per call, attempt by attempt, against the policy of the *previous* attempt's class"."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from tests.oracle.history import History, Row, error_class_of, is_mutating, notes_degradation, still_running
from tests.oracle.rows import Verdict
from tests.oracle.rulebook import Rulebook


def retries(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[Verdict]:
    """At most one verdict per call and rule; a call's grace counts from its last attempt."""
    verdicts: list[Verdict] = []
    for (tenant, run, call_id), attempts in history.calls().items():
        broken = _broken_by_retrying(attempts, rules) | _broken_by_giving_up(attempts, history, rules)
        for rule in sorted(broken):
            # Only what lacks evidence waits for it.
            waits = rule in ("degrade_missing", "permission_unsurfaced")
            pending = waits and still_running(watermark, attempts[-1]["ts"], rules.grace)
            verdicts.append(Verdict(rule, tenant, run, call_id, pending))
    unnoted: dict[tuple[str | None, str, str], bool] = {}
    for degradation in history.of_kind("tool.degradation"):
        if _unnoted(degradation, history):
            of_call = degradation.get("call_id")
            subject = of_call if of_call is not None else degradation["event_id"]
            key = (degradation["tenant"], degradation["correlation_id"], subject)
            # Several of one call are one finding, which is open as soon as one of them is.
            unnoted[key] = unnoted.get(key, True) and still_running(watermark, degradation["ts"], rules.grace)
    return verdicts + [Verdict("degrade_unnoted", *key, pending) for key, pending in unnoted.items()]


def _broken_by_retrying(attempts: list[Row], rules: Rulebook) -> set[str]:
    """03: "`retry_over_limit`, `retry_forbidden` (permission denied, tool instructions), `blind_retry` (validation
    error, same input digest again), `unsafe_replay` (a mutating call repeated without its idempotency key)".
    """
    broken: set[str] = set()
    retried: dict[str, int] = {}
    for previous, attempt in pairwise(attempts):
        after = error_class_of(previous)
        retried[after] = retried.get(after, 0) + 1
        limits = rules.retry.get(after)
        if limits is not None and retried[after] > limits["max_retries"]:
            forbidden = after in ("permission_denied", "tool_instructions") and limits["max_retries"] == 0
            broken.add("retry_forbidden" if forbidden else "retry_over_limit")
        if limits is not None and after == "validation" and limits.get("same_input", "allowed") == "forbidden":
            digest = attempt.get("input_digest")
            if digest is not None and digest == previous.get("input_digest"):
                broken.add("blind_retry")
        key = attempt.get("idempotency_key")
        surely_nothing_happened = previous["outcome"] == "denied" or after in ("permission_denied", "validation")
        same_key = key is not None and key == previous.get("idempotency_key")
        if is_mutating(attempt) and not surely_nothing_happened and not same_key:
            broken.add("unsafe_replay")
    return broken


def _broken_by_giving_up(attempts: list[Row], history: History, rules: Rulebook) -> set[str]:
    """03: "`degrade_missing` (gave up without fallback or escalation)", and `permission_unsurfaced`: nobody told."""
    last = attempts[-1]
    limits = rules.retry.get(error_class_of(last))
    if limits is None:
        return set()
    escalated = history.escalated(last["tenant"], last["correlation_id"])
    if limits.get("must_surface", False):
        noted = any(
            notes_degradation(record, tool=last["tool"], call_id=last["call_id"])
            for record in history.records_of(last["tenant"], last["correlation_id"])
        )
        return set() if escalated or noted else {"permission_unsurfaced"}
    if last["outcome"] == "success" or limits.get("then", "fail") not in ("degrade", "escalate") or escalated:
        return set()
    return set() if _fell_back(last, history, rules) else {"degrade_missing"}


def _fell_back(last: Row, history: History, rules: Rulebook) -> bool:
    """02, `tool.degradation`: "a call gave up and took its documented fallback": by call id, else caller and tool."""
    for degradation in history.of_kind("tool.degradation"):
        if (degradation["tenant"], degradation["correlation_id"]) != (last["tenant"], last["correlation_id"]):
            continue
        if degradation.get("call_id") is not None:
            if degradation["call_id"] == last["call_id"]:
                return True
        elif degradation["tool"] == last["tool"] and rules.person(degradation["caller"]) == rules.person(
            last["caller"]
        ):
            return True
    return False


def _unnoted(degradation: Row, history: History) -> bool:
    """03: "`degrade_unnoted` (fallback taken, the record does not say so)"; without a record nothing can say so."""
    records = history.records_of(degradation["tenant"], degradation["correlation_id"])
    call_id, tool = degradation.get("call_id"), degradation["tool"]
    return bool(records) and not any(notes_degradation(record, tool=tool, call_id=call_id) for record in records)
