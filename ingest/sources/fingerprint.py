"""Tells, at bounded cost, whether a file still begins with what was read of it.

A position keeps the SHA-256 of the first bytes and of the last bytes before it, each at most `WINDOW_BYTES`, so that
going on in a file of any size takes two small reads. What such a look cannot see: other bytes between the two windows,
in a file that is otherwise the same up to the position. Logs are appended to, so that a file with the same beginning
and the same bytes at the same place has the same lines between them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from ingest.lines import Position

WINDOW_BYTES = 1024
"""Bytes of each window: several events, whose ids and times no other file has at the same place."""

_BLOCK_BYTES = 1 << 20

ReadAt = Callable[[int, int], bytes]
"""Bytes of a file: how many, and from which offset on; fewer where the file ends before."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The first and the last bytes of what was read of a file."""

    head: bytes = b""
    tail: bytes = b""

    def extended(self, read: bytes | memoryview) -> Fingerprint:
        """The fingerprint after `read` has followed."""
        head = self.head + read[: WINDOW_BYTES - len(self.head)] if len(self.head) < WINDOW_BYTES else self.head
        tail = bytes(read[-WINDOW_BYTES:]) if len(read) >= WINDOW_BYTES else (self.tail + read)[-WINDOW_BYTES:]
        return Fingerprint(head, tail)

    def as_position(self) -> Position:
        """What a position keeps of it: of each window its length and its SHA-256."""
        return {name: [len(part), _sha256(part)] for name, part in (("head", self.head), ("tail", self.tail))}

    def begins_as(self, known: Position) -> bool:
        """Whether the first bytes are those that a position knows."""
        return bool(self.as_position()["head"] == list(known["head"]))

    def still_in(self, read_at: ReadAt, offset: int) -> bool:
        """Whether a file that was read up to `offset` still has these bytes."""
        at = offset - len(self.tail)
        return read_at(len(self.tail), at) == self.tail and read_at(len(self.head), 0) == self.head


def recognise(read_at: ReadAt, known: Position) -> Fingerprint | None:
    """The fingerprint of a file that begins with what a position stands for; None when it does not.

    A position without windows was stored by an earlier version: then everything before it is hashed.
    """
    offset = known["offset"]
    if "head" in known:
        head, tail = (read_at(known[name][0], at) for name, at in (("head", 0), ("tail", offset - known["tail"][0])))
        found = Fingerprint(head, tail)
        return found if found.as_position() == {name: known[name] for name in ("head", "tail")} else None
    whole = hashlib.sha256()
    found = Fingerprint()
    for at in range(0, offset, _BLOCK_BYTES):
        block = read_at(min(_BLOCK_BYTES, offset - at), at)
        whole.update(block)
        found = found.extended(block)
    return found if whole.hexdigest() == known["sha256"] else None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
