"""KPIs over a period: days summed up, medians from the runs, and the prior period of equal length beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import duckdb

KPI_ORDER = (
    "containment", "verified_containment", "false_deflection", "fcr", "aht_proxy_median", "aht_proxy_p90",
    "sla_attainment", "escalation_precision", "escalation_precision_proxy", "escalation_recall", "csat",
    "csat_response_rate", "csat_sentiment_proxy", "grounding", "cost_per_resolution", "kb_gaps_filed", "kb_gaps_closed",
    "gate_reliability", "under_scoping", "over_scoping",
)  # fmt: skip
"""The order of the manager's table: numbers that can be gamed stand beside the one that shows it."""

_PLACES = {kpi: place for place, kpi in enumerate(KPI_ORDER)}

_COUNTS = ("kb_gaps_filed", "kb_gaps_closed")
_AVERAGES = ("cost_per_resolution", "csat")

_SUMS = """
SELECT segment, kpi, sum(numerator::DECIMAL(38, 9))::DOUBLE, sum(denominator), sum(covered)::BIGINT,
    sum(eligible)::BIGINT
FROM kpis
WHERE period_start >= $start AND period_start < $end AND (segment = 'all' OR starts_with(segment, $by))
GROUP BY segment, kpi
"""

_TIMES = """
WITH closed AS (
    SELECT unnest(['all', $by || CASE $by WHEN 'intent:' THEN intent WHEN 'priority:' THEN priority
        WHEN 'tier:' THEN model_tier WHEN 'tenant:' THEN tenant END]) AS segment,
        (epoch_us(terminal_at) - epoch_us(received_at)) / 60000000.0 AS minutes
    FROM runs
    WHERE terminal_state IS NOT NULL AND terminal_at >= $start AND terminal_at < $end
)
SELECT segment, quantile_disc(minutes, 0.5), quantile_disc(minutes, 0.9), count(minutes), count(*)
FROM closed
WHERE segment IS NOT NULL
GROUP BY segment
"""


_CHOSEN = """
    (len($tenants) = 0 OR list_contains($tenants, coalesce(tenant, '')))
    AND (len($intents) = 0 OR list_contains($intents, intent))
"""

_CHOSEN_SUMS = f"""
SELECT 'chosen', kpi, (sum(numerator) FILTER (WHERE counted))::DOUBLE, sum(denominator) FILTER (WHERE counted),
    coalesce(sum(covered) FILTER (WHERE counted), 0)::BIGINT, sum(eligible)::BIGINT
FROM kpi_facts
WHERE kpi <> 'handling_time' AND "day" >= $start AND "day" < $end AND {_CHOSEN}
GROUP BY kpi
"""  # noqa: S608 - our own text

_CHOSEN_TIMES = f"""
SELECT 'chosen', quantile_disc(minutes, 0.5), quantile_disc(minutes, 0.9), count(minutes), count(*)
FROM kpi_facts
WHERE kpi = 'handling_time' AND "day" >= $start AND "day" < $end AND {_CHOSEN}
HAVING count(*) > 0
"""  # noqa: S608 - our own text


@dataclass(frozen=True, slots=True)
class PeriodKpi:
    """One KPI of one segment over a period. `value` None means unknown, never zero; minutes for the AHT proxies."""

    segment: str
    kpi: str
    value: float | None
    numerator: float | None
    denominator: float | None
    ci_low: float | None
    ci_high: float | None
    coverage: float | None
    covered: int
    eligible: int
    note: str | None
    definition: str
    prior: float | None = None


def wilson(successes: float, total: float, z: float = 1.959964) -> tuple[float, float]:
    """The Wilson score interval of a proportion (Wilson 1927), 95 % by default; `total` > 0."""
    z2 = z * z
    half = z * (successes * (total - successes) / total + z2 / 4) ** 0.5
    low, high = (successes + z2 / 2 - half) / (total + z2), (successes + z2 / 2 + half) / (total + z2)
    return max(0.0, low), min(1.0, high)


def newest_day(con: duckdb.DuckDBPyConnection) -> datetime | None:
    """Start of the newest UTC day that has a KPI."""
    row = con.execute("SELECT max(period_start) FROM kpis").fetchone()
    return row[0] if row else None


