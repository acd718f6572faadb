"""One opened finding: what it says, what the rule means, what to do, and every event behind it in order."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import duckdb
import polars as pl
import streamlit as st

from dashboard import states
from dashboard.narrate import Row, tell
from dashboard.numbers import moment, plural
from dashboard.queries import findings as queries
from dashboard.text import plain, show
from dashboard.timeline import clock, line

MOST_EVENTS = 300
"""Events of one timeline: more than any run has, and no page gets slow from it."""
FOLDED_FROM = 6
"""That many muted events in a row are folded away, so that the evidence stays in sight."""

_CODE = re.compile("`([^`]*)`")
"""Names in the rule book's sentences."""

_CLEARED = {
    "evidence": "newer events settle it",
    "late_evidence": "what was missing had happened in time and arrived late",
    "recalled": "a source that joined late may still bring what is missing",
    "policy": "the policy or the rules were changed",
}
"""The reasons of `finding_history` in words; another version may know more of them."""

BADGES = {"critical": "red", "high": "orange", "medium": "yellow", "low": "blue", "info": "gray"}


def panel(con: duckdb.DuckDBPyConnection, finding_id: str, *, on_close: Callable[[], None]) -> None:
    """Draw the finding of this id below the table, or the sentence that says why there is none."""
    found = queries.finding(con, finding_id)
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="bottom"):
        st.header("Opened finding", anchor="finding", width="content")
        st.button("Close", icon=":material/close:", type="tertiary", on_click=on_close)
    with st.container(border=True, key="finding"):
        if found.is_empty():
            _missing(queries.last_change(con, finding_id), finding_id)
            return
        row = found.row(0, named=True)
        _head(row)
        _meaning(queries.rule_text(con, row["rule"]))
        _timeline(row, queries.timeline(con, finding_id, MOST_EVENTS))


def _missing(change: pl.DataFrame, finding_id: str) -> None:
    if change.is_empty():
        states.gone(finding_id)
        return
    last = change.row(0, named=True)
    why = _CLEARED.get(last["reason"])
    st.success(
        f"This finding no longer holds. It was cleared on {moment(last['at'])}{f': {why}' if why else ''}.",
        icon=":material/check_circle:",
    )


def _head(row: Row) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        severity = row["severity"]
        if severity in BADGES:
            st.badge(severity, color=BADGES[severity])  # type: ignore[arg-type]  # the values are its literals
        st.badge("open" if row["status"] == "open" else "pending: late evidence may still clear it", color="gray")
        show(row["rule"])
    with st.container(key="finding-message"):
        show(row["message"])
    facts = {
        "When": moment(row["event_ts"], seconds=True),
        "Ticket or operation": row["correlation_id"],
        "Subject": row["subject"] if row["subject"] != row["correlation_id"] else None,
        "Gate": row["gate"],
        "Tool": row["tool"],
        "Caller": row["caller"],
        "Tenant": row["tenant"],
        "Finding": row["finding_id"],
    }
    with st.container(horizontal=True, gap="medium", key="facts"):
        for number, (label, value) in enumerate((k, v) for k, v in facts.items() if v is not None):
            with st.container(width="content", key=f"fact-{number}"):
                st.caption(label)
                show(value, limit=120)


def _meaning(found: pl.DataFrame) -> None:
    if found.is_empty():
        st.caption("There is no description of this rule in the snapshot.")
        return
    rule = found.row(0, named=True)
    grid = st.grid(3, min_column_width=260, key="meaning")
    said = (
        ("What it means", rule["means"]),
        ("What to do", rule["action"]),
        ("What would have satisfied the rule", rule["satisfied_by"]),
    )
    for number, (label, words) in enumerate(said):
        with grid.cell(), st.container(key=f"said-{number}"):
            st.caption(label)
            show(_CODE.sub(r"“\1”", words[:1].upper() + words[1:]))


def _timeline(row: Row, events: pl.DataFrame) -> None:
    st.subheader("What happened", anchor=False)
    evidence: Sequence[str] = row["evidence"]
    if events.is_empty() and not evidence:
        st.caption("No single event shows this: the rule looks at whole tables. This command says where to look:")
        show(f"gatewatch explain {row['finding_id']}")
        return
    if row["rule"] == "event_conflict":
        st.caption("This command shows every refused line, and in what it differs from the stored event:")
        show(f"gatewatch explain {row['finding_id']}")
    shown = events.filter(pl.col("is_evidence")).height
    others = 0 if events.is_empty() else events["others"][0]
    st.caption(_summary(shown, len(evidence), others, events.height - shown))
    nth = 0
    for number, (is_evidence, group) in enumerate(
        groupby(events.iter_rows(named=True), key=lambda row: row["is_evidence"])
    ):
        rows = list(group)
        if not is_evidence:
            _muted(rows, number)
            continue
        for told in rows:
            nth += 1
            _evidence(told, nth, shown)


def _summary(shown: int, wanted: int, others: int, others_shown: int) -> str:
    text = f"Evidence: {plural(shown, 'event')}, in order of time."
    if shown < wanted:
        text += f" {plural(wanted - shown, 'further event')} named as evidence cannot be shown here."
    if others:
        text += f" Muted: the other {plural(others, 'event')} of the same ticket or operation."
    if others_shown < others:
        text += f" Only the {others_shown:,} nearest in time are shown."
    return text


def _evidence(row: Row, nth: int, of: int) -> None:
    told = tell(row)
    with st.container(key=f"event-{nth}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.badge(f"evidence {nth} of {of}", color="primary")
            st.caption(f"{clock(row)} · {told.kind}", width="content")
            with st.container(key=f"id-{nth}", width="content"):
                show(row["event_id"], limit=200)
        who = f"{plain(told.who, 80)}: " if told.who else ""
        show(who + plain(told.what, 800), limit=900)


def _muted(rows: Sequence[Mapping[str, Any]], number: int) -> None:
    lines = "\n".join(line(row) for row in rows)
    with st.container(key=f"others-{number}"):
        if len(rows) < FOLDED_FROM:
            st.text(lines)
            return
        with st.expander(f"{plural(len(rows), 'other event')}, {clock(rows[0])} to {clock(rows[-1])}"):
            st.text(lines)
