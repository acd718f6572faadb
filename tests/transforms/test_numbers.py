"""Numbers with their denominators: hand-worked rates, retries, periods and intervals."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import duckdb
import pytest

from schemas.policy import Policy
from tests.oracle.cases import attempt, event, policy, record
from tests.support.engine import judged
from transforms.periods import PeriodKpi, last_days, period_kpis, wilson

DAY = datetime(2026, 6, 10)  # noqa: DTZ001 - naive UTC, as the store has it
NOON = datetime(2026, 6, 3, 12)  # noqa: DTZ001


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # Newcombe (1998), Statistics in Medicine 17:857, table I, method 3: the score interval without correction.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # z² / (1 + z²) by hand, and its mirror image.
        (0, 1, 0.0, 0.7935),
        (1, 1, 0.2065, 1.0),
    ],
)
def test_wilson(successes: int, total: int, low: float, high: float) -> None:
    """The published interval to four digits, never outside 0..1."""
    found = wilson(successes, total)
    assert [round(bound, 4) for bound in found] == [low, high]
    assert 0.0 <= found[0] <= successes / total <= found[1] <= 1.0


CALLS = [
    # k1: failed, then retried with success; k2: at once; k3: two failures, then its fallback, which the record admits.
    attempt("a1", 0, "failed", call_id="k1", attempt=1, error_class="transient", idempotency_key="i1"),
    attempt("a2", 1, "success", call_id="k1", attempt=2, idempotency_key="i1"),
    attempt("a3", 2, "success", call_id="k2"),
    attempt("a4", 3, "failed", call_id="k3", attempt=1, error_class="transient", idempotency_key="i3"),
    attempt("a5", 4, "failed", call_id="k3", attempt=2, error_class="transient", idempotency_key="i3"),
    event("tool.degradation", "d1", 5, caller="hermes", tool="issue_refund", fallback="hand_to_human", call_id="k3"),
    record("r1", 9, degradations=[{"call_id": "k3", "note": "by hand"}]),
    # Another hour, and another tenant in the first hour.
    attempt("a6", 3_600, "denied", call_id="k4"),
    attempt("a7", 10, "success", call_id="k1", tenant="acme"),
]


@pytest.fixture(scope="module")
def counted() -> Iterator[duckdb.DuckDBPyConnection]:
    """The calls above, judged once."""
    with judged(CALLS, Policy.model_validate(policy())) as con:
        yield con


def test_outcome_rates_by_attempt_and_by_call(counted: duckdb.DuckDBPyConnection) -> None:
    """5 attempts of which 3 failed, but 3 calls of which 1 failed: the last attempt decides. Tenants never mix."""
    rows = counted.execute(
        "SELECT level, outcome, n, total, round(rate, 4), round(ci_low, 4), round(ci_high, 4) FROM outcome_rates "
        "WHERE hour = ? AND tenant IS NULL ORDER BY level, outcome",
        [NOON],
    ).fetchall()
    assert rows == [
        ("attempt", "failed", 3, 5, 0.6, 0.2307, 0.8824),
        ("attempt", "success", 2, 5, 0.4, 0.1176, 0.7693),
        ("call", "failed", 1, 3, 0.3333, 0.0615, 0.7923),
        ("call", "success", 2, 3, 0.6667, 0.2077, 0.9385),
    ]
    others = counted.execute(
        "SELECT hour, tenant, level, outcome, n, total FROM outcome_rates WHERE hour <> ? OR tenant IS NOT NULL "
        "ORDER BY ALL",
        [NOON],
    ).fetchall()
    assert others == [
        (NOON, "acme", "attempt", "success", 1, 1),
        (NOON, "acme", "call", "success", 1, 1),
        (NOON + timedelta(hours=1), None, "attempt", "denied", 1, 1),
        (NOON + timedelta(hours=1), None, "call", "denied", 1, 1),
    ]


def test_retries_and_degradation_by_first_error(counted: duckdb.DuckDBPyConnection) -> None:
    """Two transient calls: 4 attempts, 2 retries, 1 recovered, 1 degraded and admitted; one call met no error."""
    rows = counted.execute(
        "SELECT error_class, calls, attempts, retries, recovered, degraded, degraded_noted FROM retry_degrade "
        "WHERE hour = ? AND tenant IS NULL ORDER BY error_class NULLS LAST",
        [NOON],
    ).fetchall()
    assert rows == [("transient", 2, 4, 2, 1, 1, 1), (None, 1, 1, 0, 0, 0, 0)]
    # One retry after a transient error is allowed, its key came along, and the fallback was taken and noted.
    assert counted.execute("SELECT sum(violations) FROM retry_degrade WHERE error_class = 'transient'").fetchall() == [
        (0,)
    ]


Kpi = tuple[int, str, str, float | None, float | None, int, int]
KPIS: list[Kpi] = [
    # (days before DAY, segment, kpi, numerator, denominator, covered, eligible)
    (0, "all", "containment", 3, 4, 4, 4),
    (1, "all", "containment", 30, 36, 36, 36),
    (2, "all", "containment", 1, 10, 10, 10),
    (0, "intent:billing", "containment", 1, 2, 2, 2),
    (0, "priority:P1", "containment", 0, 1, 1, 1),
    (0, "all", "cost_per_resolution", 6.0, 3, 3, 4),
    (1, "all", "cost_per_resolution", 0.0, 0, 0, 6),
    (0, "all", "kb_gaps_filed", 2, None, 2, 2),
    (1, "all", "kb_gaps_filed", 3, None, 3, 3),
    (0, "all", "csat", 0.0, 0, 0, 4),
    (0, "all", "fcr", 0, 0, 0, 3),
    (0, "all", "false_deflection", 0, 0, 0, 4),
]
RUNS = [
    # (days before DAY, intent, minutes from received to terminal)
    (0, "billing", 10),
    (0, "billing", 20),
    (0, "defect", 90),
    (1, "defect", None),
    (1, None, 30),
    (2, "defect", 1),
]


@pytest.fixture(scope="module")
def periods() -> Iterator[duckdb.DuckDBPyConnection]:
    """Two tables as they are published, filled by hand."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE kpis (period_start TIMESTAMP, segment VARCHAR, kpi VARCHAR, numerator DOUBLE, "
            "denominator DOUBLE, covered BIGINT, eligible BIGINT)"
        )
        con.execute(
            "CREATE TABLE runs (terminal_state VARCHAR, terminal_at TIMESTAMP, received_at TIMESTAMP, intent VARCHAR, "
            "priority VARCHAR, model_tier VARCHAR, tenant VARCHAR)"
        )
        for before, *rest in KPIS:
            con.execute("INSERT INTO kpis VALUES (?, ?, ?, ?, ?, ?, ?)", [DAY - timedelta(days=before), *rest])
        for before, intent, minutes in RUNS:
            end = DAY - timedelta(days=before) + timedelta(hours=12)
            start = None if minutes is None else end - timedelta(minutes=minutes)
            con.execute("INSERT INTO runs VALUES ('RESOLVED', ?, ?, ?, NULL, NULL, NULL)", [end, start, intent])
        yield con