def period_kpis(
    con: duckdb.DuckDBPyConnection, start: datetime, end: datetime, by: str | None = None
) -> list[PeriodKpi]:
    """The KPI table for days in [start, end), naive UTC.

    `by` adds the segments of one dimension (intent, priority, tier, tenant or gate) to `all`;
    `prior` is the value over the period of equal length just before.
    """
    now = _period(con, start, end, by)
    before = {(row.segment, row.kpi): row.value for row in _period(con, start - (end - start), start, by)}
    rows = [replace(row, prior=before.get((row.segment, row.kpi))) for row in now]
    places = _PLACES
    return sorted(rows, key=lambda row: (row.segment != "all", row.segment, places.get(row.kpi, len(places)), row.kpi))


def _period(con: duckdb.DuckDBPyConnection, start: datetime, end: datetime, by: str | None) -> list[PeriodKpi]:
    parameters = {"start": start, "end": end, "by": f"{by}:" if by else "all"}
    return _kpis(con.execute(_SUMS, parameters).fetchall(), con.execute(_TIMES, parameters).fetchall())


def chosen_kpis(
    con: duckdb.DuckDBPyConnection,
    start: datetime,
    end: datetime,
    *,
    tenants: Sequence[str] = (),
    intents: Sequence[str] = (),
) -> list[PeriodKpi]:
    """The KPI table for days in [start, end) of some tenants (``""``: of none) and intents together; empty: of all.

    Of a published snapshot, whose `kpi_facts` it reads. `prior` as in `period_kpis`; the segment is ``chosen``.
    """

    def over(start: datetime, end: datetime) -> list[PeriodKpi]:
        parameters = {"start": start, "end": end, "tenants": list(tenants), "intents": list(intents)}
        return _kpis(
            con.execute(_CHOSEN_SUMS, parameters).fetchall(), con.execute(_CHOSEN_TIMES, parameters).fetchall()
        )

    before = {row.kpi: row.value for row in over(start - (end - start), start)}
    rows = [replace(row, prior=before.get(row.kpi)) for row in over(start, end)]
    return sorted(rows, key=lambda row: (_PLACES.get(row.kpi, len(_PLACES)), row.kpi))


def _kpis(sums: Sequence[Sequence[Any]], times: Sequence[Sequence[Any]]) -> list[PeriodKpi]:
    found = [_ratio(row) for row in sums if not row[1].startswith("aht_")]
    for segment, median, p90, known, total in times:
        for kpi, value in (("aht_proxy_median", median), ("aht_proxy_p90", p90)):
            note = "unknown: no data" if not known else "proxy; n < 30" if known < 30 else "proxy"
            found.append(
                PeriodKpi(segment, kpi, value, None, None, None, None, known / total, known, total, note, f"{kpi}/1")
            )
    return found


def _ratio(row: Sequence[Any]) -> PeriodKpi:
    segment, kpi, numerator, denominator, covered, eligible = row
    coverage = covered / eligible if eligible else None
    value = numerator if kpi in _COUNTS else numerator / denominator if denominator else None
    low, high = (None, None)
    if denominator and kpi not in _AVERAGES and kpi not in _COUNTS:
        low, high = wilson(numerator, denominator)
    return PeriodKpi(
        segment, kpi, value, numerator, denominator, low, high, coverage, covered, eligible,
        _note(kpi, denominator, coverage), f"{kpi}/1",
    )  # fmt: skip


def _note(kpi: str, denominator: float | None, coverage: float | None) -> str | None:
    """What to keep in mind; the same words as the daily rows of `kpis` use."""
    if denominator == 0:
        if kpi == "fcr":
            return "immature: the window has not passed"
        measured = kpi in ("escalation_precision", "escalation_recall", "csat")
        return "not measured: no feedback" if measured else "unknown: no data"
    notes = []
    if coverage is not None and coverage < 1 and kpi == "fcr":
        notes.append("younger days are immature and left out")
    elif coverage is not None and coverage < 0.8:
        notes.append("partial data")
    if kpi in ("escalation_precision_proxy", "csat_sentiment_proxy"):
        notes.append("proxy")
    if denominator is not None and denominator < 30:
        notes.append("n < 30")
    return "; ".join(notes) or None


def last_days(con: duckdb.DuckDBPyConnection, days: int) -> tuple[datetime, datetime] | None:
    """The last `days` UTC days up to and including the newest one that has data; None when there is none."""
    newest = newest_day(con)
    if newest is None:
        return None
    end = newest + timedelta(days=1)
    return end - timedelta(days=days), end
