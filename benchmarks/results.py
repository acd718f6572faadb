"""What was measured, kept as `results.json` beside this file: the report and the plot follow from it."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

RESULTS = Path(__file__).with_name("results.json")

_VERSIONS = ("duckdb", "polars", "pyarrow", "pydantic", "kafka-python")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure that was measured: a number, what it is about, and the bar that it is held against, if there is one.

    `key` names it for the plot, `unit` stands behind the number, `detail` says what the number was made of.
    """

    key: str
    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    sense: Literal["at least", "at most"] = "at least"
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None when there is none."""
        if self.bar is None:
            return None
        return self.value >= self.bar if self.sense == "at least" else self.value <= self.bar

    def __str__(self) -> str:
        held = "" if self.bar is None else f" ({self.sense} {self.bar:g}: {'met' if self.met else 'NOT MET'})"
        return f"{self.what}: {number(self.value)}{self.unit}{held}{'; ' if self.detail else ''}{self.detail}"


Points = Mapping[str, Sequence[tuple[float, float]]]
"""Curves: name -> (size, value) in ascending order of size."""


def number(value: float) -> str:
    """A figure for people: three digits that count, thousands apart."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def options(doc: str | None, rounds: int = 5) -> argparse.ArgumentParser:
    """The arguments that every benchmark has."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"runs of which the median is taken ({rounds})")
    parser.add_argument("--keep", action="store_true", help="keep the figures in results.json for the report")
    return parser


def keep(section: str, figures: Sequence[Figure], wanted: bool, points: Points | None = None) -> None:
    """Print figures, and when `wanted` put them into results.json in place of what the section had there."""
    for figure in figures:
        print(figure, flush=True)
    if not wanted:
        return
    results = load()
    results["machine"] = machine()
    results["sections"][section] = {
        "taken": datetime.now(UTC).strftime("%Y-%m-%d"),
        "figures": [asdict(figure) for figure in figures],
        "points": {name: [list(point) for point in curve] for name, curve in (points or {}).items()},
    }
    draft = RESULTS.with_suffix(".draft")
    draft.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")
    draft.replace(RESULTS)


def load() -> dict[str, Any]:
    """Everything that was kept."""
    if not RESULTS.exists():
        return {"machine": {}, "sections": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def figures_of(results: Mapping[str, Any], section: str) -> list[Figure]:
    """The figures that a section kept; none when it never ran."""
    return [Figure(**figure) for figure in results["sections"].get(section, {}).get("figures", ())]


def machine() -> dict[str, str]:
    """What the figures were taken on."""
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "Python": platform.python_version(),
        **{name: version(name) for name in _VERSIONS},
    }


def _processor() -> str:
    told = Path("/proc/cpuinfo")
    if told.exists():
        for line in told.read_text().splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()
