"""Overview: is anything getting past our gates, do the flags say the truth, and can these numbers be trusted?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
import streamlit as st

from dashboard import charts, finding, freshness, queries, source, states
from dashboard.errors import NoSnapshotError, UnreadableError
from dashboard.numbers import UNKNOWN, count, interval, percent, plural
from dashboard.snapshot import Snapshot, first_line
from dashboard.table import close_finding, findings_table
from dashboard.view import View

MOST_BARS = 10
"""Rows of each chart; the tables below hold the rest."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Everything of the page that depends on the snapshot alone, one frame per question."""

    about: pl.DataFrame
    gates: pl.DataFrame
    flags: pl.DataFrame
    success: pl.DataFrame
    findings: pl.DataFrame
    by_tool: pl.DataFrame
    by_rule: pl.DataFrame
    choices: pl.DataFrame


@st.cache_data(max_entries=4, show_spinner=False)
def _load(identity: str, _con: duckdb.DuckDBPyConnection) -> Loaded:
    del identity  # only the key of the cache: a published file never changes
    return Loaded(
        about=queries.about(_con),
        gates=queries.gate_totals(_con),
        flags=queries.flag_totals(_con),
        success=queries.success_total(_con),
        findings=queries.finding_totals(_con),
        by_tool=queries.success_by_tool(_con, MOST_BARS),
        by_rule=queries.findings_by_rule(_con, MOST_BARS),
        choices=queries.filter_choices(_con),
    )


def page() -> None:
    """Draw the page, or the sentence for the state in which there is nothing to draw."""
    snapshots = source.snapshots()
    view = View.from_params({name: st.query_params.get_all(name) for name in st.query_params})
    try:
        snapshot = snapshots.current()
        loaded = _load(snapshot.identity, snapshot.con)
        _draw(snapshot, loaded, view)
    except NoSnapshotError as error:
        states.no_snapshot(error)
        freshness.show(None, None)
    except UnreadableError as error:
        states.unreadable(error)
        freshness.show(None, snapshots.identity())
    except duckdb.Error as error:
        snapshots.forget()
        states.unreadable(UnreadableError(first_line(error)))
        freshness.show(None, snapshots.identity())


def _draw(snapshot: Snapshot, loaded: Loaded, view: View) -> None:
    about = loaded.about.row(0, named=True)
    gates, flags = loaded.gates.row(0, named=True), loaded.flags.row(0, named=True)
    success, findings = loaded.success.row(0, named=True), loaded.findings.row(0, named=True)
    with st.container(key="headline"):
        st.title(headline(gates, flags, findings), anchor=False)
        freshness.show(about, snapshot.identity)
    if about["events"] == 0:
        states.no_events()
    if view.finding:
        st.markdown("One finding is opened: [go to it](#finding).")
    _cards(about, gates, flags, success, findings)
    _charts(loaded)
    st.header("Open findings", anchor=False)
    if findings["open"] == 0:
        states.no_findings(findings["pending"]) if about["events"] else None
    else:
        findings_table(snapshot.con, loaded.choices, view, findings["open"], findings["pending"])
    if view.finding:
        finding.panel(snapshot.con, view.finding, on_close=close_finding)


def headline(gates: Mapping[str, Any], flags: Mapping[str, Any], findings: Mapping[str, Any]) -> str:
    """The answer to the manager's first question, in one line."""
    if not gates["checks"] and not flags["claims"]:
        return f"{plural(findings['open'], 'open finding')}" if findings["open"] else "Nothing has been checked yet"
    dropped = plural(gates["silent"], "silent gate drop") if gates["silent"] else "No silent gate drops"
    broken = plural(flags["broken"], "broken flag") if flags["broken"] else "no broken flags"
    if not gates["checks"]:
        return f"No gate checks, {broken}"
    return f"{dropped}, {broken}" if flags["claims"] else dropped


def _share(row: Mapping[str, Any]) -> str:
    return f"{percent(row['rate'])} ({interval(row['ci_low'], row['ci_high'])})"


