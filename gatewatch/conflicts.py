"""An event id that was used twice: what is stored under it, and each line that was refused, with what differs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from gatewatch.reading import rows
from schemas.columns import SYSTEM_COLUMNS, row_of
from schemas.events import KINDS

MOST = 20
"""Refused lines that are shown; a producer that counts from 1 again at each start can make thousands."""

_SYSTEM = {column.name for column in SYSTEM_COLUMNS}

_STORED = """
SELECT b.source AS read_from, e.*
FROM events AS e
LEFT JOIN batches AS b ON e.seq >= b.first_seq AND e.seq < b.first_seq + b.lines
WHERE e.event_id = $event_id
"""

_REFUSED = """
SELECT quarantine_id, seq, source, position, received_at, line, count(*) OVER () AS lines
FROM quarantine
WHERE reason = 'event_conflict' AND event_id = $event_id
ORDER BY seq
LIMIT $most
"""


@dataclass(frozen=True, slots=True)
class Refused:
    """One refused line. `differs` is field → (stored, refused), None when the line cannot be read as an event."""

    quarantine_id: str
    seq: int
    source: str
    position: str
    received_at: datetime
    line: str | None
    differs: dict[str, tuple[Any, Any]] | None


@dataclass(frozen=True, slots=True)
class Conflict:
    """What is stored under an id (fields that have a value), from which line of which source, and what was refused.

    `lines` counts all refused lines; `refused` holds the first of them, in the order of the ledger.
    """

    stored: dict[str, Any]
    seq: int | None
    source: str | None
    lines: int
    refused: list[Refused]


def conflict(con: duckdb.DuckDBPyConnection, event_id: str) -> Conflict:
    """The stored event of this id and the lines that were refused because of it."""
    stored = rows(con, _STORED, event_id=event_id)
    event = stored[0] if stored else {}
    found = rows(con, _REFUSED, event_id=event_id, most=MOST)
    facts = {name: value for name, value in event.items() if name not in _SYSTEM and name != "read_from"}
    return Conflict(
        stored={name: value for name, value in facts.items() if value is not None},
        seq=event.get("seq"),
        source=event.get("read_from"),
        lines=found[0]["lines"] if found else 0,
        refused=[
            Refused(
                **{name: row[name] for name in Refused.__slots__ if name in row}, differs=_differs(facts, row["line"])
            )
            for row in found
        ],
    )


def _differs(stored: dict[str, Any], line: str | None) -> dict[str, tuple[Any, Any]] | None:
    """The fields in which a refused line differs from the stored event; spelling alone is no difference."""
    if line is None:
        return None
    try:
        said = json.loads(line)
        refused = row_of(KINDS[said["kind"]].model_validate(said))
    except (ValueError, TypeError, KeyError):
        return None  # a line of another dialect, or one whose redaction left no event
    return {
        name: (stored.get(name), refused.get(name))
        for name in sorted(stored.keys() | refused.keys())
        if stored.get(name) != refused.get(name)
    }
