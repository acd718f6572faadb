"""KPIs: the manager's table by period and intent, with what each number rests on, and the rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import duckdb
import polars as pl
import streamlit as st

from dashboard import address, figures, filters, states
from dashboard.figures import Figure
from dashboard.kpi_words import KPIS, kpi_of, moved, written
from dashboard.numbers import age, count, interval, percent, plural
from dashboard.page import Page, head
from dashboard.queries import kpis as queries
from dashboard.queries.base import Scope
from dashboard.text import plain

FILTERS = ("tenant", "intent")
WORST = 3
BY_INTENT = ("containment", "verified_containment", "false_deflection", "fcr", "sla_attainment", "csat")
_PREFIX = "kpi-"
_TABLE = "kpi-table"


def _rests_on(kpi: str, con: duckdb.DuckDBPyConnection, scope: Scope) -> int:
    """How many cases a KPI rests on: what the page shows beside its value."""
    for row in queries.table(con, scope).filter(pl.col("kpi") == kpi).iter_rows(named=True):
        if row["denominator"] is not None:
            return int(row["denominator"])
        return int(row["covered"] if row["numerator"] is None else row["numerator"])
    return 0


def _figure(kpi: str) -> Figure:
    rows, number = partial(queries.behind, kpi=kpi), partial(_rests_on, kpi)
    return Figure(f"{_PREFIX}{kpi}", kpi_of(kpi).label, rows, number)


HAND_OFFS = Figure("hand-offs", "Open hand-offs to a human", queries.hand_offs, queries.hand_offs_open)
FIGURES = (
    *(_figure(key) for key in KPIS),
    HAND_OFFS,
)  # fmt: skip


def draw(page: Page) -> None:
    """Draw the page."""
    table = page.ask(queries.table, page.scope)
    head(page, _title(table))
    filters.bar(page, FILTERS)
    if table.is_empty():
        if page.about["events"]:
            states.nothing_here("No run has ended and no gate was checked", page.view.filtered)
        return
    _partial(table)
    _table(page, table)
    _behind(page)
    _by_intent(page)
    _worst(page)
    _hand_offs(page)


def _title(table: pl.DataFrame) -> str:
    rows = {row["kpi"]: row for row in table.iter_rows(named=True)}
    contained, wrong = rows.get("verified_containment"), rows.get("false_deflection")
    if contained is None or contained["value"] is None:
        return "KPIs"
    beside = f", {percent(wrong['value'])} false deflection" if wrong and wrong["value"] is not None else ""
    return f"{percent(contained['value'])} verified containment{beside}"


def _partial(table: pl.DataFrame) -> None:
    lacking = [
        f"{kpi_of(row['kpi']).label} ({percent(row['coverage'])})"
        for row in table.iter_rows(named=True)
        if row["coverage"] is not None and row["coverage"] < 0.8 and row["kpi"] in KPIS
    ]
    if lacking:
        st.warning(
            f"Partial data: {plural(len(lacking), 'KPI')} with less than 80 % of the data that should be there: "
            f"{', '.join(lacking)}.",
            icon=":material/data_alert:",
        )


def _table(page: Page, table: pl.DataFrame) -> None:
    days = page.ask(queries.by_day, page.scope)
    trends = {key[0]: frame["value"].drop_nulls().to_list() for key, frame in days.group_by("kpi")}
    rows = list(table.iter_rows(named=True))
    shown = pl.DataFrame(
        {
            "KPI": [plain(kpi_of(row["kpi"]).label) for row in rows],
            "Value": [written(row["kpi"], row["value"]) for row in rows],
            "95 % interval": [_interval(row) for row in rows],
            "Against the period before": [moved(row["kpi"], row["value"], row["prior"]) for row in rows],
            "By day": [trends.get(row["kpi"], []) for row in rows],
            "Of": ["" if row["denominator"] is None else count(round(row["denominator"])) for row in rows],
            "Data on": [_coverage(row) for row in rows],
            "Keep in mind": [row["note"] or "" for row in rows],
            "What it says": [kpi_of(row["kpi"]).meaning for row in rows],
        },
        schema_overrides={"By day": pl.List(pl.Float64)},
    )
    keys = [row["kpi"] for row in rows]
    chosen = (page.view.rows or "").removeprefix(_PREFIX)
    st.session_state[_TABLE] = {
        "selection": {"rows": [keys.index(chosen)] if chosen in keys else [], "columns": [], "cells": []}
    }
    text = st.column_config.TextColumn
    st.dataframe(
        shown,
        key=_TABLE,
        hide_index=True,
        height=38 + 35 * shown.height,
        on_select=partial(_ticked, keys),
        selection_mode="single-row",
        alt="KPIs of the period",
        column_config={
            "KPI": text(width=190),
            "Value": text(width=80),
            "95 % interval": text(width=120),
            "Against the period before": text(width=150),
            "By day": st.column_config.LineChartColumn(width=110),
            "Of": text(width=60),
            "Data on": text(width=110),
            "Keep in mind": text(width=170),
            "What it says": text(width=520),
        },
    )
    st.caption(f"{_days(page)} Tick a row to see the runs behind it.")


def _days(page: Page) -> str:
    window = queries.days(page.snapshot.con, page.scope)
    if window is None:
        return ""
    last = window[1] - timedelta(days=1)
    return f"KPIs count whole UTC days, by the end of the run: {window[0]:%-d %b %Y} to {last:%-d %b %Y}."


def _interval(row: dict[str, Any]) -> str:
    return "" if row["ci_low"] is None else interval(row["ci_low"], row["ci_high"])


def _coverage(row: dict[str, Any]) -> str:
    if row["coverage"] is None:
        return ""
    return f"{percent(row['coverage'])} of {row['eligible']:,}"


def _ticked(keys: Sequence[str]) -> None:
    rows: Sequence[int] = st.session_state[_TABLE]["selection"]["rows"]
    chosen = f"{_PREFIX}{keys[rows[0]]}" if rows and rows[0] < len(keys) else None
    address.go(replace(address.current(), rows=chosen))


def _behind(page: Page) -> None:
    key = page.view.rows or ""
    if not key.startswith(_PREFIX) or key.removeprefix(_PREFIX) not in KPIS:
        return
    figure = next(one for one in FIGURES if one.key == key)
    figures.panel(page, figure, page.ask(queries.behind, page.scope, figures.MOST_ROWS, key.removeprefix(_PREFIX)))


def _by_intent(page: Page) -> None:
    found: dict[str, dict[str, str]] = {}
    for key in BY_INTENT:
        for row in page.ask(queries.by_intent, page.scope, key).iter_rows(named=True):
            value = row["numerator"] / row["denominator"]
            few = ", few" if row["denominator"] < 30 else ""
            found.setdefault(row["intent"], {})[key] = f"{written(key, value)} of {row['denominator']:,}{few}"
    if not found:
        return
    st.header("By intent", anchor=False)
    names = {key: kpi_of(key).label for key in BY_INTENT}
    shown = pl.DataFrame(
        [
            {"intent": intent, **{names[key]: cells.get(key, "unknown") for key in BY_INTENT}}
            for intent, cells in found.items()
        ]
    )
    figures.draw_table(shown, key=None, alt="KPIs by intent")
    st.caption("Each value with the number of cases that it rests on; fewer than 30 are marked.")


def _worst(page: Page) -> None:
    st.header("Worst runs of the period", anchor=False)
    found = page.ask(queries.worst_runs, page.scope, WORST)
    if found.is_empty():
        st.caption("Unknown: no run of this period was scored by a rubric.")
        return
    figures.table(found.drop("matching"), key="worst-runs")
    st.caption(
        f"The lowest rubric scores (0 to 3) of {plural(found['matching'][0], 'scored run')}; of equal ones those with "
        "more open findings. Tick a row to replay the run."
    )


def _hand_offs(page: Page) -> None:
    st.header("Hand-offs to a human that are still open", anchor=False)
    found = page.ask(queries.hand_offs, page.scope, figures.MOST_ROWS)
    if found.is_empty():
        st.caption("None: nothing that was handed to a human is still open.")
        return
    ages = [age(None if seconds is None else timedelta(seconds=seconds)) for seconds in found["age_seconds"]]
    shown = found.drop("matching", "age_seconds").insert_column(1, pl.Series("age", ages, dtype=pl.String))
    figures.table(shown, key="hand-offs")
    st.caption(
        f"{plural(found['matching'][0], 'hand-off')}, the oldest first, with the age by the newest event. Tick a row "
        "to open the run."
    )
