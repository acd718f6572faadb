"""The gate checks of a scope: how many held, which did not, and what one shipment had to pass."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.numbers import wilson
from dashboard.queries.base import OF_TENANTS, Scope, ask

_IN_SCOPE = f"""
    shipped_ts >= $since AND shipped_ts < $until
    AND {OF_TENANTS}
    AND (len($gates) = 0 OR list_contains($gates, gate))
    AND (len($callers) = 0 OR list_contains($callers, caller))
"""


def totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: settled checks, and of these how many held, were dropped silently, and failed in the open; how many are
    pending; how many shipments they are about."""
    return ask(
        con,
        f"""
        SELECT
            count(*) FILTER (WHERE status <> 'pending') AS checks,
            count(*) FILTER (WHERE status = 'passed') AS held,
            count(*) FILTER (WHERE silent) AS silent,
            count(*) FILTER (WHERE status NOT IN ('pending', 'passed') AND NOT silent) AS declared,
            count(*) FILTER (WHERE status = 'pending') AS pending,
            count(DISTINCT shipped_event_id) FILTER (WHERE status <> 'pending') AS shipments
        FROM gate_checks WHERE {_IN_SCOPE}
        """,
        scope,
    )


def by_gate(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per gate, the highest share of silent drops first: gate, checks, held, silent, declared, and the share of
    silent drops with its interval (rate, ci_low, ci_high; 0..1)."""
    found = ask(
        con,
        f"""
        SELECT
            gate, count(*) AS checks, count(*) FILTER (WHERE status = 'passed') AS held,
            count(*) FILTER (WHERE silent) AS silent,
            count(*) FILTER (WHERE status <> 'passed' AND NOT silent) AS declared
        FROM gate_checks WHERE status <> 'pending' AND {_IN_SCOPE}
        GROUP BY gate
        """,
        scope,
    )
    return wilson(found, "silent", "checks").sort("rate", "gate", descending=[True, False])


def matrix(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per gate and status that occurs: gate, status, silent, n. `pending` is one of the statuses."""
    return ask(
        con,
        f"""
        SELECT gate, status, silent, count(*) AS n
        FROM gate_checks WHERE {_IN_SCOPE}
        GROUP BY ALL ORDER BY gate, status, silent
        """,
        scope,
    )


def drops_by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day and gate with silent drops: day, gate, n."""
    return ask(
        con,
        f"""
        SELECT shipped_ts::DATE AS "day", gate, count(*) AS n
        FROM gate_checks WHERE silent AND {_IN_SCOPE}
        GROUP BY ALL ORDER BY "day", gate
        """,
        scope,
    )


def failed(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int, which: str = "all") -> pl.DataFrame:
    """Settled checks that did not hold, silent ones first and then the newest; `matching` counts them all.

    `which`: ``silent`` drops, those ``declared`` by somebody, or ``all``. `finding_id` is the finding that says so.
    """
    return ask(
        con,
        f"""
        WITH chosen AS (
            SELECT *, count(*) OVER () AS matching
            FROM gate_checks
            WHERE
                status NOT IN ('pending', 'passed') AND {_IN_SCOPE}
                AND ($which = 'all' OR silent = ($which = 'silent'))
            ORDER BY silent DESC, shipped_ts DESC, shipped_event_id, pipeline, gate
            LIMIT $limit
        )
        SELECT
            c.shipped_ts, c.gate, c.status, c.silent, c.subject, c.decided_by, c.decided_ts, c.pipeline, c.caller,
            c.tenant, c.correlation_id,
            (
                SELECT min(f.finding_id) FROM findings AS f
                WHERE
                    f.rule = c.status AND f.gate = c.gate AND f.correlation_id = c.correlation_id
                    AND f.tenant IS NOT DISTINCT FROM c.tenant AND list_contains(f.evidence, c.shipped_event_id)
            ) AS finding_id,
            c.matching
        FROM chosen AS c
        ORDER BY c.silent DESC, c.shipped_ts DESC, c.shipped_event_id, c.pipeline, c.gate
        """,
        scope,
        {"limit": limit, "which": which},
    )


def silent(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """`failed`, of silent drops only."""
    return failed(con, scope, limit, "silent")


def declared(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """`failed`, of those that somebody declared only."""
    return failed(con, scope, limit, "declared")


def held(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Checks that held, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            shipped_ts, gate, subject, decided_by, decided_ts, pipeline, caller, tenant, correlation_id,
            count(*) OVER () AS matching
        FROM gate_checks WHERE status = 'passed' AND {_IN_SCOPE}
        ORDER BY shipped_ts DESC, shipped_event_id, pipeline, gate
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def required_order(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The gates that the shipment behind a finding had to pass, in the order that the policy demands: position, gate,
    status, decided_by, decided_ts, shipped_ts, pipeline. Empty when the finding is about no shipment."""
    return ask(
        con,
        """
        WITH chosen AS (
            SELECT correlation_id, tenant, evidence FROM findings
            WHERE finding_id = $finding_id AND gate IS NOT NULL LIMIT 1
        )
        SELECT g.position, g.gate, g.status, g.decided_by, g.decided_ts, g.shipped_ts, g.pipeline
        FROM gate_checks AS g
        INNER JOIN chosen AS c
            ON g.correlation_id = c.correlation_id AND g.tenant IS NOT DISTINCT FROM c.tenant
            AND list_contains(c.evidence, g.shipped_event_id)
        ORDER BY g.shipped_ts, g.shipped_event_id, g.pipeline, g.position
        """,
        params={"finding_id": finding_id},
    )


def failed_call(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The gate's own failed call, which kept it from deciding, behind a finding: tool, outcome, error_type, ts; one row
    or none."""
    return ask(
        con,
        """
        SELECT t.tool, t.outcome, t.error_type, t.ts
        FROM findings AS f
        INNER JOIN gate_checks AS g
            ON g.correlation_id = f.correlation_id AND g.tenant IS NOT DISTINCT FROM f.tenant AND g.gate = f.gate
            AND list_contains(f.evidence, g.shipped_event_id)
        INNER JOIN events AS t
            ON t.event_id = g.cause_event_id AND t.tenant IS NOT DISTINCT FROM g.tenant
            AND t.correlation_id = g.correlation_id
        WHERE f.finding_id = $finding_id AND t.kind = 'tool.invocation'
        LIMIT 1
        """,
        params={"finding_id": finding_id},
    )
