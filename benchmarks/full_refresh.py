"""What a full refresh costs beside one look at the data, and which relation takes how much of it.

One side is everything: all tables from all events. The other is `GROUP BY correlation_id` over the same table. No
single relation should take more than a third of the whole.
"""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.histories import repeat, template
from benchmarks.measuring import Counted, medians, ratio, timed
from benchmarks.results import Figure, keep, options
from sample_data import policy_path
from schemas.policy_file import parse_policy
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it

_SCAN = "SELECT correlation_id, count(*), min(ts), max(ts) FROM events GROUP BY correlation_id"


def main() -> None:
    """Print the ratio, and the ten dearest relations with their shares."""
    parser = options(__doc__, rounds=3)
    parser.add_argument("--weeks", type=int, default=10, help="weeks of 100,000 events")
    arguments = parser.parse_args()
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"), name="support-squad")
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(Path(folder) / "work.duckdb")) as con:
        template(Path(folder) / "week.duckdb", 100_000)
        events = repeat(con, Path(folder) / "week.duckdb", arguments.weeks)
        counted: Any = Counted(con)
        whole, scans = [], []
        for _ in range(arguments.rounds):
            whole.append(timed(lambda: refresh(counted, policy, now=NOW, full=True)))
            scans.append(timed(lambda: con.execute(_SCAN).fetchall()))
        total = sum(counted.seconds.values())
        print(ratio(f"full refresh of {events:,} events ÷ one GROUP BY correlation_id", medians(whole), medians(scans)))
        dearest = sorted(counted.seconds.items(), key=lambda item: -item[1])
        for name, seconds in dearest[:10]:
            print(f"  {seconds / total:5.1%}  {name}")
        (name, most), took = dearest[0], medians(whole)
        figures = [
            Figure(
                "full_refresh/scan", f"full refresh of {events:,} events ÷ one `GROUP BY correlation_id`",
                took.wall / medians(scans).wall, detail=f"{took.wall:.1f} s",
            ),
            Figure("full_refresh/dearest", "share of its dearest relation", most / total, "", 1 / 3, "at most", name),
        ]  # fmt: skip
    keep("full_refresh", figures, arguments.keep)


if __name__ == "__main__":
    main()
