"""One-shot reading of JSON lines: files (plain, gzip, zstd) and standard input, as chunks of raw lines.

A position is ``{offset, line, sha256, partial, final, head, tail}``: decompressed bytes up to and including the last
newline, lines in them, the SHA-256 of exactly these bytes, the SHA-256 of the unterminated last line if there was one,
whether the end was reached, and the windows of `Fingerprint`. A file is known by device and inode and continued where
its first `offset` bytes still have that hash (where the file was followed, which keeps no such hash: the windows); a
file that became shorter or was changed is read from 0. Standard input has no identity but its content: a beginning that
is in the ledger already is read over.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Protocol

from ingest.errors import SourceError
from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, Chunks, Line, Position, Received, Source, readable
from ingest.sources.fingerprint import Fingerprint
from ingest.sources.splitter import Splitter, sha256_of, size_of
from ingest.sources.streams import Stream, open_file, open_stdin

if TYPE_CHECKING:
    from hashlib import _Hash as Hash

_BOM = b"\xef\xbb\xbf"
_BLOCK_BYTES = 64 << 10
"""Lines are taken over block by block; a block of newlines alone must fit into one chunk (`MAX_CHUNK_LINES`)."""

Watch = Callable[[Stream], None]
"""Told after every chunk how far the stream was read."""


class Positions(Protocol):
    """Where sources were left: the `positions` table."""

    def position(self, key: str) -> Position | None:
        """The position stored under a key."""

    def positions(self, prefix: str) -> dict[str, Position]:
        """Every position whose key begins with `prefix`, by the rest of its key."""


class Reader:
    """Reads one stream, from a position on, into chunks."""

    def __init__(self, source: Source, stream: Stream, key: Callable[[Position], str]) -> None:
        self._source = source
        self._stream = stream
        self._key = key
        self._splitter = Splitter()
        self._hash = hashlib.sha256()  # of everything read
        self._read = 0
        self._fingerprint = Fingerprint()  # of everything read as well
        nothing = {"sha256": self._hash.hexdigest(), **self._fingerprint.as_position()}
        self._take_over({"offset": 0, "line": 0, **nothing, "partial": None, "final": False})

    def resume(self, known: Position) -> bool:
        """Read over what is known; False when the stream does not begin with it (and is of no more use then)."""
        while self._read < known["offset"]:
            block = self._stream.read(min(_BLOCK_BYTES, known["offset"] - self._read))
            if not block:
                return False
            self._hash.update(block)
            self._fingerprint = self._fingerprint.extended(block)
            self._read += len(block)
        found = {"sha256": self._hash.hexdigest(), **self._fingerprint.as_position()}
        told = ("head", "tail") if known["sha256"] is None else ("sha256",)
        if any(found[name] != known[name] for name in told):
            return False
        self._take_over(known)
        return True

    def _take_over(self, known: Position) -> None:
        self._known = known  # a position that was reached, or told by an earlier run
        self._passed: tuple[Hash, Fingerprint] | None = None  # up to the last newline, when that is further on
        self._offset: int = known["offset"]  # of the last newline, behind it
        self._line: int = known["line"]
        self._taken: str | None = known["partial"]
        self._start = known  # of the chunk that is being filled
        self._lines: list[Line] = []
        self._bytes = 0

    def _here(self) -> Position:
        """The position behind the last newline; made when it is asked for, since it costs three hashes."""
        if self._passed is not None:
            hashed, fingerprint = self._passed
            self._passed = None
            self._known = {
                **self._known,  # also what the one who follows files keeps there
                "offset": self._offset,
                "line": self._line,
                "sha256": hashed.hexdigest(),
                **fingerprint.as_position(),
                "partial": None,
                "final": False,
            }
        return self._known

    def chunks(self, known: dict[tuple[int, str], Position]) -> Iterator[Received]:
        """The lines from here on, without a beginning that is `known` by its length and hash.

        Raises SourceError where the stream cannot be read on, after handing out the lines before.
        """
        lengths = {offset for offset, _ in known}
        stops = sorted(lengths, reverse=True)
        beginning = (0, self._known["sha256"])
        if beginning in known:
            self._take_over(known[beginning])
        fault: SourceError | None = None
        while True:
            while stops and stops[-1] <= self._read:
                stops.pop()
            most = min(_BLOCK_BYTES, stops[-1] - self._read) if stops else _BLOCK_BYTES
            try:
                block = self._stream.read(most)
            except SourceError as error:
                fault = error
                break
            if not block:
                break
            yield from self._take(block)
            if self._read in lengths and self._offset == self._read:
                place = (self._read, self._here()["sha256"])
                if place in known:
                    self._take_over(known[place])
        if fault is not None:
            if self._lines:
                yield self._chunk(self._here())
            raise fault
        yield from self._last()

    def _take(self, block: bytes) -> Iterator[Received]:
        lines = self._splitter.feed(block)
        newline = block.rfind(b"\n") + 1
        view = memoryview(block)
        if lines:
            size = self._read + newline - self._offset  # of the lines with their newlines
            if self._is_full(len(lines), size):
                yield self._chunk(self._here())
            self._add(view[:newline])
            self._passed = self._hash.copy(), self._fingerprint
            self._offset += size
            self._line += len(lines)
            if self._taken is not None or not self._lines:
                lines = self._unmarked(self._without_taken(lines))
                size = sum(map(size_of, lines)) + len(lines)
            self._lines += lines
            self._bytes += size
        self._add(view[newline:])
        self._read += len(block)

    def _add(self, read: memoryview) -> None:
        self._hash.update(read)
        self._fingerprint = self._fingerprint.extended(read)

    def _is_full(self, lines: int, size: int) -> bool:
        """Whether the chunk has no room for more lines, of so many bytes with their newlines."""
        return bool(self._lines) and (
            self._bytes + size > MAX_CHUNK_BYTES or len(self._lines) + lines > MAX_CHUNK_LINES
        )

    def _without_taken(self, lines: list[Line]) -> list[Line]:
        """Without the first line if an earlier run took it already, when it had no newline yet."""
        taken, self._taken = self._taken, None
        if taken is None or sha256_of(lines[0]) != taken:
            return lines
        after = {"offset": self._start["offset"] + size_of(lines[0]) + 1, "line": self._start["line"] + 1}
        self._start = {**self._start, **after}
        return lines[1:]

    def _unmarked(self, lines: list[Line]) -> list[Line]:
        """The lines without a byte order mark at the beginning of the stream."""
        if lines and self._start["line"] == 0 and not self._lines and isinstance(lines[0], bytes):
            return [lines[0].removeprefix(_BOM), *lines[1:]]
        return lines

    def _last(self) -> Iterator[Received]:
        rest = self._splitter.rest()
        if rest == _BOM and self._line == 0:
            rest = None  # a mark without text is an empty file
        here = self._here()
        taken = here["partial"]
        partial = taken if rest is None else sha256_of(rest)
        if rest is not None and partial != taken:
            if self._is_full(1, size_of(rest) + 1):
                yield self._chunk(here)
            self._lines += self._unmarked([rest])
        if self._lines or not here["final"]:
            yield self._chunk({**here, "partial": partial, "final": True})

    def _chunk(self, end: Position) -> Received:
        start = {"offset": self._start["offset"], "line": self._start["line"]}
        lines = self._lines
        self._start = end
        self._lines = []
        self._bytes = 0
        return Received(self._source, lines, start, end, end["final"], {self._key(end): end})


def read_file(path: str, dialect: str, positions: Positions, watch: Watch) -> Chunks:
    """What is new in a file. Raises SourceError."""
    name = readable(os.path.abspath(path))  # noqa: PTH100 - a link keeps its own name
    stream, status = open_file(path)
    source = Source(name, "jsonl", name, dialect)
    if not stat.S_ISREG(status.st_mode):  # a named pipe has no identity but what comes through it
        with closing(stream):
            yield from _read_through(source, stream, f"pipe:{json.dumps(name)}:", positions, watch)
        return
    key = f"file:{status.st_dev}:{status.st_ino}"
    reader = Reader(source, stream, lambda position: key)
    try:
        known = positions.position(key)
    except BaseException:
        stream.close()
        raise
    if known is not None and not _resumed(reader, known):
        stream.close()
        stream, status = open_file(path)
        reader = Reader(source, stream, lambda position: key)
    with closing(stream):
        for chunk in reader.chunks({}):
            watch(stream)
            yield chunk


def _resumed(reader: Reader, known: Position) -> bool:
    try:
        return reader.resume(known)
    except SourceError:
        return False  # the file was exchanged for a broken one: it is read from 0, as far as it goes


def read_stdin(dialect: str, positions: Positions, watch: Watch) -> Chunks:
    """What is new on standard input. Raises SourceError."""
    return _read_through(Source("stdin", "stdin", "-", dialect), open_stdin(), "stdin:", positions, watch)


def _read_through(source: Source, stream: Stream, prefix: str, positions: Positions, watch: Watch) -> Chunks:
    known: dict[tuple[int, str], Position] = {}
    for key, position in positions.positions(prefix).items():
        offset, _, sha256 = key.partition(":")
        known[int(offset), sha256] = position
    reader = Reader(source, stream, lambda position: f"{prefix}{position['offset']}:{position['sha256']}")
    for chunk in reader.chunks(known):
        watch(stream)
        yield chunk
