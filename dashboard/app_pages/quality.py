"""Data quality: did everything that was sent arrive, what was refused and why, and can the record itself be trusted?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import streamlit as st

from dashboard import charts_quality, figures, filters, states
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, age, count, moment, percent, plural
from dashboard.page import Page, head
from dashboard.queries import quality as queries
from dashboard.text import show

FILTERS: tuple[str, ...] = ()
SAMPLES = 100

QUARANTINED = Figure(
    "quarantined-lines",
    "Refused lines",
    queries.quarantined,
    lambda con, scope: queries.accounting(con, scope)["quarantined"][0],
)
MARKED = Figure("marked-chunks", "Chunks with drift, warnings or redactions", queries.chunks, queries.marked_chunks)
FIGURES = (QUARANTINED, MARKED)


def draw(page: Page) -> None:
    """Draw the page."""
    row = page.one(queries.accounting, page.scope)
    head(page, _title(row))
    filters.bar(page, FILTERS)
    st.caption("On this page the period is about when lines came in, not about the time of their events.")
    if row["lines"]:
        figures.cards(page, _cards(row), per_row=5)
        figures.opened(page, FIGURES)
        _accounting(page, row)
    elif page.about["events"]:
        states.nothing_here("No line came in", filtered=False)
    _sources(page)
    if row["quarantined"]:
        _samples(page)
    _gaps(page)
    _ledger(page)


def _title(row: Mapping[str, Any]) -> str:
    if not row["lines"]:
        return "No line came in"
    if not row["quarantined"]:
        return f"All {plural(row['lines'], 'line')} are accounted for, none was refused"
    return f"All {plural(row['lines'], 'line')} are accounted for, {count(row['quarantined'])} were refused"


def _cards(row: Mapping[str, Any]) -> Sequence[Card]:
    lines = row["lines"]
    return (
        Card(
            "Lines",
            count(lines),
            "= accepted + duplicate + refused + blank",
            "Every line that a source handed over; each became exactly one of the four.",
        ),
        Card(
            "Accepted",
            count(row["accepted"]),
            f"{percent(row['accepted'] / lines)} of all",
            "Lines that became events.",
        ),
        Card(
            "Refused",
            count(row["quarantined"]),
            f"{percent(row['quarantined'] / lines)} of all, kept with the reason",
            "Lines in quarantine: nothing of them is lost, and `gatewatch quarantine retry` tries them again.",
            QUARANTINED if row["quarantined"] else None,
            alarming=bool(row["quarantined"]),
        ),
        Card(
            "Drift",
            count(row["drift"]),
            f"lines with fields that the contract does not know · {count(row['warnings'])} with warnings",
            "Unknown fields are kept and reject nothing, but say that a producer has moved on.",
            MARKED if row["drift"] + row["warnings"] + row["redacted"] else None,
        ),
        Card(
            "Redacted",
            count(row["redacted"]),
            "lines from which personal data was taken before they were stored",
            "E-mail addresses, phone and card numbers and the like never enter the ledger.",
        ),
    )


def _accounting(page: Page, row: dict[str, Any]) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("What became of the lines", anchor=False)
        st.altair_chart(charts_quality.accounting(row), width="stretch", alt="Lines by what became of them")
    with right:
        st.header("By day", anchor=False)
        st.altair_chart(
            charts_quality.by_day(page.ask(queries.by_day, page.scope)), width="stretch", alt="Lines by day"
        )
        st.caption("By the UTC day on which they came in.")


def _sources(page: Page) -> None:
    st.header("Sources", anchor=False)
    found = page.ask(queries.sources)
    if found.is_empty():
        st.caption("No source has been read yet.")
        return
    shown = pl.DataFrame(
        {
            "source": found["source"],
            "kind": found["kind"],
            "lines": found["lines"],
            "refused": found["quarantined"],
            "drift": found["drift"],
            "newest event": [moment(ts) for ts in found["max_ts"]],
            "behind": [_age(seconds) for seconds in found["lag_seconds"]],
            "last line came": [f"{_age(seconds)} before" for seconds in found["silent_seconds"]],
            "state": ["read to its end" if done else "more may come" for done in found["complete"]],
        }
    )
    figures.draw_table(shown, key=None, alt="Sources and how far behind they are")
    st.caption("Behind: from the newest event of the source to this snapshot. Last line came: before this snapshot.")


def _age(seconds: float | None) -> str:
    return age(None if seconds is None else timedelta(seconds=seconds))


def _samples(page: Page) -> None:
    st.header("Why lines were refused", anchor=False)
    reasons = page.ask(queries.by_reason, page.scope)
    st.altair_chart(charts_quality.by_reason(reasons), width="stretch", alt="Refused lines by reason")
    by_source = reasons.group_by("source").agg(pl.col("n").sum()).sort("n", "source", descending=[True, False])
    left, right = st.columns([1, 2], gap="medium")
    with left:
        figures.draw_table(by_source.rename({"n": "refused"}), key=None, alt="Refused lines by source")
    with right:
        found = page.ask(queries.quarantined, page.scope, SAMPLES)
        figures.draw_table(
            found.select("reason", "errors", "line", "received_at", "source"), key=None, alt="Refused lines"
        )
        cut = f"The newest {found.height:,} of " if found["matching"][0] > found.height else ""
        st.caption(f"{cut}{plural(found['matching'][0], 'line')}, as they came, after redaction.")
    again = page.ask(queries.retries, page.scope)
    if again.height:
        st.caption("Of refused lines that were tried again:")
        figures.draw_table(again, key=None, alt="What became of lines that were tried again")


def _gaps(page: Page) -> None:
    found = page.ask(queries.gaps, page.scope, SAMPLES)
    if found.is_empty():
        return
    st.header("Gaps", anchor=False)
    st.warning(
        f"{plural(found['matching'][0], 'stretch', 'stretches')} of a source could not be read any more: what was in "
        "there is missing from every number.",
        icon=":material/warning:",
    )
    figures.draw_table(found.drop("matching"), key=None, alt="Stretches that could not be read")


def _ledger(page: Page) -> None:
    st.header("The record itself", anchor=False)
    row = page.one(queries.ledger)
    if row["verified_at"] is None:
        st.warning(
            "Never verified: nobody has held the tables against the ledger yet. `gatewatch verify` does.",
            icon=":material/help:",
        )
    elif row["ok"]:
        states.good(f"Verified on {moment(row['verified_at'])}: ledger and tables agreed.")
    else:
        st.error(f"The verification of {moment(row['verified_at'])} found problems:", icon=":material/error:")
        for problem in (row["problems"] or [])[:10]:
            show(problem)
    size = UNKNOWN if row["ledger_bytes"] is None else f"{row['ledger_bytes'] / 1e6:,.1f} MB"
    chunks = UNKNOWN if row["ledger_chunks"] is None else plural(row["ledger_chunks"], "chunk")
    st.caption(f"{chunks}, {size}. Root of the hash tree over all of them:")
    show(row["ledger_root"])
    st.caption(
        "Checkpoints that left this machine are not in the snapshot, which could not vouch for them. Whoever keeps one "
        "compares it with this root, or runs `gatewatch verify --checkpoint FILE --key FILE`."
    )
