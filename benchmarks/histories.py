"""Long histories to measure on: one week of sample events, repeated week after week, straight into a database.

What a run shares with others (keys, receipts, approvals) is renamed with the week, so that fifty weeks are fifty times
as many runs, and not one run of fifty times the length.
"""

from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path

import duckdb

from ingest.ledger.tables import TABLES
from ingest.pipeline import Pipeline
from sample_data.generate import generate

WEEK = timedelta(days=7)

_RENAMED = (
    "correlation_id", "run_id", "call_id", "idempotency_key", "approval_id", "receipt_id", "proposal_id", "decision_id",
    "follow_up_of", "lease_id",
)  # fmt: skip

_TIMES = ("ts", "expires_at")


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
            'native' AS dialect, '' AS content_sha256
        FROM numbered
        """
    )
