"""Does a refresh cost the same after a year as after a week?

A chunk of 5,000 events over 1,000 runs is refreshed on a short and on a long history, by turns, and the medians are
compared. The chunk goes to the newest runs, as it does in a stream; with `--anywhere` to runs from all of history, the
worst case, since every block of stored rows then holds one of them.
"""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import duckdb

from benchmarks.histories import chunk, repeat, template
from benchmarks.measuring import Times, medians, ratio, timed
from benchmarks.results import Figure, keep, options
from sample_data import policy_path
from schemas.policy_file import parse_policy
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it


def main() -> None:
    """Print the ratio of the long history to the short one."""
    parser = options(__doc__, rounds=7)
    parser.add_argument("--events", type=int, default=100_000, help="events of the short history, one week")
    parser.add_argument("--weeks", type=int, default=50, help="weeks of the long history")
    parser.add_argument("--anywhere", action="store_true", help="runs from all of history instead of the newest")
    arguments = parser.parse_args()
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"), name="support-squad")
    with tempfile.TemporaryDirectory() as folder:
        week = Path(folder) / "week.duckdb"
        template(week, arguments.events)
        stores: dict[int, duckdb.DuckDBPyConnection] = {}
        for weeks in (1, arguments.weeks):
            con = stores[weeks] = duckdb.connect(str(Path(folder) / f"{weeks}.duckdb"))
            events = repeat(con, week, weeks)
            first = timed(lambda con=con: refresh(con, policy, now=NOW))  # type: ignore[misc]
            con.execute("CHECKPOINT")
            print(f"{events:,} events: first refresh {first.wall:.1f} s ({first.cpu:.1f} s of processor)", flush=True)
        runs: dict[int, list[Times]] = {weeks: [] for weeks in stores}
        for number in range(arguments.rounds + 1):
            for weeks, con in stores.items():
                chunk(con, 1_000, 5_000, recent=not arguments.anywhere, number=number)
                runs[weeks].append(timed(lambda con=con: refresh(con, policy, now=NOW)))  # type: ignore[misc]
                con.execute("CHECKPOINT")
        # The first round warms caches that a running service has warm.
        short, long = (medians(times[1:]) for times in runs.values())
        bar = None if arguments.anywhere else 1.5
        where = "anywhere in history" if arguments.anywhere else "the newest"
        print(ratio(f"refresh after 5,000 events over 1,000 runs ({where}), long ÷ short history", long, short, bar))
    ends = f"{arguments.events * arguments.weeks:,} events of history ÷ {arguments.events:,}"
    what = f"refresh after 5,000 events over 1,000 runs, {where}, {ends}"
    section = "refresh_anywhere" if arguments.anywhere else "refresh_newest"
    detail = f"{long.wall:.3g} s ÷ {short.wall:.3g} s"
    keep(section, [Figure(section, what, long.wall / short.wall, "", bar, "at most", detail)], arguments.keep)


if __name__ == "__main__":
    main()
