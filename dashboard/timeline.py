"""Events in words, one on a line, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from dashboard.narrate import tell
from dashboard.text import plain

Row = Mapping[str, Any]


def clock(row: Row) -> str:
    """When an event happened (UTC): ``2 Mar 14:05:01.250``."""
    ts = row["ts"]
    return f"{ts.day} {ts:%b} {ts:%H:%M:%S}.{ts.microsecond // 1000:03d}"


def line(row: Row) -> str:
    """An event on one line: when, what, who."""
    told = tell(row)
    who = f"{plain(told.who, 60)}: " if told.who else ""
    return f"{clock(row)}  {told.kind}  {who}{plain(told.what, 200)}"


def lines(rows: Sequence[Row]) -> None:
    """Draw events as text."""
    st.text("\n".join(line(row) for row in rows))