def found(con: duckdb.DuckDBPyConnection, days: int, by: str | None = None) -> dict[tuple[str, str], PeriodKpi]:
    """The KPIs of the last days by segment and key."""
    window = last_days(con, days)
    assert window is not None
    return {(row.segment, row.kpi): row for row in period_kpis(con, *window, by)}


def test_a_period_is_the_sum_of_its_days(periods: duckdb.DuckDBPyConnection) -> None:
    """33 of 40 over two days, not the mean of 75 % and 83 %; the third day is the prior period's."""
    assert last_days(periods, 2) == (DAY - timedelta(days=1), DAY + timedelta(days=1))
    row = found(periods, 2)["all", "containment"]
    assert (row.numerator, row.denominator, row.value, row.coverage) == (33, 40, 0.825, 1.0)
    # Wilson for 33 of 40, by hand: (33 + 1.9207 ± 1.96 √(33·7/40 + 0.9604)) / 43.8415.
    assert (round(row.ci_low or 0, 3), round(row.ci_high or 0, 3)) == (0.681, 0.913)
    assert row.prior == pytest.approx(0.1)
    assert row.note is None
    one = found(periods, 1)["all", "containment"]
    assert (one.value, one.prior, one.note) == (0.75, pytest.approx(30 / 36), "n < 30")


