"""Small inputs for the tests of ingest, and the tables of a data directory as plain values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import zstandard

from ingest.accounting import Accounting

Ingest = Callable[..., Accounting]
"""The fixture `ingest`: paths (and a dialect) in, the accounting out."""

TABLES = ("events", "quarantine", "batches", "sources", "positions", "gaps", "retries")
CLOCK = ("received_at", "first_received_at", "last_received_at", "leaf_hash", "bytes", "segment_offset")
"""Columns that hold a wall clock, or depend on how long its text is."""


def event(event_id: str = "e1", **fields: Any) -> dict[str, Any]:
    """A valid event of the smallest kind with free text."""
    return {
        "event_id": event_id,
        "ts": "2026-06-03T10:00:00Z",
        "kind": "tool.degradation",
        "correlation_id": "c1",
        "caller": "hermes",
        "tool": "mail",
        "fallback": "by hand",
        **fields,
    }


def line(event_id: str = "e1", **fields: Any) -> bytes:
    """The event as a line, without its newline."""
    return json.dumps(event(event_id, **fields), separators=(",", ":")).encode()


def lines(*ids: str) -> bytes:
    """A file of valid events with these ids."""
    return b"".join(line(event_id) + b"\n" for event_id in ids)


RECORD = """# DecisionRecord: {decision_id}

```yaml
decision_id: {decision_id}
ticket_id: T-1
terminal_state: RESOLVED
sla:
  resolved_at: 2026-06-03T12:00:00Z
```
"""


def record(decision_id: str = "DR-1") -> str:
    """A decision record without anything unusual."""
    return RECORD.format(decision_id=decision_id)


def tables(data: Path, without: tuple[str, ...] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table that ingest fills, in one order, without the columns named."""
    with duckdb.connect(str(data / "work.duckdb"), read_only=True) as connection:
        found = {}
        for table in TABLES:
            columns = [name for (name, *_) in connection.execute(f"DESCRIBE {table}").fetchall() if name in without]
            star = f"* EXCLUDE ({', '.join(columns)})" if columns else "*"
            found[table] = sorted(connection.execute(f"SELECT {star} FROM {table}").fetchall(), key=repr)
        return found


def query(data: Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query on the work database."""
    with duckdb.connect(str(data / "work.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def ledger_bytes(data: Path) -> bytes:
    """The content of all segments, one after the other."""
    content = b""
    for path in sorted((data / "ledger").glob("0*")):
        packed = path.suffix == ".zst"
        content += zstandard.ZstdDecompressor().decompress(path.read_bytes()) if packed else path.read_bytes()
    return content
