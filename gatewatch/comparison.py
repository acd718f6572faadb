"""The tables of the work database and of the snapshot beside the same ones judged anew: differences as sentences."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from ingest.ledger.merkle import Frontier
from transforms.compute import NOT_PUBLIC
from transforms.publish import public_tables
from transforms.views import views

_NOT_REPLAYED = frozenset({"finding_history", "verifications"})
"""What says when something was noticed. It has no second source; only whether both have the same can be asked."""

_GROWS = ("batches", "verifications", "finding_history")
"""Tables that only ever grow: a snapshot with fewer rows is an older one."""

_NOTED_AGAIN = frozenset({"links"})
"""A key that ties runs together may be noted once for each refresh that met it: such tables are compared as sets."""

_ABOUT = """
SELECT a.events = (SELECT count(*) FROM kept_snapshot.events)
    AND a.quarantined = (SELECT count(*) FROM kept_snapshot.quarantine)
    AND a.first_event_ts IS NOT DISTINCT FROM (SELECT min(ts) FROM kept_snapshot.events)
    AND a.last_event_ts IS NOT DISTINCT FROM (SELECT max(ts) FROM kept_snapshot.events)
    AND a.last_received_at IS NOT DISTINCT FROM (SELECT max(received_at) FROM kept_snapshot.batches WHERE lines > 0)
    AND (a.policy, a.policy_version, a.policy_digest) = (p.name, p.version, p.digest)
FROM kept_snapshot.about AS a CROSS JOIN kept_snapshot.policy_about AS p
"""


def compare(judged: duckdb.DuckDBPyConnection, work: Path, snapshot: Path | None) -> tuple[list[str], list[str]]:
    """What work database and snapshot (None: there is none) do not have as `judged` has it; and what was left out.

    Raises duckdb.Error.
    """
    problems: list[str] = []
    left_out: list[str] = []
    with judged.cursor() as con:  # which does not see a refresh's temporary tables: they hide kept ones of a name
        _attach(con, work, "kept_work")
        ours = _tables(con, _database(con))
        for table in sorted(ours - _NOT_REPLAYED):
            problems += _differences(con, "kept_work", "the work database", table)
        problems += _foreign(con, "kept_work", "the work database", ours)
        if snapshot is not None:
            _attach(con, snapshot, "kept_snapshot")
            if any(_is_shorter(con, table) for table in _GROWS):
                problems += list(_no_older_state(con))
                left_out.append("the snapshot: a run was interrupted before it was published anew")
            else:
                problems += list(_snapshot(con))
    return problems, left_out


def _snapshot(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """The differences of a snapshot that is as new as the work database."""
    name = "the snapshot"
    for table in sorted(set(public_tables()) - _NOT_REPLAYED):
        yield from _differences(con, "kept_snapshot", name, table)
    for table in sorted(_NOT_REPLAYED):
        if _tables(con, "kept_work") & {table}:
            yield from _differences(con, "kept_snapshot", name, table, "kept_work")
    for view in views():
        con.execute(f'CREATE OR REPLACE TEMP VIEW "expected_{view.name}" AS {view.sql}')
        yield from _differences(con, "kept_snapshot", name, view.name, "temp", f"expected_{view.name}")
    yield from _foreign(con, "kept_snapshot", name, set(public_tables()) | {"about"})
    if not _columns(con, "kept_snapshot", "about") or con.execute(_ABOUT).fetchall() != [(True,)] or not _has_root(con):
        yield f"{name}: about does not say what the other tables hold"


def _has_root(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the snapshot's `about` names the root of the tree over its chunks."""
    leaves = con.execute("SELECT leaf_hash FROM kept_snapshot.batches ORDER BY batch_id").fetchall()
    root = Frontier(bytes.fromhex(leaf) for (leaf,) in leaves).root().hex()
    return con.execute("SELECT ledger_root FROM kept_snapshot.about").fetchall() == [(root,)]


def _no_older_state(con: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """What a snapshot with fewer rows has that no earlier state had: then it is not simply old."""
    name = "the snapshot"
    for table in (*_GROWS, "events", "quarantine"):
        if not _columns(con, "kept_snapshot", table):
            yield f"{name}: the table {table} is missing"
            return
    ((ends, last),) = con.execute("SELECT max(first_seq + lines), max(batch_id) FROM kept_snapshot.batches").fetchall()
    then = {"batches": f"batch_id <= {last or 0}", "events": f"seq < {ends or 0}", "quarantine": f"seq < {ends or 0}"}
    for table, condition in then.items():
        yield from _differences(con, "kept_snapshot", name, table, where=condition)
    for table in ("verifications", "finding_history"):
        query = f"SELECT count(*) FROM (FROM kept_snapshot.{table} EXCEPT ALL FROM kept_work.{table})"  # noqa: S608
        ((foreign,),) = con.execute(query).fetchall()
        if foreign:
            yield f"{name}: {table}: {foreign} rows are not in the work database"


def _attach(con: duckdb.DuckDBPyConnection, path: Path, name: str) -> None:
    quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
    con.execute(f"ATTACH '{quoted}' AS {name} (READ_ONLY)")


def _database(con: duckdb.DuckDBPyConnection) -> str:
    ((name,),) = con.execute("SELECT current_database()").fetchall()
    return str(name)


def _tables(con: duckdb.DuckDBPyConnection, database: str) -> set[str]:
    """The tables and views of a database that are not DuckDB's own."""
    rows = con.execute(
        "SELECT DISTINCT table_name FROM duckdb_columns() WHERE database_name = $db AND NOT internal", {"db": database}
    ).fetchall()
    return {name for (name,) in rows}


def _foreign(con: duckdb.DuckDBPyConnection, kept: str, name: str, ours: set[str]) -> list[str]:
    known = ours | {view.name for view in views()}
    return [
        f"{name}: there is a table {table!r}, which is none of ours" for table in sorted(_tables(con, kept) - known)
    ]


def _is_shorter(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Whether a table that only ever grows has fewer rows in the snapshot than in the work database."""
    if not all(_columns(con, kept, table) for kept in ("kept_snapshot", "kept_work")):
        return False
    query = f"SELECT (SELECT count(*) FROM kept_snapshot.{table}) < (SELECT count(*) FROM kept_work.{table})"  # noqa: S608
    return con.execute(query).fetchall() == [(True,)]


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
    where: str = "TRUE",
) -> list[str]:
    """How a table of `kept` differs from ours, which is in the judged database, or `ours` in the database `beside`."""
    beside, ours = beside or _database(con), ours or table
    columns, found = _columns(con, beside, ours), _columns(con, kept, table)
    if kept == "kept_snapshot":
        columns = [column for column in columns if column != NOT_PUBLIC]
    if found != columns:
        return [f"{name}: the table {table} {'has other columns' if found else 'is missing'}"]
    # All names are our own.
    listed = ", ".join(f'"{column}"' for column in columns)
    here = f'SELECT {listed}, TRUE AS here FROM {beside}."{ours}" WHERE {where}'  # noqa: S608
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
