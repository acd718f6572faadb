"""The findings of a scope, and one finding with everything that is behind it."""

from __future__ import annotations

from datetime import datetime

import duckdb
import polars as pl

from dashboard.queries.base import OF_CALLS, SEVERITIES, Scope, ask

# A rule that looks at whole tables dates its finding with nothing: that holds in every period.
_IN_SCOPE = f"""
    (event_ts IS NULL OR (event_ts >= $since AND event_ts < $until))
    AND {OF_CALLS}
    AND (len($rules) = 0 OR list_contains($rules, rule))
    AND (len($severities) = 0 OR list_contains($severities, severity))
"""


def finding_totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: findings that are open, open and critical, and pending."""
    return ask(
        con,
        f"""
        SELECT
            count(*) FILTER (WHERE status = 'open') AS open,
            count(*) FILTER (WHERE status = 'open' AND severity = 'critical') AS critical,
            count(*) FILTER (WHERE status = 'pending') AS pending
        FROM findings
        WHERE {_IN_SCOPE}
        """,
        scope,
    )


def critical_rows(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Open critical findings, the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT event_ts, rule, message, tenant, caller, coalesce(gate, tool) AS place, correlation_id, finding_id,
            count(*) OVER () AS matching
        FROM findings
        WHERE status = 'open' AND severity = 'critical' AND {_IN_SCOPE}
        ORDER BY event_ts DESC, finding_id
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def findings_by_rule(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """One row per rule with open findings, by severity and then the most findings first: rule, severity, n, rules."""
    return ask(
        con,
        f"""
        SELECT rule, severity, count(*) AS n, count(*) OVER () AS rules
        FROM findings
        WHERE status = 'open' AND {_IN_SCOPE}
        GROUP BY rule, severity
        ORDER BY list_position($order, severity) NULLS LAST, n DESC, rule
        LIMIT $limit
        """,
        scope,
        {"order": list(SEVERITIES), "limit": limit},
    )


def critical_by_day(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per UTC day with open critical findings: day, n."""
    return ask(
        con,
        f"""
        SELECT event_ts::DATE AS "day", count(*) AS n
        FROM findings
        WHERE status = 'open' AND severity = 'critical' AND event_ts IS NOT NULL AND {_IN_SCOPE}
        GROUP BY ALL ORDER BY "day"
        """,
        scope,
    )


def changes(con: duckdb.DuckDBPyConnection, scope: Scope, since: datetime) -> pl.DataFrame:
    """What was noticed from `since` on (our clock, naive UTC): change, reason, n, critical; of every event time."""
    return ask(
        con,
        """
        SELECT change, reason, count(*) AS n, count(*) FILTER (WHERE severity = 'critical') AS critical
        FROM finding_history
        WHERE
            "at" >= $noticed
            AND (len($tenants) = 0 OR list_contains($tenants, coalesce(tenant, '')))
            AND (len($rules) = 0 OR list_contains($rules, rule))
            AND (len($severities) = 0 OR list_contains($severities, severity))
        GROUP BY ALL ORDER BY change DESC, n DESC, reason
        """,
        scope,
        {"noticed": since},
    )


def open_findings(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Open findings of the scope, by severity and then the newest first; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            finding_id, severity, event_ts, message, rule, tenant, caller, coalesce(gate, tool) AS place,
            correlation_id, count(*) OVER () AS matching
        FROM findings
        WHERE status = 'open' AND {_IN_SCOPE}
        ORDER BY list_position($order, severity) NULLS LAST, event_ts DESC, finding_id
        LIMIT $limit
        """,
        scope,
        {"order": list(SEVERITIES), "limit": limit},
    )


def finding(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The finding of this id, open or pending: one row, or none when it does not hold in this snapshot."""
    return ask(con, "SELECT * FROM findings WHERE finding_id = $finding_id LIMIT 1", params={"finding_id": finding_id})


def rule_text(con: duckdb.DuckDBPyConnection, rule: str) -> pl.DataFrame:
    """What a rule says about itself: one row (means, action, satisfied_by), or none when it no longer judges."""
    return ask(
        con, 'SELECT means, "action", satisfied_by FROM rule_texts WHERE rule = $rule LIMIT 1', params={"rule": rule}
    )


def last_change(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The newest change of a finding: one row (at, change, reason), or none when it was never seen."""
    return ask(
        con,
        """
        SELECT "at", change, reason FROM finding_history WHERE finding_id = $finding_id
        ORDER BY "at" DESC, change LIMIT 1
        """,
        params={"finding_id": finding_id},
    )


def timeline(con: duckdb.DuckDBPyConnection, finding_id: str, limit: int) -> pl.DataFrame:
    """The events behind one finding, in (ts, event_id) order: all columns of `events`, `is_evidence`, and `others`.

    `others` counts the events of the same correlation id that are no evidence, shown or not.

    At most `limit` events: evidence first, then what is nearest in time.
    """
    return ask(
        con,
        """
        WITH chosen AS (
            SELECT correlation_id, tenant, event_ts, evidence FROM findings WHERE finding_id = $finding_id LIMIT 1
        ),
        marked AS (
            SELECT
                e.*,
                list_contains(f.evidence, e.event_id) AS is_evidence,
                abs(epoch_us(e.ts) - epoch_us(f.event_ts)) AS distance
            FROM events AS e
            CROSS JOIN chosen AS f
            WHERE
                list_contains(f.evidence, e.event_id)
                OR (e.correlation_id = f.correlation_id AND e.tenant IS NOT DISTINCT FROM f.tenant)
        ),
        nearest AS (
            SELECT *, count(*) FILTER (WHERE NOT is_evidence) OVER () AS others
            FROM marked
            ORDER BY is_evidence DESC, distance, event_id
            LIMIT $limit
        )
        SELECT * EXCLUDE (distance) FROM nearest ORDER BY ts, event_id
        """,
        params={"finding_id": finding_id, "limit": limit},
    )
