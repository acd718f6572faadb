"""What travels through ingest: raw lines, where they came from, and the chunks that a source hands out."""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.redact import Redaction

MAX_LINE_BYTES = 1 << 20
"""Longest line that is kept; 1 MiB is a thousand times a usual event, and bounds what one line can cost."""

MAX_CHUNK_BYTES = 4 << 20
"""Most bytes of lines in one chunk: the unit of the ledger and one leaf of its tree."""

MAX_CHUNK_LINES = 65_536
"""Most lines in one chunk, so that a file of empty lines cannot fill the memory with list entries."""

MAX_COMMIT_BYTES = 64 << 20
"""Most bytes of lines in one commit (one fsync and one transaction): what a crash repeats, and what memory holds."""

MAX_COMMIT_LINES = 49_152
"""Most lines in one commit. Four are in memory at once (read, judged, waiting, stored), so this bounds what ingest
takes: under 1 GiB, an eighth less than with 65,536 lines, which are no faster."""

MAX_COMMIT_SECONDS = 0.5
"""Longest time that chunks are gathered for one commit, so that it is prompt when there is little to do."""

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

    `name` is what the tables call it, `kind` one of jsonl, stdin, decision_record, tail, kafka, retry; `dialect` is how
    its lines are to be understood (auto, native, xenia, decision_record).
    """

    name: str
    kind: str
    path: str
    dialect: str


@dataclass(frozen=True, slots=True)
class Received:
    """Lines in the order in which a source gave them, with its position before and after them.

    `final` says that the source ended here. `positions` are the entries of the store's `positions` table that hold
    once these lines are in it: key -> position. In `end`, ``offsets`` [[first, count], …] are the places of the lines
    in a partition, and ``gap`` {from, to, why} says that what lay between could not be read any more. `redactions` is
    what was taken before from lines that come from the ledger itself, by index.
    """

    source: Source
    lines: list[Line]
    start: Position
    end: Position
    final: bool
    positions: dict[str, Position] = field(default_factory=dict)
    redactions: dict[int, Redaction] = field(default_factory=dict)
    _size: int = field(default=-1, init=False, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes of the lines that are kept, with their newlines."""
        if self._size < 0:  # asked several times, and every line has to be fetched from memory for it
            object.__setattr__(self, "_size", self._summed())
        return self._size

    def _summed(self) -> int:
        try:
            return sum(map(len, self.lines)) + len(self.lines)  # type: ignore[arg-type]
        except TypeError:  # one that was too long; it is rare, and this way takes three times as long
            return sum(len(line) for line in self.lines if isinstance(line, bytes)) + len(self.lines)


Chunks = Generator[Received, None, None]
"""What a source that is read once hands out; closed, it lets its file go."""


def readable(path: str) -> str:
    """A path as text that any table can hold: bytes of a name that are no UTF-8 are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
