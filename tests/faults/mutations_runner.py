"""Ingests files of broken lines one after the other, in a process of its own; prints what came of it as JSON.

python mutations_runner.py DATA PATH...     the accounting of each path and the peak of resident memory after it
python mutations_runner.py DATA --rebuild   the fingerprint of every table before and after a rebuild
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import duckdb

from ingest.pipeline import Pipeline, rebuild
from tests.ingest.builders import CLOCK, TABLES

DATA = Path(sys.argv[1])


def peak() -> int:
    """The most KiB of memory that this process ever held; what its parent held is no part of it where Linux tells."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def ingest(paths: list[str]) -> list[dict[str, object]]:
    """Every path through one pipeline."""
    found = []
    with Pipeline(DATA) as pipeline:
        # The database may hold as much of itself in memory as it is given; that is no growth of ours.
        pipeline.connection.execute("SET memory_limit = '400MB'")
        for path in paths:
            taken = pipeline.ingest_paths([path])
            counts = {name: getattr(taken, name) for name in ("lines", "accepted", "duplicate", "quarantined", "blank")}
            counts |= {"redacted": taken.redacted, "skipped": len(taken.skipped)}
            found.append({**counts, "reasons": dict(taken.reasons), "peak": peak()})
    return found


def fingerprints() -> dict[str, list[object]]:
    """Of each table the number of rows and a sum that every value changes, but not their order."""
    found: dict[str, list[object]] = {}
    with duckdb.connect(str(DATA / "work.duckdb"), read_only=True) as connection:
        for table in TABLES:
            names = [name for (name, *_) in connection.execute(f"DESCRIBE {table}").fetchall() if name not in CLOCK]
            values = ", ".join(f'"{name}"' for name in names)
            found[table] = list(
                connection.execute(f"SELECT count(*), sum(hash({values}))::VARCHAR FROM {table}").fetchall()[0]
            )
    return found


def main() -> object:
    """What was asked for."""
    if sys.argv[2:] == ["--rebuild"]:
        before = fingerprints()
        rebuild(DATA)
        return {"before": before, "after": fingerprints()}
    return ingest(sys.argv[2:])


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main()))