def test_what_is_not_known_is_none_and_says_why(periods: duckdb.DuckDBPyConnection) -> None:
    """Never 0: no cost, no feedback, a window that has not passed. Under 80 % coverage it is partial data."""
    rows = found(periods, 2)
    assert (rows["all", "csat"].value, rows["all", "csat"].note) == (None, "not measured: no feedback")
    assert (rows["all", "fcr"].value, rows["all", "fcr"].note) == (None, "immature: the window has not passed")
    assert (rows["all", "false_deflection"].value, rows["all", "false_deflection"].note) == (None, "unknown: no data")
    cost = rows["all", "cost_per_resolution"]
    assert (cost.value, cost.covered, cost.eligible, cost.coverage) == (2.0, 3, 10, 0.3)
    assert cost.note == "partial data; n < 30"
    assert (cost.ci_low, cost.ci_high) == (None, None)  # an average of amounts is no proportion


def test_counts_add_up(periods: duckdb.DuckDBPyConnection) -> None:
    """Gaps filed over two days: 5, and no interval."""
    row = found(periods, 2)["all", "kb_gaps_filed"]
    assert (row.value, row.denominator, row.ci_low) == (5, None, None)


def test_medians_come_from_the_runs_and_not_from_the_days(periods: duckdb.DuckDBPyConnection) -> None:
    """Of 10, 20, 30 and 90 minutes the lower median is 20 and the p90 is 90; 4 of 5 runs say when they came in."""
    rows = found(periods, 2)
    assert (rows["all", "aht_proxy_median"].value, rows["all", "aht_proxy_p90"].value) == (20, 90)
    assert (rows["all", "aht_proxy_median"].covered, rows["all", "aht_proxy_median"].eligible) == (4, 5)
    assert "proxy" in (rows["all", "aht_proxy_median"].note or "")
    assert rows["all", "aht_proxy_median"].prior == 1


def test_a_dimension_adds_its_segments_and_no_others(periods: duckdb.DuckDBPyConnection) -> None:
    """By intent: the billing line beside all, and not P1; `all` comes first."""
    window = last_days(periods, 1)
    assert window is not None
    rows = period_kpis(periods, *window, "intent")
    segments = [row.segment for row in rows]
    assert set(segments) == {"all", "intent:billing", "intent:defect"}
    assert segments.index("intent:billing") > max(n for n, segment in enumerate(segments) if segment == "all")
    times = {row.segment: row.value for row in rows if row.kpi == "aht_proxy_median"}
    assert times == {"all": 20, "intent:billing": 10, "intent:defect": 90}
    assert {row.segment for row in period_kpis(periods, *window)} == {"all"}


def test_a_period_of_one_day_says_what_that_day_says(sample: duckdb.DuckDBPyConnection) -> None:
    """The command line adds days up in one place, SQL computes them in another: same values, intervals and words."""
    days = sample.execute("SELECT DISTINCT period_start FROM kpis ORDER BY 1 LIMIT 3").fetchall()
    columns = (
        "kpi",
        "value",
        "numerator",
        "denominator",
        "ci_low",
        "ci_high",
        "covered",
        "eligible",
        "note",
        "definition",
    )
    query = f"SELECT {', '.join(columns)} FROM kpis WHERE segment = 'all' AND period_start = ? ORDER BY kpi"
    for (day,) in days:
        daily = sample.execute(query, [day]).fetchall()
        rows = sorted(period_kpis(sample, day, day + timedelta(days=1)), key=lambda row: row.kpi)
        assert daily
        for row, expected in zip(rows, daily, strict=True):
            computed = tuple(getattr(row, name) for name in columns)
            assert computed == pytest.approx(expected, abs=1e-6), row.kpi


def test_no_data_is_no_period() -> None:
    """An empty snapshot has no newest day."""
    with duckdb.connect() as con:
        con.execute("CREATE TABLE kpis (period_start TIMESTAMP)")
        none: Any = last_days(con, 30)
        assert none is None
