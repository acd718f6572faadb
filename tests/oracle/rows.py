"""The rows that the oracle returns: named tuples, so that two results compare with ``==``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple, TypeVar


class Finding(NamedTuple):
    """One broken rule; null is a tenant of its own."""

    rule: str
    tenant: str | None
    correlation_id: str | None
    subject: str


class GateCheck(NamedTuple):
    """One (shipment, pipeline, gate). `position` counts from 1; `settled` is the status without regard to grace."""

    tenant: str | None
    correlation_id: str
    subject: str
    shipped_event_id: str
    pipeline: str
    gate: str
    position: int
    status: str
    decision_event_id: str | None
    cause_event_id: str | None
    silent: bool
    settled: str


class ReconciliationRow(NamedTuple):
    """One claim, unclaimed effect, duplicate effect or conflicting key.

    `claim_position` counts from 0; `evidence` holds event ids, sorted; `settled` is the status without regard to
    grace; `subject` is what the finding is about.
    """

    tenant: str | None
    correlation_id: str
    status: str
    match_key: str | None
    claim_event_id: str | None
    claim_position: int | None
    evidence: tuple[str, ...]
    subject: str
    settled: str


class Verdict(NamedTuple):
    """A finding of a family that has no rows of its own; `pending` while its grace runs."""

    rule: str
    tenant: str | None
    correlation_id: str
    subject: str
    pending: bool


class DatedVerdict(NamedTuple):
    """A verdict with its event time (naive UTC) and its evidence (event ids, sorted), where the rules fix both."""

    rule: str
    tenant: str | None
    correlation_id: str
    subject: str
    pending: bool
    ts: datetime
    evidence: tuple[str, ...]


_RowT = TypeVar("_RowT", bound=tuple[object, ...])


def sort_rows(rows: Iterable[_RowT]) -> list[_RowT]:
    """Rows in a total order that does not mind null, whatever order they were made in."""
    return sorted(rows, key=lambda row: [(value is not None, str(value)) for value in row])
