"""Bring every relation up to date with `events` and the policy, in one transaction.

The result is a pure function of the two. Only what new events, or time, can have changed is computed anew: the groups
of runs in `transforms.scope`, and the hours and days that they touch. A full refresh is the same with every group in
the scope. Nothing here looks at a clock or at arrival, apart from `transforms.history`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import duckdb

from schemas.policy import Policy
from schemas.policy_tables import PolicyTable, policy_tables
from transforms import compute, history, scope
from transforms.catalogue import Relation, Rule, relations
from transforms.own_rules import NO_RULES, OwnRules, check_rows, judged_by, known_rules, rule_texts

NO_WATERMARK_US = 253_402_300_799_000_000
"""The watermark of finished input, 9999-12-31T23:59:59Z: every grace has run out."""

FINDING_COLUMNS = (
    "finding_id", "rule", "severity", "status", "subject", "correlation_id", "run_id", "tenant", "caller", "tool",
    "gate", "event_ts", "message", "evidence", "policy_digest",
)  # fmt: skip

# The ledger's own clock, the newest time at which anything was read or looked for, says how long a source has been
# silent. A wall clock would give another answer at each rebuild.
_SOURCES = """
CREATE OR REPLACE TEMP VIEW scope_sources AS
SELECT s.source, s.last_received_at, s.max_ts, s.complete,
    -- A producer writes to a topic; which partition a message goes to is the key's business.
    CASE s.kind WHEN 'kafka' THEN regexp_replace(s.source, '/[0-9]+$', '') ELSE s.source END AS feed,
    NOT s.complete AND coalesce(n.now_us - epoch_us(s.last_received_at) > t.idle_after_us, FALSE) AS idle,
    n.now_us - epoch_us(s.last_received_at) AS silent_us
FROM sources AS s
CROSS JOIN (SELECT max(epoch_us(received_at)) AS now_us FROM batches) AS n
CROSS JOIN policy_time AS t
"""

# Sources that are still being read hold the watermark back; a finished file counts as complete, a silent source is left
# out.
_CLOCK = """
CREATE OR REPLACE TEMP TABLE scope_clock AS
SELECT
    coalesce(
        (SELECT min(epoch_us(max_ts)) FROM scope_sources WHERE NOT complete AND NOT idle)
            - (SELECT allowed_lateness_us FROM policy_time),
        $no_watermark
    ) AS watermark_us,
    coalesce((SELECT max(epoch_us(ts)) FROM events), 0) AS as_of_us
