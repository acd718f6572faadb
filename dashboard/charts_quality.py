"""Charts of the data's quality. Names from outside are data in them: never an expression, a link or an image."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from dashboard.charts import layered
from dashboard.numbers import count, percent
from dashboard.text import plain_frame

PARTS = {"accepted": "#2f7fc1", "duplicate": "#8a93a3", "quarantined": "#d1495b", "blank": "#c9ced6"}
"""What may become of a line, with its colour."""

_MEANS = {
    "accepted": "became events",
    "duplicate": "had come before, with the same content",
    "quarantined": "refused, and kept with the reason",
    "blank": "held nothing",
}


def accounting(row: dict[str, Any]) -> alt.LayerChart:
    """One bar per part that a line can come to: its length is the share, with the number in words."""
    lines = row["lines"]
    shown = pl.DataFrame(
        [
            {
                "part": part,
                "n": row[part],
                "share": row[part] / lines,
                "said": f"{count(row[part])} ({percent(row[part] / lines)}): {_MEANS[part]}",
            }
            for part in PARTS
        ]
    )
    axis = alt.Axis(title=None, ticks=False, domain=False, labelPadding=8)
    y = alt.Y("part:N", sort=list(PARTS), axis=axis)
    scale = alt.Scale(domain=[0, 1])
    tooltip = [alt.Tooltip("part:N", title="Lines"), alt.Tooltip("said:N", title="How many")]
    bars = (
        alt.Chart(shown)
        .mark_bar(height=15, cornerRadiusEnd=3)
        .encode(
            y=y,
            x=alt.X("share:Q", scale=scale, axis=None),
            color=alt.Color(
                "part:N", scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())), legend=None
            ),
            tooltip=tooltip,
        )
    )  # fmt: skip
    words = (
        alt.Chart(shown)
        .mark_text(align="left", fontSize=12, fill="gray", dy=17, dx=2)
        .encode(y=y, x=alt.value(0), text="said:N", tooltip=tooltip)
    )
    return layered([bars, words], 46 * len(PARTS))


def by_day(frame: pl.DataFrame) -> alt.LayerChart:
    """One bar per UTC day, in parts by what became of the lines. `frame`: day and the columns of `PARTS`."""
    parts = frame.unpivot(on=list(PARTS), index=["day"], variable_name="part", value_name="n").filter(pl.col("n") > 0)
    chart = (
        alt.Chart(parts)
        .mark_bar(size=12, cornerRadiusEnd=2)
        .encode(
            x=alt.X("day:T", axis=alt.Axis(title=None, format="%-d %b", grid=False, tickCount=6, labelFlush=False)),
            y=alt.Y("n:Q", stack="zero", axis=alt.Axis(title="lines", format="~s", domain=False, tickCount=4)),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(PARTS), range=list(PARTS.values())),
                legend=alt.Legend(title=None, orient="top", columns=4),
            ),
            tooltip=[
                alt.Tooltip("day:T", title="Day (UTC)", format="%-d %b %Y"),
                alt.Tooltip("part:N", title="Lines"),
                alt.Tooltip("n:Q", title="How many", format=","),
            ],
        )
    )
    return layered([chart], 200)


def by_reason(frame: pl.DataFrame) -> alt.LayerChart:
    """One bar per reason, in parts by source. `frame`: reason, source, n."""
    shown = plain_frame(frame, missing="unknown")
    totals = shown.group_by("reason").agg(pl.col("n").sum()).sort("n", "reason", descending=[True, False])
    order = totals["reason"].to_list()
    axis = alt.Axis(title=None, labelLimit=170, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    y = alt.Y("reason:N", sort=order, axis=axis)
    tooltip = [
        alt.Tooltip("reason:N", title="Reason"),
        alt.Tooltip("source:N", title="Source"),
        alt.Tooltip("n:Q", title="Lines", format=","),
    ]
    bars = (
        alt.Chart(shown)
        .mark_bar(height=15, color=PARTS["quarantined"], stroke="white", strokeWidth=1)
        .encode(y=y, x=alt.X("n:Q", stack="zero", axis=None), detail="source:N", tooltip=tooltip)
    )
    words = (
        alt.Chart(totals)
        .mark_text(align="left", dx=6, fontSize=12, fill="gray")
        .encode(y=y, x="n:Q", text=alt.Text("n:Q", format=","))
    )
    return layered([bars, words], 32 * len(order) + 20)
