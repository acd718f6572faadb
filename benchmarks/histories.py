"""Long histories to measure on: one week of sample events, repeated week after week, straight into a database.

What a run shares with others (keys, receipts, approvals) is renamed with the week, so that fifty weeks are fifty times
as many runs, and not one run of fifty times the length.
"""

from __future__ import annotations

import tempfile
from datetime import date, timedelta
from pathlib import Path

import duckdb
import polars as pl

from ingest.ledger.tables import TABLES
from ingest.pipeline import Pipeline
from sample_data.generate import generate

WEEK = timedelta(days=7)

_RENAMED = (
    "correlation_id", "run_id", "call_id", "idempotency_key", "approval_id", "receipt_id", "proposal_id", "decision_id",
    "follow_up_of", "lease_id",
)  # fmt: skip

_TIMES = ("ts", "expires_at")

WEEK_EVENTS = 100_000
"""Events of the week that is repeated, unless a benchmark is run small."""


def template(path: Path, events: int, seed: int = 1) -> None:
    """One week of ingested events at `path`, a database of its own (a copy of what `gatewatch ingest` fills)."""
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder) / "events.jsonl"
        generate(events, seed, lines, days=7)
        with Pipeline(Path(folder) / "data") as pipeline:
            pipeline.ingest_paths([str(lines)])
            con = pipeline.connection
            con.execute(f"ATTACH '{path}' AS template")
            for table in TABLES:
                con.execute(f"CREATE TABLE template.{table} AS SELECT * FROM {table}")
            con.execute("DETACH template")


def repeat(con: duckdb.DuckDBPyConnection, week: Path, weeks: int) -> int:
    """Fill an empty database with `weeks` weeks of the template; the number of events."""
    con.execute(f"ATTACH '{week}' AS template (READ_ONLY)")
    for table in TABLES:
        con.execute(f"CREATE TABLE {table} AS SELECT * FROM template.{table} LIMIT 0")
    ((step,),) = con.execute("SELECT max(seq) FROM template.events").fetchall()
    for number in range(weeks):
        con.execute(f"INSERT INTO events SELECT * REPLACE ({_replaced(number, step)}) FROM template.events")
    con.execute("DETACH template")
    con.execute("CHECKPOINT")
    ((count,),) = con.execute("SELECT count(*) FROM events").fetchall()
    return int(count)


def _replaced(number: int, step: int) -> str:
    renamed = [f"{name} || '~{number}' AS {name}" for name in ("event_id", *_RENAMED)]
    moved = [f"{name} + INTERVAL {7 * number} DAY AS {name}" for name in _TIMES]
    claims = (
        "list_transform(actions_attempted, lambda c: struct_update(c, "
        + ", ".join(f"{key} := c.{key} || '~{number}'" for key in ("call_id", "receipt_id", "idempotency_key"))
        + ")) AS actions_attempted"
    )
    record = (
        "struct_update(sla, "
        + ", ".join(
            f"{key} := sla.{key} + INTERVAL {7 * number} DAY"
            for key in ("received_at", "first_response_at", "resolved_at")
        )
        + ") AS sla"
    )
    return ", ".join([f"seq + {number * step} AS seq", *renamed, *moved, claims, record])


def chunk(con: duckdb.DuckDBPyConnection, runs: int, events: int, *, recent: bool, number: int) -> None:
    """Append a chunk of `events` tool calls over `runs` existing runs: the newest ones, or ones from all of history."""
    order = "max(seq) DESC" if recent else f"md5(correlation_id || '{number}')"
    con.execute(
        f"""
        INSERT INTO events BY NAME
        WITH picked AS (
            SELECT tenant, correlation_id, max(ts) AS ts FROM events
            WHERE kind = 'decision.record' GROUP BY tenant, correlation_id ORDER BY {order} LIMIT {runs}
        ), numbered AS (
            SELECT p.*, n, row_number() OVER (ORDER BY n, correlation_id, tenant) AS place
            FROM picked AS p CROSS JOIN range({events // runs}) AS r (n)
        )
        SELECT (SELECT max(seq) FROM events) + place AS seq, 'chunk-{number}-' || place AS event_id,
            ts + to_seconds(n::INTEGER) AS ts, 'tool.invocation' AS kind, tenant, correlation_id, 'iris' AS caller,
            'order_lookup' AS tool, 'read' AS privilege, 'none' AS side_effects, 'success' AS outcome, 1 AS attempt,
            'native' AS dialect
        FROM numbered
        """
    )


class Weeks:
    """The same as lines: one generated week, again and again, for histories that go through the whole of ingest."""

    def __init__(self, events: int = WEEK_EVENTS, seed: int = 1) -> None:
        """Generate the week. `events` are those of one week."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "events.jsonl"
            generate(events, seed, path, days=7)
            kept = [line for line in path.read_bytes().splitlines() if _is_text(line)]
        self._lines = pl.Series(kept, dtype=pl.Binary).cast(pl.String)
        days = self._lines.str.extract_all(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T").explode().drop_nulls().unique()
        self._days = sorted(days.to_list())
        names = "|".join(("event_id", "ticket_id", *_RENAMED))
        self._ids = rf'"({names})"( *: *)"([^"]*)"'

    def lines(self, number: int) -> bytes:
        """The lines of week `number`, from 0, with runs, keys and times of its own."""
        moved = [_moved(day, number) for day in self._days]
        later = self._lines.str.replace_many(self._days, moved)
        renamed = later.str.replace_all(self._ids, rf'"${{1}}"${{2}}"${{3}}~{number}"')
        return ("\n".join(renamed) + "\n").encode()


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _moved(day: str, weeks: int) -> str:
    try:
        return (date.fromisoformat(day[:10]) + weeks * WEEK).isoformat() + day[10:]
    except ValueError:  # a bad line, which stays one
        return day
