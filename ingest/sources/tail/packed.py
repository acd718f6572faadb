"""Compressed files among those that are followed: each is read once, as a whole, when it has stopped growing.

Mostly it is a file that was followed before it was rotated and compressed; then only what was not read of it is new.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing

from ingest.errors import SourceError
from ingest.lines import Position, Received, Source
from ingest.sources.fingerprint import WINDOW_BYTES, Fingerprint
from ingest.sources.jsonl import Reader
from ingest.sources.streams import open_file
from ingest.sources.tail.file import BEGINNING
from ingest.sources.tail.files import FileId, Moved, id_of, key_of

_SUFFIXES = (".gz", ".zst")


def is_packed(path: str) -> bool:
    """Whether a file is compressed, by its name."""
    return path.lower().endswith(_SUFFIXES)


def version_of(status: os.stat_result) -> list[int]:
    """What changes when a file is written: its size and its time of change in nanoseconds."""
    return [status.st_size, status.st_mtime_ns]


def head_of(path: str) -> bytes:
    """The first bytes of the decompressed content. Raises SourceError, also where less than that can be read."""
    stream, _ = open_file(path)
    with closing(stream):
        head = stream.read(WINDOW_BYTES)
        return head + stream.read(WINDOW_BYTES - len(head))  # a fault is told after what came before it


def unpacked_begins(path: str, known: Position) -> bool:
    """Whether the decompressed content begins with what a position stands for; reads that much of it.

    Raises SourceError where it cannot be read so far.
    """
    if "head" in known and not Fingerprint().extended(head_of(path)[: known["head"][0]]).begins_as(known):
        return False
    stream, _ = open_file(path)
    with closing(stream):
        return Reader(Source("", "tail", "", ""), stream, str).resume({"sha256": None, **known})


class PackedFile:
    """A compressed file that is being read. `known` is where to go on from, in decompressed bytes.

    `version` is what is read of it, once that has begun, whatever happens to the file then.
    """

    def __init__(self, source: Source, slot: str, file: FileId, path: str, known: Position | None) -> None:
        self.source = source
        self.slot = slot
        self.file = file
        self.path = path
        self.finished = False
        self.version: list[int] = []
        self._known = known
        self._chunks: Iterator[Received] | None = None

    @property
    def key(self) -> str:
        """The key of the position."""
        return key_of(self.file)

    def read(self) -> Received | None:
        """The next chunk; None, and `finished`, after the last one, which `finished` comes with as well.

        Raises SourceError where it is broken, Moved when it is another file by now; then a new look is needed.
        """
        if self._chunks is None:
            self._chunks = self._read_through()
        try:
            received = next(self._chunks, None)
        except BaseException:
            self._chunks = None  # a generator that has raised would say that this was the end
            raise
        if received is None:
            self.finished = True
            return None
        self._known = received.positions[self.key]
        self.finished = received.final
        position = self.position()
        return Received(self.source, received.lines, received.start, received.end, False, {self.key: position})

    def position(self) -> Position:
        """Where the file was read to; once it is finished, also which version of it."""
        packed = {"packed": self.version, "done": True} if self.finished else {}
        return {**(self._known or BEGINNING), "path": self.slot, "at": self.path, **packed}

    def gap(self) -> Received:
        """Tells that the rest of the file can never be read."""
        known = self._known or BEGINNING
        here: Position = {"offset": known["offset"], "line": known["line"]}
        why = "the file was deleted before it was read to its end"
        gap = {"from": f"byte {known['offset']}", "to": "its end", "why": why}
        return Received(
            self.source, [], here, {**here, "gap": gap}, False, {self.key: {**self.position(), "done": True}}
        )

    def _read_through(self) -> Iterator[Received]:
        stream, status = open_file(self.path)
        with closing(stream):
            if id_of(status) != self.file:
                raise Moved
            self.version = version_of(status)
            reader = Reader(self.source, stream, lambda position: self.key)
            if self._known is not None and not reader.resume(self._known):
                raise SourceError(f"{self.path} was exchanged while it was read: it is looked at again")
            yield from reader.chunks({})

    def close(self) -> None:
        """Close the file."""
        chunks, self._chunks = self._chunks, None
        if isinstance(chunks, Iterator) and hasattr(chunks, "close"):
            chunks.close()
