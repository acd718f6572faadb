"""Tool contracts: 03, "`caller_not_allowed`, `tool_undeclared`, `privilege_mismatch`, `side_effects_understated`,
`undo_missing`, `digest_missing`, `error_undeclared`, `injection_unflagged`".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracle.history import History, Row, error_class_of, is_mutating, order_of
from tests.oracle.rows import DatedVerdict
from tests.oracle.rulebook import Rulebook

_STEPS = ["none", "reversible", "irreversible"]


def contracts(history: History, rules: Rulebook) -> list[DatedVerdict]:
    """At most one verdict per call and rule, dated by its first offending attempt. Nothing waits for later evidence."""
    verdicts: list[DatedVerdict] = []
    for (tenant, run, call_id), attempts in history.calls().items():
        in_time_order = sorted(attempts, key=order_of)
        for rule, breaks in _OF_ONE_ATTEMPT.items():
            offending = [attempt for attempt in in_time_order if breaks(attempt, rules)]
            if offending:
                evidence = tuple(sorted(attempt["event_id"] for attempt in offending))
                verdicts.append(DatedVerdict(rule, tenant, run, call_id, False, offending[0]["ts"], evidence))
        unflagged = [attempt for attempt in in_time_order if _unflagged(attempt, history)]
        if unflagged:
            newest = history.records_of(tenant, run)[-1]
            evidence = tuple(sorted([*(attempt["event_id"] for attempt in unflagged), newest["event_id"]]))
            verdicts.append(
                DatedVerdict("injection_unflagged", tenant, run, call_id, False, unflagged[0]["ts"], evidence)
            )
    return verdicts


def _contract(attempt: Row, rules: Rulebook) -> dict[str, Any]:
    return rules.tools.get(attempt["tool"], {})


def _undeclared(attempt: Row, rules: Rulebook) -> bool:
    """A policy that declares no tool at all has nothing to say about tools."""
    return bool(rules.tools) and attempt["tool"] not in rules.tools


def _not_allowed(attempt: Row, rules: Rulebook) -> bool:
    allowed = _contract(attempt, rules).get("allowed_callers", [])
    return bool(allowed) and rules.person(attempt["caller"]) not in [rules.person(name) for name in allowed]


def _other_privilege(attempt: Row, rules: Rulebook) -> bool:
    agreed = _contract(attempt, rules).get("privilege")
    return agreed is not None and attempt["privilege"] != agreed


def _understated(attempt: Row, rules: Rulebook) -> bool:
    agreed = _contract(attempt, rules).get("side_effects")
    return agreed is not None and _STEPS.index(attempt["side_effects"]) < _STEPS.index(agreed)


def _no_undo(attempt: Row, rules: Rulebook) -> bool:
    took_effect = attempt["side_effects"] == "reversible" and attempt["outcome"] in ("success", "partial")
    return took_effect and attempt.get("undo") is None


def _no_digest(attempt: Row, rules: Rulebook) -> bool:
    return is_mutating(attempt) and attempt.get("input_digest") is None


def _unlisted_error(attempt: Row, rules: Rulebook) -> bool:
    listed = _contract(attempt, rules).get("error_types", [])
    return bool(listed) and attempt.get("error_type") is not None and attempt["error_type"] not in listed


_OF_ONE_ATTEMPT: dict[str, Callable[[Row, Rulebook], bool]] = {
    "tool_undeclared": _undeclared,
    "caller_not_allowed": _not_allowed,
    "privilege_mismatch": _other_privilege,
    "side_effects_understated": _understated,
    "undo_missing": _no_undo,
    "digest_missing": _no_digest,
    "error_undeclared": _unlisted_error,
}


def _suspicious(row: Row) -> bool:
    return row["kind"] == "tool.invocation" and error_class_of(row) == "tool_instructions"


def _is_named(ref: str, attempt: Row) -> bool:
    """By its call, its event, or its tool, which alone is a name without regard to case."""
    return ref in (attempt["call_id"], attempt["event_id"]) or ref.lower() == attempt["tool"]


def _unflagged(attempt: Row, history: History) -> bool:
    """The tool gave orders, the run is closed, and no finding of its records is about this attempt or about no one."""
    records = history.records_of(attempt["tenant"], attempt["correlation_id"])
    if not _suspicious(attempt) or not records:
        return False
    suspects = [
        row
        for row in history.attempts
        if _suspicious(row) and (row["tenant"], row["correlation_id"]) == (attempt["tenant"], attempt["correlation_id"])
    ]
    for record in records:
        for finding in record.get("injection_findings") or []:
            ref = finding.get("ref")
            if ref is None or _is_named(ref, attempt) or not any(_is_named(ref, suspect) for suspect in suspects):
                return False
    return True
