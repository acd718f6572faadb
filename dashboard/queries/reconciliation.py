"""Claims against evidence: what records say was done, what shows that it was, and who had allowed it."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.queries.base import OF_CALLS, Scope, ask

_IN_SCOPE = f"event_ts >= $since AND event_ts < $until AND {OF_CALLS}"
_IS_BREAK = "status NOT IN ('matched', 'pending')"

AGES = ("up to an hour", "up to a day", "up to a week", "older")
"""Since the break, by the newest event."""


def totals(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row: rows that are settled, matched, breaks, pending; breaks that name an amount (`priced`), and what these
    amounts differ by, added up (`difference`; null where none does; currencies are not told apart)."""
    return ask(
        con,
        f"""
        SELECT
            count(*) FILTER (WHERE status <> 'pending') AS settled,
            count(*) FILTER (WHERE status = 'matched') AS matched,
            count(*) FILTER (WHERE {_IS_BREAK}) AS breaks,
            count(*) FILTER (WHERE status = 'pending') AS pending,
            sum(abs(coalesce(amount_claimed, 0) - coalesce(amount_evidenced, 0))) FILTER (
                WHERE {_IS_BREAK} AND coalesce(amount_claimed, amount_evidenced) IS NOT NULL
            ) AS difference,
            count(*) FILTER (WHERE {_IS_BREAK} AND coalesce(amount_claimed, amount_evidenced) IS NOT NULL) AS priced
        FROM reconciliation WHERE {_IN_SCOPE}
        """,
        scope,
    )


def by_kind(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per kind of break, the most first: status, n, oldest (seconds), means (the rule book's sentence)."""
    return ask(
        con,
        f"""
        SELECT r.status, count(*) AS n, max(r.age_seconds) AS oldest, any_value(t.means) AS means
        FROM reconciliation AS r
        LEFT JOIN rule_texts AS t ON t.rule = r.status
        WHERE {_IS_BREAK} AND {_IN_SCOPE}
        GROUP BY r.status ORDER BY n DESC, r.status
        """,
        scope,
    )


def by_kind_and_age(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """One row per kind of break and age (`AGES`) that occurs: status, age, n."""
    return ask(
        con,
        f"""
        SELECT
            status,
            CASE
                WHEN age_seconds <= 3600 THEN $ages[1] WHEN age_seconds <= 86400 THEN $ages[2]
                WHEN age_seconds <= 604800 THEN $ages[3] ELSE $ages[4]
            END AS age,
            count(*) AS n
        FROM reconciliation WHERE {_IS_BREAK} AND {_IN_SCOPE}
        GROUP BY ALL ORDER BY status, age
        """,
        scope,
        {"ages": list(AGES)},
    )


def three_ways(con: duckdb.DuckDBPyConnection, scope: Scope) -> pl.DataFrame:
    """How many actions were authorised, claimed and evidenced, by combination: authorised, claimed, evidenced, n.

    `authorised` is ``refused`` where a finding of the family approvals is about the effect, ``approved`` where the
    attempt names an approval and none is, and ``not needed`` otherwise: nothing asked for one.
    """
    return ask(
        con,
        f"""
        WITH chosen AS (
            SELECT * FROM reconciliation WHERE status NOT IN ('pending', 'key_conflict') AND {_IN_SCOPE}
        ),
        refused AS (
            SELECT DISTINCT c.correlation_id, c.tenant, c.subject
            FROM chosen AS c
            INNER JOIN findings AS f
                ON f.correlation_id = c.correlation_id AND f.tenant IS NOT DISTINCT FROM c.tenant
                AND list_has_any(f.evidence, c.evidence_event_ids)
            INNER JOIN rule_texts AS t ON t.rule = f.rule AND t.family = 'approvals'
        ),
        approved AS (
            SELECT DISTINCT c.correlation_id, c.tenant, c.subject
            FROM chosen AS c
            INNER JOIN evidence AS e
                ON e.correlation_id = c.correlation_id AND e.tenant IS NOT DISTINCT FROM c.tenant
                AND list_contains(c.evidence_event_ids, e.effect_id)
            WHERE e.approval_id IS NOT NULL
        )
        SELECT
            CASE
                WHEN r.subject IS NOT NULL THEN 'refused' WHEN a.subject IS NOT NULL THEN 'approved'
                ELSE 'not needed'
            END AS authorised,
            coalesce(c.claimed, false) AS claimed, coalesce(c.evidenced, false) AS evidenced, count(*) AS n
        FROM chosen AS c
        LEFT JOIN refused AS r
            ON r.correlation_id = c.correlation_id AND r.tenant IS NOT DISTINCT FROM c.tenant AND r.subject = c.subject
        LEFT JOIN approved AS a
            ON a.correlation_id = c.correlation_id AND a.tenant IS NOT DISTINCT FROM c.tenant AND a.subject = c.subject
        GROUP BY ALL ORDER BY n DESC, authorised, claimed, evidenced
        """,
        scope,
    )


def amounts(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Breaks with money in them, the largest difference first: event_ts, status, action, target, amount_claimed,
    amount_evidenced, difference, tenant, correlation_id; `matching` counts them all."""
    return ask(
        con,
        f"""
        SELECT
            event_ts, status, "action", target, amount_claimed, amount_evidenced,
            abs(coalesce(amount_claimed, 0) - coalesce(amount_evidenced, 0)) AS difference, tenant, correlation_id,
            count(*) OVER () AS matching
        FROM reconciliation
        WHERE {_IS_BREAK} AND coalesce(amount_claimed, amount_evidenced) IS NOT NULL AND {_IN_SCOPE}
        ORDER BY difference DESC, event_ts DESC, subject
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )


def breaks(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """Breaks, the newest first; `matching` counts them all. `finding_id` is the finding that says so."""
    return ask(
        con,
        f"""
        WITH chosen AS (
            SELECT *, count(*) OVER () AS matching
            FROM reconciliation WHERE {_IS_BREAK} AND {_IN_SCOPE}
            ORDER BY event_ts DESC, subject, status
            LIMIT $limit
        )
        SELECT
            c.event_ts, c.status, c."action", c.target, c.claimed, c.evidenced, c.amount_claimed, c.amount_evidenced,
            c.age_seconds, c.tool, c.caller, c.tenant, c.correlation_id,
            (
                SELECT min(f.finding_id) FROM findings AS f
                WHERE f.rule = c.status AND f.subject = c.subject AND f.tenant IS NOT DISTINCT FROM c.tenant
            ) AS finding_id,
            c.matching
        FROM chosen AS c
        ORDER BY c.event_ts DESC, c.subject, c.status
        """,
        scope,
        {"limit": limit},
    )


def matched(con: duckdb.DuckDBPyConnection, scope: Scope, limit: int) -> pl.DataFrame:
    """What agrees, the newest first; `matching` counts it all."""
    return ask(
        con,
        f"""
        SELECT
            event_ts, "action", target, claimed, evidenced, match_key, amount_claimed, tool, caller, tenant,
            correlation_id, count(*) OVER () AS matching
        FROM reconciliation WHERE status = 'matched' AND {_IN_SCOPE}
        ORDER BY event_ts DESC, subject
        LIMIT $limit
        """,
        scope,
        {"limit": limit},
    )
