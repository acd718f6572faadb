"""`finding_history`: when we noticed that a finding opened or cleared, and why.

The one table that knows the wall clock and the order of arrival. It is no function of the events, and nothing reads it
to decide anything.
"""

from __future__ import annotations

from datetime import datetime

import duckdb

from transforms.compute import NO_GROUP

_TABLE = """
CREATE TABLE IF NOT EXISTS finding_history (
    finding_id VARCHAR, "at" TIMESTAMP, change VARCHAR, reason VARCHAR,
    rule VARCHAR, severity VARCHAR, subject VARCHAR, correlation_id VARCHAR, tenant VARCHAR, message VARCHAR
)
"""

_COLUMNS = "finding_id, rule, severity, status, subject, correlation_id, tenant, event_ts, message, group_no"

_BEFORE = """
CREATE OR REPLACE TEMP TABLE findings_before AS
SELECT {columns} FROM {findings} WHERE {all} OR group_no = {none} OR group_no IN (SELECT group_no FROM scope_groups)
"""

_OPENED = """
INSERT INTO finding_history
SELECT f.finding_id, $at, 'opened',
    CASE WHEN $policy THEN 'policy' WHEN b.finding_id IS NOT NULL THEN 'grace_over' ELSE 'evidence' END,
    f.rule, f.severity, f.subject, f.correlation_id, f.tenant, f.message
FROM findings AS f
LEFT JOIN findings_before AS b ON b.finding_id = f.finding_id
WHERE f.status = 'open' AND (b.status IS NULL OR b.status <> 'open')
    AND ($all OR f.group_no = $none OR f.group_no IN (SELECT group_no FROM scope_groups))
ORDER BY f.finding_id
"""

# What had happened by the end of the grace and arrives after it is late evidence; whatever else clears a finding
# happened later.
_CLEARED = """
INSERT INTO finding_history
SELECT b.finding_id, $at, 'cleared',
    CASE
        WHEN $policy THEN 'policy'
        WHEN n.first_us <= epoch_us(b.event_ts) + t.grace_us + t.clock_skew_us THEN 'late_evidence'
        ELSE 'evidence'
    END,
    b.rule, b.severity, b.subject, b.correlation_id, b.tenant, b.message
FROM findings_before AS b
LEFT JOIN findings AS f ON f.finding_id = b.finding_id AND f.status = 'open'
LEFT JOIN (
    SELECT g.group_no, min(epoch_us(n.ts)) AS first_us
    FROM scope_new AS n INNER JOIN event_groups AS g ON g.seq = n.seq GROUP BY g.group_no
) AS n ON n.group_no = b.group_no
CROSS JOIN policy_time AS t
WHERE b.status = 'open' AND f.finding_id IS NULL
ORDER BY b.finding_id
"""


def remember(con: duckdb.DuckDBPyConnection, *, whole: bool) -> None:
    """Keep what holds now of the scope's runs (of all of them with `whole`), before it is replaced."""
    con.execute(_TABLE)
    # Of this database only: a backtest has a snapshot attached, which holds findings as well.
    there = con.execute(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = current_database() AND table_name = 'findings'"
    ).fetchall()
    if there:
        everything = "TRUE" if whole else "FALSE"
        con.execute(_BEFORE.format(columns=_COLUMNS, findings="findings", all=everything, none=NO_GROUP))
    else:
        con.execute(
            "CREATE OR REPLACE TEMP TABLE findings_before (finding_id VARCHAR, rule VARCHAR, severity VARCHAR, "
            "status VARCHAR, subject VARCHAR, correlation_id VARCHAR, tenant VARCHAR, event_ts TIMESTAMP, "
            "message VARCHAR, group_no BIGINT)"
        )


def write_changes(con: duckdb.DuckDBPyConnection, *, at: datetime, policy_changed: bool, whole: bool) -> None:
    """Write what opened and what cleared since `remember`; `at` is naive UTC."""
    parameters = {"at": at, "policy": policy_changed}
    con.execute(_OPENED, {**parameters, "all": whole, "none": NO_GROUP})
    con.execute(_CLEARED, parameters)
