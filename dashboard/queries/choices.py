"""What the filters of the pages can be set to."""

from __future__ import annotations

import duckdb
import polars as pl

from dashboard.queries.base import ask


def choices(con: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row per value that a filter can have, whatever the period: field, value."""
    return ask(
        con,
        """
        SELECT 'severity' AS field, severity AS "value" FROM findings WHERE status = 'open'
        UNION
        SELECT 'rule', rule FROM findings WHERE status = 'open'
        UNION
        SELECT 'tenant', coalesce(tenant, '') FROM runs
        UNION
        SELECT 'tenant', coalesce(tenant, '') FROM findings
        UNION
        SELECT 'tenant', coalesce(tenant, '') FROM outcome_rates
        UNION
        SELECT 'tool', tool FROM outcome_rates WHERE tool IS NOT NULL
        UNION
        SELECT 'caller', caller FROM outcome_rates WHERE caller IS NOT NULL
        UNION
        SELECT 'gate', gate FROM gate_checks WHERE gate IS NOT NULL
        UNION
        SELECT 'intent', intent FROM runs WHERE intent IS NOT NULL
        ORDER BY field, "value"
        """,
    )
