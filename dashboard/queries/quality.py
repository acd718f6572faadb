"""What came in, what was refused and why, how far behind each source is, and whether the ledger was verified."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.queries.base import Scope, ask

# Of lines only the time at which they came is known, not that of an event.
_CAME = "received_at >= $since AND received_at < $until"


def accounting(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: lines, and what became of them (lines = accepted + duplicate + quarantined + blank); of the accepted
    ones those with warnings, with unknown fields (drift), and with personal data taken out (redacted); chunks."""
    names = ("lines", "accepted", "duplicate", "quarantined", "blank", "warnings", "drift", "redacted")
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in names)
    return ask(con, f"SELECT {sums}, count(*) AS chunks FROM batches WHERE {_CAME}", scope)


def by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day on which lines came: day, accepted, duplicate, quarantined, blank."""
    return ask(
        con,
        f"""
        SELECT
            received_at::DATE AS "day", sum(accepted)::BIGINT AS accepted, sum(duplicate)::BIGINT AS duplicate,
            sum(quarantined)::BIGINT AS quarantined, sum(blank)::BIGINT AS blank
        FROM batches WHERE lines > 0 AND {_CAME}
        GROUP BY ALL ORDER BY "day"
        """,
        scope,
    )


def by_reason(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per reason and source, the most first: reason, source, n, sources (how many there are)."""
    return ask(
        con,
        f"""
        SELECT reason, source, count(*) AS n FROM quarantine WHERE {_CAME}
        GROUP BY ALL ORDER BY n DESC, reason, source
        """,
        scope,
    )


def quarantined(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Refused lines, the newest first: received_at, reason, errors, line (its beginning), source, position,
    quarantine_id; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            received_at, reason, errors::VARCHAR AS errors, left(line, 2000) AS line, source,
            position::VARCHAR AS position, quarantine_id::VARCHAR AS quarantine_id, count(*) OVER () AS matching
        FROM quarantine WHERE {_CAME}
        ORDER BY received_at DESC, seq DESC LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def chunks(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Chunks of the ledger that brought lines with drift, warnings or redactions, the newest first: received_at,
    source, lines, drift, warnings, redacted, dialect; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT received_at, source, lines, drift, warnings, redacted, dialect, count(*) OVER () AS matching
        FROM batches WHERE drift + warnings + redacted > 0 AND {_CAME}
        ORDER BY received_at DESC, batch_id DESC LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def marked_chunks(con: duckdb.DuckDBPyConnection, scope: Scope) -> int:
    """How many `chunks` there are."""
    return int(
        ask(con, f"SELECT count(*) FROM batches WHERE drift + warnings + redacted > 0 AND {_CAME}", scope).item()
    )


def sources(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row per source, the one that was heard last first: source, kind, lines, quarantined, drift, newest event
    (max_ts), last_received_at, lag_seconds (from the newest event to the snapshot), silent_seconds (since a line came,
    by the snapshot), complete."""
    return ask(
        con,
        """
        SELECT
            s.source, s.kind, s.lines, s.quarantined, s.drift, s.max_ts, s.last_received_at,
            epoch(a.published_at - s.max_ts) AS lag_seconds,
            epoch(a.published_at - s.last_received_at) AS silent_seconds, s.complete
        FROM sources AS s CROSS JOIN about AS a
        ORDER BY s.last_received_at DESC, s.source
        """,
    )


def gaps(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Stretches of sources that could not be read any more, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            received_at, source, from_position::VARCHAR AS from_position, to_position::VARCHAR AS to_position, why,
            count(*) OVER () AS matching
        FROM gaps WHERE {_CAME}
        ORDER BY received_at DESC, seq DESC LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def retries(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per outcome of refused lines that were tried again: outcome, n."""
    return ask(con, f"SELECT outcome, count(*) AS n FROM retries WHERE {_CAME} GROUP BY outcome ORDER BY n DESC", scope)


def ledger(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: ledger_chunks, ledger_bytes, ledger_root (hex), and of the newest verification verified_at, ok,
    problems; these are null when there never was one."""
    return ask(
        con,
        """
        SELECT a.ledger_chunks, a.ledger_bytes, a.ledger_root, v.verified_at, v.ok, v.problems
        FROM about AS a
        LEFT JOIN (SELECT * FROM verifications ORDER BY verified_at DESC LIMIT 1) AS v ON true
        """,
    )
