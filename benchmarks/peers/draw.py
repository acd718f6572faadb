"""Draw the kept figures as one SVG: shares of the bare rate, rates beside others, and costs as history grows.

    draw.py results.json results.svg

Colours are Okabe and Ito's, which people tell apart however they see colours; shapes say the same again.
"""

import json
import sys
from pathlib import Path
from typing import Any

import altair as alt

BLUE, ORANGE, GREEN, PURPLE, BLACK = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000"
INPUTS = {"clean": "clean", "bad1": "1 % bad", "bad20": "20 % bad", "mixed": "mixed kinds"}
WAYS = {"validated": "validate + load", "whole": "gatewatch ingest", "rows": "row-by-row pydantic"}
COSTS = {"ingested": "ingest of a week", "refreshed": "refresh of 5,000", "published": "publish", "queried": "query"}


def main() -> None:
    """Draw what there is."""
    sections = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["sections"]
    figures = {f["key"]: f for section in sections.values() for f in section["figures"]}
    points = sections.get("growth", {}).get("points", {})
    charts = [chart for chart in (_shares(figures), _rates(figures), _growth(points)) if chart is not None]
    if charts:
        whole = alt.vconcat(*charts, spacing=30).resolve_scale(color="independent", shape="independent")
        drawn = whole.configure(background="#FFFFFF", font="sans-serif").configure_view(stroke=None)
        drawn.save(sys.argv[2])
    print(json.dumps(len(charts)))


def _shares(figures: dict[str, Any]) -> Any:
    rows = [
        {"input": word, "way": way, "share": figures[f"{key}/{name}"]["value"], "bar": figures[f"{key}/{name}"]["bar"]}
        for name, word in INPUTS.items()
        for key, way in WAYS.items()
        if f"{key}/{name}" in figures
    ]
    if not rows:
        return None
    y = alt.Y("input:N", sort=list(INPUTS.values()), title=None)
    offset = alt.YOffset("way:N", sort=list(WAYS.values()))
    colour = alt.Color("way:N", scale=alt.Scale(domain=[*WAYS.values()], range=[BLUE, GREEN, ORANGE]), title=None)
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar()
        .encode(x=alt.X("share:Q", title="share of the rate of bare DuckDB"), y=y, yOffset=offset, color=colour)
    )
    wanted = alt.Chart(alt.InlineData(values=[row for row in rows if row["bar"] is not None]))
    ticks = wanted.mark_tick(color=BLACK, thickness=3, size=14).encode(x="bar:Q", y=y, yOffset=offset)
    return (bars + ticks).properties(width=560, height=190, title="Checked, beside unchecked (black: the bar)")


def _rates(figures: dict[str, Any]) -> Any:
    rows = [
        {"what": figure["what"].replace("`", ""), "rate": figure["value"], "label": f"{figure['value']:,.0f}"}
        for key, figure in figures.items()
        if key.startswith("rate/")
    ]
    if not rows:
        return None
    x = alt.X("rate:Q", scale=alt.Scale(type="log"), title="events or spans a second, logarithmic")
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=x, y=alt.Y("what:N", sort="-x", title=None, axis=alt.Axis(labelLimit=300))
    )
    drawn = base.mark_point(filled=True, size=90, color=BLUE) + base.mark_text(align="left", dx=9).encode(
        text="label:N"
    )
    return drawn.properties(width=560, height=26 * len(rows), title="Rates")


def _growth(points: dict[str, Any]) -> Any:
    rows = [
        {"what": what, "size": size, "cost": seconds / points[key][0][1]}
        for key, what in COSTS.items()
        for size, seconds in points.get(key, ())
    ]
    if not rows:
        return None
    names = list(COSTS.values())
    colour = alt.Color("what:N", scale=alt.Scale(domain=names, range=[BLUE, GREEN, ORANGE, PURPLE]), title=None)
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("size:Q", scale=alt.Scale(type="log"), title="events of history"),
        y=alt.Y("cost:Q", scale=alt.Scale(type="log"), title="times the cost at the shortest history"),
        color=colour,
        shape=alt.Shape("what:N", scale=alt.Scale(domain=names), title=None),
    )
    return (base.mark_line() + base.mark_point(filled=True, size=80)).properties(
        width=560, height=220, title="Cost as history grows"
    )


if __name__ == "__main__":
    main()