"""

# A line that was tried again counts once: as what became of it in the end.
_CONFLICTS = """
CREATE OR REPLACE TEMP VIEW scope_conflicts AS
SELECT e.event_id, coalesce(e.tenant, '') AS tenant_key, count(*) AS n
FROM quarantine AS q
INNER JOIN scope_events AS e ON e.event_id = q.event_id
ANTI JOIN retries AS r ON r.quarantine_id = q.quarantine_id
WHERE q.reason = 'event_conflict'
GROUP BY e.event_id, coalesce(e.tenant, '')
"""

# Days on which something became old enough to be judged since the last refresh.
_RIPE = """
INSERT INTO scope_days
SELECT DISTINCT f."day" FROM fct_kpis AS f CROSS JOIN scope_clock AS k
WHERE f.from_us > $before AND f.from_us <= k.as_of_us
EXCEPT SELECT * FROM scope_days
"""


class _State(NamedTuple):
    """What the last refresh had seen: ledger number, digest of the SQL, digest of policy and own rules, its clock."""

    seq: int
    catalogue: str
    judged_by: str
    watermark_us: int
    as_of_us: int


def refresh(
    con: duckdb.DuckDBPyConnection, policy: Policy, *, now: datetime, own: OwnRules = NO_RULES, full: bool = False
) -> None:
    """Bring all marts and findings of the work database up to date for this policy and these own rules.

    `con` is the writer's connection to a database with the tables of `ingest.ledger.tables`; `now` is naive UTC and
    only dates what `finding_history` says. `full` computes everything anew, which a first refresh, another policy and
    another version of the SQL do by themselves. All or nothing: on an error the former tables stay.
    """
    wanted = (*relations(), *own.relations)
    judge, catalogue = judged_by(policy, own), _fingerprint(wanted)
    con.execute("BEGIN TRANSACTION")
    try:
        before = _state(con)
        whole = full or before is None or (before.judged_by, before.catalogue) != (judge, catalogue)
        if whole:
            _load_policy(con, policy, own)
        con.execute(_SOURCES)
        con.execute(_CLOCK, {"no_watermark": NO_WATERMARK_US})
        recalled = before is not None and _watermark_us(con) < before.watermark_us
        # Nobody but an own rule knows how long it waits, and so how far back a clock that fell behind reaches.
        whole = whole or (recalled and bool(own.relations))
        con.execute("CREATE OR REPLACE TEMP VIEW scope_all_events AS SELECT * FROM events")
        since = 0 if before is None or full else before.seq
        scope.number_new(con, since)
        if whole:
            scope.everything(con)
        touched = whole or scope.what_changed(con, since, recalled=recalled) > 0
        con.execute(_CONFLICTS)
        history.remember(con, whole=whole)
        compute.note_parts(con, wanted, whole=whole, before=True)
        if touched:
            compute.compute_groups(con, wanted, whole=whole)
            if not whole:
                compute.replace_groups(con, wanted)
            compute.note_parts(con, wanted, whole=whole, before=False)
        compute.compute_global(con, wanted)
        computed = tuple(relation for relation in own.relations if touched or relation.unit == "all")
        check_rows(con, OwnRules(computed, own.rules, own.digest))
        compute.own_pending(con, list(own.rules))
        if not whole and before is not None:
            con.execute(_RIPE, {"before": before.as_of_us})
        for part in ("hour", "day"):
            compute.compute_parts(con, wanted, part, whole=whole)
        con.execute("CREATE OR REPLACE TABLE clock AS SELECT * FROM scope_clock")
        compute.create_views(con, wanted)
        history.write_changes(con, at=now, policy_changed=before is not None and before.judged_by != judge, whole=whole)
        _keep_state(con, catalogue)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _watermark_us(con: duckdb.DuckDBPyConnection) -> int:
    ((watermark_us,),) = con.execute("SELECT watermark_us FROM scope_clock").fetchall()
    return int(watermark_us)


def _fingerprint(wanted: Sequence[Relation]) -> str:
    """A digest of all SQL: rows that another version of it computed must not stand beside new ones."""
    return hashlib.sha256("\n".join(f"{relation.name}\n{relation.sql}" for relation in wanted).encode()).hexdigest()


def _state(con: duckdb.DuckDBPyConnection) -> _State | None:
    con.execute("CREATE TABLE IF NOT EXISTS refreshed (seq BIGINT, catalogue VARCHAR)")
    if not con.execute("SELECT 1 FROM refreshed").fetchall():
        return None
    query = (
        "SELECT r.seq, r.catalogue, p.digest, k.watermark_us, k.as_of_us FROM refreshed AS r "
        "CROSS JOIN policy_about AS p CROSS JOIN clock AS k"
    )
    return _State(*con.execute(query).fetchall()[0])


def _keep_state(con: duckdb.DuckDBPyConnection, catalogue: str) -> None:
    con.execute("DELETE FROM refreshed")
    con.execute(
        "INSERT INTO refreshed SELECT greatest((SELECT coalesce(max(seq), 0) FROM events), "
        "(SELECT coalesce(max(seq), 0) FROM quarantine)), $catalogue",
        {"catalogue": catalogue},
    )


def severities(policy: Policy, known: Mapping[str, Rule]) -> list[tuple[str, str]]:
    """(rule, severity) for every rule: the policy's word, else the rule's own."""
    return [(name, policy.severity.get(name, rule.severity)) for name, rule in known.items()]


def _load_policy(con: duckdb.DuckDBPyConnection, policy: Policy, own: OwnRules) -> None:
    tables = policy_tables(policy)
    about = tables["policy_about"]
    everything = {
        **tables,
        "policy_about": about._replace(rows=[(*row[:-1], judged_by(policy, own)) for row in about.rows]),
        "policy_severity": PolicyTable(
            "a rule's severity", (("rule", "VARCHAR"), ("severity", "VARCHAR")), [*severities(policy, known_rules(own))]
        ),
        "rule_texts": rule_texts(own),
    }
    for name, table in everything.items():
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns)
        con.execute(f"CREATE OR REPLACE TABLE {name} ({columns})")
        if table.rows:
            places = ", ".join("?" for _ in table.columns)
            con.executemany(f"INSERT INTO {name} VALUES ({places})", table.rows)  # noqa: S608
