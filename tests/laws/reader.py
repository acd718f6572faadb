"""A reader as any analyst's script is one: opens the newest snapshot again and again, and asks what must hold in each.

    python reader.py DATA [hold]

Ends when a file `stop` is in DATA. With `hold`, the first snapshot that it finds is kept open all the time and must not
change. Prints as JSON how many times it looked, how many snapshots it saw, and what was wrong.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import duckdb

LAWS = {
    "lines = accepted + duplicate + quarantined + blank": """
        SELECT count(*) FROM batches WHERE lines <> accepted + duplicate + quarantined + blank
    """,
    "every accepted line is an event": "SELECT (SELECT count(*) FROM events) - (SELECT sum(accepted) FROM batches)",
    "every refused line is in quarantine": """
        SELECT (SELECT count(*) FROM quarantine) - (SELECT sum(quarantined) FROM batches)
    """,
    "about counts what is there": "SELECT (SELECT events FROM about) - (SELECT count(*) FROM events)",
    "an event is there once": "SELECT count(*) - count(DISTINCT event_id) FROM events",
    "calls come from events": """
        SELECT (SELECT coalesce(sum(attempts), 0) FROM tool_calls) - (SELECT count(*) FROM tool_invocations)
    """,
}
"""What holds in a snapshot: a query whose number is 0."""


def broken(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The laws that do not hold."""
    return [law for law, query in LAWS.items() if (con.execute(query).fetchall()[0][0] or 0) != 0]


def main() -> None:
    """See the module's docstring."""
    data, hold = Path(sys.argv[1]), sys.argv[2:] == ["hold"]
    link, looks, seen, wrong = data / "gatewatch.duckdb", 0, set(), []
    while not link.exists():
        time.sleep(0.05)
    kept = duckdb.connect(str(link.resolve()), read_only=True) if hold else None
    first = kept.execute("SELECT snapshot, events FROM about").fetchall() if kept else None
    while not (data / "stop").exists():
        looks += 1
        time.sleep(0.02)  # or five of them leave nothing of two cores to the writer
        try:
            if kept is not None:
                wrong += broken(kept)
                if kept.execute("SELECT snapshot, events FROM about").fetchall() != first:
                    wrong.append("a snapshot that was held changed")
                seen.add(first[0][0] if first else 0)
                continue
            with duckdb.connect(str(link.resolve()), read_only=True) as con:
                wrong += broken(con)
                seen.add(con.execute("SELECT snapshot FROM about").fetchall()[0][0])
        except (duckdb.Error, OSError) as error:
            wrong.append(f"{type(error).__name__}: {error}")
    sys.stdout.write(json.dumps({"looks": looks, "seen": len(seen), "wrong": wrong[:10]}))


if __name__ == "__main__":
    main()
