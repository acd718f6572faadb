"""Charts. Names from outside are data in them: never an expression, a link or an image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import altair as alt
import polars as pl

from dashboard.numbers import FEW, count, interval, percent, plural
from dashboard.text import plain_frame

BLUE = "#2f7fc1"
"""Readable on white and on near-black, and one of two hues that colour-blind people tell apart."""

SEVERITY_COLOURS = {
    "critical": "#d1495b",
    "high": "#e08e45",
    "medium": "#c9a227",
    "low": "#4f8fba",
    "info": "#8a93a3",
}
"""Also told apart by their order and by the word that is always beside them."""

_ROW = 30
"""Height of one row in pixels."""
_NAME = 150
"""Longest name in pixels; what is cut off is in the tooltip."""


def _names(order: list[str]) -> alt.Y:
    axis = alt.Axis(
        title=None, labelLimit=_NAME, ticks=False, domain=False, labelPadding=8, labelFlush=False, labelOverlap=False
    )
    return alt.Y("name:N", sort=order, axis=axis)


def layered(layers: Sequence[alt.Chart], height: int, *, right: int = 4) -> alt.LayerChart:
    """One chart of several layers, without a frame: `height` of the plot and the margin on its `right`, in pixels."""
    padding = {"left": 0, "right": right, "top": 4, "bottom": 4}
    chart = alt.LayerChart(layer=list(layers), height=height, padding=padding)
    return cast(alt.LayerChart, chart.configure_view(strokeWidth=0))


def success_by_tool(frame: pl.DataFrame) -> alt.LayerChart:
    """One line per tool: point = success rate, bar = its 95 % interval, words = rate and number of calls.

    `frame`: tool, total, rate, ci_low, ci_high (shares 0..1), in the order in which the tools are drawn. Tools with few
    calls get a hollow point and say so.
    """
    start = success_start(frame)
    shown = plain_frame(frame.rename({"tool": "name"}), missing="unknown").with_columns(
        few=pl.col("total") < FEW,
        bar_from=pl.col("ci_low").clip(lower_bound=start),
        label=pl.Series([_words(row) for row in frame.iter_rows(named=True)], dtype=pl.String),
        range=pl.Series(
            [interval(row["ci_low"], row["ci_high"]) for row in frame.iter_rows(named=True)], dtype=pl.String
        ),
    )
    span = 1 - start
    step = 0.05 if span <= 0.25 else 0.1 if span <= 0.5 else 0.25
    ticks = [round(1 - step * nth, 4) for nth in range(int(span / step + 0.001) + 1)]
    scale = alt.Scale(domain=[start, 1], nice=False)
    x_axis = alt.Axis(format=".0%", values=ticks, title=None, grid=True, domain=False, labelFlush=False)
    tooltip = [
        alt.Tooltip("name:N", title="Tool"),
        alt.Tooltip("rate:Q", title="Success rate", format=".2%"),
        alt.Tooltip("range:N", title="95 % interval"),
        alt.Tooltip("success:Q", title="Calls that succeeded", format=","),
        alt.Tooltip("total:Q", title="Calls", format=","),
    ]
    base = alt.Chart(shown).encode(y=_names(shown["name"].to_list()))
    bars = base.mark_rule(strokeWidth=5, opacity=0.45, strokeCap="round", color=BLUE).encode(
        x=alt.X("bar_from:Q", scale=scale, axis=x_axis), x2="ci_high:Q", tooltip=tooltip
    )
    points = base.mark_point(size=75, filled=True, opacity=1, stroke=BLUE, strokeWidth=2).encode(
        x="rate:Q",
        fill=alt.condition("datum.few", alt.value("white"), alt.value(BLUE)),
        tooltip=tooltip,
    )
    words = base.mark_text(align="left", dx=14, fontSize=12, fill="gray").encode(
        x=alt.value("width"), text="label:N", tooltip=tooltip
    )
    return layered([bars, points, words], frame.height * _ROW)


def success_start(frame: pl.DataFrame) -> float:
    """Where the axis of `success_by_tool` starts (a share): at the end of the widest bar of a tool with many calls.

    One call says nearly nothing, so its interval spans nearly everything and would press all others into a corner; its
    point has to be on the chart, its bar may end at the edge. When no tool has many calls, every bar is drawn whole.
    """
    few = pl.col("total") < FEW
    ends = pl.when(few & ~few.all()).then("rate").otherwise("ci_low")
    low: Any = frame.select(ends.min()).item()
    return min(0.95, math.floor((low or 0.0) * 20 + 1e-9) / 20)


def is_cut(frame: pl.DataFrame) -> bool:
    """Whether a bar of `success_by_tool` ends at the edge of the chart although its interval goes on."""
    return bool((frame["ci_low"] < success_start(frame)).any())


def _words(row: dict[str, Any]) -> str:
    few = ", few" if row["total"] < FEW else ""
    return f"{percent(row['rate'])} of {count(row['total'])}{few}"


def findings_by_rule(frame: pl.DataFrame) -> alt.LayerChart:
    """One bar per rule, as long as the rule has open findings, with the number and the severity in words.

    `frame`: rule, severity, n, in the order in which the rules are drawn.
    """
    shown = plain_frame(frame.rename({"rule": "name"}), missing="unknown").with_columns(
        label=pl.Series([f"{row['n']:,} {row['severity']}" for row in frame.iter_rows(named=True)], dtype=pl.String),
        colour=pl.Series(
            [SEVERITY_COLOURS.get(s or "", SEVERITY_COLOURS["info"]) for s in frame["severity"]], dtype=pl.String
        ),
        said=pl.Series([plural(n, "open finding") for n in frame["n"]], dtype=pl.String),
    )
    most: Any = shown["n"].max()
    scale = alt.Scale(domain=[0, most or 1], nice=False)
    tooltip = [
        alt.Tooltip("name:N", title="Rule"),
        alt.Tooltip("severity:N", title="Severity"),
        alt.Tooltip("said:N", title="Count"),
    ]
    base = alt.Chart(shown).encode(
        y=_names(shown["name"].to_list()),
        x=alt.X("n:Q", scale=scale, axis=None),
        tooltip=tooltip,
    )
    bars = base.mark_bar(height=14, cornerRadiusEnd=3).encode(color=alt.Color("colour:N", scale=None, legend=None))
    words = base.mark_text(align="left", dx=8, fontSize=12, fill="gray").encode(text="label:N")
    return layered([bars, words], frame.height * _ROW)
