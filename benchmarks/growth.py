"""What do ingest, refresh, publication and a query of the dashboard cost as history grows?

Histories of 0.1, 1 and 10 million events (`--huge`: 50 more) go through the whole of ingest, so that ledger and store
agree: one generated week, week after week under ids and times of its own. On each, by turns: the rate at which another
week's file is ingested, the refresh after 5,000 more events of the 1,000 newest runs, publication, and the first query
of the front page. Up to a million events each round starts from a copy of the history; longer ones grow by a week a
round. Publication copies the database, so it grows with it; that curve has no bar.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.growing import CHUNK, Costs, History, squad
from benchmarks.histories import WEEK_EVENTS, Weeks
from benchmarks.inputs import folder
from benchmarks.measuring import Times, medians
from benchmarks.results import Figure, keep, number, options

SIZES = (100_000, 1_000_000, 10_000_000)
HUGE = 50_000_000

_COPIED_UP_TO = 1_000_000
_BYTES_AN_EVENT = 800
"""Disk that one event needs at most: ledger, database, two snapshots."""


def main() -> None:
    """Print the curves and the ratios of their ends."""
    parser = options(__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=SIZES, help="sizes of history, ascending")
    parser.add_argument("--week", type=int, default=WEEK_EVENTS, help="events of the week that is repeated")
    parser.add_argument("--huge", action="store_true", help=f"{HUGE:,} events as well, where the disk has room")
    arguments = parser.parse_args()
    sizes = [*arguments.events, *([HUGE] if arguments.huge else [])]
    folder().mkdir(parents=True, exist_ok=True)
    _check_room(sum(sizes))
    with tempfile.TemporaryDirectory(dir=folder()) as name:
        histories = make(Path(name), sizes, arguments.week)
        rounds: dict[int, list[Costs]] = {size: [] for size in histories}
        for turn in range(arguments.rounds):
            for size, history in histories.items():
                costs = _measured(history) if size <= _COPIED_UP_TO else history.measure()
                rounds[size].append(costs)
                told = ", ".join(f"{what} {times.wall:.2f} s" for what, times in costs._asdict().items())
                print(f"  {turn + 1}/{arguments.rounds} {size:,} events: {told}", flush=True)
        report(rounds, arguments.week, arguments.keep)


def make(place: Path, sizes: Sequence[int], week: int) -> dict[int, History]:
    """A history of each size; a longer one begins as a copy of the one before."""
    found: dict[int, History] = {}
    history: History | None = None
    for size in sizes:
        data = place / f"{size}"
        history = History(data, Weeks(week), squad()) if history is None else history.copy(data)
        before = history.weeks
        took = history.grow(max(size // week, 1))
        rate = (history.weeks - before) * week / took.wall
        print(f"{size:,} events of history; the new ones at {rate:,.0f} events/s", flush=True)
        found[size] = history
    return found


def _measured(history: History) -> Costs:
    copy = history.copy(history.data.with_name(f"{history.data.name}-copy"))
    try:
        return copy.measure()
    finally:
        shutil.rmtree(copy.data)


def report(rounds: dict[int, list[Costs]], week: int, wanted: bool) -> None:
    """The ratios of the ends, and the curves."""
    found = {
        size: {name: medians([getattr(one, name) for one in costs]) for name in Costs._fields}
        for size, costs in rounds.items()
    }
    first, *_, last = found
    small, large = found[first], found[last]
    ends = f"{last:,} events of history ÷ {first:,}"
    rates = {size: week / of["ingested"].wall for size, of in found.items()}
    figures = [
        Figure(
            "growth/ingest", f"ingest rate, {ends}", rates[last] / rates[first], bar=0.9,
            detail=f"{number(rates[last])} events/s ÷ {number(rates[first])} events/s, a file of {week:,} lines",
        ),
        _slower("refresh", f"refresh after {CHUNK:,} events, {ends}", small, large, "refreshed", 1.5),
        _slower("publish", f"publication, {ends}", small, large, "published"),
        _slower("query", f"dashboard query, {ends}", small, large, "queried"),
        _slower("open", f"start, until the first lines are in, {ends}", small, large, "opened"),
    ]  # fmt: skip
    curves = {name: [(size, of[name].wall) for size, of in found.items()] for name in Costs._fields}
    keep("growth", figures, wanted, curves)


def _slower(
    key: str, what: str, small: Mapping[str, Times], large: Mapping[str, Times], of: str, bar: float | None = None
) -> Figure:
    long, short = large[of].wall, small[of].wall
    detail = f"{long:.3g} s ÷ {short:.3g} s"
    return Figure(f"growth/{key}", what, long / short, bar=bar, sense="at most", detail=detail)


def _check_room(events: int) -> None:
    free = shutil.disk_usage(folder()).free
    if free < events * _BYTES_AN_EVENT:
        raise SystemExit(
            f"{folder()} has {free / 2**30:.0f} GiB free, and {events:,} events of history need up to "
            f"{events * _BYTES_AN_EVENT / 2**30:.0f}: choose smaller sizes with --events, or another XDG_CACHE_HOME"
        )


if __name__ == "__main__":
    main()
