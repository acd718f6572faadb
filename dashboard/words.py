"""What the statuses of the tables are called on a page, in a manager's words."""

from __future__ import annotations

GATE_STATUSES = {
    "passed": "held",
    "pending": "waits for late evidence",
    "gate_missing": "never decided",
    "gate_errored_open": "could not run",
    "gate_blocked_shipped": "shipped although blocked",
    "gate_late": "passed too late",
    "gate_stale": "pass too old",
    "gate_out_of_order": "out of order",
    "gate_self_passed": "passed by the author",
    "gate_foreign_reviewer": "passed by no reviewer",
    "gate_reused": "pass used twice",
    "gate_skipped": "skipped, declared",
    "gate_waived": "waived, declared",
}

BREAKS = {
    "matched": "record and evidence agree",
    "pending": "waits for late evidence",
    "phantom_execution": "recorded as done, nothing happened",
    "hidden_execution": "recorded as not done, but it happened",
    "unclaimed_execution": "happened, no record speaks of it",
    "partial_as_executed": "recorded as done, only a part happened",
    "amount_break": "different amounts",
    "duplicate_execution": "happened twice",
    "key_conflict": "one key for different inputs",
    "conflicting_claims": "two records disagree",
    "unreceipted_execution": "no receipt, though one is due",
    "unverifiable": "cannot be checked",
}


def gate_status(status: str | None) -> str:
    """A status of `gate_checks` in words; one that this version does not know, as it is."""
    return "unknown" if status is None else GATE_STATUSES.get(status, status)


def break_status(status: str | None) -> str:
    """A status of `reconciliation` in words; one that this version does not know, as it is."""
    return "unknown" if status is None else BREAKS.get(status, status)
