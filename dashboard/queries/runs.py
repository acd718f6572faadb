"""Runs: found by what people know of them, and one of them with everything that happened in it."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.queries.base import OF_TENANTS, SEVERITIES, Scope, ask

# A run is of a period when anything of it may be: it began before the period's end, and had not ended before its start.
_IN_SCOPE = f"""
    coalesce(first_ts, received_at) < $until AND coalesce(terminal_at, first_ts, received_at) >= $since
    AND {OF_TENANTS}
    AND (len($intents) = 0 OR list_contains($intents, intent))
"""
_CALLED = """
    (
        (len($tools) = 0 AND len($callers) = 0) OR EXISTS (
            SELECT 1 FROM tool_calls AS c
            WHERE
                c.correlation_id = r.correlation_id AND c.tenant IS NOT DISTINCT FROM r.tenant
                AND (len($tools) = 0 OR list_contains($tools, c.tool))
                AND (len($callers) = 0 OR list_contains($callers, c.caller))
        )
    )
"""
# What people type is a part of a name, never a pattern: `contains` knows no wildcards.
_FOUND = """
    (
        $sought = '' OR contains(lower(r.correlation_id), $sought) OR contains(lower(r.run_id), $sought)
        OR contains(lower(r.decision_id), $sought) OR EXISTS (
            SELECT 1 FROM tool_calls AS c
            WHERE
                c.correlation_id = r.correlation_id AND c.tenant IS NOT DISTINCT FROM r.tenant
                AND (lower(c.tool) = $sought OR lower(c.caller) = $sought)
        )
    )
"""


def totals(con: duckdb.DuckDBPyConnection, scope: Scope, sought: str = "") -> pl.DataFrame:
    """One row: runs, how many are open, have open findings (`marked`), and went to a human (`escalated`)."""
    return ask(
        con,
        f"""
        SELECT
            count(*) AS runs, count(*) FILTER (WHERE terminal_state IS NULL) AS unfinished,
            count(*) FILTER (WHERE findings_open > 0) AS marked, count(*) FILTER (WHERE escalated) AS escalated
        FROM (SELECT * FROM runs WHERE {_IN_SCOPE}) AS r
        WHERE {_CALLED} AND {_FOUND}
        """,
        scope,
        {"sought": sought.lower()},
    )


def _listed(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int, sought: str, which: str) -> pl.DataFrame:
    return ask(
        con,
        f"""
        SELECT
            r.correlation_id, coalesce(r.first_ts, r.received_at) AS began, r.terminal_state,
            epoch(r.terminal_at - coalesce(r.received_at, r.first_ts)) / 60 AS minutes, r.findings_open, r.intent,
            r.priority, r.rubric_score, r.cost_usd, r.run_id, r.decision_id, r.tenant, count(*) OVER () AS matching
        FROM (SELECT * FROM runs WHERE {_IN_SCOPE}) AS r
        WHERE {which} AND {_CALLED} AND {_FOUND}
        ORDER BY began DESC, r.correlation_id, r.tenant, r.decision_id, r.run_id
        LIMIT $limit
        """,
        scope,
        {"limit": limit, "sought": sought.lower()},
    )


def listed(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int, sought: str = "") -> pl.DataFrame:
    """Runs, the newest first: correlation_id, began, terminal_state, minutes (from received to ended), findings_open,
    intent, priority, rubric_score, cost_usd, run_id, decision_id, tenant; `matching` counts them all.

    `sought` is a part of a ticket, run or decision id, or the name of a tool or caller; case does not matter.
    """
    return _listed(con, scope, limit, sought, "true")


def unfinished(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """`listed`, of those that have not ended."""
    return _listed(con, scope, limit, "", "r.terminal_state IS NULL")


def marked(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """`listed`, of those with open findings."""
    return _listed(con, scope, limit, "", "r.findings_open > 0")


def escalated(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """`listed`, of those that went to a human."""
    return _listed(con, scope, limit, "", "r.escalated")


def tenants_of(con: duckdb.DuckDBPyConnection, scope: Scope, run: str) -> pl.DataFrame:
    """The tenants that use a correlation id: tenant (null: none), events. Those of the scope only."""
    return ask(
        con,
        f"""
        SELECT tenant, count(*) AS events FROM events
        WHERE correlation_id = $run AND {OF_TENANTS}
        GROUP BY tenant ORDER BY events DESC, tenant
        """,
        scope,
        {"run": run},
    )


def run(con: duckdb.DuckDBPyConnection, name: str, tenant: str | None) -> pl.DataFrame:
    """The rows of `runs` of one correlation id and tenant; usually one."""
    return ask(
        con,
        """
        SELECT * FROM runs WHERE correlation_id = $run AND tenant IS NOT DISTINCT FROM $tenant
        ORDER BY coalesce(first_ts, received_at)
        """,
        params={"run": name, "tenant": tenant},
    )


def events(con: duckdb.DuckDBPyConnection, name: str, tenant: str | None, limit: int) -> pl.DataFrame:
    """The events of one correlation id and tenant in (ts, event_id) order: all columns of `events`, and `matching`."""
    return ask(
        con,
        """
        SELECT *, count(*) OVER () AS matching FROM events
        WHERE correlation_id = $run AND tenant IS NOT DISTINCT FROM $tenant
        ORDER BY ts, event_id LIMIT $limit
        """,
        params={"run": name, "tenant": tenant, "limit": limit},
    )


def findings(con: duckdb.DuckDBPyConnection, name: str, tenant: str | None) -> pl.DataFrame:
    """The findings about one correlation id and tenant, the worst first."""
    return ask(
        con,
        """
        SELECT finding_id, severity, status, event_ts, rule, message FROM findings
        WHERE correlation_id = $run AND tenant IS NOT DISTINCT FROM $tenant
        ORDER BY list_position($order, severity) NULLS LAST, event_ts, finding_id
        """,
        params={"run": name, "tenant": tenant, "order": list(SEVERITIES)},
    )
