"""The numbers of a page: cards that open to the rows behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import duckdb
import polars as pl
import streamlit as st

from dashboard import address, columns
from dashboard.export import csv
from dashboard.numbers import plural
from dashboard.page import Page
from dashboard.queries.base import Scope
from dashboard.text import plain, plain_frame, show

MOST_ROWS = 500
"""Rows of one number on the page; the download holds up to `MOST_DOWNLOADED`."""
MOST_DOWNLOADED = 50_000


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that a page shows, and the rows that it counts."""

    key: str
    """Name in the address: ``?rows=<key>``."""
    title: str
    """Heading of the rows."""
    rows: Callable[[duckdb.DuckDBPyConnection, Scope, int], pl.DataFrame]
    """At most so many of the rows that it counts; the column `matching` says how many there are."""
    number: Callable[[duckdb.DuckDBPyConnection, Scope], int]
    """What the page shows, from the mart: as many as there are rows, which tests hold it to."""


@dataclass(frozen=True, slots=True)
class Card:
    """One number of a page as people see it."""

    label: str
    value: str
    caption: str
    """Denominator and interval, in words."""
    meaning: str
    figure: Figure | None = None
    """What its button opens."""
    alarming: bool = False
    delta: str | int | None = None
    """How it moved against the period before; None where nothing is known of that one."""
    better: str | None = None
    """``up`` or ``down``: which way is good."""
    trend: Sequence[float] = ()


def cards(page: Page, shown: Sequence[Card], *, per_row: int = 5) -> None:
    """Draw cards in a grid that wraps on narrow screens."""
    with st.container(key="cards"):
        grid = st.grid(min(per_row, len(shown)), min_column_width=170, border=True)
    for number, card in enumerate(shown):
        with grid.cell(), st.container(key=f"card-{number}-{'alarm' if card.alarming else 'calm'}"):
            st.metric(
                card.label,
                card.value,
                card.delta,
                delta_description=None if card.delta is None else "against the period before",
                delta_color={"up": "normal", "down": "inverse", None: "off"}[card.better],  # type: ignore[arg-type]
                help=card.meaning,
                chart_data=list(card.trend) if len(card.trend) > 1 else None,
                chart_type="area",
            )
            st.caption(card.caption)
            if card.figure is not None:
                _button(page, card)


def _button(page: Page, card: Card) -> None:
    assert card.figure is not None  # noqa: S101 - for the type checker
    opened = page.view.rows == card.figure.key
    st.button(
        "Hide the rows" if opened else "Show the rows",
        key=f"rows-{card.figure.key}",
        type="tertiary",
        icon=":material/expand_less:" if opened else ":material/table_rows:",
        help=f"{card.label}: every row that is counted",
        on_click=_toggle,
        args=(card.figure.key,),
    )


def _toggle(key: str) -> None:
    view = address.current()
    address.go(replace(view, rows=None if view.rows == key else key))


def opened(page: Page, figures: Sequence[Figure]) -> None:
    """Draw the rows of the number that the address names, if it is one of `figures`."""
    figure = next((one for one in figures if one.key == page.view.rows), None)
    if figure is not None:
        panel(page, figure, page.ask(figure.rows, page.scope, MOST_ROWS))


def panel(page: Page, figure: Figure, found: pl.DataFrame) -> None:
    """Draw the rows of a number, of which `found` are the first."""
    matching = found["matching"][0] if found.height else 0
    with st.container(border=True, key="rows"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
            st.header(figure.title, anchor="rows", width="content")
            st.button(
                "Close",
                key="close-rows",
                icon=":material/close:",
                type="tertiary",
                on_click=_toggle,
                args=(figure.key,),
            )
        if found.is_empty():
            st.caption("No row: in this period, with these filters, nothing is counted.")
            return
        first = f"The first {found.height:,} of " if matching > found.height else ""
        st.caption(f"{first}{plural(matching, 'row')}. Tick a row to open its run.")
        table(found.drop("matching"), key=f"table-{figure.key}")
        download(page, figure, matching)


def table(frame: pl.DataFrame, *, key: str, height: int = 388) -> None:
    """Draw rows of text; a ticked one opens its run, where the frame has a `correlation_id`."""
    runs = frame["correlation_id"].to_list() if "correlation_id" in frame.columns else []
    if not runs:
        draw_table(frame, key=None, height=height)
        return
    st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": []}}
    tenants = frame["tenant"].to_list() if "tenant" in frame.columns else None
    draw_table(frame, key=key, on_select=partial(_open_run, key, runs, tenants), height=height)


def draw_table(
    frame: pl.DataFrame,
    *,
    key: str | None,
    on_select: Callable[[], None] | None = None,
    height: int = 388,
    alt: str | None = None,
) -> None:
    """Draw rows of text. With `on_select` one can be ticked; which one is in the session's state under `key`."""
    options: dict[str, Any] = {}
    if on_select is not None:
        options = {"on_select": on_select, "selection_mode": "single-row", "key": key}
    st.dataframe(
        plain_frame(frame),
        hide_index=True,
        placeholder="",
        height=min(38 + 35 * frame.height, height),
        column_config=columns.config(frame),
        alt=alt,
        **options,
    )


def show_words(words: Sequence[object]) -> None:
    """Put what is known of some texts from outside on one line."""
    show(" · ".join(plain(word, 120) for word in words if word is not None))


def _open_run(key: str, runs: Sequence[str], tenants: Sequence[str | None] | None) -> None:
    rows: Sequence[int] = st.session_state[key]["selection"]["rows"]
    if rows and rows[0] < len(runs):
        address.ask_for_run(runs[rows[0]], () if tenants is None else (tenants[rows[0]] or "",))


def download(page: Page, figure: Figure, matching: int) -> None:
    """A button that makes the file when it is pressed."""

    def content() -> bytes:
        return csv(figure.rows(page.snapshot.con, page.scope, MOST_DOWNLOADED).drop("matching"))

    st.download_button(
        "Download as CSV" if matching <= MOST_DOWNLOADED else f"Download the first {MOST_DOWNLOADED:,} as CSV",
        content,
        file_name=f"gatewatch-{figure.key}-snapshot-{page.about['snapshot']}.csv",
        mime="text/csv",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
        help="Cells that a spreadsheet could take for a formula begin with an apostrophe.",
    )


def share(row: Mapping[str, Any], before: Mapping[str, Any] | None, total: str) -> str | int | None:
    """How a share moved against the period before, in percentage points; None where one of the two is unknown."""
    if before is None or not before[total] or not row[total]:
        return None
    points = round((row["rate"] - before["rate"]) * 100, 1)
    return f"{points:+.1f} points" if points else 0


def moved(now: int, before: int | None) -> str | int | None:
    """How a count moved against the period before; None where that one is unknown."""
    if before is None:
        return None
    return f"{now - before:+,}" if now != before else 0
