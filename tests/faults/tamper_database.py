"""Tampering with rows: of the tables that the ledger leads to, and of those that are judged, in both databases."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from tests.faults.tampered import Trial, What, kind

STORED = ("events", "quarantine", "batches", "sources", "positions", "gaps", "meta")
"""What the ledger alone leads to. `verifications` is what this program says itself, and has no second source."""

_OTHER = {
    "VARCHAR": "coalesce({0}, '') || 'x'",
    "BOOLEAN": "NOT coalesce({0}, FALSE)",
    "TIMESTAMP": "coalesce({0}, TIMESTAMP '2026-01-01') + INTERVAL 1 SECOND",
    "DATE": "coalesce({0}, DATE '2026-01-01') + 1",
    "VARCHAR[]": "list_append(coalesce({0}, []), 'x')",
}


_NULL_OR_EMPTY = "CASE WHEN {0} IS NULL THEN [] ELSE NULL END"
"""For lists of anything else."""


@contextmanager
def opened(path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The database of a trial, which is a link to everybody's until now."""
    own = path.with_name(f"{path.name}.own")
    shutil.copyfile(path, own)
    own.replace(path)
    with duckdb.connect(str(path)) as con:
        yield con


def change_rows(con: duckdb.DuckDBPyConnection, table: str, chance: random.Random) -> str:
    """Edit, delete or repeat one random row of a table, or put one into an empty one: what was done."""
    rows = [row for (row,) in con.execute(f'SELECT rowid FROM "{table}"').fetchall()]
    if not rows:
        con.execute(f'INSERT INTO "{table}" DEFAULT VALUES')
        return f"{table}: a row in an empty table"
    row, change = chance.choice(rows), chance.choice(("edit", "edit", "delete", "insert"))
    if change == "delete":
        con.execute(f'DELETE FROM "{table}" WHERE rowid = ?', [row])
    elif change == "insert":
        con.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}" WHERE rowid = ?', [row])
    else:
        columns = con.execute(f'DESCRIBE "{table}"').fetchall()
        name, told, *_ = chance.choice(columns)
        number = any(told.startswith(sign) for sign in ("BIGINT", "INTEGER", "DOUBLE", "DECIMAL", "HUGEINT", "UBIGINT"))
        other = "coalesce({0}, 0) + 1" if number else _OTHER.get(told, _NULL_OR_EMPTY)
        con.execute(
            f'UPDATE "{table}" SET "{name}" = {other.format(f"""x."{name}" """)} FROM "{table}" AS x '
            f'WHERE "{table}".rowid = ? AND x.rowid = ?',
            [row, row],
        )
        return f"{table}.{name} ({told}) edited"
    return f"{table}: {change}"


@kind(What.DATABASE, 260)
def change_a_row(trial: Trial) -> None:
    with opened(trial.data / "work.duckdb") as con:
        change_rows(con, trial.chance.choice(STORED), trial.chance)


@kind(What.DATABASE, 15)
def drop_a_table(trial: Trial) -> None:
    with opened(trial.data / "work.duckdb") as con:
        con.execute(f'DROP TABLE "{trial.chance.choice(STORED)}"')


@kind(What.DATABASE, 15)
def empty_a_table(trial: Trial) -> None:
    table = trial.chance.choice([table for table in STORED if table != "gaps"])
    with opened(trial.data / "work.duckdb") as con:
        con.execute(f'DELETE FROM "{table}"')


@kind(What.DATABASE, 20)
def change_a_leaf_hash(trial: Trial) -> None:
    with opened(trial.data / "work.duckdb") as con:
        con.execute(
            "UPDATE batches SET leaf_hash = sha256(leaf_hash) WHERE batch_id = ?",
            [trial.chance.randrange(1, con.execute("SELECT count(*) FROM batches").fetchall()[0][0] + 1)],
        )


@kind(What.DATABASE, 20)
def damage_the_database_file(trial: Trial) -> None:
    path = trial.data / "work.duckdb"
    held = bytearray(path.read_bytes())
    place = trial.chance.randrange(0, len(held) - 8192)
    held[place : place + 8192] = trial.chance.randbytes(8192)
    path.unlink()
    path.write_bytes(held)
    # Where nothing is kept any more, damage is none.
    trial.changed = rows(path) != rows(trial.base.data / "work.duckdb")


def rows(path: Path) -> dict[str, list[tuple[object, ...]]] | None:
    """Every row of what the ledger leads to; None where they cannot be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            return {table: con.execute(f'SELECT * FROM "{table}" ORDER BY ALL').fetchall() for table in STORED}
    except duckdb.Error:
        return None
