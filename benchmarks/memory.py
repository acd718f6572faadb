"""Does the peak memory of `gatewatch ingest` depend on the size of the file?

Sample data of all kinds from one file, of one million events and of ten, each run in a process of its own that says at
its end how much memory it had at most. Of a million events more, whole weeks of sample data are repeated under ids and
times of their own.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.histories import WEEK_EVENTS, Weeks
from benchmarks.inputs import folder
from benchmarks.loading import end_to_end
from benchmarks.measuring import in_child
from benchmarks.results import Figure, keep, number, options

MIB = 2**20
BAR_MIB = 1024


def main() -> None:
    """Print the peaks and their ratio."""
    parser = options(__doc__)
    parser.add_argument("--events", type=int, nargs=2, default=(1_000_000, 10_000_000), metavar=("SMALL", "LARGE"))
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--make", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make:
        _make(arguments.file, arguments.make)
        print("null")
    elif arguments.file:
        took = end_to_end(arguments.file)
        print(json.dumps([peak_bytes(), took.wall]))
    else:
        compare(arguments.events, arguments.rounds, arguments.keep)


def compare(sizes: tuple[int, int], rounds: int, keep_it: bool) -> None:
    """Ingest both files by turns, each time in a new process."""
    folder().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder()) as name:
        files = {size: Path(name) / f"{size}.jsonl" for size in sizes}
        for size, file in files.items():
            # In a process of its own: what this one has used would count as a child's peak, where it is told so.
            in_child([sys.executable, "-m", "benchmarks.memory", "--file", file, "--make", size])
        peaks: dict[int, list[float]] = {size: [] for size in sizes}
        for number_of_round in range(rounds):
            for size, file in files.items():
                peak, wall = in_child([sys.executable, "-m", "benchmarks.memory", "--file", file])
                peaks[size].append(peak / MIB)
                print(
                    f"  {number_of_round + 1}/{rounds} {size:,} events: {peak / MIB:,.0f} MiB, {wall:.1f} s", flush=True
                )
    small, large = (median(peaks[size]) for size in sizes)
    detail = f"{number(large)} MiB ÷ {number(small)} MiB"
    figures = [
        Figure("peak", f"peak memory, {sizes[1]:,} events from one file", large, " MiB", BAR_MIB, "at most"),
        Figure("peak_growth", f"… ÷ that of {sizes[0]:,} events", large / small, "", 1.2, "at most", detail),
    ]
    keep("memory", figures, keep_it)


def _make(file: Path, events: int) -> None:
    weeks = Weeks(min(events, WEEK_EVENTS))
    with file.open("wb") as out:
        for week in range(max(events // WEEK_EVENTS, 1)):
            out.write(weeks.lines(week))


def peak_bytes() -> int:
    """Most memory that this process has had at once.

    Linux counts in `ru_maxrss` what the parent had before the program began, and tells the truth as VmHWM.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


if __name__ == "__main__":
    main()
