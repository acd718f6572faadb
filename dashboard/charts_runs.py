"""The timeline of one run. Names from outside are data in it: never an expression, a link or an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from dashboard.charts import layered
from dashboard.narrate import tell
from dashboard.text import plain, plain_frame

KINDS = {
    "tool.invocation": ("call", "#2f7fc1", "square"),
    "gate.decision": ("gate", "#7a5195", "diamond"),
    "artifact.shipment": ("shipment", "#e08e45", "triangle-right"),
    "decision.record": ("record", "#17a398", "cross"),
    "action.receipt": ("receipt", "#5a9e4b", "triangle-up"),
    "xenia.escalated": ("hand-over", "#d1495b", "triangle-down"),
}
"""Kind of event → what it is called in the legend, its colour and its shape; all others are "other", grey and round."""
OTHER = ("other", "#8a93a3", "circle")

_LANE = 34


def timeline(frame: pl.DataFrame) -> alt.LayerChart:
    """One lane per actor in order of appearance: calls as bars as long as they took, everything else as marks.

    `frame`: events in order (all columns of `events`).
    """
    rows = [_row(row) for row in frame.iter_rows(named=True)]
    shown = plain_frame(pl.DataFrame(rows))
    lanes = list(dict.fromkeys(shown["lane"].to_list()))
    labels = list(dict.fromkeys(row["what"] for row in rows))
    known = {name: (colour, shape) for name, colour, shape in (*KINDS.values(), OTHER)}
    axis = alt.Axis(
        title=None, labelLimit=140, ticks=False, domain=False, labelPadding=8, labelOverlap=False, grid=True
    )
    y = alt.Y("lane:N", sort=lanes, axis=axis)
    span = (frame["ts"].max() - frame["ts"].min()).total_seconds()  # type: ignore[operator, union-attr]
    clock = "%H:%M:%S" if span < 600 else "%H:%M" if span < 20 * 3600 else "%-d %b %H:%M"
    x_axis = alt.Axis(title=None, labelFlush=False, tickCount=6, grid=True, format=clock)
    x = alt.X("begin:T", axis=x_axis)
    colour = alt.Color(
        "what:N",
        scale=alt.Scale(domain=labels, range=[known[name][0] for name in labels]),
        legend=alt.Legend(title=None, orient="top", columns=7, symbolOpacity=1),
    )
    shape = alt.Shape("what:N", scale=alt.Scale(domain=labels, range=[known[name][1] for name in labels]))
    tooltip = [
        alt.Tooltip("begin:T", title="When (UTC)", format="%-d %b %H:%M:%S.%L"),
        alt.Tooltip("lane:N", title="Who"),
        alt.Tooltip("said:N", title="What"),
        alt.Tooltip("took:N", title="Took"),
        alt.Tooltip("event:N", title="Event"),
    ]
    base = alt.Chart(shown)
    bars = (
        base.transform_filter(alt.datum.is_call)
        .mark_bar(height=14, cornerRadius=3, opacity=0.55)
        .encode(x=x, x2="end:T", y=y, color=colour, tooltip=tooltip)
    )
    marks = base.mark_point(size=75, filled=True, opacity=0.95).encode(
        x=x, y=y, color=colour, shape=shape, tooltip=tooltip
    )
    return layered([bars, marks], _LANE * len(lanes) + 70, right=8)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    told = tell(row)
    took = row["duration_ms"]
    begin = row["ts"]
    is_call = row["kind"] == "tool.invocation"
    return {
        "begin": begin,
        "end": begin if not is_call or not took else begin + pl.select(pl.duration(milliseconds=took)).item(),
        "lane": plain(told.who, 60) if told.who else "(not said)",
        "what": KINDS.get(row["kind"], OTHER)[0],
        "said": f"{told.kind}: {plain(told.what, 200)}",
        "took": "unknown" if took is None else f"{took:,.0f} ms",
        "event": row["event_id"],
        "is_call": is_call,
    }
