"""Compute the relations of a scope, and put their rows in the place of those that the same runs, hours or days had.

A kept table (a mart, a fact, `findings`) tells its rows apart by `group_no` (a private column), hour or day: what is
computed anew replaces the rows of exactly those. When everything is in the scope, the table is made anew instead; the
SQL is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb

from transforms.catalogue import RULE_COLUMNS, Relation, Unit, in_order
from transforms.own_rules import blaming
from transforms.scope import group_key

NO_GROUP = -1
"""The group of findings that belong to no run."""

NOT_PUBLIC = "group_no"
"""The column by which rows are replaced; it numbers runs as they arrived and is nobody's business."""

_TIMES = {"gate_checks": "x.shipped_ts", "fct_kpis": 'x."day"', "fct_due": "x.ts", "findings": "x.event_ts"}
"""The event time of a row, for the relations that may hold rows without a correlation id."""

_FINDINGS = """
SELECT
    md5(concat_ws(chr(31), f.rule, coalesce(f.tenant, ''), coalesce(f.correlation_id, ''), f.subject,
        coalesce(f.gate, ''), f.occurrence)) AS finding_id,
    f.rule, s.severity, f.status, f.subject, f.correlation_id, f.run_id, f.tenant, f.caller, f.tool, f.gate,
    f.event_ts, f.message,
    list_sort(list_distinct(list_filter(f.evidence, lambda x: x IS NOT NULL))) AS evidence,
    p.digest AS policy_digest
FROM {rules} AS f
INNER JOIN policy_severity AS s ON s.rule = f.rule
CROSS JOIN policy_about AS p
"""


def compute_groups(con: duckdb.DuckDBPyConnection, wanted: Sequence[Relation], *, whole: bool) -> None:
    """Compute all relations of the scope's groups, `findings` among them.

    With `whole` the kept ones become tables of the database; otherwise every one is temporary until `replace_groups`.
    """
    mine = {relation.name: relation for relation in wanted if relation.unit == "group"}
    rules = [name for name, relation in mine.items() if relation.layer == "rule"]
    for name in in_order(mine.values(), {"findings": rules}):
        if name == "findings":
            _collect(con, rules, "all_rules")
            sql = _FINDINGS.format(rules="all_rules")
        else:
            sql = mine[name].sql
        kept = name == "findings" or mine[name].kept
        if kept:
            sql = _with_group(name, sql, tenant="x.tenant_key" if name.startswith("fct_") else "x.tenant")
        if name == "findings":
            _create(con, name, sql, temporary=not whole)
        else:
            with blaming(con, mine[name]):
                _create(con, name, sql, temporary=not (kept and whole))


def replace_groups(con: duckdb.DuckDBPyConnection, wanted: Sequence[Relation]) -> None:
    """Put the temporary rows of the scope's groups in the place of those that the database has of them."""
    kept = [relation.name for relation in wanted if relation.kept and relation.unit == "group"]
    for name in [*kept, "findings"]:
        table = _stored(con, name)
        con.execute(f"DELETE FROM {table} WHERE group_no IN (SELECT group_no FROM scope_groups)")  # noqa: S608
        con.execute(f"INSERT INTO {table} SELECT * FROM temp.{name}")  # noqa: S608 - our own names
        con.execute(f"DROP TABLE temp.{name}")


def note_parts(con: duckdb.DuckDBPyConnection, wanted: Sequence[Relation], *, whole: bool, before: bool) -> None:
    """Note in `scope_hours` and `scope_days` which hours and days the scope's groups touch: before and after."""
    for part, kind in (("hour", "TIMESTAMP"), ("day", "DATE")):
        facts = [r.name for r in wanted if r.layer == "fact" and f'"{part}"' in r.sql and r.name != "fct_due"]
        only = "" if whole else "WHERE group_no IN (SELECT group_no FROM scope_groups)"
        union = " UNION ".join(f'SELECT "{part}" FROM {fact} {only}' for fact in facts)  # noqa: S608 - our own names
        if before:
            con.execute(f'CREATE OR REPLACE TEMP TABLE scope_{part}s ("{part}" {kind})')
        if not (before and whole):
            con.execute(f"INSERT INTO scope_{part}s ({union}) EXCEPT SELECT * FROM scope_{part}s")  # noqa: S608


