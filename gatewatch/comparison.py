"""The tables of the work database and of the snapshot beside the same ones judged anew: differences as sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import duckdb

from ingest.ledger.merkle import Frontier
from ingest.verify import attach, foreign_objects
from transforms.compute import NOT_PUBLIC
from transforms.publish import KPI_FACTS, KPI_FACTS_SQL, public_tables
from transforms.views import views

_NOT_REPLAYED = frozenset({"finding_history", "verifications"})
"""What says when something was noticed. It has no second source; only whether both have the same can be asked."""

_NOTED_AGAIN = frozenset({"links"})
"""A key that ties runs together may be noted once for each refresh that met it: such tables are compared as sets."""

_STATE = "SELECT (SELECT count(*) FROM {0}.batches), (SELECT count(*) FROM {0}.verifications)"

_TABLES = """
SELECT table_name, '' FROM duckdb_tables() WHERE database_name = $db AND NOT internal
UNION ALL SELECT view_name, sql FROM duckdb_views() WHERE database_name = $db AND NOT internal
ORDER BY ALL
"""

_WRITING = re.compile(r'"(?:query_location(?:_length)?|is_implicit)":\w+')
"""Where in its text a part of a query stands, and whether a cross join was written as a comma."""

_ABOUT = """
SELECT a.events = (SELECT count(*) FROM kept_snapshot.events)
    AND a.quarantined = (SELECT count(*) FROM kept_snapshot.quarantine)
    AND a.first_event_ts IS NOT DISTINCT FROM (SELECT min(ts) FROM kept_snapshot.events)
    AND a.last_event_ts IS NOT DISTINCT FROM (SELECT max(ts) FROM kept_snapshot.events)
    AND a.last_received_at IS NOT DISTINCT FROM (SELECT max(received_at) FROM kept_snapshot.batches WHERE lines > 0)
    AND (a.policy, a.policy_version, a.policy_digest) = (p.name, p.version, p.digest)
FROM kept_snapshot.about AS a CROSS JOIN kept_snapshot.policy_about AS p
"""


class State(NamedTuple):
    """What a database was when its tables were judged: how many chunks it had, and how many verifications."""

    chunks: int
    verifications: int


def compare_work(judged: duckdb.DuckDBPyConnection, work: Path) -> list[str]:
    """What the work database does not have as `judged` has it, which was made beside it. Raises duckdb.Error."""
    with _beside(judged, work) as con:
        ours = _tables(con, _database(con))
        problems = _foreign(con, "kept_work", "the work database", ours)
        for table in sorted(set(ours) - _NOT_REPLAYED):
            problems += _differences(con, "kept_work", "the work database", table)
    return problems


def older_state(judged: duckdb.DuckDBPyConnection, work: Path, snapshot: Path) -> State | None:
    """The state that the snapshot has to be, where it is not that of the work database. Raises duckdb.Error."""
    with _beside(judged, work, snapshot) as con:
        if not all(_columns(con, "kept_snapshot", table) for table in ("batches", "verifications")):
            return None
        then, now = (State(*con.execute(_STATE.format(kept)).fetchall()[0]) for kept in ("kept_snapshot", "kept_work"))
    older = min(then.chunks, now.chunks), min(then.verifications, now.verifications)
    return State(*older) if older != now else None


def compare_snapshot(
    judged: duckdb.DuckDBPyConnection, work: Path, snapshot: Path, *, older: bool = False
) -> list[str]:
    """What the snapshot does not have as `judged` has it, which is of the same state; `older`: than that of `work`.

    Raises duckdb.Error.
    """
    with _beside(judged, work, snapshot) as con:
        return list(_snapshot(con, older=older))


def _snapshot(con: duckdb.DuckDBPyConnection, *, older: bool) -> Iterator[str]:
    name = "the snapshot"
    if _columns(con, "kept_snapshot", "policy_about"):
        mine, its = (con.execute(f"SELECT digest FROM {db}policy_about").fetchall() for db in ("", "kept_snapshot."))  # noqa: S608
        if mine != its:
            yield f"{name}: it was not judged by the policy and own rules that the work database was judged by"
            return
    for table in sorted(set(public_tables()) - {"finding_history", KPI_FACTS}):
        yield from _differences(con, "kept_snapshot", name, table)
    con.execute(f'CREATE OR REPLACE TEMP VIEW "{KPI_FACTS}_of_ours" AS {KPI_FACTS_SQL}')
    yield from _differences(con, "kept_snapshot", name, KPI_FACTS, "temp", f"{KPI_FACTS}_of_ours")
    con.execute(f'DROP VIEW temp."{KPI_FACTS}_of_ours"')
    rows: int | None = None
    if older and _columns(con, "kept_snapshot", "finding_history"):
        ((rows,),) = con.execute("SELECT count(*) FROM kept_snapshot.finding_history").fetchall()
    yield from _differences(con, "kept_snapshot", name, "finding_history", "kept_work", first=rows)
    for view in views():
        con.execute(f'CREATE OR REPLACE TEMP VIEW "expected_{view.name}" AS {view.sql}')
        yield from _differences(con, "kept_snapshot", name, view.name, "temp", f"expected_{view.name}")
    expected = dict.fromkeys((*public_tables(), "about"), "")
    expected |= {view.removeprefix("expected_"): sql for view, sql in _tables(con, "temp").items() if sql}
    yield from _foreign(con, "kept_snapshot", name, expected)
    if not _columns(con, "kept_snapshot", "about") or con.execute(_ABOUT).fetchall() != [(True,)] or not _has_root(con):
        yield f"{name}: about does not say what the other tables hold"


def _has_root(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the snapshot's `about` names the root of the tree over its chunks."""
    leaves = con.execute("SELECT leaf_hash FROM kept_snapshot.batches ORDER BY batch_id").fetchall()
    root = Frontier(bytes.fromhex(leaf) for (leaf,) in leaves).root().hex()
    return con.execute("SELECT ledger_root FROM kept_snapshot.about").fetchall() == [(root,)]


