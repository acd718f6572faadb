"""The SQL engine on a handful of events, without ledger or files: what the oracle's verdicts are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import duckdb
import polars as pl

from ingest.ledger.tables import create_tables
from schemas.columns import POLARS_SCHEMA, row_of
from schemas.events import KINDS
from schemas.fields import parse_rfc3339
from schemas.policy import Policy
from transforms.refresh import refresh

NOTED = ("_floor_ts", "_redacted")
NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it


@contextmanager
def judged(
    events: Iterable[dict[str, Any]],
    policy: Policy,
    watermark: datetime | None = None,
    facts: Mapping[str, Sequence[Mapping[str, Any]]] = MappingProxyType({}),
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with these events, refreshed under this policy.

    `watermark` None: every source is finished; else an open source whose watermark it is. `facts` are rows of the other
    tables that ingest writes, by table.
    """
    with duckdb.connect(config={"threads": 1}) as con:
        create(con)
        load(con, events)
        set_watermark(con, policy, watermark)
        for table, rows in facts.items():
            insert(con, table, rows)
        refresh(con, policy, now=NOW)
        yield con


def create(con: duckdb.DuckDBPyConnection) -> None:
    """The empty tables that ingest would have made."""
    for statement in create_tables():
        con.execute(statement)


def set_watermark(con: duckdb.DuckDBPyConnection, policy: Policy, watermark: datetime | None) -> None:
    """One open source whose watermark this is, or none at all: everything is finished."""
    con.execute("DELETE FROM sources")
    if watermark is not None:
        newest = _naive(watermark) + policy.time.allowed_lateness
        con.execute("INSERT INTO sources (source, max_ts, complete) VALUES ('s', ?, FALSE)", [newest])


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Append rows to a table; columns that a row does not name are NULL."""
    for row in rows:
        columns, places = ", ".join(f'"{name}"' for name in row), ", ".join("?" for _ in row)
        values = [_naive(value) if isinstance(value, datetime) else value for value in row.values()]
        con.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", values)


def _naive(value: datetime) -> datetime:
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value


def load(con: duckdb.DuckDBPyConnection, events: Iterable[dict[str, Any]]) -> None:
    """Append events to `events`, in the order given.

    `_floor_ts` and `_redacted` are no fields of an event but what ingest noted about it: columns of the table.
    """
    rows = []
    ((last,),) = con.execute("SELECT coalesce(max(seq), 0) FROM events").fetchall()
    for seq, event in enumerate(events, start=last + 1):
        said = {name: value for name, value in event.items() if name not in NOTED}
        row = row_of(KINDS[event["kind"]].model_validate(said))
        if event.get("_floor_ts") is not None:
            row["floor_ts"] = _naive(parse_rfc3339(event["_floor_ts"]))
        row["redacted"] = event.get("_redacted")
        rows.append({**row, "seq": seq, "dialect": "native"})
    if rows:
        frame = pl.DataFrame(rows, schema=POLARS_SCHEMA)
        con.register("frame", frame)
        con.execute("INSERT INTO events BY NAME SELECT * FROM frame")
        con.unregister("frame")
