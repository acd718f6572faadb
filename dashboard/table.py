"""The table of open findings: filters and selection live in the address of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import duckdb
import polars as pl
import streamlit as st

from dashboard import queries, states
from dashboard.charts import SEVERITY_COLOURS
from dashboard.text import plain, plain_frame
from dashboard.view import FIELDS, View

MOST_ROWS = 1_000
"""More rows are of no use to a reader; filters reach the rest."""

_TABLE = "findings-table"
_LABELS = {"severity": "Severity", "rule": "Rule", "tenant": "Tenant"}


def findings_table(
    con: duckdb.DuckDBPyConnection, choices: pl.DataFrame, view: View, open_findings: int, pending: int
) -> None:
    """Draw the filters and the table; `choices` as from `queries.filter_choices`, the two numbers for the sentences."""
    _filters(choices, view)
    found = queries.open_findings(con, view, MOST_ROWS)
    if found.is_empty():
        states.filtered_to_nothing(open_findings)
        return
    _rows(found, view)
    matching = found["matching"][0]
    shown = f"The first {found.height:,} of {matching:,}: filter to reach the rest. " if matching > found.height else ""
    of = f"{matching:,} of {open_findings:,} open findings. " if view.filtered else f"{open_findings:,} open findings. "
    waiting = f"{pending:,} more are pending: late evidence may still clear them. " if pending else ""
    st.caption(f"{shown or of}{waiting}Tick a row to see what happened.")


def _filters(choices: pl.DataFrame, view: View) -> None:
    grid = st.grid(3, min_column_width=170, key="filters")
    for name, field in FIELDS.items():
        chosen: Sequence[str] = getattr(view, field)
        known = choices.filter(pl.col("field") == name)["value"].to_list()
        if name == "severity":
            known.sort(key=lambda value: (*queries.SEVERITIES, value).index(value))
        key = f"filter-{name}"
        # The address has the say. What it names and nothing has stays visible, or the empty table would be a riddle.
        st.session_state[key] = list(chosen)
        options = [*known, *(value for value in chosen if value not in known)]
        grid.multiselect(
            _LABELS[name],
            options,
            key=key,
            format_func=_tenant if name == "tenant" else plain,
            placeholder="All",
            on_change=_filter_changed,
            args=(name, key),
        )


def _tenant(value: str) -> str:
    return plain(value) if value else "(no tenant)"


def _filter_changed(name: str, key: str) -> None:
    _go(_current().with_filter(name, st.session_state[key]))


def _rows(found: pl.DataFrame, view: View) -> None:
    ids = found["finding_id"].to_list()
    opened = [ids.index(view.finding)] if view.finding in ids else []
    st.session_state[_TABLE] = {"selection": {"rows": opened, "columns": [], "cells": []}}
    # A list column is drawn as a coloured label; the words are ours, of a fixed set.
    shown = plain_frame(found.drop("finding_id", "matching")).with_columns(severity=pl.concat_list("severity"))
    text = st.column_config.TextColumn
    st.dataframe(
        shown,
        key=_TABLE,
        hide_index=True,
        placeholder="",
        height=min(38 + 35 * found.height, 388),
        on_select=partial(_row_selected, ids),
        selection_mode="single-row",
        alt="Open findings",
        column_config={
            "severity": st.column_config.MultiselectColumn(
                "Severity", options=list(SEVERITY_COLOURS), color=list(SEVERITY_COLOURS.values()), width=82
            ),
            "event_ts": st.column_config.DatetimeColumn("When (UTC)", format="D MMM YYYY, HH:mm", width=132),
            "message": text("What", width=415),
            "rule": text("Rule", width=183),
            "tenant": text("Tenant", width=70),
            "caller": text("Caller", width=75),
            "place": text("Gate or tool", width=105),
            "correlation_id": text("Ticket", width=98),
        },
    )


def close_finding() -> None:
    """Close the opened finding; the filters stay."""
    _go(_current().with_finding(None))


def _row_selected(ids: Sequence[str]) -> None:
    rows = st.session_state[_TABLE]["selection"]["rows"]
    _go(_current().with_finding(ids[rows[0]] if rows and rows[0] < len(ids) else None))


def _current() -> View:
    return View.from_params({name: st.query_params.get_all(name) for name in st.query_params})


def _go(view: View) -> None:
    st.query_params.from_dict(view.to_params())
