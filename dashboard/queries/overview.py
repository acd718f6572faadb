"""The numbers of the overview, and the rows behind each."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.numbers import wilson
from dashboard.queries.base import OF_CALLS, Scope, ask

BROKEN = ("phantom_execution", "hidden_execution", "partial_as_executed")
"""Statuses of flags that evidence contradicts: done by the record and nothing happened, not done and it happened, done
and only a part took effect."""

_CHECKS = f"shipped_ts >= $since AND shipped_ts < $until AND {OF_CALLS}"
_FLAGS = f"claimed IS NOT NULL AND event_ts >= $since AND event_ts < $until AND {OF_CALLS}"
_HOURS = f'"hour" >= date_trunc(\'hour\', $since::TIMESTAMP) AND "hour" < $until AND {OF_CALLS}'
_CALLS = f"date_trunc('hour', first_ts) >= date_trunc('hour', $since::TIMESTAMP) AND first_ts < $until AND {OF_CALLS}"


def about(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: what the snapshot covers, as in the `about` table."""
    return ask(
        con,
        """
        SELECT
            snapshot, published_at, first_event_ts, last_event_ts, last_received_at, events, quarantined, policy,
            policy_version
        FROM about
        """,
    )


def gate_totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: checks that are settled, how many of them were dropped silently (with rate and interval), how many are
    pending, and how many shipments or other subjects they were about.
    """
    found = ask(
        con,
        f"""
        SELECT
            count(*) FILTER (WHERE status <> 'pending') AS checks,
            count(*) FILTER (WHERE silent) AS silent,
            count(*) FILTER (WHERE status = 'pending') AS pending,
            count(DISTINCT shipped_event_id) FILTER (WHERE status <> 'pending') AS shipments
        FROM gate_checks
        WHERE {_CHECKS}
        """,
        scope,
    )
    return wilson(found, "silent", "checks")


def drops_by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day with silent drops: day, n."""
    return ask(
        con,
        f"""
        SELECT shipped_ts::DATE AS "day", count(*) AS n
        FROM gate_checks WHERE silent AND {_CHECKS}
        GROUP BY ALL ORDER BY "day"
        """,
        scope,
    )


def drop_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Silent drops, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            shipped_ts, gate, status, subject, pipeline, caller, tool, tenant, correlation_id,
            count(*) OVER () AS matching
        FROM gate_checks WHERE silent AND {_CHECKS}
        ORDER BY shipped_ts DESC, subject, gate
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def flag_totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: executed flags in records that evidence could check (`claims`), how many it contradicts (`broken`, with
    rate and interval) and in which way, and how many could not be checked or wait.
    """
    found = ask(
        con,
        f"""
        SELECT
            count(*) FILTER (WHERE status NOT IN ('pending', 'unverifiable')) AS claims,
            count(*) FILTER (WHERE status = 'phantom_execution') AS phantom,
            count(*) FILTER (WHERE status = 'hidden_execution') AS hidden,
            count(*) FILTER (WHERE status = 'partial_as_executed') AS partial,
            count(*) FILTER (WHERE status = 'unverifiable') AS unverifiable,
            count(*) FILTER (WHERE status = 'pending') AS pending
        FROM reconciliation
        WHERE {_FLAGS}
        """,
        scope,
    )
    broken = found.with_columns(broken=pl.col("phantom") + pl.col("hidden") + pl.col("partial"))
    return wilson(broken, "broken", "claims")


def broken_by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day with broken flags: day, n."""
    return ask(
        con,
        f"""
        SELECT event_ts::DATE AS "day", count(*) AS n
        FROM reconciliation WHERE list_contains($broken, status) AND {_FLAGS}
        GROUP BY ALL ORDER BY "day"
        """,
        scope,
        {"broken": list(BROKEN)},
    )


def broken_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Broken flags, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            event_ts, status, "action", target, claimed, evidenced, amount_claimed, amount_evidenced, tool, caller,
            tenant, correlation_id, count(*) OVER () AS matching
        FROM reconciliation WHERE list_contains($broken, status) AND {_FLAGS}
        ORDER BY event_ts DESC, subject
        LIMIT $limit
        """,
        scope,
        {"broken": list(BROKEN), "limit": limit},
    )


def success_total(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: calls, how many succeeded by their last attempt, the rate (0..1) and its interval."""
    found = ask(
        con,
        f"""
        SELECT
            coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0)::BIGINT AS success,
            coalesce(sum(n), 0)::BIGINT AS total
        FROM outcome_rates
        WHERE "level" = 'call' AND {_HOURS}
        """,
        scope,
    )
    return wilson(found, "success", "total")


def success_by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day with calls: day, rate (0..1)."""
    return ask(
        con,
        f"""
        SELECT "hour"::DATE AS "day", coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0) / sum(n) AS rate
        FROM outcome_rates
        WHERE "level" = 'call' AND {_HOURS}
        GROUP BY ALL ORDER BY "day"
        """,
        scope,
    )


def success_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Calls whose last attempt succeeded, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            first_ts, tool, caller, outcome, attempts, duration_ms, tenant, correlation_id, call_id,
            count(*) OVER () AS matching
        FROM tool_calls WHERE outcome = 'success' AND {_CALLS}
        ORDER BY first_ts DESC, last_event_id
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def success_by_tool(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """One row per tool, the lowest rate first: tool, success, total, tools (how many there are), rate, ci_low, ci_high.

    Of more than `limit` tools, those with the most calls.
    """
    found = ask(
        con,
        f"""
        SELECT
            tool,
            coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0)::BIGINT AS success,
            sum(n)::BIGINT AS total,
            count(*) OVER () AS tools
        FROM outcome_rates
        WHERE "level" = 'call' AND {_HOURS}
        GROUP BY tool
        ORDER BY total DESC, tool
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )
    return wilson(found, "success", "total").sort("rate", "tool")


def kpi_total(con: duckdb.DuckDBPyConnection, scope: Scope, kpi: str) -> pl.DataFrame:
    """One row: a KPI over the days of the scope: hits, total, covered, eligible, rate (0..1) and its interval.

    Of all segments, or of the tenants of the scope; KPIs know neither tools nor callers, and no untenanted segment.
    """
    found = ask(
        con,
        """
        SELECT
            coalesce(sum(numerator), 0)::BIGINT AS hits, coalesce(sum(denominator), 0)::BIGINT AS total,
            coalesce(sum(covered), 0)::BIGINT AS covered, coalesce(sum(eligible), 0)::BIGINT AS eligible
        FROM kpis
        WHERE
            kpi = $kpi AND period_end > $since AND period_start < $until
            AND CASE
                WHEN len($tenants) = 0 THEN segment = 'all'
                ELSE starts_with(segment, 'tenant:') AND list_contains($tenants, substr(segment, 8))
            END
        """,
        scope,
        {"kpi": kpi},
    )
    return wilson(found, "hits", "total")
