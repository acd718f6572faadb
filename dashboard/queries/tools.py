"""Tool calls of a scope: what became of them, what retrying brought, how long they took, what broke a contract."""

from __future__ import annotations

from typing import Literal

import duckdb
import polars as pl

from dashboard.numbers import wilson
from dashboard.queries.base import OF_CALLS, SEVERITIES, Scope, ask

Dimension = Literal["tool", "caller", "layer", "error_class"]
DIMENSIONS: tuple[Dimension, ...] = ("tool", "caller", "layer", "error_class")

_HOURS = f'"hour" >= date_trunc(\'hour\', $since::TIMESTAMP) AND "hour" < $until AND {OF_CALLS}'
_CALLS = f"date_trunc('hour', first_ts) >= date_trunc('hour', $since::TIMESTAMP) AND first_ts < $until AND {OF_CALLS}"
_VIOLATIONS = f"""
    status = 'open' AND rule IN (SELECT rule FROM rule_texts WHERE family IN ('contracts', 'retries'))
    AND (event_ts IS NULL OR (event_ts >= $since AND event_ts < $until)) AND {OF_CALLS}
"""


def totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: calls, how many succeeded by their last attempt (rate, ci_low, ci_high; 0..1) and how many did not."""
    found = ask(
        con,
        f"""
        SELECT
            coalesce(sum(n), 0)::BIGINT AS calls,
            coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0)::BIGINT AS success,
            coalesce(sum(n) FILTER (WHERE outcome <> 'success'), 0)::BIGINT AS unsuccessful
        FROM outcome_rates WHERE "level" = 'call' AND {_HOURS}
        """,
        scope,
    )
    return wilson(found, "success", "calls")


def retry_totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: attempts after the first, calls that a retry brought to success (recovered), that took their fallback
    (degraded), how many of these a record admits (noted); repeated effects under one key (duplicates)."""
    return ask(
        con,
        f"""
        SELECT
            coalesce(sum(retries), 0)::BIGINT AS retries, coalesce(sum(recovered), 0)::BIGINT AS recovered,
            coalesce(sum(degraded), 0)::BIGINT AS degraded, coalesce(sum(degraded_noted), 0)::BIGINT AS noted,
            coalesce(sum(duplicate_effects), 0)::BIGINT AS duplicates
        FROM retry_degrade WHERE {_HOURS}
        """,
        scope,
    )


def outcomes(con: duckdb.DuckDBPyConnection, scope: Scope, by: Dimension) -> pl.DataFrame:
    """One row per value of a dimension, most calls first: name (null: not said), success, total, and the other
    outcomes: partial, unavailable, stale_target, denied, failed; rate, ci_low, ci_high (0..1) of success.

    `error_class` is that of the first attempt that failed: calls that met no error have none.
    """
    column = DIMENSIONS[DIMENSIONS.index(by)]
    found = ask(
        con,
        f"""
        SELECT
            "{column}" AS "name", count(*) AS total, count(*) FILTER (WHERE outcome = 'success') AS success,
            count(*) FILTER (WHERE outcome = 'partial') AS "partial",
            count(*) FILTER (WHERE outcome = 'unavailable') AS unavailable,
            count(*) FILTER (WHERE outcome = 'stale_target') AS stale_target,
            count(*) FILTER (WHERE outcome = 'denied') AS denied,
            count(*) FILTER (WHERE outcome = 'failed') AS failed
        FROM tool_calls WHERE {_CALLS} AND ($by <> 'error_class' OR error_class IS NOT NULL)
        GROUP BY 1 ORDER BY total DESC, "name"
        """,
        scope,
        {"by": by},
    )
    return wilson(found, "success", "total")


def by_error(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per class of the first error, most calls first: error_class, calls, retries, recovered, degraded, noted,
    escalated, violations."""
    return ask(
        con,
        f"""
        SELECT
            error_class, sum(calls)::BIGINT AS calls, sum(retries)::BIGINT AS retries,
            sum(recovered)::BIGINT AS recovered, sum(degraded)::BIGINT AS degraded,
            sum(degraded_noted)::BIGINT AS noted, sum(escalated)::BIGINT AS escalated,
            sum(violations)::BIGINT AS violations
        FROM retry_degrade WHERE error_class IS NOT NULL AND {_HOURS}
        GROUP BY error_class ORDER BY calls DESC, error_class
        """,
        scope,
    )


def durations(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """One row per tool, most calls first: tool, p50, p95, p99 (milliseconds of a call with all its attempts), known
    (calls that say how long they took), total."""
    return ask(
        con,
        f"""
        SELECT
            tool, quantile_cont(duration_ms, 0.5) AS p50, quantile_cont(duration_ms, 0.95) AS p95,
            quantile_cont(duration_ms, 0.99) AS p99, count(duration_ms) AS known, count(*) AS total
        FROM tool_calls WHERE {_CALLS}
        GROUP BY tool ORDER BY total DESC, tool LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def violations(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per rule about contracts and retries with open findings, by severity: rule, severity, n, means."""
    return ask(
        con,
        f"""
        SELECT f.rule, f.severity, count(*) AS n, any_value(t.means) AS means
        FROM (SELECT * FROM findings WHERE {_VIOLATIONS}) AS f
        INNER JOIN rule_texts AS t ON t.rule = f.rule
        GROUP BY f.rule, f.severity
        ORDER BY list_position($order, f.severity) NULLS LAST, n DESC, f.rule
        """,
        scope,
        {"order": list(SEVERITIES)},
    )


def violation_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """The findings of `violations`, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            event_ts, rule, severity, message, tool, caller, tenant, correlation_id, finding_id,
            count(*) OVER () AS matching
        FROM findings WHERE {_VIOLATIONS}
        ORDER BY event_ts DESC, finding_id LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def _call_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int, which: str) -> pl.DataFrame:
    return ask(
        con,
        f"""
        SELECT
            first_ts, tool, caller, outcome, error_class, last_error_class, attempts, recovered, degraded,
            degraded_noted, duration_ms, tenant, correlation_id, count(*) OVER () AS matching
        FROM tool_calls WHERE {which} AND {_CALLS}
        ORDER BY first_ts DESC, last_event_id LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def unsuccessful(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Calls whose last attempt did not succeed, the newest first; `matching` counts them all."""
    return _call_rows(con, scope, limit, "outcome <> 'success'")


def recovered(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Calls that a retry brought to success, the newest first; `matching` counts them all."""
    return _call_rows(con, scope, limit, "recovered")


def degraded(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Calls that took their fallback, the newest first; `matching` counts them all."""
    return _call_rows(con, scope, limit, "degraded")
