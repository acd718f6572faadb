"""Medians and ratios, and the line that every benchmark prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import duckdb


class Times(NamedTuple):
    """Seconds of wall clock and of processor time, each the median of several runs."""

    wall: float
    cpu: float


def timed(work: Callable[[], object]) -> Times:
    """Run once."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Times(time.perf_counter() - wall, time.process_time() - cpu)


def medians(runs: Sequence[Times]) -> Times:
    """The median of each clock by itself."""
    return Times(median(run.wall for run in runs), median(run.cpu for run in runs))


def ratio(what: str, one: Times, other: Times, bar: float | None = None) -> str:
    """One line: both sides, their ratio by either clock, and what it should be at most."""
    wanted = "" if bar is None else f" (at most {bar:g})"
    return (
        f"{what}: {one.wall / other.wall:.2f} by wall clock, {one.cpu / other.cpu:.2f} by processor time{wanted}; "
        f"{one.wall:.3f} s ÷ {other.wall:.3f} s"
    )


def in_child(command: Sequence[object], env: Mapping[str, str] | None = None) -> Any:
    """What a command prints as its last line, as JSON. Its errors go where ours go; they end the benchmark."""
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, env=env)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(str(part) for part in command[:4])} … ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def by_turns(sides: Mapping[str, Callable[[], Times]], rounds: int) -> dict[str, list[Times]]:
    """Run every side once, then every side again: what slows the machine down for a while slows all of them."""
    runs: dict[str, list[Times]] = {side: [] for side in sides}
    for number in range(rounds):
        for side, run in sides.items():
            runs[side].append(run())
            took = runs[side][-1]
            processor = f", {took.cpu:.2f} s of processor" if took.cpu else ""
            print(f"  {number + 1}/{rounds} {side}: {took.wall:.2f} s{processor}", flush=True)
    return runs


def own_side(module: str, side: str, *arguments: object) -> Callable[[], Times]:
    """One side of a benchmark of ours, each run in a process of its own: nothing is warm but the file system."""
    command = [sys.executable, "-m", module, "--side", side, *arguments]
    return lambda: Times(*in_child(command))


_NAME = re.compile(r"(?:TABLE|VIEW|INTO|FROM) (\w+)")


class Counted:
    """A connection that counts how long each relation takes to be made."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.seconds: defaultdict[str, float] = defaultdict(float)
        """Processor time by relation."""
        self.wall: defaultdict[str, float] = defaultdict(float)

    def execute(self, query: str, *parameters: Any) -> duckdb.DuckDBPyConnection:
        """As the connection does."""
        result: list[duckdb.DuckDBPyConnection] = []
        took = timed(lambda: result.append(self.con.execute(query, *parameters)))
        named = _NAME.search(query)
        name = named[1] if named else query[:20].strip()
        self.seconds[name] += took.cpu
        self.wall[name] += took.wall
        return result[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.con, name)
