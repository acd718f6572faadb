"""Which runs must be judged again: the groups that new events touch, and whatever is judged together with them.

A *group* is one correlation id of one tenant; events without a correlation id form one group a tenant and UTC day.
Groups that share an idempotency key, receipt, call, approval, proposal or decision can change each other's rows, so
they are always judged together. The bookkeeping is private to the work database:

==================  ==================================================================================================
``groups``          (group_no, tenant_key, group_key): numbered as first seen, so that recent runs have high numbers
``event_groups``    (seq, group_no): the group of every event
``links``           (link, group_no): a hash of every key by which one group can reach another
``fct_due``         when a group must be judged again though nothing new arrives (see `marts/fct_due.sql`)
==================  ==================================================================================================

Numbers are whole and ascending on purpose: DuckDB's zone maps then keep a refresh away from old rows.
"""

from __future__ import annotations

import duckdb

BLOCK = 122_880
"""Rows that DuckDB stores, and skips, together; the unit in which the scan for old events is narrowed."""

_MOST_RANGES = 64

_TABLES = (
    "CREATE TABLE IF NOT EXISTS groups (group_no BIGINT, tenant_key VARCHAR, group_key VARCHAR)",
    "CREATE TABLE IF NOT EXISTS event_groups (seq BIGINT, group_no BIGINT)",
    "CREATE TABLE IF NOT EXISTS links (link UBIGINT, group_no BIGINT)",
)

TENANT_KEY = "coalesce(tenant, '')"
"""Ids are unique within a tenant only, and no tenant is a tenant of its own."""


def group_key(time: str, of: str = "") -> str:
    """The SQL expression of a row's group within its tenant; `time` is the row's own column of event time."""
    return f"coalesce({of}correlation_id, '@' || CAST(CAST({time} AS DATE) AS VARCHAR))"


_KEYS = (
    "event_id", "ts", "kind", "side_effects", "idempotency_key", "receipt_id", "call_id", "approval_id", "proposal_id",
    "decision_id", "follow_up_of", "actions_attempted",
)  # fmt: skip
"""What says which group an event belongs to and which others it reaches."""

_NEW = f"""
CREATE OR REPLACE TEMP TABLE scope_new AS
SELECT seq, {", ".join(_KEYS)}, {TENANT_KEY} AS tenant_key, {group_key("ts")} AS group_key
FROM events
WHERE seq > $since
"""  # noqa: S608 - constants of this module

_NEW_GROUPS = """
CREATE OR REPLACE TEMP TABLE scope_new_groups AS
SELECT (SELECT coalesce(max(group_no), 0) FROM groups) + row_number() OVER (ORDER BY min(n.seq)) AS group_no,
    n.tenant_key, n.group_key
FROM scope_new AS n
ANTI JOIN groups AS g ON g.tenant_key = n.tenant_key AND g.group_key = n.group_key
GROUP BY n.tenant_key, n.group_key
"""

_EVENT_GROUPS = """
INSERT INTO event_groups
SELECT n.seq, g.group_no
FROM scope_new AS n
INNER JOIN groups AS g ON g.tenant_key = n.tenant_key AND g.group_key = n.group_key
ORDER BY n.seq
"""

# Hashed with MD5 and not with DuckDB's own hash, which another version may compute otherwise. Two keys with one hash
# cost a few runs more to judge and change nothing else.
_LINKS = """
INSERT INTO links
WITH claimed AS (
    SELECT seq, tenant_key, unnest(actions_attempted) AS claim FROM scope_new WHERE kind = 'decision.record'
),
keys AS (
    SELECT seq, tenant_key, 'idempotency' AS part, idempotency_key AS "value" FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'receipt', receipt_id FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'call', coalesce(call_id, event_id) FROM scope_new
        WHERE kind = 'action.receipt' OR (kind = 'tool.invocation' AND side_effects <> 'none')
    UNION ALL SELECT seq, tenant_key, 'approval', approval_id FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'proposal', proposal_id FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'decision', decision_id FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'decision', follow_up_of FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'group', follow_up_of FROM scope_new
    UNION ALL SELECT seq, tenant_key, 'idempotency', claim.idempotency_key FROM claimed
    UNION ALL SELECT seq, tenant_key, 'receipt', claim.receipt_id FROM claimed
    UNION ALL SELECT seq, tenant_key, 'call', claim.call_id FROM claimed
)
SELECT DISTINCT md5_number_lower(concat_ws(chr(31), k.tenant_key, k.part, k."value")), g.group_no
FROM keys AS k
INNER JOIN event_groups AS g ON g.seq = k.seq
WHERE k."value" IS NOT NULL AND g.seq > $since
UNION
SELECT md5_number_lower(concat_ws(chr(31), tenant_key, 'group', group_key)), group_no FROM scope_new_groups
"""

