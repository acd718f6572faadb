"""Medians and ratios, and the line that every benchmark prints."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple


class Times(NamedTuple):
    """Seconds of wall clock and of processor time, each the median of several runs."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Times:
    """Run once."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


def medians(runs: list[Times]) -> Times:
    """The median of each clock by itself."""
    return Times(median(run.wall for run in runs), median(run.cpu for run in runs))


def ratio(what: str, one: Times, other: Times, bar: float | None = None) -> str:
    """One line: both sides, their ratio by either clock, and what it should be at most."""
    wanted = "" if bar is None else f" (at most {bar:g})"
    return (
        f"{what}: {one.wall / other.wall:.2f} by wall clock, {one.cpu / other.cpu:.2f} by processor time{wanted}; "
        f"{one.wall:.3f} s ÷ {other.wall:.3f} s"
    )
