"""Charts of the reconciliation. Names from outside are data in them: never an expression, a link or an image."""

from __future__ import annotations

import altair as alt
import polars as pl

from dashboard.charts import layered
from dashboard.numbers import plural
from dashboard.queries.reconciliation import AGES
from dashboard.words import break_status

GOOD, BAD, OPEN = "#2f7fc1", "#d1495b", "#e08e45"
_ROW = 34
_SETS = ("Authorised", "Claimed", "Evidenced")
_AUTHORISED = {"approved": "yes", "not needed": "not needed", "refused": "no"}


def verdict(authorised: str, claimed: bool, evidenced: bool) -> tuple[str, str]:
    """What one combination of the three means: a sentence, and ``agrees``, ``breaks`` or ``forbidden``."""
    allowed = "and was allowed" if authorised == "approved" else "and needed no approval"
    if authorised == "refused":
        return "Happened without a valid approval", "forbidden"
    if claimed and evidenced:
        return f"Recorded and happened, {allowed}", "agrees"
    if claimed:
        return "Recorded as done, nothing happened", "breaks"
    if evidenced:
        return "Happened, the record says otherwise or nothing", "breaks"
    return "Recorded as not done, and did not happen", "agrees"


def three_ways(frame: pl.DataFrame) -> alt.LayerChart:
    """One row per combination of authorised, claimed and evidenced: three dots, a sentence, and how many there are.

    `frame`: authorised, claimed, evidenced, n, in the order in which the rows are drawn.
    """
    dots, rows = [], []
    for nth, row in enumerate(frame.iter_rows(named=True)):
        sentence, kind = verdict(row["authorised"], row["claimed"], row["evidenced"])
        name = f"{nth:02d}"
        rows.append({"row": name, "said": sentence, "kind": kind, "n": row["n"], "label": plural(row["n"], "action")})
        said = (_AUTHORISED[row["authorised"]], "yes" if row["claimed"] else "no", "yes" if row["evidenced"] else "no")
        dots += [
            {"row": name, "set": column, "value": value, "said": sentence, "kind": kind, "label": rows[-1]["label"]}
            for column, value in zip(_SETS, said, strict=True)
        ]
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=["agrees", "breaks", "forbidden"], range=[GOOD, OPEN, BAD]), legend=None
    )
    y = alt.Y("row:N", axis=None)
    tooltip = [alt.Tooltip("said:N", title="What it means"), alt.Tooltip("label:N", title="How many")]
    x_axis = alt.Axis(title=None, orient="top", labelAngle=0, ticks=False, domain=False, labelFontSize=12, grid=False)
    x = alt.X("set:N", sort=list(_SETS), axis=x_axis, scale=alt.Scale(range=[0, 270]))
    base = alt.Chart(pl.DataFrame(dots))
    full = base.mark_point(size=130, filled=True, opacity=1).encode(x=x, y=y, color=colour, tooltip=tooltip)
    full = full.transform_filter(alt.datum.value == "yes")
    hollow = base.mark_point(size=130, filled=False, opacity=0.5, color="gray").encode(x=x, y=y, tooltip=tooltip)
    hollow = hollow.transform_filter(alt.datum.value == "no")
    none = base.mark_text(text="–", fontSize=16, color="gray").encode(x=x, y=y, tooltip=tooltip)
    none = none.transform_filter(alt.datum.value == "not needed")
    words = alt.Chart(pl.DataFrame(rows))
    said = words.mark_text(align="left", fontSize=13, color="gray", dy=-7).encode(
        x=alt.value(285), y=y, text="said:N", tooltip=tooltip
    )
    number = words.mark_text(align="left", fontSize=12, fontWeight="bold", dy=9).encode(
        x=alt.value(285), y=y, text="label:N", color=colour, tooltip=tooltip
    )
    return layered([hollow, none, full, said, number], (_ROW + 6) * frame.height + 30)


def by_kind_and_age(frame: pl.DataFrame) -> alt.LayerChart:
    """One bar per kind of break, in parts by age; the number stands behind it. `frame`: status, age, n."""
    shown = frame.with_columns(
        said=pl.Series([break_status(status) for status in frame["status"]], dtype=pl.String),
        rank=pl.Series([AGES.index(age) for age in frame["age"]], dtype=pl.Int64),
    )
    totals = shown.group_by("said").agg(pl.col("n").sum()).sort("n", "said", descending=[True, False])
    order = totals["said"].to_list()
    axis = alt.Axis(title=None, labelLimit=220, ticks=False, domain=False, labelPadding=8, labelOverlap=False)
    y = alt.Y("said:N", sort=order, axis=axis)
    shades = ["#f3c9a5", "#e8a56a", "#c9702f", "#8a3d10"]
    bars = (
        alt.Chart(shown)
        .mark_bar(height=16)
        .encode(
            y=y,
            x=alt.X("n:Q", stack="zero", axis=None),
            order=alt.Order("rank:Q"),
            color=alt.Color(
                "age:N",
                scale=alt.Scale(domain=list(AGES), range=shades),
                legend=alt.Legend(title=None, orient="top", columns=4, labelLimit=160),
            ),
            tooltip=[
                alt.Tooltip("said:N", title="Break"),
                alt.Tooltip("age:N", title="Age"),
                alt.Tooltip("n:Q", title="How many", format=","),
            ],
        )
    )
    words = (
        alt.Chart(totals)
        .mark_text(align="left", dx=6, fontSize=12, fill="gray")
        .encode(y=y, x=alt.X("n:Q"), text=alt.Text("n:Q", format=","))
    )
    return layered([bars, words], _ROW * len(order) + 50)
