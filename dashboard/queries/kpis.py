"""The manager's table of KPIs over whole UTC days, and the rows behind each."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import polars as pl

from dashboard.queries.base import Scope, ask
from transforms.periods import KPI_ORDER, chosen_kpis

_FACTS = """
    (len($tenants) = 0 OR list_contains($tenants, coalesce(tenant, '')))
    AND (len($intents) = 0 OR list_contains($intents, intent))
"""
_RUNS = f"""
    terminal_at >= $since AND terminal_at < $until AND {_FACTS}
"""
_COLUMNS = {
    "kpi": pl.String,
    "value": pl.Float64,
    "numerator": pl.Float64,
    "denominator": pl.Float64,
    "ci_low": pl.Float64,
    "ci_high": pl.Float64,
    "coverage": pl.Float64,
    "covered": pl.Int64,
    "eligible": pl.Int64,
    "note": pl.String,
    "definition": pl.String,
    "prior": pl.Float64,
}


def days(con: duckdb.DuckDBPyConnection, scope: Scope) -> tuple[datetime, datetime] | None:
    """The whole UTC days of the scope: from the start of the first to the end of the last; None without any KPI.

    Of a scope without an end, those that have a KPI.
    """
    first, last = ask(con, "SELECT min(period_start) AS a, max(period_end) AS b FROM kpis").row(0)
    if first is None:
        return None
    if scope.length is None:
        return first, last
    start = scope.since.replace(hour=0, minute=0, second=0, microsecond=0)
    end = (scope.until - timedelta(microseconds=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return start, end + timedelta(days=1)


def table(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per KPI in the order of the manager's table, as `transforms.periods.PeriodKpi`, with the value of the
    days before (`prior`). Unknown is null."""
    window = days(con, scope)
    if window is None:
        return pl.DataFrame(schema=_COLUMNS)
    found = chosen_kpis(con, *window, tenants=scope.tenants, intents=scope.intents)
    rows = [{name: getattr(row, name) for name in _COLUMNS} for row in found]
    return pl.DataFrame(rows, schema=_COLUMNS)


def by_intent(con: duckdb.DuckDBPyConnection, scope: Scope, kpi: str) -> pl.DataFrame:
    """One row per intent of the scope, most cases first: intent, numerator, denominator."""
    return ask(
        con,
        f"""
        SELECT
            intent, (sum(numerator) FILTER (WHERE counted))::DOUBLE AS numerator,
            (sum(denominator) FILTER (WHERE counted))::BIGINT AS denominator
        FROM kpi_facts
        WHERE kpi = $kpi AND "day" >= $since::DATE AND "day" < $until AND intent IS NOT NULL AND {_FACTS}
        GROUP BY intent HAVING denominator > 0 ORDER BY denominator DESC, intent
        """,
        scope,
        {"kpi": kpi},
    )


def by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per KPI and UTC day: kpi, day, value; null where nothing is known. Ratios and counts only."""
    return ask(
        con,
        f"""
        SELECT
            kpi, "day", (sum(numerator) FILTER (WHERE counted))::DOUBLE AS hits,
            (sum(denominator) FILTER (WHERE counted))::DOUBLE AS total,
            CASE WHEN total IS NULL THEN hits WHEN total > 0 THEN hits / total END AS "value"
        FROM kpi_facts
        WHERE kpi <> 'handling_time' AND "day" >= $since::DATE AND "day" < $until AND {_FACTS}
        GROUP BY kpi, "day" ORDER BY kpi, "day"
        """,
        scope,
    )


def behind(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int, kpi: str) -> pl.DataFrame:
    """What a KPI rests on, what failed it first and then the newest: day, numerator, denominator, minutes, and whose it
    is; `matching` counts them all. What is too young to be judged, or says nothing about it, is not among them."""
    return ask(
        con,
        f"""
        SELECT
            "day", numerator::DOUBLE AS numerator, denominator, minutes, gate, intent, priority, tenant,
            correlation_id, count(*) OVER () AS matching
        FROM kpi_facts
        WHERE
            kpi = CASE WHEN starts_with($kpi, 'aht_') THEN 'handling_time' ELSE $kpi END
            AND CASE kpi WHEN 'handling_time' THEN minutes IS NOT NULL ELSE counted AND coalesce(denominator, 1) > 0 END
            AND "day" >= $since::DATE AND "day" < $until AND {_FACTS}
        ORDER BY (numerator = 0)::INTEGER DESC, "day" DESC, correlation_id, tenant, gate, numerator
        LIMIT $limit
        """,
        scope,
        {"kpi": kpi, "limit": limit},
    )


def worst_runs(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """The runs that the rubrics scored lowest, of equal ones those with most open findings, then the newest:
    terminal_at, rubric_score (0 to 3), findings_open, intent, terminal_state, cost_usd, tenant, correlation_id;
    `matching` counts every run that was scored."""
    return ask(
        con,
        f"""
        SELECT
            terminal_at, rubric_score, findings_open, intent, priority, terminal_state, cost_usd, tenant,
            correlation_id, count(*) OVER () AS matching
        FROM runs WHERE rubric_score IS NOT NULL AND {_RUNS}
        ORDER BY rubric_score, findings_open DESC, terminal_at DESC, correlation_id, tenant
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def hand_offs(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Runs that were handed to a human and have no end, the oldest first, whatever the period: received_at, age_seconds
    (by the newest event), intent, priority, tenant, correlation_id; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            coalesce(received_at, first_ts) AS received_at,
            ((SELECT as_of_us FROM clock) - epoch_us(coalesce(received_at, first_ts))) / 1e6 AS age_seconds,
            intent, priority, findings_open, tenant, correlation_id, count(*) OVER () AS matching
        FROM runs
        WHERE escalated AND (terminal_state IS NULL OR terminal_state = 'ESCALATED_TO_HUMAN') AND {_FACTS}
            AND coalesce(received_at, first_ts) < $until
        ORDER BY received_at, correlation_id, tenant
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def hand_offs_open(con: duckdb.DuckDBPyConnection, scope: Scope) -> int:
    """How many `hand_offs` there are."""
    found = ask(
        con,
        f"""
        SELECT count(*) FROM runs
        WHERE escalated AND (terminal_state IS NULL OR terminal_state = 'ESCALATED_TO_HUMAN') AND {_FACTS}
            AND coalesce(received_at, first_ts) < $until
        """,
        scope,
    )
    return int(found.item())


__all__ = ["KPI_ORDER", "behind", "by_day", "by_intent", "days", "hand_offs", "hand_offs_open", "table", "worst_runs"]
