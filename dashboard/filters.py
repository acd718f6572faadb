"""The bar of filters of a page: period, and what else the page can be narrowed by. The address keeps them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import streamlit as st

from dashboard import address
from dashboard.numbers import moment
from dashboard.page import Page
from dashboard.queries import choices
from dashboard.queries.base import EARLIEST, SEVERITIES
from dashboard.text import plain
from dashboard.view import FIELDS, PERIODS

LABELS = {
    "tenant": "Tenant",
    "severity": "Severity",
    "rule": "Rule",
    "gate": "Gate",
    "tool": "Tool",
    "caller": "Caller",
    "intent": "Intent",
}


def bar(page: Page, filters: Sequence[str]) -> None:
    """Draw the bar, and in words what the period covers."""
    known = page.ask(choices.choices)
    grid = st.grid(len(filters) + 1, min_column_width=150, key="filters")
    st.session_state["filter-period"] = page.view.period
    grid.selectbox(
        "Period",
        list(PERIODS),
        key="filter-period",
        format_func=lambda name: PERIODS[name][0],
        on_change=_period_changed,
    )
    for name in filters:
        chosen: Sequence[str] = getattr(page.view, FIELDS[name])
        values = known.filter(pl.col("field") == name)["value"].to_list()
        if name == "severity":
            values.sort(key=lambda value: (*SEVERITIES, value).index(value))
        key = f"filter-{name}"
        # The address has the say. What it names and nothing has stays visible, or the empty page would be a riddle.
        st.session_state[key] = list(chosen)
        grid.multiselect(
            LABELS[name],
            [*values, *(value for value in chosen if value not in values)],
            key=key,
            format_func=_named(name),
            placeholder="All",
            on_change=_changed,
            args=(name, key),
        )
    st.caption(covered(page))


def covered(page: Page) -> str:
    """What the period covers, in words."""
    scope = page.scope
    if scope.since == EARLIEST:
        first = page.about["first_event_ts"]
        return f"Everything since {moment(first)}." if first else "There are no events yet."
    return f"From {moment(scope.since)} until {moment(scope.until)}, by the time of the events."


def _named(name: str) -> Callable[[str], str]:
    return _tenant if name == "tenant" else plain


def _tenant(value: str) -> str:
    return plain(value) if value else "(no tenant)"


def _period_changed() -> None:
    address.go(replace(address.current(), period=st.session_state["filter-period"]))


def _changed(name: str, key: str) -> None:
    address.go(address.current().with_filter(name, st.session_state[key]))
