"""What a pending finding waits for: until which moment, by which clock, and who holds that clock back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import duckdb

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - naive UTC, as the database has it

# A gate waits for its pipeline's grace; of several pipelines that demand it of one shipment, for the longest.
_GATE = """
SELECT max(p.grace_us)
FROM gate_checks AS c
INNER JOIN policy_pipelines AS p ON p.pipeline = c.pipeline
WHERE c.status = 'pending' AND c.subject = $subject AND c.gate = $gate
  AND c.correlation_id IS NOT DISTINCT FROM $correlation AND c.tenant IS NOT DISTINCT FROM $tenant
  AND c.shipped_ts = $event_ts
"""

_LAST = "SELECT max(ts) FROM events WHERE list_contains($evidence::VARCHAR[], event_id)"

_CLOCK = """
SELECT k.watermark_us, min(s.source)
FROM clock AS k
CROSS JOIN policy_time AS t
LEFT JOIN sources AS s ON NOT s.complete AND epoch_us(s.max_ts) - t.allowed_lateness_us = k.watermark_us
GROUP BY k.watermark_us
"""

_FROM_LAST_EVIDENCE = frozenset({"terminal_state_missing", "key_conflict"})
"""Rules whose wait begins with the last event that they rest on, not with the first."""

_SHIPPED = frozenset({"gates", "approvals", "reconciliation", "retries", "agents", "runs"})
"""Families whose waiting times the policy names; what a rule of the user's own waits for, only its file says."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Times are naive UTC. `grace` and `until` are None when only the rule's own file knows how long it waits.

    The finding opens once `watermark` has passed `until`. `source` is the one that holds the watermark back.
    """

    grace: timedelta | None
    until: datetime | None
    watermark: datetime | None
    source: str | None


def waiting(con: duckdb.DuckDBPyConnection, finding: dict[str, Any], family: str | None) -> Waiting:
    """What this pending finding, a row of `findings`, waits for; `family` is its rule's."""
    rows = con.execute(_CLOCK).fetchall()
    watermark_us, source = rows[0] if rows else (None, None)
    watermark = None if watermark_us is None else _EPOCH + timedelta(microseconds=watermark_us)
    grace = _grace(con, finding, family)
    since = finding["event_ts"]
    if finding["rule"] in _FROM_LAST_EVIDENCE:
        since = _one(con, _LAST, evidence=finding["evidence"]) or since
    return Waiting(grace, None if grace is None else since + grace, watermark, source)


def _grace(con: duckdb.DuckDBPyConnection, finding: dict[str, Any], family: str | None) -> timedelta | None:
    if family not in _SHIPPED:
        return None
    if family == "gates":
        length = _one(
            con,
            _GATE,
            subject=finding["subject"],
            gate=finding["gate"],
            correlation=finding["correlation_id"],
            tenant=finding["tenant"],
            event_ts=finding["event_ts"],
        )
    elif finding["rule"] == "terminal_state_missing":
        length = _one(con, "SELECT run_timeout_us FROM policy_time")
    else:
        length = _one(con, "SELECT grace_us FROM policy_time")
    return None if length is None else timedelta(microseconds=length)


def _one(con: duckdb.DuckDBPyConnection, query: str, **parameters: Any) -> Any:
    row = con.execute(query, parameters).fetchone()
    return row[0] if row else None
