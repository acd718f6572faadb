"""Compute every relation from `events` and the policy, in one transaction.

The result is a pure function of the two: nothing here looks at a clock or at arrival, apart from `finding_history`,
which records when something was noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import duckdb

from schemas.policy import Policy
from schemas.policy_file import policy_digest
from schemas.policy_tables import PolicyTable, policy_tables
from transforms.catalogue import RULE_COLUMNS, Relation, Rule, in_order, relations, rules

NO_WATERMARK_US = 253_402_300_799_000_000
"""The watermark of finished input, 9999-12-31T23:59:59Z: every grace has run out."""

FINDING_COLUMNS = (
    "finding_id", "rule", "severity", "status", "subject", "correlation_id", "run_id", "tenant", "caller", "tool",
    "gate", "event_ts", "message", "evidence", "policy_digest",
)  # fmt: skip

_HISTORY = (
    'CREATE TABLE IF NOT EXISTS finding_history (finding_id VARCHAR, "at" TIMESTAMP, change VARCHAR, reason VARCHAR)'
)

# Sources that are still being read hold the watermark back; a finished file counts as complete.
_CLOCK = """
CREATE OR REPLACE TEMP TABLE scope_clock AS
SELECT
    coalesce(
        (SELECT min(epoch_us(max_ts)) - (SELECT allowed_lateness_us FROM policy_time) FROM sources WHERE NOT complete),
        $no_watermark
    ) AS watermark_us,
    coalesce((SELECT max(epoch_us(ts)) FROM events), 0) AS as_of_us
"""

_FINDINGS = """
CREATE OR REPLACE TABLE findings AS
SELECT
    md5(concat_ws(chr(31), f.rule, coalesce(f.tenant, ''), coalesce(f.correlation_id, ''), f.subject,
        coalesce(f.gate, ''), f.occurrence)) AS finding_id,
    f.rule, s.severity, f.status, f.subject, f.correlation_id, f.run_id, f.tenant, f.caller, f.tool, f.gate,
    f.event_ts, f.message,
    list_distinct(list_filter(f.evidence, lambda x: x IS NOT NULL)) AS evidence,
    p.digest AS policy_digest
FROM all_rules AS f
INNER JOIN policy_severity AS s ON s.rule = f.rule
CROSS JOIN policy_about AS p
ORDER BY f.event_ts, f.rule, f.subject, f.gate
"""

_OPENED = """
INSERT INTO finding_history
SELECT finding_id, $at, 'opened', $reason FROM findings WHERE status = 'open'
EXCEPT ALL
SELECT finding_id, $at, 'opened', $reason FROM findings_before
"""

_CLEARED = """
INSERT INTO finding_history
SELECT finding_id, $at, 'cleared', $reason FROM findings_before
EXCEPT ALL
SELECT finding_id, $at, 'cleared', $reason FROM findings WHERE status = 'open'
"""


def refresh(con: duckdb.DuckDBPyConnection, policy: Policy, *, now: datetime) -> None:
    """Recompute all marts and findings of the work database for this policy.

    `con` is the writer's connection to a database with `events` and `sources` (see `ingest.ledger.store`); `now` is
    naive UTC and only dates what `finding_history` says. All or nothing: on an error the former tables stay.
    """
    con.execute("BEGIN TRANSACTION")
    try:
        reason = _remember(con, policy)
        _load_policy(con, policy_tables(policy), severities(policy, rules()))
        con.execute("CREATE OR REPLACE TEMP VIEW scope_events AS SELECT * FROM events")
        con.execute(_CLOCK, {"no_watermark": NO_WATERMARK_US})
        compute(con, relations())
        con.execute(_OPENED, {"at": now, "reason": reason})
        con.execute(_CLEARED, {"at": now, "reason": reason})
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def compute(con: duckdb.DuckDBPyConnection, wanted: tuple[Relation, ...]) -> None:
    """Materialise the relations in order, and `findings` once all rules are there."""
    by_name = {relation.name: relation for relation in wanted}
    rule_names = [relation.name for relation in wanted if relation.layer == "rule"]
    for name in in_order(wanted, {"findings": rule_names}):
        if name == "findings":
            _collect_findings(con, rule_names)
            continue
        kind = "TABLE" if by_name[name].public else "TEMP TABLE"
        con.execute(f"CREATE OR REPLACE {kind} {name} AS {by_name[name].sql}")


def severities(policy: Policy, known: Mapping[str, Rule]) -> list[tuple[str, str]]:
    """(rule, severity) for every rule: the policy's word, else the rule's own."""
    return [(name, policy.severity.get(name, rule.severity)) for name, rule in known.items()]


def _collect_findings(con: duckdb.DuckDBPyConnection, rule_names: list[str]) -> None:
    columns = ", ".join(RULE_COLUMNS)
    # Both come from our own file names and constants.
    union = " UNION ALL ".join(f"SELECT {columns} FROM {name}" for name in rule_names)  # noqa: S608
    con.execute(f"CREATE OR REPLACE TEMP VIEW all_rules AS {union}")
    con.execute(_FINDINGS)


def _remember(con: duckdb.DuckDBPyConnection, policy: Policy) -> str:
    """Keep what was open before, and say what may change it: new evidence, or another policy."""
    con.execute(_HISTORY)
    tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()}
    if "findings" not in tables:
        con.execute("CREATE OR REPLACE TEMP TABLE findings_before (finding_id VARCHAR)")
        return "evidence"
    con.execute("CREATE OR REPLACE TEMP TABLE findings_before AS SELECT finding_id FROM findings WHERE status = 'open'")
    before = con.execute("SELECT digest FROM policy_about").fetchall()
    return "evidence" if before == [(policy_digest(policy),)] else "policy"


def _load_policy(
    con: duckdb.DuckDBPyConnection, tables: Mapping[str, PolicyTable], severity: list[tuple[str, str]]
) -> None:
    everything = {
        **tables,
        "policy_severity": PolicyTable(
            "a rule's severity", (("rule", "VARCHAR"), ("severity", "VARCHAR")), list(severity)
        ),
    }
    for name, table in everything.items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns)
        con.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if table.rows:
            places = ", ".join("?" for _ in table.columns)
            con.executemany(f"INSERT INTO {name} VALUES ({places})", table.rows)  # noqa: S608
