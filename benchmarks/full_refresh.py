"""What a full refresh costs beside one look at the data, and which relation takes how much of it.

One side is everything: all tables from all events. The other is `GROUP BY correlation_id` over the same table. No
single relation should take more than a third of the whole.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections import defaultdict
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.histories import repeat, template
from benchmarks.measuring import medians, ratio, timed
from sample_data import policy_path
from schemas.policy_file import parse_policy
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it

_SCAN = "SELECT correlation_id, count(*), min(ts), max(ts) FROM events GROUP BY correlation_id"

_NAME = re.compile(r"(?:TABLE|VIEW|INTO|FROM) (\w+)")


class Counted:
    """A connection that counts the processor time of each relation that is made."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.seconds: defaultdict[str, float] = defaultdict(float)

    def execute(self, query: str, *parameters: Any) -> duckdb.DuckDBPyConnection:
        """As the connection does."""
        start = time.process_time()
        result = self.con.execute(query, *parameters)
        named = _NAME.search(query)
        self.seconds[named[1] if named else query[:20].strip()] += time.process_time() - start
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.con, name)


def main() -> None:
    """Print the ratio, and the ten dearest relations with their shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weeks", type=int, default=10, help="weeks of 100,000 events")
    parser.add_argument("--rounds", type=int, default=3)
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
        for name, seconds in sorted(counted.seconds.items(), key=lambda item: -item[1])[:10]:
            print(f"  {seconds / total:5.1%}  {name}")


if __name__ == "__main__":
    main()