def _cards(
    about: Mapping[str, Any],
    gates: Mapping[str, Any],
    flags: Mapping[str, Any],
    success: Mapping[str, Any],
    findings: Mapping[str, Any],
) -> None:
    with st.container(key="cards"):
        grid = st.grid(5, min_column_width=170, border=True)
    cards = (
        (
            "Gate checks",
            count(gates["checks"]) if about["events"] else UNKNOWN,
            f"on {plural(gates['shipments'], 'shipment')}" + _waiting(gates["pending"]),
            "How often something that was shipped, or another subject of a pipeline, needed a gate.",
        ),
        (
            "Silent gate drops",
            count(gates["silent"]) if gates["checks"] else UNKNOWN,
            f"{_share(gates)} of all checks" if gates["checks"] else "no gate has been checked",
            "Shipped although the gate had not passed it in time and in order, and nobody had said so beforehand: "
            "missing, errored, late, stale, reused, or out of order.",
        ),
        (
            "Broken executed flags",
            count(flags["broken"]) if flags["claims"] else UNKNOWN,
            _flags_caption(flags),
            "What a decision record says about an action, contradicted by the evidence. False done: nothing shows that "
            "it happened. Hidden: recorded as not done, but it happened. Partly: only a part took effect.",
        ),
        (
            "Success rate",
            percent(success["rate"]),
            _success_caption(success),
            "Calls whose last attempt succeeded, with the Wilson 95 % interval. Retries of one call count once.",
        ),
        (
            "Open critical findings",
            count(findings["critical"]) if about["events"] else UNKNOWN,
            f"of {plural(findings['open'], 'open finding')}" + _waiting(findings["pending"]),
            "Findings of the severity critical that hold now.",
        ),
    )
    alarming = {"Silent gate drops": gates["silent"], "Broken executed flags": flags["broken"]}
    alarming["Open critical findings"] = findings["critical"]
    for number, (label, value, caption, meaning) in enumerate(cards):
        with grid.cell(), st.container(key=f"card-{number}-{'alarm' if alarming.get(label) else 'calm'}"):
            st.metric(label, value, help=meaning)
            st.caption(caption)


def _success_caption(success: Mapping[str, Any]) -> str:
    if not success["total"]:
        return "no tool was called"
    calls = f"{count(success['success'])} of {plural(success['total'], 'call')}"
    return f"{interval(success['ci_low'], success['ci_high'])} · {calls}"


def _waiting(pending: int) -> str:
    return f" · {pending:,} more wait for late evidence" if pending else ""


def _flags_caption(flags: Mapping[str, Any]) -> str:
    unchecked = f" · {flags['unverifiable']:,} cannot be checked" if flags["unverifiable"] else ""
    if not flags["claims"]:
        return "no record claims an action" + unchecked + _waiting(flags["pending"])
    kinds = f"{flags['phantom']:,} false done, {flags['hidden']:,} hidden, {flags['partial']:,} partly"
    return (
        f"{kinds} · {percent(flags['rate'])} of {plural(flags['claims'], 'flag')}"
        + unchecked
        + _waiting(flags["pending"])
    )


def _charts(loaded: Loaded) -> None:
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Success rate by tool", anchor=False)
        if loaded.by_tool.is_empty():
            st.caption("Unknown: no tool was called.")
        else:
            st.altair_chart(charts.success_by_tool(loaded.by_tool), width="stretch", alt="Success rate by tool")
            st.caption(
                "Calls by their last attempt, lowest rate first, with the 95 % interval."
                + (" A bar that ends at the left edge goes on beyond it." if charts.is_cut(loaded.by_tool) else "")
                + _left_out(loaded.by_tool, "tools", "tools; those with the most calls are shown")
            )
    with right:
        st.header("Open findings by rule", anchor=False)
        if loaded.by_rule.is_empty():
            st.caption("No rule has an open finding.")
        else:
            st.altair_chart(charts.findings_by_rule(loaded.by_rule), width="stretch", alt="Open findings by rule")
            st.caption(
                "The worst severity first."
                + _left_out(loaded.by_rule, "rules", "rules; the table below holds them all")
            )


def _left_out(frame: pl.DataFrame, total: str, words: str) -> str:
    there = frame[total][0]
    return f" {frame.height} of {there:,} {words}." if there > frame.height else ""
