"""The SQL engine on a handful of events, without ledger or files: what the oracle's verdicts are held against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import duckdb
import polars as pl

from schemas.columns import POLARS_SCHEMA, create_table, row_of
from schemas.events import KINDS
from schemas.policy import Policy
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it


@contextmanager
def judged(
    events: Iterable[dict[str, Any]], policy: Policy, watermark: datetime | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory with these events, refreshed under this policy.

    `watermark` None: every source is finished; else an open source whose watermark it is.
    """
    with duckdb.connect() as con:
        con.execute(create_table("events"))
        con.execute("CREATE TABLE sources (source VARCHAR, max_ts TIMESTAMP, complete BOOLEAN)")
        load(con, events)
        if watermark is not None:
            naive = watermark.astimezone(UTC).replace(tzinfo=None) if watermark.tzinfo else watermark
            con.execute("INSERT INTO sources VALUES ('s', ?, FALSE)", [naive + policy.time.allowed_lateness])
        refresh(con, policy, now=NOW)
        yield con


def load(con: duckdb.DuckDBPyConnection, events: Iterable[dict[str, Any]]) -> None:
    """Append events to `events`, in the order given."""
    rows = []
    for seq, event in enumerate(events, start=1):
        row = row_of(KINDS[event["kind"]].model_validate(event))
        rows.append({**row, "seq": seq, "dialect": "native", "content_sha256": "", "extra": None, "warnings": None})
    if rows:
        frame = pl.DataFrame(rows, schema=POLARS_SCHEMA)
        con.register("frame", frame)
        con.execute("INSERT INTO events BY NAME SELECT * FROM frame")
        con.unregister("frame")
