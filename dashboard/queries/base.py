"""What all queries share: the scope of a page, and the one way into the snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import duckdb
import polars as pl

SEVERITIES = ("critical", "high", "medium", "low", "info")
"""Worst first."""

EARLIEST = datetime(1, 1, 1)  # noqa: DTZ001 - naive UTC, as everywhere
LATEST = datetime(9999, 12, 31)  # noqa: DTZ001

OF_TENANTS = "(len($tenants) = 0 OR list_contains($tenants, coalesce(tenant, '')))"
"""The condition by which the filter for tenants lets a row through."""

OF_CALLS = f"""
    {OF_TENANTS}
    AND (len($tools) = 0 OR list_contains($tools, tool))
    AND (len($callers) = 0 OR list_contains($callers, caller))
"""
"""The same for tenants, tools and callers together."""

_PARAMETER = re.compile(r"\$([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Scope:
    """What a page is about: `since` ≤ time < `until` (naive UTC), and the values that its filters let through.

    An empty filter lets everything through. ``""`` among `tenants` stands for data without a tenant. `length` is that
    of the period; None: all time.
    """

    since: datetime = EARLIEST
    until: datetime = LATEST
    length: timedelta | None = None
    severities: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    callers: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()

    def before(self) -> Scope | None:
        """The same for the period of equal length before; None of all time, which has none."""
        return None if self.length is None else replace(self, since=self.since - self.length, until=self.since)

    def unfiltered(self) -> Scope:
        """The same period without any filter."""
        return Scope(self.since, self.until, self.length)

    def params(self) -> dict[str, object]:
        """The values by the names that queries use: ``$since``, ``$tenants`` …"""
        lists = ("severities", "rules", "tenants", "tools", "callers", "intents", "gates")
        return {"since": self.since, "until": self.until, **{name: list(getattr(self, name)) for name in lists}}


def ask(
    con: duckdb.DuckDBPyConnection, sql: str, scope: Scope | None = None, params: Mapping[str, object] | None = None
) -> pl.DataFrame:
    """The rows of a query. Values only ever go in as ``$parameters``: those of the scope that it names, and `params`.

    Raises duckdb.Error.
    """
    named = set(_PARAMETER.findall(sql))
    given = {name: value for name, value in (scope or Scope()).params().items() if name in named} | dict(params or {})
    found: pl.DataFrame = con.sql(sql, params=given).pl()
    return found
