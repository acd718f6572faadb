"""Small lines in cards: one value for each day of the period."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl

from dashboard.queries.base import Scope

_MOST_DAYS = 400


def by_day(frame: pl.DataFrame, scope: Scope, value: str = "n") -> list[float]:
    """The values of a frame (day, `value`) for every UTC day from the period's first to its last, or from the first in
    the frame where the period has no beginning.

    A day that is not in the frame counts 0; of a share, which is unknown then, it is left out.
    """
    if frame.is_empty():
        return []
    known: dict[date, float] = dict(zip(frame["day"].to_list(), frame[value].to_list(), strict=True))
    first, last = min(known), max(known)
    if scope.length is not None:
        first, last = scope.since.date(), (scope.until - timedelta(microseconds=1)).date()
    days = [first + timedelta(days=nth) for nth in range(min((last - first).days + 1, _MOST_DAYS))]
    if value == "n":
        return [known.get(day, 0.0) for day in days]
    return [known[day] for day in days if day in known]
