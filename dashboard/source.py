"""The bridge between Streamlit's sessions and the snapshots: one reader per data directory, and a watch on the link."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import streamlit as st

from dashboard.launch import DATA_VARIABLE
from dashboard.snapshot import Snapshots

WATCH_SECONDS = 10
"""How often an open page looks whether a newer snapshot was published; one `readlink`, no query."""


def snapshots() -> Snapshots:
    """The snapshots of the data directory that the server was started for."""
    return _of(os.environ.get(DATA_VARIABLE, "gatewatch-data"))


@st.cache_resource(max_entries=4, show_spinner=False)
def _of(data: str) -> Snapshots:
    return Snapshots(Path(data))


def now() -> datetime:
    """Naive UTC, as all times in the database."""
    return datetime.now(UTC).replace(tzinfo=None)


def rerun_when_moved(shown: str | None) -> None:
    """Draw the page anew once the link points elsewhere than to `shown`; for a fragment that runs now and then."""
    if snapshots().identity() != shown:
        st.rerun()
