"""Reconciliation: does what the records say agree with what the evidence shows, and was it allowed?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import streamlit as st

from dashboard import charts_reconciliation, figures, filters, finding, states
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, age, count, percent, plural
from dashboard.page import Page, head
from dashboard.queries import reconciliation as queries
from dashboard.table import close_finding, finding_rows
from dashboard.words import break_status

FILTERS = ("tenant", "tool", "caller")
MOST_ROWS = 500

BREAKS = Figure(
    "breaks",
    "Breaks",
    queries.breaks,
    lambda con, scope: int(queries.by_kind(con, scope)["n"].sum()),
)
MATCHED = Figure(
    "matched",
    "What agrees",
    queries.matched,
    lambda con, scope: queries.totals(con, scope)["matched"][0],
)
AMOUNTS = Figure(
    "amounts",
    "Breaks with money in them",
    queries.amounts,
    lambda con, scope: queries.totals(con, scope)["priced"][0],
)
FIGURES = (BREAKS, MATCHED, AMOUNTS)


def draw(page: Page) -> None:
    """Draw the page."""
    totals = page.one(queries.totals, page.scope)
    head(page, _title(totals))
    filters.bar(page, FILTERS)
    if not totals["settled"] and not totals["pending"]:
        if page.about["events"]:
            states.nothing_here("Nothing was claimed and nothing took effect", page.view.filtered)
        return
    figures.cards(page, _cards(totals), per_row=4)
    figures.opened(page, FIGURES)
    _charts(page)
    _list(page)
    if page.view.finding:
        finding.panel(page.snapshot.con, page.view.finding, on_close=close_finding)


def _title(totals: Mapping[str, Any]) -> str:
    if not totals["settled"]:
        return "Nothing has been reconciled yet"
    if not totals["breaks"]:
        return f"Records and evidence agree in all {plural(totals['settled'], 'case')}"
    return f"{plural(totals['breaks'], 'break')} in {plural(totals['settled'], 'case')}"


def _cards(totals: Mapping[str, Any]) -> Sequence[Card]:
    known = totals["settled"] > 0
    waiting = f" · {totals['pending']:,} more wait for late evidence" if totals["pending"] else ""
    money = totals["difference"]
    return (
        Card(
            "Cases",
            count(totals["settled"]) if known else UNKNOWN,
            f"claims, and effects that no record claims{waiting}",
            "One case is one action that a record speaks of, or one effect that no record does.",
        ),
        Card(
            "Agree",
            count(totals["matched"]) if known else UNKNOWN,
            f"{percent(totals['matched'] / totals['settled'])} of all cases" if known else "nothing was reconciled",
            "Record and evidence say the same: done and it happened, or not done and it did not.",
            MATCHED if totals["matched"] else None,
        ),
        Card(
            "Breaks",
            count(totals["breaks"]) if known else UNKNOWN,
            f"{percent(totals['breaks'] / totals['settled'])} of all cases" if known else "nothing was reconciled",
            "Record and evidence contradict each other, or one of them is missing.",
            BREAKS,
            alarming=bool(totals["breaks"]),
        ),
        Card(
            "Money in breaks",
            f"{money:,.2f}" if money is not None else (UNKNOWN if totals["breaks"] else "0.00"),
            f"over {plural(totals['priced'], 'break')} that name an amount"
            if totals["priced"]
            else "no break names one",
            "What claimed and evidenced amounts differ by, added up as they are written: currencies are not converted.",
            AMOUNTS if totals["priced"] else None,
        ),
    )


def _charts(page: Page) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Allowed, recorded, happened", anchor=False)
        ways = page.ask(queries.three_ways, page.scope)
        if ways.is_empty():
            st.caption("Unknown: nothing is settled yet.")
        else:
            chart = charts_reconciliation.three_ways(ways)
            st.altair_chart(chart, width="stretch", alt="Actions by authorised, claimed and evidenced")
            st.caption(
                "A full dot: yes. A hollow one: no. A dash: no approval was named or demanded. Blue agrees, orange "
                "breaks, red happened without a valid approval."
            )
    with right:
        st.header("Breaks by kind and age", anchor=False)
        ages = page.ask(queries.by_kind_and_age, page.scope)
        if ages.is_empty():
            st.caption("None: nothing breaks.")
        else:
            chart = charts_reconciliation.by_kind_and_age(ages)
            st.altair_chart(chart, width="stretch", alt="Breaks by kind and age")
            st.caption("Age: from the break to the newest event. The darker, the longer nobody has cleared it up.")
    kinds = page.ask(queries.by_kind, page.scope)
    if kinds.height:
        st.header("What each kind means", anchor=False)
        shown = pl.DataFrame(
            {
                "break": [break_status(status) for status in kinds["status"]],
                "how many": kinds["n"],
                "oldest": [age(timedelta(seconds=seconds)) for seconds in kinds["oldest"]],
                "message": kinds["means"],
            }
        )
        figures.draw_table(shown, key=None, alt="Kinds of breaks and what they mean", height=460)


def _list(page: Page) -> None:
    st.header("Breaks", anchor=False)
    found = page.ask(queries.breaks, page.scope, MOST_ROWS)
    if found.is_empty():
        states.good("Nothing breaks: every record that can be checked agrees with the evidence.")
        return
    shown = found.drop("finding_id", "matching").with_columns(
        status=pl.Series([break_status(status) for status in found["status"]], dtype=pl.String),
        age_seconds=pl.Series([_age(seconds) for seconds in found["age_seconds"]], dtype=pl.String),
    )
    shown = shown.rename({"age_seconds": "age"})
    finding_rows(page, shown, found["finding_id"].to_list(), key="breaks-list", alt="Breaks")
    matching = found["matching"][0]
    cut = f"The first {found.height:,} of " if matching > found.height else ""
    st.caption(f"{cut}{plural(matching, 'break')}, the newest first. Tick a row to see the claim and the evidence.")


def _age(seconds: float | None) -> str:
    return age(None if seconds is None else timedelta(seconds=seconds))
