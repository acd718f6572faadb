"""The small lines in cards: a day without drops is a zero, a day without calls is no rate."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import polars as pl

from dashboard.queries.base import Scope
from dashboard.trend import by_day

START = datetime(2026, 3, 2)  # noqa: DTZ001 - naive UTC, as everywhere
WEEK = Scope(START, START + timedelta(days=7), timedelta(days=7))


def _frame(name: str, **days: float) -> pl.DataFrame:
    return pl.DataFrame({"day": [date(2026, 3, int(day[1:])) for day in days], name: list(days.values())})


def test_every_day_of_the_period_counts() -> None:
    assert by_day(_frame("n", d3=2, d6=1), WEEK) == [0, 2, 0, 0, 1, 0, 0]


def test_a_rate_without_cases_is_left_out() -> None:
    assert by_day(_frame("rate", d3=0.5, d6=1.0), WEEK, "rate") == [0.5, 1.0]


def test_all_time_goes_from_the_first_to_the_last_day() -> None:
    assert by_day(_frame("n", d3=2, d6=1), Scope()) == [2, 0, 0, 1]


def test_nothing_is_no_line() -> None:
    assert by_day(pl.DataFrame({"day": [], "n": []}), WEEK) == []