def compute_parts(con: duckdb.DuckDBPyConnection, wanted: Sequence[Relation], part: Unit, *, whole: bool) -> None:
    """Compute what adds up the facts of the hours or days of the scope, and replace those hours or days."""
    mine = {relation.name: relation for relation in wanted if relation.unit == part}
    for name in in_order(mine.values(), {}):
        kept = mine[name].kept
        _create(con, name, mine[name].sql, temporary=not (kept and whole))
        if kept and not whole:
            table = _stored(con, name)
            column = '"hour"' if part == "hour" else "CAST(period_start AS DATE)"
            con.execute(f"DELETE FROM {table} WHERE {column} IN (SELECT * FROM scope_{part}s)")  # noqa: S608 - our own names
            con.execute(f"INSERT INTO {table} SELECT * FROM temp.{name}")  # noqa: S608
            con.execute(f"DROP TABLE temp.{name}")


def compute_global(con: duckdb.DuckDBPyConnection, wanted: Sequence[Relation]) -> None:
    """Compute the rules that look at stored tables as a whole, and what they read, and replace their findings."""
    mine = {relation.name: relation for relation in wanted if relation.unit == "all"}
    for name in in_order(mine.values(), {}):
        with blaming(con, mine[name]):
            _create(con, name, mine[name].sql, temporary=True)
    con.execute("DELETE FROM findings WHERE group_no = $none", {"none": NO_GROUP})
    rules = [name for name, relation in mine.items() if relation.layer == "rule"]
    if rules:
        _collect(con, rules, "global_rules")
        con.execute(
            f"INSERT INTO findings SELECT *, $none FROM ({_FINDINGS.format(rules='global_rules')})",  # noqa: S608
            {"none": NO_GROUP},
        )


def create_views(con: duckdb.DuckDBPyConnection, wanted: Iterable[Relation]) -> None:
    """Make the marts that are views over kept tables."""
    for relation in wanted:
        if relation.unit == "view":
            con.execute(f"CREATE OR REPLACE VIEW {relation.name} AS {relation.sql}")


def own_pending(con: duckdb.DuckDBPyConnection, own: Sequence[str]) -> None:
    """Have runs judged again at every move of the watermark while a rule of the user's own waits in them.

    Only the rule itself knows what it waits for; the shipped ones are foreseen by `fct_due`.
    """
    if own:
        con.execute(
            "INSERT INTO fct_due SELECT coalesce(tenant, ''), correlation_id, event_ts, 'watermark', -1, group_no "
            "FROM findings WHERE status = 'pending' AND list_contains($own, rule) "
            "AND group_no IN (SELECT group_no FROM scope_groups)",
            {"own": list(own)},
        )


def _create(con: duckdb.DuckDBPyConnection, name: str, sql: str, *, temporary: bool) -> None:
    kind = "TEMP TABLE" if temporary else "TABLE"
    con.execute(f"CREATE OR REPLACE {kind} {name} AS {sql}")


def _with_group(name: str, sql: str, tenant: str) -> str:
    key = group_key(_TIMES[name], "x.") if name in _TIMES else "x.correlation_id"
    return (
        f"SELECT x.*, g.group_no FROM ({sql}) AS x LEFT JOIN scope_groups AS g "  # noqa: S608 - our own files
        f"ON g.tenant_key = coalesce({tenant}, '') AND g.group_key = {key}"
    )


def _collect(con: duckdb.DuckDBPyConnection, rules: Iterable[str], view: str) -> None:
    columns = ", ".join(RULE_COLUMNS)
    # Both come from our own file names and constants, or from file names that were checked.
    union = " UNION ALL ".join(f"SELECT {columns} FROM {name}" for name in rules)  # noqa: S608
    con.execute(f"CREATE OR REPLACE TEMP VIEW {view} AS {union}")


def _stored(con: duckdb.DuckDBPyConnection, name: str) -> str:
    """The table of the database, and not the temporary one that hides it."""
    ((database,),) = con.execute("SELECT current_database()").fetchall()
    return f'"{database}".main.{name}'
