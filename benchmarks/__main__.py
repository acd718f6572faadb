"""Every benchmark, one after the other, and the report: `make bench`, or `python -m benchmarks`.

Each is a process of its own; one that fails is named at the end and does not keep the others from running. Its figures
stay in results.json, with the report made from them anew.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.results import Figure, keep

STEPS: dict[str, list[str]] = {
    "ingest_rate": ["--events", "20000", "--dlt-lines", "2000"],
    "phoenix": ["--spans", "1000"],
    "kafka_run": ["--messages", "20000"],
    "declare": ["--events", "20000"],
    "memory": ["--events", "20000", "100000"],
    "growth": ["--events", "5000", "20000", "--week", "5000"],
    "refresh_growth": ["--events", "5000", "--weeks", "3"],
    "refresh_growth --anywhere": ["--events", "5000", "--weeks", "3"],
    "full_refresh": ["--weeks", "1"],
    "truth": ["--seeds", "1", "--events", "5000"],
}
"""Module and its arguments -> the further ones of a quick run."""


def main() -> None:
    """Run them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("steps", nargs="*", help=f"some of them only: {', '.join(STEPS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, once each: do they run? Nothing is kept")
    arguments = parser.parse_args()
    if unknown := set(arguments.steps) - set(STEPS):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    failed = []
    for step in arguments.steps or STEPS:
        quick = [*STEPS[step], *([] if step == "truth" else ["--rounds", "1"])]
        full = [] if step == "kafka_run" else ["--keep"]
        print(f"\n== {step}", flush=True)
        begin = time.monotonic()
        code, told = run([sys.executable, "-m", *f"benchmarks.{step}".split(), *(quick if arguments.quick else full)])
        print(f"== {step} took {time.monotonic() - begin:.0f} s", flush=True)
        if code != 0:
            failed.append(step)
        elif step == "kafka_run":
            keep(step, kafka_figures(told), not arguments.quick)
    if not arguments.quick:
        subprocess.run([sys.executable, "-m", "benchmarks.report"], check=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def run(command: Sequence[str]) -> tuple[int, list[str]]:
    """Its exit code, and the lines that it printed, which are passed on as they come."""
    told = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        for line in started.stdout or ():
            print(line, end="", flush=True)
            told.append(line)
    return started.returncode, told


_KAFKA = re.compile(r"(rate of (\w+) ÷ .*), at least ([\d.]+): ([\d.]+) by wall clock.*; (.+ s ÷ .+ s)")


def kafka_figures(lines: Sequence[str]) -> list[Figure]:
    """The figures in what `kafka_run` prints: it fills a broker and compares by itself, and keeps nothing."""
    found = (_KAFKA.match(line) for line in lines)
    return [
        Figure(f"kafka/{match[2]}", match[1], float(match[4]), bar=float(match[3]), detail=match[5])
        for match in found
        if match
    ]


if __name__ == "__main__":
    main()
