"""Gates: does every piece of work pass the gates that the policy demands, and if not, how did it get past them?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import streamlit as st

from dashboard import charts_gates, figures, filters, finding, states
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, count, interval, percent, plural
from dashboard.page import Page, head
from dashboard.queries import gates as queries
from dashboard.table import close_finding, finding_rows
from dashboard.words import gate_status

FILTERS = ("tenant", "gate", "caller")
MOST_ROWS = 500

SILENT = Figure(
    "dropped-gates",
    "Gates that were dropped silently",
    queries.silent,
    lambda con, scope: queries.totals(con, scope)["silent"][0],
)
DECLARED = Figure(
    "declared-gates",
    "Gates that did not hold, and somebody said so",
    queries.declared,
    lambda con, scope: queries.totals(con, scope)["declared"][0],
)
HELD = Figure(
    "held-gates",
    "Gates that held",
    queries.held,
    lambda con, scope: queries.totals(con, scope)["held"][0],
)
FIGURES = (SILENT, DECLARED, HELD)


def draw(page: Page) -> None:
    """Draw the page."""
    totals = page.one(queries.totals, page.scope)
    head(page, _title(totals))
    filters.bar(page, FILTERS)
    if not totals["checks"] and not totals["pending"]:
        if page.about["events"]:
            states.nothing_here("No gate had to be passed", page.view.filtered)
        return
    figures.cards(page, _cards(page, totals), per_row=4)
    figures.opened(page, FIGURES)
    _charts(page)
    _list(page, totals)
    if page.view.finding:
        finding.panel(page.snapshot.con, page.view.finding, on_close=close_finding)
        _order(page, page.view.finding)


def _title(totals: Mapping[str, Any]) -> str:
    if not totals["checks"]:
        return "No gate has been checked yet"
    if not totals["silent"]:
        return f"No gate was dropped silently in {plural(totals['checks'], 'check')}"
    return f"{plural(totals['silent'], 'gate')} dropped silently, of {plural(totals['checks'], 'check')}"


def _cards(page: Page, totals: Mapping[str, Any]) -> Sequence[Card]:
    known = totals["checks"] > 0
    return (
        Card(
            "Checks",
            count(totals["checks"]) if known else UNKNOWN,
            f"on {plural(totals['shipments'], 'shipment')}"
            + (f" · {totals['pending']:,} more wait for late evidence" if totals["pending"] else ""),
            "How often something that was shipped, or another subject of a pipeline, needed a gate.",
        ),
        Card(
            "Held",
            count(totals["held"]) if known else UNKNOWN,
            f"{percent(totals['held'] / totals['checks'])} of all checks" if known else "no gate has been checked",
            "The gate passed this very work, in time and in order, decided by one of its reviewers.",
            HELD if totals["held"] else None,
        ),
        Card(
            "Dropped silently",
            count(totals["silent"]) if known else UNKNOWN,
            _share(page),
            "Shipped although the gate had not passed it in time and in order, and nobody had said so beforehand.",
            SILENT,
            alarming=bool(totals["silent"]),
        ),
        Card(
            "Not held, declared",
            count(totals["declared"]) if known else UNKNOWN,
            "skipped, waived or overruled, and a record says so",
            "The gate did not hold, but not silently: somebody skipped or waived it, or shipped against its word.",
            DECLARED if totals["declared"] else None,
        ),
    )


def _share(page: Page) -> str:
    frame = page.ask(queries.by_gate, page.scope)
    worst = frame.row(0, named=True) if frame.height else None
    if worst is None or not worst["silent"]:
        return "no check was dropped silently"
    return f"worst gate: {percent(worst['rate'])} ({interval(worst['ci_low'], worst['ci_high'])})"


def _charts(page: Page) -> None:
    st.header("Every gate by what became of it", anchor=False)
    matrix = page.ask(queries.matrix, page.scope)
    st.altair_chart(charts_gates.matrix(matrix), width="stretch", alt="Number of checks by gate and status")
    st.caption("Blue: held. Red: dropped silently. Orange: did not hold, but not silently. Grey: still waits.")
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Held against dropped", anchor=False)
        by_gate = page.ask(queries.by_gate, page.scope)
        if by_gate.is_empty():
            st.caption("Unknown: no check is settled yet.")
        else:
            chart = charts_gates.held_against_dropped(by_gate)
            st.altair_chart(chart, width="stretch", alt="Share of silent drops by gate")
            st.caption("Share of the checks of a gate that were dropped silently, with the 95 % interval.")
    with right:
        st.header("Silent drops over time", anchor=False)
        days = page.ask(queries.drops_by_day, page.scope)
        if days.is_empty():
            st.caption("None: no gate was dropped silently.")
        else:
            first, last = _days(page, days)
            chart = charts_gates.drops_over_time(days, first, last)
            st.altair_chart(chart, width="stretch", alt="Silent drops by day and gate")
            st.caption("By the UTC day of the shipment.")


def _days(page: Page, days: pl.DataFrame) -> tuple[Any, Any]:
    """The first and the day after the last of the chart."""
    first: Any = days["day"].min()
    last: Any = days["day"].max()
    if page.scope.length is not None:
        first, last = page.scope.since.date(), page.scope.until.date()
    return first - timedelta(days=1), last + timedelta(days=1)


def _list(page: Page, totals: Mapping[str, Any]) -> None:
    st.header("Gates that did not hold", anchor=False)
    found = page.ask(queries.failed, page.scope, MOST_ROWS)
    if found.is_empty():
        states.good("Every gate that is settled held.")
        return
    shown = found.drop("finding_id", "matching").with_columns(
        status=pl.Series([gate_status(status) for status in found["status"]], dtype=pl.String)
    )
    ids = found["finding_id"].to_list()
    finding_rows(page, shown, ids, key="gates-table", alt="Gates that did not hold")
    matching = found["matching"][0]
    cut = f"The first {found.height:,} of " if matching > found.height else ""
    how = "Silent drops first, then the newest. Tick a row to see how it got past the gate."
    st.caption(f"{cut}{plural(matching, 'check')}. {how}")


def _order(page: Page, finding_id: str) -> None:
    """The order that the policy demands, beside what happened."""
    order = page.ask(queries.required_order, finding_id)
    if order.is_empty():
        return
    with st.container(border=True, key="required-order"):
        st.subheader("The order that the policy demands", anchor=False)
        call = page.ask(queries.failed_call, finding_id)
        if call.height:
            st.caption("The gate could not decide because its own call failed:")
            row = call.row(0, named=True)
            figures.show_words([row["tool"], row["outcome"], row["error_type"]])
        shown = order.drop("pipeline").with_columns(
            status=pl.Series([gate_status(status) for status in order["status"]], dtype=pl.String)
        )
        figures.draw_table(shown, key=None, alt="The gates in the order that the policy demands")
        st.caption("From the first gate to the shipment; a gate without a time was decided in a record, or never.")
