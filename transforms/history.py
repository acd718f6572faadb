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

_COLUMNS = "finding_id, rule, severity, status, subject, correlation_id, tenant, gate, event_ts, message, group_no"

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

# What had happened by the end of the grace and arrives after it is late evidence: in the run itself, or in one that
# shares a key with it. Not so where the same fact is now found under another name (a gate that passed too late): there
# the evidence settled what the finding is, and not that there is none.
_CLEARED = """
INSERT INTO finding_history
WITH arrived AS (
    SELECT g.group_no, min(epoch_us(n.ts)) AS first_us
    FROM scope_new AS n INNER JOIN event_groups AS g ON g.seq = n.seq GROUP BY g.group_no
),
cleared AS (
    SELECT b.*, f.status AS now FROM findings_before AS b
    LEFT JOIN findings AS f ON f.finding_id = b.finding_id
    WHERE b.status = 'open' AND (f.status IS NULL OR f.status <> 'open')
),
reached AS (
    SELECT c.group_no, other.group_no AS other_no
    FROM (SELECT DISTINCT group_no FROM cleared) AS c
    INNER JOIN links AS mine ON mine.group_no = c.group_no
    INNER JOIN links AS other ON other.link = mine.link
    UNION
    SELECT DISTINCT group_no, group_no FROM cleared
),
earliest AS (
    SELECT r.group_no, min(a.first_us) AS first_us
    FROM reached AS r INNER JOIN arrived AS a ON a.group_no = r.other_no GROUP BY r.group_no
),
renamed AS (
    SELECT DISTINCT c.finding_id
    FROM cleared AS c
    INNER JOIN rule_texts AS mine ON mine.rule = c.rule
    INNER JOIN findings AS f
        ON f.group_no = c.group_no AND f.subject = c.subject AND f.event_ts = c.event_ts AND f.rule <> c.rule
        AND f.gate IS NOT DISTINCT FROM c.gate
    INNER JOIN rule_texts AS its ON its.rule = f.rule AND its.family = mine.family
    ANTI JOIN findings_before AS old ON old.finding_id = f.finding_id
)
SELECT c.finding_id, $at, 'cleared',
    CASE
        WHEN $policy THEN 'policy'
        WHEN c.now = 'pending' THEN 'recalled'
        WHEN r.finding_id IS NULL AND n.first_us <= epoch_us(c.event_ts) + t.grace_us + t.clock_skew_us
            THEN 'late_evidence'
        ELSE 'evidence'
    END,
    c.rule, c.severity, c.subject, c.correlation_id, c.tenant, c.message
FROM cleared AS c
LEFT JOIN earliest AS n ON n.group_no = c.group_no
LEFT JOIN renamed AS r ON r.finding_id = c.finding_id
CROSS JOIN policy_time AS t
ORDER BY c.finding_id
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
            "status VARCHAR, subject VARCHAR, correlation_id VARCHAR, tenant VARCHAR, gate VARCHAR, "
            "event_ts TIMESTAMP, message VARCHAR, group_no BIGINT)"
        )


def write_changes(con: duckdb.DuckDBPyConnection, *, at: datetime, policy_changed: bool, whole: bool) -> None:
    """Write what opened and what cleared since `remember`; `at` is naive UTC."""
    parameters = {"at": at, "policy": policy_changed}
    con.execute(_OPENED, {**parameters, "all": whole, "none": NO_GROUP})
    con.execute(_CLEARED, parameters)