_DIRTY = """
CREATE OR REPLACE TEMP TABLE scope_numbers AS
SELECT DISTINCT group_no FROM event_groups WHERE seq > $since
UNION
SELECT d.group_no FROM fct_due AS d CROSS JOIN scope_clock AS k
WHERE d.due_us < CASE d.clock WHEN 'watermark' THEN k.watermark_us ELSE k.as_of_us END
UNION
SELECT g.group_no
FROM quarantine AS q
INNER JOIN events AS e ON e.event_id = q.event_id
INNER JOIN event_groups AS g ON g.seq = e.seq
LEFT JOIN retries AS r ON r.quarantine_id = q.quarantine_id
WHERE q.reason = 'event_conflict' AND greatest(q.seq, r.seq) > $since
"""

# A source that joins late pulls the watermark back, and what was decided waits again.
_RECALLED = """
INSERT INTO scope_numbers
SELECT DISTINCT g.group_no
FROM events AS e
INNER JOIN event_groups AS g ON g.seq = e.seq
CROSS JOIN scope_clock AS k
CROSS JOIN (
    SELECT greatest(max(t.run_timeout_us), max(t.grace_us), max(coalesce(p.grace_us, 0))) AS longest_us
    FROM policy_time AS t LEFT JOIN policy_pipelines AS p ON TRUE
) AS w
WHERE epoch_us(e.ts) + w.longest_us >= k.watermark_us
EXCEPT SELECT group_no FROM scope_numbers
"""

_REACHED = """
CREATE OR REPLACE TEMP TABLE scope_reached AS
SELECT DISTINCT other.group_no
FROM links AS other
SEMI JOIN (SELECT l.link FROM links AS l SEMI JOIN scope_frontier AS f ON f.group_no = l.group_no) AS mine
    ON mine.link = other.link
ANTI JOIN scope_numbers AS n ON n.group_no = other.group_no
"""


def number_new(con: duckdb.DuckDBPyConnection, since: int) -> None:
    """Give every event after the ledger number `since` its group, and note the keys that tie groups together.

    From 0 on, whatever was noted before is thrown away.
    """
    if since == 0:
        for name in ("groups", "event_groups", "links"):
            con.execute(f"DROP TABLE IF EXISTS {name}")
    for statement in _TABLES:
        con.execute(statement)
    con.execute(_NEW, {"since": since})
    con.execute(_NEW_GROUPS)
    con.execute("INSERT INTO groups SELECT * FROM scope_new_groups ORDER BY group_no")
    con.execute(_EVENT_GROUPS)
    con.execute(_LINKS, {"since": since})


def everything(con: duckdb.DuckDBPyConnection) -> None:
    """Put all groups into the scope: `scope_groups`, and `scope_events` as a view."""
    con.execute("CREATE OR REPLACE TEMP TABLE scope_groups AS SELECT * FROM groups")
    con.execute("CREATE OR REPLACE TEMP VIEW scope_events AS SELECT * FROM events")


def what_changed(con: duckdb.DuckDBPyConnection, since: int, *, recalled: bool) -> int:
    """Put the groups that must be judged again, and theirs, into the scope: `scope_groups` and `scope_events`.

    These are the groups of events after the ledger number `since`, of identities that were reused since, and of checks
    whose time has come by `scope_clock`, or come undone (`recalled`: the watermark fell back); closed over everything
    that they share. Returns how many groups that is.
    """
    con.execute(_DIRTY, {"since": since})
    if recalled:
        con.execute(_RECALLED)
    con.execute("CREATE OR REPLACE TEMP TABLE scope_frontier AS SELECT * FROM scope_numbers")
    while con.execute("SELECT 1 FROM scope_frontier LIMIT 1").fetchall():
        con.execute(_REACHED)
        con.execute("INSERT INTO scope_numbers SELECT * FROM scope_reached")
        con.execute("CREATE OR REPLACE TEMP TABLE scope_frontier AS SELECT * FROM scope_reached")
    con.execute(
        "CREATE OR REPLACE TEMP TABLE scope_groups AS "
        "SELECT g.* FROM groups AS g SEMI JOIN scope_numbers AS n ON n.group_no = g.group_no"
    )
    _load(con)
    ((count,),) = con.execute("SELECT count(*) FROM scope_groups").fetchall()
    return int(count)


def _load(con: duckdb.DuckDBPyConnection) -> None:
    """The scope's events, read once. Only blocks of rows that hold one of them are touched."""
    con.execute(
        "CREATE OR REPLACE TEMP TABLE scope_seqs AS "
        "SELECT e.seq FROM event_groups AS e SEMI JOIN scope_groups AS g ON g.group_no = e.group_no"
    )
    blocks = con.execute(
        f"SELECT min(seq), max(seq) FROM scope_seqs GROUP BY seq // {BLOCK} ORDER BY 1"  # noqa: S608 - a constant
    ).fetchall()
    ranges = " OR ".join(f"(seq BETWEEN {int(low)} AND {int(high)})" for low, high in blocks)
    narrowed = f"({ranges}) AND" if 0 < len(blocks) <= _MOST_RANGES else ""
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE scope_loaded AS "  # noqa: S608 - whole numbers only
        f"SELECT * FROM events WHERE {narrowed} seq IN (SELECT seq FROM scope_seqs)"
    )
    con.execute("CREATE OR REPLACE TEMP VIEW scope_events AS SELECT * FROM scope_loaded")
