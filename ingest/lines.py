"""What travels through ingest: raw lines, where they came from, and the chunks that a source hands out."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

MAX_LINE_BYTES = 1 << 20
"""Longest line that is kept; 1 MiB is a thousand times a usual event, and bounds what one line can cost."""

MAX_CHUNK_BYTES = 4 << 20
"""Most bytes of lines in one chunk: the unit of the ledger, of a transaction and of what a crash repeats."""

MAX_CHUNK_LINES = 65_536
"""Most lines in one chunk, so that a file of empty lines cannot fill the memory with list entries."""

Position = dict[str, Any]
"""Where a source is, as JSON: only the source that wrote it interprets it."""


@dataclass(frozen=True, slots=True)
class OverLong:
    """Stands for a line that was too long to keep: its length in bytes and the SHA-256 of its bytes."""

    bytes: int
    sha256: str


Line = bytes | OverLong


@dataclass(frozen=True, slots=True)
class Source:
    """Where lines come from.

    `name` is what the tables call it, `kind` one of jsonl, stdin, decision_record; `dialect` is how its lines are to
    be understood (auto, native, xenia, decision_record).
    """

    name: str
    kind: str
    path: str
    dialect: str


@dataclass(frozen=True, slots=True)
class Received:
    """Lines in the order in which a source gave them, with its position before and after them.

    `final` says that the source ended here. `positions` are the entries of the store's `positions` table that hold
    once these lines are in it: key -> position.
    """

    source: Source
    lines: list[Line]
    start: Position
    end: Position
    final: bool
    positions: dict[str, Position] = field(default_factory=dict)


def readable(path: str) -> str:
    """A path as text that any table can hold: bytes of a name that are no UTF-8 are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
