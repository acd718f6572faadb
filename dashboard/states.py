"""What the page says when there is nothing to show: each state has its own sentence, and never a traceback."""

from __future__ import annotations

from datetime import timedelta

import streamlit as st

from dashboard.errors import NoSnapshotError, UnreadableError
from dashboard.numbers import age
from dashboard.text import show

STALE_AFTER = timedelta(hours=24)
"""A page that is looked at each morning has to tell when nothing came since the morning before."""


def no_snapshot(error: NoSnapshotError) -> None:
    """Nothing has been published yet."""
    st.title("No data yet")
    st.info(
        "Gatewatch has not published a snapshot in this data directory yet. Read some events in with "
        "`gatewatch ingest`, or start with `gatewatch demo`; this page shows them as soon as they are there.",
        icon=":material/hourglass_empty:",
    )
    show(error)


def unreadable(error: UnreadableError) -> None:
    """There is a snapshot, but it cannot be read."""
    st.title("The snapshot cannot be read")
    st.error(
        "There is a snapshot, but it is damaged, was written by another version of Gatewatch, or this user may not "
        "read it. The events are safe in the ledger: `gatewatch rebuild` makes the database again from it.",
        icon=":material/error:",
    )
    show(error)


def stale(since: timedelta) -> None:
    """What is shown is old."""
    st.warning(
        f"Stale: nothing has been published for {age(since)}. What has happened since then is not on this page; "
        "run `gatewatch ingest`, or check what should have run it.",
        icon=":material/update_disabled:",
    )


def no_events() -> None:
    """The snapshot holds no events."""
    st.info(
        "This snapshot holds no events yet, so nothing is known: neither drops nor the lack of them.",
        icon=":material/inbox:",
    )


def no_findings(pending: int) -> None:
    """Nothing is open."""
    wait = f" {pending:,} still wait for evidence that may arrive late." if pending else ""
    st.success(
        f"No open findings in this period: every rule holds for its events.{wait}", icon=":material/check_circle:"
    )


def filtered_to_nothing(open_findings: int) -> None:
    """Findings are open, but none passes the filters."""
    st.info(
        f"No open finding passes these filters; without them there are {open_findings:,}.",
        icon=":material/filter_alt_off:",
    )


def nothing_here(what: str, filtered: bool) -> None:
    """Nothing of what the page is about lies in its scope; `what` says so in a few words of our own."""
    more = " with these filters: take one away, or choose a longer period." if filtered else ": choose a longer period."
    st.info(f"{what} in this period{more}", icon=":material/filter_alt_off:")


def good(sentence: str) -> None:
    """Nothing is wrong."""
    st.success(sentence, icon=":material/check_circle:")


def gone(finding: str) -> None:
    """The link names a finding that does not hold in this snapshot and that was never seen either."""
    st.info("This snapshot knows no such finding. The link may come from other data.", icon=":material/link_off:")
    show(finding)
