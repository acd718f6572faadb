"""What the address of a page says: period, filters, and what is opened. The address is the only place that keeps them.

So a link shows a colleague the same page, and the browser's back button works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time, timedelta
from typing import Any

from dashboard.queries.base import Scope

_MOST = 50
_LONGEST = 1_000
"""Bounds of what is taken from an address; no name in the database is longer."""

FIELDS = {
    "tenant": "tenants",
    "severity": "severities",
    "rule": "rules",
    "gate": "gates",
    "tool": "tools",
    "caller": "callers",
    "intent": "intents",
}
"""Query parameter → field of `View` that holds the values of a filter."""

OPENED = {"finding": "finding", "run": "run", "rows": "rows", "q": "search"}
"""Query parameter → field of `View` that holds one value."""

PERIODS = {
    "24h": ("Last 24 hours", timedelta(hours=24)),
    "7d": ("Last 7 days", timedelta(days=7)),
    "30d": ("Last 30 days", timedelta(days=30)),
    "90d": ("Last 90 days", timedelta(days=90)),
    "all": ("All time", None),
}
"""Periods by the name in the address: what people call them, and their length. They end with the newest event."""

USUAL_PERIOD = "7d"


@dataclass(frozen=True, slots=True)
class View:
    """One state of a page. An empty filter lets everything through."""

    period: str = USUAL_PERIOD
    tenants: tuple[str, ...] = ()
    """Tenants; ``""`` stands for data without one, which no tenant can be called."""
    severities: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    finding: str | None = None
    """Id of the opened finding."""
    run: str | None = None
    """Correlation id of the opened run."""
    run_of: tuple[str, ...] = ()
    """Whose run it is, where that is known: several tenants may use one correlation id; ``""`` is none."""
    rows: str | None = None
    """Key of the number whose rows are shown, or of what else a page opens."""
    search: str | None = None
    snapshot: int | None = None
    """Number of the snapshot that the address was taken from."""

    @classmethod
    def from_params(cls, params: Mapping[str, Sequence[str]]) -> View:
        """Read the query parameters, each a list of values. Parameters that no page knows are passed over."""

        def values(name: str) -> tuple[str, ...]:
            return tuple(dict.fromkeys(value for value in params.get(name, ()) if len(value) <= _LONGEST))[:_MOST]

        def first(name: str) -> str | None:
            return next((value for value in values(name) if value), None)

        number = first("snapshot") or ""
        chosen: dict[str, Any] = {field: values(name) for name, field in FIELDS.items()}
        opened: dict[str, Any] = {field: first(name) for name, field in OPENED.items()}
        return cls(
            period=next((value for value in values("period") if value in PERIODS), USUAL_PERIOD),
            run_of=values("of"),
            snapshot=int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else None,
            **chosen,
            **opened,
        )

    def to_params(self) -> dict[str, list[str]]:
        """The query parameters of this state; what is empty or usual is left out."""
        found = {"period": [] if self.period == USUAL_PERIOD else [self.period]}
        found |= {name: list(getattr(self, field)) for name, field in FIELDS.items()}
        singles = {name: getattr(self, field) for name, field in OPENED.items()} | {"snapshot": self.snapshot}
        found |= {name: [str(value)] if value else [] for name, value in singles.items()}
        found["of"] = list(self.run_of) if self.run else []
        return {name: values for name, values in found.items() if values}

    @property
    def filtered(self) -> bool:
        """Whether any filter beside the period is set."""
        return any(getattr(self, field) for field in FIELDS.values())

    def with_filter(self, name: str, values: Sequence[str]) -> View:
        """The same state with another value of one filter, named as in the address."""
        changes: dict[str, Any] = {FIELDS[name]: tuple(values)}
        return replace(self, **changes)

    def with_finding(self, finding: str | None) -> View:
        """The same state with another finding opened, or none."""
        return replace(self, finding=finding)

    def shared(self) -> View:
        """What goes along to another page: period and filters, but nothing that is opened."""
        return replace(self, finding=None, run=None, run_of=(), rows=None, search=None)

    def scope(self, about: Mapping[str, Any], filters: Sequence[str]) -> Scope:
        """What the page is about, in a snapshot that says `about` itself; of the filters, those that the page has.

        A period ends with the hour or the UTC day of the newest event. Events from the future, by the snapshot's clock,
        are in it, but do not move its beginning.
        """
        chosen: dict[str, Any] = {FIELDS[name]: getattr(self, FIELDS[name]) for name in filters}
        length = PERIODS[self.period][1]
        newest = about["last_event_ts"]
        if length is None or newest is None:
            return Scope(**chosen)
        by_day = length > timedelta(days=1)
        since = _end_of(min(newest, about["published_at"]), by_day=by_day) - length
        return Scope(since=since, until=_end_of(newest, by_day=by_day), length=length, **chosen)


def _end_of(moment: datetime, *, by_day: bool) -> datetime:
    """The end, exclusive, of the UTC day or hour that a moment lies in."""
    day = datetime.combine(moment.date(), time())
    return day + timedelta(days=1) if by_day else day + timedelta(hours=moment.hour + 1)
