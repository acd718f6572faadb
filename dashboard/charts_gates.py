"""Charts of the gates. Names from outside are data in them: never an expression, a link or an image."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from dashboard.charts import layered
from dashboard.numbers import count, interval, percent
from dashboard.text import plain_frame
from dashboard.words import gate_status

HELD, SILENT, DECLARED, WAITING = "#2f7fc1", "#d1495b", "#e08e45", "#8a93a3"
"""Told apart by colour-blind people too, and always with the word beside them."""

_KINDS = {"held": HELD, "dropped silently": SILENT, "not held, declared": DECLARED, "waits for late evidence": WAITING}
_ROW = 34


def kind_of(status: str | None, silent: bool | None) -> str:
    """Which of four kinds a check is of."""
    if status == "passed":
        return "held"
    if status == "pending":
        return "waits for late evidence"
    return "dropped silently" if silent else "not held, declared"


def _names(order: list[str], title: str | None = None) -> alt.Y:
    axis = alt.Axis(title=title, labelLimit=150, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    return alt.Y("gate:N", sort=order, axis=axis)


def matrix(frame: pl.DataFrame) -> alt.LayerChart:
    """Status × gate: one cell per pair that occurs, with its number; its colour says what kind of status it is.

    `frame`: gate, status, silent, n.
    """
    said = [gate_status(status) for status in frame["status"]]
    kinds = [kind_of(row["status"], row["silent"]) for row in frame.iter_rows(named=True)]
    shown = plain_frame(frame, missing="unknown").with_columns(
        said=pl.Series(said, dtype=pl.String), kind=pl.Series(kinds, dtype=pl.String)
    )
    rank = list(_KINDS)
    pairs = sorted(set(zip(kinds, said, strict=True)), key=lambda pair: (rank.index(pair[0]), pair[1]))
    columns = list(dict.fromkeys(name for _, name in pairs))
    gates = sorted(set(shown["gate"].to_list()))
    tooltip = [
        alt.Tooltip("gate:N", title="Gate"),
        alt.Tooltip("said:N", title="Status"),
        alt.Tooltip("kind:N", title="Kind"),
        alt.Tooltip("n:Q", title="Checks", format=","),
    ]
    few = len(gates) <= 6
    x_axis = alt.Axis(
        title=None, orient="top", labelAngle=0 if few else -35, labelLimit=110, ticks=False, domain=False,
        labelOverlap=False,
    )  # fmt: skip
    y_axis = alt.Axis(title=None, labelLimit=170, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    base = alt.Chart(shown).encode(
        x=alt.X("gate:N", sort=gates, axis=x_axis), y=alt.Y("said:N", sort=columns, axis=y_axis), tooltip=tooltip
    )
    colour = alt.Color("kind:N", scale=alt.Scale(domain=list(_KINDS), range=list(_KINDS.values())), legend=None)
    cells = base.mark_rect(cornerRadius=4, opacity=0.85, xOffset=1, x2Offset=-1, yOffset=1, y2Offset=-1).encode(
        color=colour
    )
    words = base.mark_text(fontSize=13, fontWeight="bold", color="white").encode(text=alt.Text("n:Q", format=","))
    return layered([cells, words], 28 * len(columns) + (30 if few else 90))


def held_against_dropped(frame: pl.DataFrame) -> alt.LayerChart:
    """One row per gate: the share of silent drops as a point with its 95 % interval, and both numbers in words.

    `frame`: gate, checks, held, silent, declared, rate, ci_low, ci_high.
    """
    rows = list(frame.iter_rows(named=True))
    shown = plain_frame(frame, missing="unknown").with_columns(
        label=pl.Series(
            [f"{percent(row['rate'])} · {count(row['silent'])} of {count(row['checks'])}" for row in rows],
            dtype=pl.String,
        ),
        range=pl.Series([interval(row["ci_low"], row["ci_high"]) for row in rows], dtype=pl.String),
    )
    order = shown["gate"].to_list()
    most: Any = shown["ci_high"].max()
    scale = alt.Scale(domain=[0, max(0.01, min(1.0, float(most or 0.01) * 1.05))], nice=False)
    axis = alt.Axis(format=".1%", title=None, grid=True, domain=False, tickCount=4, labelFlush=False)
    tooltip = [
        alt.Tooltip("gate:N", title="Gate"),
        alt.Tooltip("rate:Q", title="Dropped silently", format=".2%"),
        alt.Tooltip("range:N", title="95 % interval"),
        alt.Tooltip("held:Q", title="Held", format=","),
        alt.Tooltip("silent:Q", title="Dropped silently", format=","),
        alt.Tooltip("declared:Q", title="Not held, declared", format=","),
        alt.Tooltip("checks:Q", title="Checks", format=","),
    ]
    base = alt.Chart(shown).encode(y=_names(order), tooltip=tooltip)
    bars = base.mark_rule(strokeWidth=5, opacity=0.4, strokeCap="round", color=SILENT).encode(
        x=alt.X("ci_low:Q", scale=scale, axis=axis), x2="ci_high:Q"
    )
    points = base.mark_point(size=80, filled=True, opacity=1, color=SILENT).encode(x="rate:Q")
    words = base.mark_text(align="left", dx=14, fontSize=12, fill="gray").encode(x=alt.value("width"), text="label:N")
    return layered([bars, points, words], _ROW * len(order) + 30)


def drops_over_time(frame: pl.DataFrame, first: Any, last: Any) -> alt.LayerChart:
    """One bar per UTC day, stacked by gate, on the days from `first` to `last` (dates). `frame`: day, gate, n."""
    shown = plain_frame(frame, missing="unknown")
    x_axis = alt.Axis(title=None, format="%-d %b", grid=False, labelFlush=False, tickCount=6)
    y_axis = alt.Axis(title=None, tickMinStep=1, grid=True, domain=False, format="d")
    scale = alt.Scale(domain=[str(first), str(last)])
    colours = ["#d1495b", "#e08e45", "#7a5195", "#2f7fc1", "#8a93a3"]
    chart = (
        alt.Chart(shown)
        .mark_bar(size=9, cornerRadiusEnd=2)
        .encode(
            x=alt.X("day:T", axis=x_axis, scale=scale),
            y=alt.Y("n:Q", axis=y_axis, stack="zero"),
            color=alt.Color(
                "gate:N", scale=alt.Scale(range=colours), legend=alt.Legend(title=None, orient="top", labelLimit=200)
            ),
            tooltip=[
                alt.Tooltip("day:T", title="Day (UTC)", format="%-d %b %Y"),
                alt.Tooltip("gate:N", title="Gate"),
                alt.Tooltip("n:Q", title="Silent drops", format=","),
            ],
        )
    )
    return layered([chart], 220)
