"""Tools: which calls fail, for whom and why, what retrying brings, how long they take, and who breaks a contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import streamlit as st

from dashboard import address, charts_tools, figures, filters, finding, states
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, count, interval, percent, plural
from dashboard.page import Page, head
from dashboard.queries import tools as queries
from dashboard.table import close_finding, finding_rows

FILTERS = ("tenant", "tool", "caller")
MOST_BARS = 14
MOST_ROWS = 500
_BY = "by-"
_NAMES = {"tool": "Tool", "caller": "Caller", "layer": "Layer", "error_class": "Error class"}

UNSUCCESSFUL = Figure(
    "unsuccessful-calls",
    "Calls that did not succeed",
    queries.unsuccessful,
    lambda con, scope: queries.totals(con, scope)["unsuccessful"][0],
)
RECOVERED = Figure(
    "recovered-calls",
    "Calls that a retry brought to success",
    queries.recovered,
    lambda con, scope: queries.retry_totals(con, scope)["recovered"][0],
)
DEGRADED = Figure(
    "degraded-calls",
    "Calls that took their fallback",
    queries.degraded,
    lambda con, scope: queries.retry_totals(con, scope)["degraded"][0],
)
VIOLATIONS = Figure(
    "contract-violations",
    "Broken contracts of tools and rules about retrying",
    queries.violation_rows,
    lambda con, scope: int(queries.violations(con, scope)["n"].sum()),
)
FIGURES = (UNSUCCESSFUL, RECOVERED, DEGRADED, VIOLATIONS)


def draw(page: Page) -> None:
    """Draw the page."""
    totals = page.one(queries.totals, page.scope)
    head(page, _title(totals))
    filters.bar(page, FILTERS)
    if not totals["calls"]:
        if page.about["events"]:
            states.nothing_here("No tool was called", page.view.filtered)
        return
    figures.cards(page, _cards(page, totals), per_row=5)
    figures.opened(page, FIGURES)
    _outcomes(page)
    left, right = st.columns(2, gap="medium")
    with left:
        _durations(page)
    with right:
        _retries(page)
    _violations(page)
    if page.view.finding:
        finding.panel(page.snapshot.con, page.view.finding, on_close=close_finding)


def _title(totals: Mapping[str, Any]) -> str:
    if not totals["calls"]:
        return "No tool was called"
    return f"{percent(totals['rate'])} of {plural(totals['calls'], 'tool call')} succeeded"


def _cards(page: Page, totals: Mapping[str, Any]) -> Sequence[Card]:
    retry = page.one(queries.retry_totals, page.scope)
    broken = int(page.ask(queries.violations, page.scope)["n"].sum())
    return (
        Card(
            "Success rate",
            percent(totals["rate"]),
            f"{interval(totals['ci_low'], totals['ci_high'])} · {plural(totals['calls'], 'call')}",
            "Calls whose last attempt succeeded, with the Wilson 95 % interval. Retries of one call count once.",
        ),
        Card(
            "Did not succeed",
            count(totals["unsuccessful"]),
            "by the last attempt: failed, denied, unavailable, partial or on a stale target",
            "The last attempt decides what became of a call.",
            UNSUCCESSFUL if totals["unsuccessful"] else None,
        ),
        Card(
            "Recovered by a retry",
            count(retry["recovered"]),
            f"by {plural(retry['retries'], 'retry', 'retries')}",
            "Calls whose first attempt failed and a later one succeeded.",
            RECOVERED if retry["recovered"] else None,
        ),
        Card(
            "Took the fallback",
            count(retry["degraded"]),
            f"{count(retry['noted'])} of them admitted by a record" if retry["degraded"] else "no call did",
            "The documented fallback was taken instead of the tool. A record should admit it.",
            DEGRADED if retry["degraded"] else None,
        ),
        Card(
            "Broken contracts",
            count(broken) if page.about["events"] else UNKNOWN,
            "findings about contracts and retries that hold now",
            "A caller without the right to call, an undocumented error, a retry that must not be, and the like.",
            VIOLATIONS,
            alarming=bool(broken),
        ),
    )


def _outcomes(page: Page) -> None:
    st.header("Calls that did not succeed", anchor=False)
    chosen = (page.view.search or "").removeprefix(_BY)
    by: queries.Dimension = next((name for name in queries.DIMENSIONS if name == chosen), "tool")
    st.session_state["tools-by"] = by
    st.segmented_control(
        "By", queries.DIMENSIONS, key="tools-by", format_func=_NAMES.__getitem__, required=True, on_change=_by_changed
    )
    found = page.ask(queries.outcomes, page.scope, by)
    if found.is_empty():
        st.caption("None: no call of this period met an error.")
        return
    shown = found.head(MOST_BARS)
    st.altair_chart(charts_tools.unsuccessful(shown), width="stretch", alt="Share of calls that did not succeed")
    cut = (
        f" {MOST_BARS} of {found.height:,}, those with the most calls; the table holds all."
        if found.height > MOST_BARS
        else ""
    )
    st.caption(f"Share of the calls, in parts by outcome; fewer than 30 calls are marked.{cut}")
    with st.expander("As a table, with intervals"):
        table = found.select(
            pl.col("name").alias(_NAMES[by].lower()),
            pl.col("total").alias("calls"),
            "success",
            pl.Series("success rate", [percent(rate) for rate in found["rate"]], dtype=pl.String),
            pl.Series("95 % interval", _intervals(found), dtype=pl.String),
            *charts_tools.OUTCOMES,
        )
        figures.draw_table(table, key=None, alt="Outcomes of calls")


def _intervals(frame: pl.DataFrame) -> list[str]:
    return [interval(row["ci_low"], row["ci_high"]) for row in frame.iter_rows(named=True)]


def _by_changed() -> None:
    chosen = st.session_state["tools-by"]
    address.go(replace(address.current(), search=None if chosen in (None, "tool") else f"{_BY}{chosen}"))


def _durations(page: Page) -> None:
    st.header("How long calls take", anchor=False)
    found = page.ask(queries.durations, page.scope, MOST_BARS)
    known = found.filter(pl.col("known") > 0)
    if known.is_empty():
        st.caption("Unknown: no call says how long it took.")
        return
    st.altair_chart(charts_tools.durations(known), width="stretch", alt="Duration of calls by tool")
    total, said = int(found["total"].sum()), int(found["known"].sum())
    st.caption(
        f"All attempts of a call together. {percent(said / total)} of {plural(total, 'call')} say how long they took."
    )


def _retries(page: Page) -> None:
    st.header("What retrying brings", anchor=False)
    found = page.ask(queries.by_error, page.scope)
    if found.is_empty():
        st.caption("No call met an error.")
        return
    figures.draw_table(found, key=None, alt="Retries by class of the first error", height=500)
    st.caption(
        "By the class of the first error: calls that met it, retries, calls that a retry recovered, that took the "
        "fallback and how many of these a record admits, that went to a human, and broken rules about retrying."
    )


def _violations(page: Page) -> None:
    st.header("Broken contracts", anchor=False)
    found = page.ask(queries.violation_rows, page.scope, MOST_ROWS)
    if found.is_empty():
        states.good("No contract of a tool and no rule about retrying is broken.")
        return
    ids = found["finding_id"].to_list()
    finding_rows(page, found.drop("finding_id", "matching"), ids, key="violations-list", alt="Broken contracts")
    kinds = page.ask(queries.violations, page.scope)
    st.caption(
        f"{plural(found['matching'][0], 'finding')} of {plural(kinds.height, 'rule')}. Tick a row to see what happened."
    )
    with st.expander("What each rule means"):
        figures.draw_table(
            kinds.rename({"means": "message"}), key=None, alt="Rules about contracts and retries", height=500
        )
