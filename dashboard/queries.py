"""What the pages ask the snapshot: connection in, Polars frame out. Values only ever go in as `$parameters`.

Everything is read from marts, never from raw history, except the events of one correlation id. Times are naive UTC.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import polars as pl

from dashboard.numbers import wilson
from dashboard.view import View

SEVERITIES = ("critical", "high", "medium", "low", "info")
"""Worst first."""


def _frame(con: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, object] | None = None) -> pl.DataFrame:
    found: pl.DataFrame = con.sql(sql, params=dict(params or {})).pl()
    return found


def about(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: what the snapshot covers, as in the `about` table."""
    return _frame(
        con,
        """
        SELECT snapshot, published_at, last_event_ts, last_received_at, events, quarantined, policy, policy_version
        FROM about
        """,
    )


def gate_totals(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: checks that are settled, how many of them were dropped silently (with rate and interval), how many are
    pending, and how many shipments or other subjects they were about.
    """
    found = _frame(
        con,
        """
        SELECT
            count(*) FILTER (WHERE status <> 'pending') AS checks,
            count(*) FILTER (WHERE silent) AS silent,
            count(*) FILTER (WHERE status = 'pending') AS pending,
            count(DISTINCT shipped_event_id) FILTER (WHERE status <> 'pending') AS shipments
        FROM gate_checks
        """,
    )
    return wilson(found, "silent", "checks")


def flag_totals(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: executed flags in records that evidence could check (`claims`), how many it contradicts (`broken`, with
    rate and interval) and in which way, and how many could not be checked or wait.

    Contradicted is: done by the record and nothing happened (`phantom`), not done and it happened (`hidden`), done and
    only a part took effect (`partial`).
    """
    found = _frame(
        con,
        """
        SELECT
            count(*) FILTER (WHERE status NOT IN ('pending', 'unverifiable')) AS claims,
            count(*) FILTER (WHERE status = 'phantom_execution') AS phantom,
            count(*) FILTER (WHERE status = 'hidden_execution') AS hidden,
            count(*) FILTER (WHERE status = 'partial_as_executed') AS partial,
            count(*) FILTER (WHERE status = 'unverifiable') AS unverifiable,
            count(*) FILTER (WHERE status = 'pending') AS pending
        FROM reconciliation
        WHERE claimed IS NOT NULL
        """,
    )
    broken = found.with_columns(broken=pl.col("phantom") + pl.col("hidden") + pl.col("partial"))
    return wilson(broken, "broken", "claims")


def success_total(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: calls, how many succeeded by their last attempt, the rate (0..1) and its interval."""
    found = _frame(
        con,
        """
        SELECT
            coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0)::BIGINT AS success,
            coalesce(sum(n), 0)::BIGINT AS total
        FROM outcome_rates
        WHERE "level" = 'call'
        """,
    )
    return wilson(found, "success", "total")


def success_by_tool(con: duckdb.DuckDBPyConnection, limit: int) -> pl.DataFrame:
    """One row per tool, the lowest rate first: tool, success, total, tools (how many there are), rate, ci_low, ci_high.

    Of more than `limit` tools, those with the most calls.
    """
    found = _frame(
        con,
        """
        SELECT
            tool,
            coalesce(sum(n) FILTER (WHERE outcome = 'success'), 0)::BIGINT AS success,
            sum(n)::BIGINT AS total,
            count(*) OVER () AS tools
        FROM outcome_rates
        WHERE "level" = 'call'
        GROUP BY tool
        ORDER BY total DESC, tool
        LIMIT $limit
        """,
        {"limit": limit},
    )
    return wilson(found, "success", "total").sort("rate", "tool")


def finding_totals(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row: findings that are open, open and critical, and pending."""
    return _frame(
        con,
        """
        SELECT
            count(*) FILTER (WHERE status = 'open') AS open,
            count(*) FILTER (WHERE status = 'open' AND severity = 'critical') AS critical,
            count(*) FILTER (WHERE status = 'pending') AS pending
        FROM findings
        """,
    )


def findings_by_rule(con: duckdb.DuckDBPyConnection, limit: int) -> pl.DataFrame:
    """One row per rule with open findings, by severity and then the most findings first: rule, severity, n, rules."""
    return _frame(
        con,
        """
        SELECT rule, severity, count(*) AS n, count(*) OVER () AS rules
        FROM findings
        WHERE status = 'open'
        GROUP BY rule, severity
        ORDER BY list_position($order, severity) NULLS LAST, n DESC, rule
        LIMIT $limit
        """,
        {"order": list(SEVERITIES), "limit": limit},
    )


def filter_choices(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row per value that a filter can have among open findings: field (severity, rule, tenant), value, n."""
    return _frame(
        con,
        """
        SELECT 'severity' AS field, severity AS "value", count(*) AS n
        FROM findings WHERE status = 'open' GROUP BY severity
        UNION ALL
        SELECT 'rule', rule, count(*) FROM findings WHERE status = 'open' GROUP BY rule
        UNION ALL
        SELECT 'tenant', coalesce(tenant, ''), count(*)
        FROM findings WHERE status = 'open' GROUP BY coalesce(tenant, '')
        ORDER BY field, "value"
        """,
    )


def open_findings(con: duckdb.DuckDBPyConnection, view: View, limit: int) -> pl.DataFrame:
    """Open findings that pass the filters, by severity and then the newest first; `matching` counts them all."""
    return _frame(
        con,
        """
        SELECT
            finding_id, severity, event_ts, message, rule, tenant, caller, coalesce(gate, tool) AS place,
            correlation_id, count(*) OVER () AS matching
        FROM findings
        WHERE
            status = 'open'
            AND (len($severities) = 0 OR list_contains($severities, severity))
            AND (len($rules) = 0 OR list_contains($rules, rule))
            AND (len($tenants) = 0 OR list_contains($tenants, coalesce(tenant, '')))
        ORDER BY list_position($order, severity) NULLS LAST, event_ts DESC, finding_id
        LIMIT $limit
        """,
        {
            "order": list(SEVERITIES),
            "severities": list(view.severities),
            "rules": list(view.rules),
            "tenants": list(view.tenants),
            "limit": limit,
        },
    )


def finding(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The finding of this id, open or pending: one row, or none when it does not hold in this snapshot."""
    return _frame(con, "SELECT * FROM findings WHERE finding_id = $finding_id LIMIT 1", {"finding_id": finding_id})


def rule_text(con: duckdb.DuckDBPyConnection, rule: str) -> pl.DataFrame:
    """What a rule says about itself: one row (means, action, satisfied_by), or none when it no longer judges."""
    return _frame(
        con, 'SELECT means, "action", satisfied_by FROM rule_texts WHERE rule = $rule LIMIT 1', {"rule": rule}
    )


def last_change(con: duckdb.DuckDBPyConnection, finding_id: str) -> pl.DataFrame:
    """The newest change of a finding: one row (at, change, reason), or none when it was never seen."""
    return _frame(
        con,
        """
        SELECT "at", change, reason FROM finding_history WHERE finding_id = $finding_id
        ORDER BY "at" DESC, change LIMIT 1
        """,
        {"finding_id": finding_id},
    )


def timeline(con: duckdb.DuckDBPyConnection, finding_id: str, limit: int) -> pl.DataFrame:
    """The events behind one finding, in (ts, event_id) order: all columns of `events`, `is_evidence`, and `others`.

    `others` counts the events of the same correlation id that are no evidence, shown or not.

    At most `limit` events: evidence first, then what is nearest in time.
    """
    return _frame(
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
        {"finding_id": finding_id, "limit": limit},
    )
