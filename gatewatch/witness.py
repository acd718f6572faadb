"""Whether the tables that people read are what events and policy lead to: judged anew beside them, and compared."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb

from gatewatch.times import utc_now
from ingest.ledger.store import remove_database, store_error
from ingest.lock import holding
from ingest.rebuild import STORE
from schemas.policy import Policy
from schemas.policy_file import policy_digest
from transforms.publish import public_tables
from transforms.refresh import refresh

_NOT_REPLAYED = {"finding_history"}
"""What says when something was noticed; it has no second source to be held against."""


def tampered_tables(data: Path, policy: Policy) -> list[str]:
    """A sentence for each table of the work database or the snapshot that is not what events and policy lead to.

    Judges the events of a copy of `<data>/work.duckdb` again. Whether those events are the ledger's is for
    `ingest.verify` to say, first. Changes nothing. Raises LockedError, StoreError or DiskError.
    """
    with holding(data):
        copy = data / f"{STORE}.judged"
        remove_database(copy)
        try:
            shutil.copyfile(data / STORE, copy)
            with duckdb.connect(str(copy)) as con:
                judged_by = _digest(con)
                if judged_by is None:
                    return ["nothing has been judged yet: run `gatewatch rebuild`"]
                if judged_by != policy_digest(policy):
                    return [f"the tables were judged by another policy ({judged_by}): run `gatewatch rebuild`"]
                kept = {"the work database": data / STORE}
                if (data / "gatewatch.duckdb").exists():
                    kept["the snapshot"] = (data / "gatewatch.duckdb").resolve()
                for number, path in enumerate(kept.values()):
                    quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
                    con.execute(f"ATTACH '{quoted}' AS kept_{number} (READ_ONLY)")
                refresh(con, policy, now=utc_now())
                return [
                    problem
                    for number, name in enumerate(kept)
                    for table in sorted(set(public_tables()) - _NOT_REPLAYED)
                    for problem in _differences(con, f"kept_{number}", name, table)
                ]
        except duckdb.Error as error:
            raise store_error(error, data / STORE) from None
        finally:
            remove_database(copy)


def _digest(con: duckdb.DuckDBPyConnection) -> str | None:
    tables = con.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = 'policy_about'").fetchall()
    rows = con.execute("SELECT digest FROM policy_about").fetchall() if tables else []
    return str(rows[0][0]) if rows else None


def _differences(con: duckdb.DuckDBPyConnection, kept: str, name: str, table: str) -> list[str]:
    # Both names are our own constants.
    there = con.execute(
        "SELECT 1 FROM duckdb_tables() WHERE database_name = $db AND table_name = $table", {"db": kept, "table": table}
    ).fetchall()
    if not there:
        return [f"{name}: the table {table} is missing"]
    ours = f'SELECT * FROM "{table}"'  # noqa: S608
    theirs = f'SELECT * FROM {kept}."{table}"'  # noqa: S608
    query = (
        f"SELECT (SELECT count(*) FROM ({ours} EXCEPT ALL {theirs})), "  # noqa: S608
        f"(SELECT count(*) FROM ({theirs} EXCEPT ALL {ours}))"
    )
    ((missing, foreign),) = con.execute(query).fetchall()
    if not missing and not foreign:
        return []
    return [f"{name}: {table}: {missing} rows are missing or changed, {foreign} are not what events and policy lead to"]