@contextmanager
def _beside(
    judged: duckdb.DuckDBPyConnection, work: Path, snapshot: Path | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to `judged` that has the two attached, as `kept_work` and `kept_snapshot`."""
    files = {"kept_work": work} | ({"kept_snapshot": snapshot} if snapshot else {})
    with judged.cursor() as con:  # which does not see a refresh's temporary tables: they hide kept ones of a name
        con.execute(f'USE "{_database(judged)}"')  # nor does it share what the connection uses
        try:
            for name, path in files.items():
                attach(con, path, name)
            yield con
        finally:
            for name in files:
                con.execute(f"DETACH DATABASE IF EXISTS {name}")


def _database(con: duckdb.DuckDBPyConnection) -> str:
    ((name,),) = con.execute("SELECT current_database()").fetchall()
    return str(name)


def _tables(con: duckdb.DuckDBPyConnection, database: str) -> dict[str, str]:
    """The tables and views of a database that are not DuckDB's own, with a view's query; that of a table is empty."""
    found: dict[str, str] = {}
    for name, sql in con.execute(_TABLES, {"db": database}).fetchall():
        query = sql.partition(" AS ")[2].rstrip("; \n")
        # As a tree: the text of one query is another after the database was opened again.
        ((tree,),) = con.execute("SELECT json_serialize_sql($query::VARCHAR)", {"query": query}).fetchall()
        found[name] = query and _WRITING.sub("", tree)
    return found


def _foreign(con: duckdb.DuckDBPyConnection, kept: str, name: str, ours: Mapping[str, str]) -> list[str]:
    """What is none of ours, or is a view where ours is a table, or another view."""
    found = _tables(con, kept)
    return [
        *(f"{name}: there is a {foreign}, which is none of ours" for foreign in foreign_objects(con, kept)),
        *(f"{name}: there is a table {table!r}, which is none of ours" for table in sorted(set(found) - set(ours))),
        *(f"{name}: {table} is not made as ours is" for table, sql in found.items() if ours.get(table, sql) != sql),
    ]


def _columns(con: duckdb.DuckDBPyConnection, database: str, table: str) -> list[str]:
    rows = con.execute(
        "SELECT column_name FROM duckdb_columns() WHERE database_name = $db AND table_name = $table ORDER BY ALL",
        {"db": database, "table": table},
    ).fetchall()
    return [name for (name,) in rows]


def _differences(
    con: duckdb.DuckDBPyConnection,
    kept: str,
    name: str,
    table: str,
    beside: str | None = None,
    ours: str | None = None,
    first: int | None = None,
) -> list[str]:
    """How a table of `kept` differs from ours, which is in the judged database, or `ours` in the database `beside`.

    `first`: only so many rows of ours count, in the order in which they were written.
    """
    beside, ours = beside or _database(con), ours or table
    columns, found = _columns(con, beside, ours), _columns(con, kept, table)
    if kept == "kept_snapshot":
        columns = [column for column in columns if column != NOT_PUBLIC]
    if found != columns:
        return [f"{name}: the table {table} {'has other columns' if found else 'is missing'}"]
    # All names are our own.
    listed = ", ".join(f'"{column}"' for column in columns)
    source = f'{beside}."{ours}"' if first is None else f'(FROM {beside}."{ours}" ORDER BY rowid LIMIT {first})'
    here = f"SELECT {listed}, TRUE AS here FROM {source}"  # noqa: S608
    there = f'SELECT {listed}, FALSE FROM {kept}."{table}"'  # noqa: S608
    # Counts what EXCEPT ALL would in either direction, at once and at a quarter of the cost.
    most = "least(count(*) FILTER ({}), 1)" if table in _NOTED_AGAIN else "count(*) FILTER ({})"
    sides = f"{most.format('here')} AS ours, {most.format('NOT here')} AS theirs"
    query = (
        "SELECT coalesce(sum(ours - theirs) FILTER (ours > theirs), 0), "  # noqa: S608
        "coalesce(sum(theirs - ours) FILTER (theirs > ours), 0) "
        f"FROM (SELECT {sides} FROM ({here} UNION ALL {there}) GROUP BY {listed})"
    )
    ((missing, foreign),) = con.execute(query).fetchall()
    if not missing and not foreign:
        return []
    return [f"{name}: {table}: {missing} rows are missing or changed, {foreign} are not what events and policy lead to"]
