"""Runs: find one by what is known of it, and see everything that happened in it, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import streamlit as st

from dashboard import address, charts_runs, figures, filters, finding, states, timeline
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, count, moment, percent, plural
from dashboard.page import Page, head
from dashboard.queries import runs as queries
from dashboard.table import close_finding, finding_rows
from dashboard.text import show

FILTERS = ("tenant", "intent", "tool", "caller")
MOST_ROWS = 500
MOST_EVENTS = 500
"""Events of one run that are drawn; the rest is counted."""

UNFINISHED = Figure(
    "unfinished-runs",
    "Runs that have not ended",
    queries.unfinished,
    lambda con, scope: queries.totals(con, scope)["unfinished"][0],
)
MARKED = Figure(
    "marked-runs",
    "Runs with open findings",
    queries.marked,
    lambda con, scope: queries.totals(con, scope)["marked"][0],
)
ESCALATED = Figure(
    "escalated-runs",
    "Runs that went to a human",
    queries.escalated,
    lambda con, scope: queries.totals(con, scope)["escalated"][0],
)
FIGURES = (UNFINISHED, MARKED, ESCALATED)


def draw(page: Page) -> None:
    """Draw the page: one run, if the address names one, else the list."""
    if page.view.run:
        _one(page, page.view.run)
        return
    sought = page.view.search or ""
    totals = page.one(queries.totals, page.scope, sought)
    head(page, f"{plural(totals['runs'], 'run')}" if totals["runs"] else "No run")
    filters.bar(page, FILTERS)
    _search(sought)
    if not totals["runs"]:
        if page.about["events"]:
            states.nothing_here("No run was found" if sought else "No run was seen", page.view.filtered or bool(sought))
        return
    if not sought:
        figures.cards(page, _cards(totals), per_row=4)
        figures.opened(page, FIGURES)
    st.header("Runs", anchor=False)
    found = page.ask(queries.listed, page.scope, MOST_ROWS, sought)
    figures.table(found.drop("matching"), key="runs-list", height=560)
    matching = found["matching"][0]
    cut = f"The first {found.height:,} of " if matching > found.height else ""
    st.caption(f"{cut}{plural(matching, 'run')}, the newest first. Tick a row to see what happened in it.")


def _search(sought: str) -> None:
    st.session_state["runs-search"] = sought
    st.text_input(
        "Search",
        key="runs-search",
        placeholder="A part of a ticket, run or decision, or the name of a tool or agent",
        on_change=_sought,
        max_chars=200,
        icon=":material/search:",
    )


def _sought() -> None:
    address.go(replace(address.current(), search=st.session_state["runs-search"].strip() or None))


def _cards(totals: Mapping[str, Any]) -> Sequence[Card]:
    runs = totals["runs"]
    return (
        Card("Runs", count(runs), "with anything in this period", "One run is one request and all work on it."),
        Card(
            "With open findings",
            count(totals["marked"]),
            f"{percent(totals['marked'] / runs)} of them",
            "Runs about whose ticket a finding holds now.",
            MARKED if totals["marked"] else None,
        ),
        Card(
            "Went to a human",
            count(totals["escalated"]),
            f"{percent(totals['escalated'] / runs)} of them",
            "Runs that were handed over to a person.",
            ESCALATED if totals["escalated"] else None,
        ),
        Card(
            "Not ended",
            count(totals["unfinished"]),
            f"{percent(totals['unfinished'] / runs)} of them",
            "Runs without an end so far.",
            UNFINISHED if totals["unfinished"] else None,
        ),
    )


def _one(page: Page, name: str) -> None:
    head(page, "One run")
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        with st.container(key="run-name", width="content"):
            show(name, limit=200)
        st.button("All runs", key="close-run", icon=":material/arrow_back:", type="tertiary", on_click=_close)
    tenants = page.ask(queries.tenants_of, page.scope, name)
    if page.view.run_of:
        tenants = tenants.filter(pl.col("tenant").fill_null("").is_in(page.view.run_of))
    if tenants.is_empty():
        states.nothing_here("This snapshot knows no run of this name", page.view.filtered)
        return
    if tenants.height > 1:
        st.info(
            f"{tenants.height} tenants use this name; their runs have nothing to do with each other and stand apart.",
            icon=":material/groups:",
        )
    for number, tenant in enumerate(tenants["tenant"].to_list()[:10]):
        _run(page, name, tenant, number)
    if page.view.finding:
        finding.panel(page.snapshot.con, page.view.finding, on_close=close_finding)


def _close() -> None:
    address.go(replace(address.current(), run=None, run_of=(), finding=None))


def _run(page: Page, name: str, tenant: str | None, number: int) -> None:
    events = page.ask(queries.events, name, tenant, MOST_EVENTS)
    _facts(page.ask(queries.run, name, tenant), tenant, number)
    findings = page.ask(queries.findings, name, tenant)
    if findings.height:
        st.header("Findings about it", anchor=False)
        ids = findings["finding_id"].to_list()
        finding_rows(
            page, findings.drop("finding_id"), ids, key=f"run-findings-{number}", alt="Findings about this run"
        )
        st.caption("Tick a row to see what is behind it.")
    else:
        states.good("No finding is about this run.")
    st.header("Timeline", anchor=False)
    st.altair_chart(charts_runs.timeline(events), width="stretch", alt="Events of the run by actor and time")
    matching = events["matching"][0]
    cut = f"The first {events.height:,} of {matching:,} events. " if matching > events.height else ""
    st.caption(f"{cut}A bar is a call, as long as it took; a mark is a moment. Times are UTC.")
    with st.expander(f"All {plural(events.height, 'event')} in words"):
        timeline.lines(events.rows(named=True))


def _facts(found: pl.DataFrame, tenant: str | None, number: int) -> None:
    row: dict[str, Any] = found.row(found.height - 1, named=True) if found.height else {}
    facts = {
        "Tenant": tenant or "(no tenant)",
        "Ended as": row.get("terminal_state") or "not ended",
        "Received": moment(row.get("received_at")),
        "First response": moment(row.get("first_response_at")),
        "Ended": moment(row.get("terminal_at")),
        "Intent": row.get("intent"),
        "Priority": row.get("priority"),
        "Decision": row.get("decision_id"),
        "Run": row.get("run_id"),
        "Rubric score": None if row.get("rubric_score") is None else f"{row['rubric_score']:.2f} of 3",
        "Cost": UNKNOWN if row.get("cost_usd") is None else f"${row['cost_usd']:,.4f}",
    }
    with st.container(horizontal=True, gap="medium", key=f"facts-run-{number}"):
        for nth, (label, value) in enumerate((k, v) for k, v in facts.items() if v is not None):
            with st.container(width="content", key=f"fact-run-{number}-{nth}"):
                st.caption(label)
                show(value, limit=120)
