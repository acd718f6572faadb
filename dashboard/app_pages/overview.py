"""Overview: is anything getting past our gates, do the flags say the truth, and can these numbers be trusted?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import polars as pl
import streamlit as st

from dashboard import charts, figures, filters, finding, states
from dashboard.figures import Card, Figure
from dashboard.numbers import UNKNOWN, count, interval, percent, plural
from dashboard.page import Page, head
from dashboard.queries import findings as finding_queries
from dashboard.queries import overview as queries
from dashboard.queries.base import Scope
from dashboard.table import close_finding, findings_table
from dashboard.trend import by_day

FILTERS = ("tenant", "severity", "rule", "tool", "caller")
MOST_BARS = 10
"""Rows of each chart; the tables below hold the rest."""

DROPS = Figure(
    "silent-drops",
    "Silent gate drops",
    queries.drop_rows,
    lambda con, scope: queries.gate_totals(con, scope)["silent"][0],
)
BROKEN = Figure(
    "broken-flags",
    "Broken executed flags",
    queries.broken_rows,
    lambda con, scope: queries.flag_totals(con, scope)["broken"][0],
)
CRITICAL = Figure(
    "critical-findings",
    "Open critical findings",
    finding_queries.critical_rows,
    lambda con, scope: finding_queries.finding_totals(con, scope)["critical"][0],
)
SUCCESS = Figure(
    "successful-calls",
    "Calls that succeeded",
    queries.success_rows,
    lambda con, scope: queries.success_total(con, scope)["success"][0],
)
FIGURES = (DROPS, BROKEN, CRITICAL, SUCCESS)


def draw(page: Page) -> None:
    """Draw the page."""
    scope, before = page.scope, _before(page)
    gates, flags = page.one(queries.gate_totals, scope), page.one(queries.flag_totals, scope)
    findings = page.one(finding_queries.finding_totals, scope)
    head(page, headline(gates, flags, findings))
    if page.view.finding:
        st.markdown("One finding is opened: [go to it](#finding).")
    filters.bar(page, FILTERS)
    figures.cards(page, _cards(page, before, gates, flags, findings))
    _changed(page)
    figures.opened(page, FIGURES)
    _charts(page)
    st.header("Open findings", anchor=False)
    everything = page.one(finding_queries.finding_totals, scope.unfiltered())["open"]
    if findings["open"]:
        findings_table(page, everything, findings["pending"])
    elif everything:
        states.filtered_to_nothing(everything)
    elif page.about["events"]:
        states.no_findings(findings["pending"])
    if page.view.finding:
        finding.panel(page.snapshot.con, page.view.finding, on_close=close_finding)


def _before(page: Page) -> Scope | None:
    """The period before, when all of it lies behind the first event."""
    before, first = page.scope.before(), page.about["first_event_ts"]
    return before if before is not None and first is not None and first <= before.since + timedelta(days=1) else None


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
    page: Page, before: Scope | None, gates: Mapping[str, Any], flags: Mapping[str, Any], findings: Mapping[str, Any]
) -> Sequence[Card]:
    scope = page.scope

    def then(query: Callable[..., pl.DataFrame]) -> dict[str, Any] | None:
        return None if before is None else page.one(query, before)

    gates_then, flags_then = then(queries.gate_totals), then(queries.flag_totals)
    findings_then = then(finding_queries.finding_totals)
    success, success_then = page.one(queries.success_total, scope), then(queries.success_total)
    known = page.about["events"] > 0
    return (
        Card(
            "Silent gate drops",
            count(gates["silent"]) if gates["checks"] else UNKNOWN,
            f"{_share(gates)} of {plural(gates['checks'], 'check')} on {plural(gates['shipments'], 'shipment')}"
            + _waiting(gates["pending"])
            if gates["checks"]
            else "no gate has been checked" + _waiting(gates["pending"]),
            "Shipped although the gate had not passed it in time and in order, and nobody had said so beforehand: "
            "missing, errored, late, stale, reused, or out of order.",
            DROPS,
            alarming=bool(gates["silent"]),
            delta=figures.moved(gates["silent"], gates_then["silent"]) if gates_then and gates_then["checks"] else None,
            better="down",
            trend=by_day(page.ask(queries.drops_by_day, scope), scope),
        ),
        Card(
            "Broken executed flags",
            count(flags["broken"]) if flags["claims"] else UNKNOWN,
            _flags_caption(flags),
            "What a decision record says about an action, contradicted by the evidence. False done: nothing shows that "
            "it happened. Hidden: recorded as not done, but it happened. Partly: only a part took effect.",
            BROKEN,
            alarming=bool(flags["broken"]),
            delta=figures.moved(flags["broken"], flags_then["broken"]) if flags_then and flags_then["claims"] else None,
            better="down",
            trend=by_day(page.ask(queries.broken_by_day, scope), scope),
        ),
        Card(
            "Open critical findings",
            count(findings["critical"]) if known else UNKNOWN,
            f"of {plural(findings['open'], 'open finding')}" + _waiting(findings["pending"]),
            "Findings of the severity critical that hold now, by the time of what they are about.",
            CRITICAL,
            alarming=bool(findings["critical"]),
            delta=figures.moved(findings["critical"], findings_then["critical"]) if findings_then and known else None,
            better="down",
            trend=by_day(page.ask(finding_queries.critical_by_day, scope), scope),
        ),
        Card(
            "Success rate",
            percent(success["rate"]),
            _success_caption(success),
            "Calls whose last attempt succeeded, with the Wilson 95 % interval. Retries of one call count once.",
            SUCCESS if success["total"] else None,
            delta=figures.share(success, success_then, "total"),
            better="up",
            trend=by_day(page.ask(queries.success_by_day, scope), scope, "rate"),
        ),
        _containment(page, before),
    )


def _containment(page: Page, before: Scope | None) -> Card:
    verified = page.one(queries.kpi_total, page.scope, "verified_containment")
    then = None if before is None else page.one(queries.kpi_total, before, "verified_containment")
    wrong = page.one(queries.kpi_total, page.scope, "false_deflection")
    said = f"{interval(verified['ci_low'], verified['ci_high'])} · {plural(verified['total'], 'run')}"
    partial = wrong["eligible"] and wrong["covered"] < wrong["eligible"]
    coverage = f" (data on {percent(wrong['covered'] / wrong['eligible'])} of them)" if partial else ""
    return Card(
        "Verified containment",
        percent(verified["rate"]),
        (said if verified["total"] else "no run has ended") + f" · false deflection {percent(wrong['rate'])}{coverage}",
        "Runs that ended without a human and whose work was verified, of all that ended, by UTC day. False deflection: "
        "closed as resolved, and the answer did not help. Filters for tools and callers do not change it.",
        delta=figures.share(verified, then, "total"),
        better="up",
    )


def _changed(page: Page) -> None:
    """What has been noticed since the day before the snapshot."""
    since = page.about["published_at"] - timedelta(days=1)
    found = page.ask(finding_queries.changes, page.scope, since)
    words = {"opened": "new", "cleared": "cleared", "escalated": "more severe"}
    parts = []
    for change, told in words.items():
        rows = found.filter(pl.col("change") == change)
        n, critical = int(rows["n"].sum()), int(rows["critical"].sum())
        if n:
            parts.append(f"{plural(n, 'finding')} {told}" + (f" ({critical:,} critical)" if critical else ""))
    late = int(found.filter((pl.col("change") == "cleared") & (pl.col("reason") == "late_evidence"))["n"].sum())
    if late:
        parts.append(f"{late:,} of the cleared ones because evidence came late")
    if page.about["events"]:
        said = ", ".join(parts) if parts else "nothing opened and nothing cleared"
        st.caption(f"Noticed in the 24 hours before this snapshot: {said}.")


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


def _charts(page: Page) -> None:
    by_tool = page.ask(queries.success_by_tool, page.scope, MOST_BARS)
    by_rule = page.ask(finding_queries.findings_by_rule, page.scope, MOST_BARS)
    left, right = st.columns(2, gap="medium")
    with left:
        st.header("Success rate by tool", anchor=False)
        if by_tool.is_empty():
            st.caption("Unknown: no tool was called.")
        else:
            st.altair_chart(charts.success_by_tool(by_tool), width="stretch", alt="Success rate by tool")
            st.caption(
                "Calls by their last attempt, lowest rate first, with the 95 % interval."
                + (" A bar that ends at the left edge goes on beyond it." if charts.is_cut(by_tool) else "")
                + _left_out(by_tool, "tools", "tools; those with the most calls are shown")
            )
    with right:
        st.header("Open findings by rule", anchor=False)
        if by_rule.is_empty():
            st.caption("No rule has an open finding.")
        else:
            st.altair_chart(charts.findings_by_rule(by_rule), width="stretch", alt="Open findings by rule")
            st.caption(
                "The worst severity first." + _left_out(by_rule, "rules", "rules; the table below holds them all")
            )


def _left_out(frame: pl.DataFrame, total: str, words: str) -> str:
    there = frame[total][0]
    return f" {frame.height} of {there:,} {words}." if there > frame.height else ""
