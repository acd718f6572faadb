"""The line that says how fresh the page is. It stands on every state of every page that has a snapshot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import source, states
from dashboard.numbers import age, count, moment, plural
from dashboard.text import plain

_HELP = (
    "Times of events are theirs, in UTC. Lag: from the last event to the moment at which this snapshot was published. "
    "Quarantined: lines that were not accepted as events; `gatewatch quarantine list` says why."
)


def line(about: Mapping[str, Any]) -> str:
    """`about` as one line of plain text: last event, published, snapshot, lag, quarantine, policy."""
    published, last = about["published_at"], about["last_event_ts"]
    ago = age(source.now() - published)
    lag = age(published - last) if last else age(None)
    parts = (
        f"Events until {moment(last)}",
        f"published {moment(published)} ({ago} ago)",
        f"lag {lag}",
        f"snapshot {about['snapshot']}",
        plural(about["events"], "event"),
        f"{plural(about['quarantined'], 'line')} quarantined" if about["quarantined"] else "no line quarantined",
        f"policy {plain(about['policy'], 60)} v{count(about['policy_version'])}",
    )
    return "  ·  ".join(parts)


@st.fragment(run_every=source.WATCH_SECONDS)
def show(about: Mapping[str, Any] | None, shown: str | None) -> None:
    """Draw the line, with a warning when the snapshot is old; draw the page anew once there is a newer snapshot.

    `shown` is the identity of the snapshot on the page; without a snapshot both are None and only the watch remains.
    """
    source.rerun_when_moved(shown)
    if about is None:
        return
    with st.container(key="freshness"):
        st.text(line(about), help=_HELP)
    since = source.now() - about["published_at"]
    if since > states.STALE_AFTER:
        states.stale(since)
