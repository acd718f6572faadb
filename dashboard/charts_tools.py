"""Charts of the tools. Names from outside are data in them: never an expression, a link or an image."""

from __future__ import annotations

import altair as alt
import polars as pl

from dashboard.charts import BLUE, layered
from dashboard.numbers import FEW, count, percent
from dashboard.text import plain_frame

OUTCOMES = {
    "partial": "#c9a227",
    "unavailable": "#e08e45",
    "stale_target": "#7a5195",
    "denied": "#8a93a3",
    "failed": "#d1495b",
}
"""What a call that did not succeed may have come to, with the colour that stands for it."""

_ROW = 32


def unsuccessful(frame: pl.DataFrame) -> alt.LayerChart:
    """One bar per name: the share of its calls that did not succeed, in parts by outcome, with the numbers in words.

    `frame`: name, total, success and the columns of `OUTCOMES`, in the order in which the names are drawn.
    """
    named = plain_frame(frame, missing="not said")
    parts = named.unpivot(on=list(OUTCOMES), index=["name", "total"], variable_name="outcome", value_name="n")
    parts = parts.filter(pl.col("n") > 0).with_columns(share=pl.col("n") / pl.col("total"))
    words = named.with_columns(
        share=1 - pl.col("success") / pl.col("total"),
        label=pl.Series([_words(row) for row in frame.iter_rows(named=True)], dtype=pl.String),
    )
    order = named["name"].to_list()
    axis = alt.Axis(title=None, labelLimit=150, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    y = alt.Y("name:N", sort=order, axis=axis)
    x_axis = alt.Axis(format=".0%", title=None, grid=True, domain=False, tickCount=4, labelFlush=False)
    bars = (
        alt.Chart(parts)
        .mark_bar(height=15)
        .encode(
            y=y,
            x=alt.X("share:Q", stack="zero", axis=x_axis),
            color=alt.Color(
                "outcome:N",
                scale=alt.Scale(domain=list(OUTCOMES), range=list(OUTCOMES.values())),
                legend=alt.Legend(title=None, orient="top", columns=5),
            ),
            tooltip=[
                alt.Tooltip("name:N", title="Name"),
                alt.Tooltip("outcome:N", title="Outcome"),
                alt.Tooltip("n:Q", title="Calls", format=","),
                alt.Tooltip("share:Q", title="Share of all calls", format=".2%"),
            ],
        )
    )
    said = (
        alt.Chart(words)
        .mark_text(align="left", dx=8, fontSize=12, fill="gray")
        .encode(y=y, x=alt.X("share:Q"), text="label:N")
    )
    return layered([bars, said], _ROW * len(order) + 60)


def _words(row: dict[str, int]) -> str:
    few = ", few" if row["total"] < FEW else ""
    return f"{percent(1 - row['success'] / row['total'])} of {count(row['total'])}{few}"


def durations(frame: pl.DataFrame) -> alt.LayerChart:
    """One row per tool on a logarithmic axis: median, 95th and 99th percentile as points of a line.

    `frame`: tool, p50, p95, p99 (milliseconds), known, total, in the order in which the tools are drawn.
    """
    shown = plain_frame(frame, missing="unknown").with_columns(
        (pl.col(name).clip(lower_bound=1) / 1000).alias(name) for name in ("p50", "p95", "p99")
    )
    parts = shown.unpivot(
        on=["p50", "p95", "p99"], index=["tool", "known", "total"], variable_name="which", value_name="seconds"
    ).with_columns(which=pl.col("which").replace({"p50": "half", "p95": "95 %", "p99": "99 %"}))
    axis = alt.Axis(title=None, labelLimit=150, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    y = alt.Y("tool:N", sort=shown["tool"].to_list(), axis=axis)
    scale = alt.Scale(type="log", nice=True)
    x_axis = alt.Axis(title="seconds", format="~g", grid=True, domain=False, tickCount=5)
    line = (
        alt.Chart(shown)
        .mark_rule(strokeWidth=3, opacity=0.35, color=BLUE)
        .encode(y=y, x=alt.X("p50:Q", scale=scale, axis=x_axis), x2="p99:Q")
    )
    points = (
        alt.Chart(parts)
        .mark_point(size=70, filled=True, opacity=1)
        .encode(
            y=y,
            x=alt.X("seconds:Q", scale=scale, axis=x_axis),
            color=alt.Color(
                "which:N",
                scale=alt.Scale(domain=["half", "95 %", "99 %"], range=[BLUE, "#e08e45", "#d1495b"]),
                legend=alt.Legend(title="of the calls took no longer", orient="top", titleLimit=300),
            ),
            shape=alt.Shape(
                "which:N", scale=alt.Scale(domain=["half", "95 %", "99 %"], range=["circle", "square", "triangle-up"])
            ),
            tooltip=[
                alt.Tooltip("tool:N", title="Tool"),
                alt.Tooltip("which:N", title="Of the calls"),
                alt.Tooltip("seconds:Q", title="Seconds", format=",.3~g"),
                alt.Tooltip("known:Q", title="Calls that say it", format=","),
                alt.Tooltip("total:Q", title="Calls", format=","),
            ],
        )
    )
    return layered([line, points], _ROW * frame.height + 80)
