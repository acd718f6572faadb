"""Two independent implementations agree: the SQL and the plain Python oracle say the same of any history.

One refresh judges many histories at once, each under tenants of its own, since planning fifty statements costs the
same for eight events as for eight hundred.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.policy_file import parse_policy
from tests.laws.conduct import contract_histories, run_histories
from tests.laws.lane import lane_histories, routing_histories
from tests.laws.policies import POLICIES, POLICIES_TOML
from tests.laws.strategies import histories, policy_names, watermarks
from tests.oracle import evaluate
from tests.support.engine import judged
from transforms.catalogue import rules

Event = dict[str, Any]
Rows = list[tuple[Any, ...]]

_CHECKS = """
SELECT tenant, correlation_id, subject, shipped_event_id, pipeline, gate, position, status, decision_event_id,
    cause_event_id, silent, verdict
FROM gate_checks
"""
_RECONCILED = """
SELECT tenant, correlation_id, status, match_key, claim_event_id, position,
    list_sort(list_filter(evidence_event_ids, lambda x: x IS NOT NULL)), subject, verdict
FROM reconciliation
"""
_VERDICTS = """
SELECT rule, tenant, correlation_id, subject, status = 'pending'
FROM findings
WHERE list_contains($rules, rule)
"""
_DATED = """
SELECT rule, tenant, correlation_id, subject, status = 'pending', event_ts, list_sort(evidence)
FROM findings
WHERE list_contains($rules, rule)
"""
_FINDINGS = "SELECT rule, tenant, correlation_id, subject, status FROM findings WHERE list_contains($rules, rule)"

# What speaks of arrival is a matter of the ledger, which the oracle does not know.
_JUDGED = ("gates", "approvals", "reconciliation", "retries", "contracts", "runs", "agents", "routing")


def _apart(number: int, history: list[Event]) -> list[Event]:
    """The history under tenants and event ids of its own; the first keeps its own, null tenants included.

    The suffix sorts before letters and digits, so that ids keep their order among themselves.
    """
    if number == 0:
        return history
    return [
        {**event, "event_id": f"{event['event_id']}#{number}", "tenant": f"{number}:{event.get('tenant') or ''}"}
        for event in history
    ]


def _sorted(rows: Any) -> Rows:
    plain = [tuple(tuple(value) if isinstance(value, list) else value for value in row) for row in rows]
    return sorted(plain, key=lambda row: [(value is not None, str(value)) for value in row])


def _opened(rows: Rows) -> tuple[set[tuple[Any, ...]], set[tuple[Any, ...]]]:
    opened = {row[:4] for row in rows if row[4] == "open"}
    return opened, {row[:4] for row in rows if row[4] == "pending"} - opened


def _of(*families: str) -> list[str]:
    """The rules of some families."""
    return [name for name, rule in rules().items() if rule.family in families]


def _difference(sql: Rows, oracle: Rows) -> str:
    only_sql, only_oracle = [r for r in sql if r not in oracle], [r for r in oracle if r not in sql]
    return f"only the SQL: {only_sql}\nonly the oracle: {only_oracle}"


def compare(batch: list[list[Event]], policy: str, watermark: datetime | None) -> None:
    """Hold the SQL's tables over all histories at once against the oracle's rows for each."""
    apart = [_apart(number, history) for number, history in enumerate(batch)]
    said = [evaluate(history, POLICIES[policy], watermark) for history in apart]
    with judged(
        (event for history in apart for event in history), parse_policy(POLICIES_TOML[policy]), watermark
    ) as con:
        checks = _sorted(con.execute(_CHECKS).fetchall())
        reconciled = _sorted(con.execute(_RECONCILED).fetchall())
        verdicts = _sorted(con.execute(_VERDICTS, {"rules": _of("agents", "routing")}).fetchall())
        dated = _sorted(con.execute(_DATED, {"rules": _of("contracts", "runs")}).fetchall())
        opened, pending = _opened(con.execute(_FINDINGS, {"rules": _of(*_JUDGED)}).fetchall())
        _one_id_each(con)
    _same(checks, [row for result in said for row in result.gate_checks])
    _same(reconciled, [row for result in said for row in result.reconciliation])
    _same(verdicts, [row for result in said for row in [*result.agents, *result.routing]])
    _same(dated, [row for result in said for row in [*result.contracts, *result.runs]])
    _same(opened, [row for result in said for row in result.findings])
    _same(pending, [row for result in said for row in result.pending])


def _same(sql: Any, oracle: Any) -> None:
    assert _sorted(sql) == _sorted(oracle), _difference(_sorted(sql), _sorted(oracle))


def _one_id_each(con: duckdb.DuckDBPyConnection) -> None:
    twice = con.execute(
        "SELECT finding_id, list(rule) FROM findings GROUP BY finding_id HAVING count(*) > 1"
    ).fetchall()
    assert twice == []


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(
        st.one_of(histories(), lane_histories(), routing_histories(), contract_histories(), run_histories()),
        min_size=1,
        max_size=16,
    ),
    policy_names(),
    watermarks(),
)
def test_the_sql_and_the_oracle_agree(batch: list[list[Event]], policy: str, watermark: datetime | None) -> None:
    """An auditor's finding must not depend on which of two implementations is asked."""
    compare(batch, policy, watermark)
