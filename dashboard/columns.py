"""How columns are called and drawn in tables, by their name in the database: the same on every page."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

_LABELS = {
    "action": "Action",
    "age_seconds": "Age (s)",
    "amount_claimed": "Claimed amount",
    "amount_evidenced": "Evidenced amount",
    "attempts": "Attempts",
    "caller": "Caller",
    "cost_usd": "Cost",
    "call_id": "Call",
    "correlation_id": "Ticket",
    "error_class": "Error class",
    "finding_id": "Finding",
    "gate": "Gate",
    "intent": "Intent",
    "message": "What",
    "outcome": "Outcome",
    "pipeline": "Pipeline",
    "place": "Gate or tool",
    "reason": "Reason",
    "rule": "Rule",
    "status": "Status",
    "subject": "Subject",
    "target": "Target",
    "terminal_state": "Ended as",
    "tenant": "Tenant",
    "tool": "Tool",
}
_TIMES = {
    "at": "Noticed (UTC)",
    "began": "Began (UTC)",
    "decided_ts": "Decided (UTC)",
    "event_ts": "When (UTC)",
    "first_ts": "Started (UTC)",
    "received_at": "Received (UTC)",
    "shipped_ts": "Shipped (UTC)",
    "terminal_at": "Ended (UTC)",
}
_FORMATS = {
    "amount_claimed": "%.2f",
    "amount_evidenced": "%.2f",
    "difference": "%.2f",
    "minutes": "%.1f",
    "rubric_score": "%.2f",
    "cost_usd": "dollar",
    "duration_ms": "localized",
}
_WIDE = {"message": 415, "errors": 320, "line": 320}


def label(name: str) -> str:
    """What people call a column."""
    known = _LABELS.get(name) or _TIMES.get(name)
    return known or (name if name != name.lower() else name.replace("_", " ").capitalize())


def config(frame: pl.DataFrame) -> dict[str, Any]:
    """The configuration of every column of a frame for `st.dataframe`; text is text, whatever is in it."""
    found: dict[str, Any] = {}
    for name, dtype in frame.schema.items():
        if isinstance(dtype, pl.Datetime):
            found[name] = st.column_config.DatetimeColumn(label(name), format="D MMM YYYY, HH:mm:ss")
        elif dtype == pl.Boolean:
            found[name] = st.column_config.CheckboxColumn(label(name))
        elif dtype.is_numeric():
            found[name] = st.column_config.NumberColumn(label(name), format=_FORMATS.get(name))
        elif dtype == pl.String:
            found[name] = st.column_config.TextColumn(label(name), width=_WIDE.get(name))
    return found
