"""Write what was kept in results.json into the README beside it, as a table and a plot."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.peers import ENVIRONMENT, peer_script
from benchmarks.results import RESULTS, Figure, figures_of, load, number

README = RESULTS.with_name("README.md")
PLOT = RESULTS.with_name("results.svg")
BEGIN, END = "<!-- results: written by python -m benchmarks.report -->", "<!-- end of results -->"

TITLES = {
    "ingest_rate": "Ingest",
    "phoenix": "Beside Arize Phoenix",
    "kafka_run": "Kafka",
    "declare": "Gate checks beside PM4Py",
    "memory": "Memory",
    "growth": "As history grows",
    "refresh_newest": "Refresh alone, newest runs",
    "refresh_anywhere": "Refresh alone, runs from all of history",
    "full_refresh": "Full refresh",
    "truth": "Findings against the truth",
}
"""Sections in the order of the report."""


def main() -> None:
    """Draw the plot, where the peers' environment is there to draw it, and put the table into the README."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-plot", action="store_true", help="leave the plot as it is")
    arguments = parser.parse_args()
    results = load()
    if not arguments.no_plot and ENVIRONMENT.exists():
        peer_script("draw", RESULTS, PLOT)
    README.write_text(with_results(README.read_text(encoding="utf-8"), results), encoding="utf-8")


def with_results(readme: str, results: Mapping[str, Any]) -> str:
    """The README with these results between its markers. Raises ValueError when it has no markers."""
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"no place for the results: {BEGIN} … {END}")
    return before + BEGIN + "\n\n" + "\n".join(_lines(results)) + "\n" + END + after


def _lines(results: Mapping[str, Any]) -> Iterator[str]:
    if not results["sections"]:
        yield "Nothing was measured yet."
        yield ""
        return
    yield "Taken on: " + "; ".join(f"{name} {value}" for name, value in results["machine"].items()) + "."
    yield ""
    if PLOT.exists():
        yield f"![The figures of the table below, drawn]({PLOT.name})"
        yield ""
    for section, title in TITLES.items():
        if figures := figures_of(results, section):
            yield f"### {title}"
            yield ""
            yield f"Measured on {results['sections'][section]['taken']}."
            yield ""
            yield "| figure | measured | bar | met | made of |"
            yield "|---|---|---|---|---|"
            yield from map(_row, figures)
            yield ""


def _row(figure: Figure) -> str:
    bar = "" if figure.bar is None else f"{figure.sense} {number(figure.bar)}"
    met = {True: "yes", False: "**no**", None: ""}[figure.met]
    return f"| {figure.what} | {number(figure.value)}{figure.unit} | {bar} | {met} | {figure.detail} |"


if __name__ == "__main__":
    main()
