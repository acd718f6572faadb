"""The table of open findings; which one is opened lives in the address of the page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import polars as pl
import streamlit as st

from dashboard import address, figures
from dashboard.charts import SEVERITY_COLOURS
from dashboard.numbers import plural
from dashboard.page import Page
from dashboard.queries import findings as queries
from dashboard.text import plain_frame
from dashboard.view import View

MOST_ROWS = 1_000
"""More rows are of no use to a reader; filters reach the rest."""

_TABLE = "findings-table"


def findings_table(page: Page, everything: int, pending: int) -> None:
    """Draw the open findings of the page's scope, of which there are some; for the sentence, how many are open without
    filters, and how many are pending."""
    found = page.ask(queries.open_findings, page.scope, MOST_ROWS)
    _rows(found, page.view)
    matching = found["matching"][0]
    shown = f"The first {found.height:,} of {matching:,}: filter to reach the rest. " if matching > found.height else ""
    of = f"{matching:,} of {everything:,} open findings. " if matching < everything else ""
    waiting = f"{pending:,} more are pending: late evidence may still clear them. " if pending else ""
    st.caption(f"{shown or of or plural(matching, 'open finding') + '. '}{waiting}Tick a row to see what happened.")


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
        on_select=partial(_row_ticked, _TABLE, ids),
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
    address.go(address.current().with_finding(None))


def finding_rows(page: Page, shown: pl.DataFrame, ids: Sequence[str | None], *, key: str, alt: str) -> None:
    """Draw rows of another table, of which a ticked one opens its finding, by `ids`; None: no finding is about it."""
    opened = [ids.index(page.view.finding)] if page.view.finding in ids else []
    st.session_state[key] = {"selection": {"rows": opened, "columns": [], "cells": []}}
    figures.draw_table(shown, key=key, on_select=partial(_row_ticked, key, ids), alt=alt)


def _row_ticked(key: str, ids: Sequence[str | None]) -> None:
    rows: Sequence[int] = st.session_state[key]["selection"]["rows"]
    address.go(address.current().with_finding(ids[rows[0]] if rows and rows[0] < len(ids) else None))
