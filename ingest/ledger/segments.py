"""The ledger on disk: append-only segments of chunks, the truth that all else is made from.

The newest segment is plain (`00000001.ndjson`); one that is full is sealed (`00000001.ndjson.zst`, the same content).
A commit is several chunks of one segment, one write each and one fsync before anything depends on them. So only the
last commit can be torn by a crash; it is cut off when the ledger is opened for writing, and read again from its
sources. Damage anywhere else is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ingest.errors import LedgerError, disk_error
from ingest.ledger.chunks import (
    MAX_HEADER_BYTES,
    BadChunk,
    Chunk,
    ShortChunk,
    decode_behind,
    encoded_parts,
    leaf_hash,
    read_header,
    size_behind,
)
from ingest.ledger.files import SegmentFile, fsync_path, open_at, segment_files, segment_path
from ingest.ledger.origin import ensure_origin
from ingest.ledger.sealing import seal
from ingest.ledger.tear import torn_at

SEGMENT_BYTES = 128 << 20
"""A segment is closed before it grows past this."""

_CLOSED = -1
_RESTORE = "put the file back from a backup"


def _nothing(point: str) -> None:
    """The default of `at`: a crash test puts its crash here."""


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """Where a chunk lies: number of the segment (from 1), byte offset, length in bytes."""

    segment: int
    offset: int
    length: int

    @property
    def end(self) -> tuple[int, int]:
        """(segment, offset) of what follows."""
        return self.segment, self.offset + self.length


@dataclass(frozen=True, slots=True)
class Stored:
    """A chunk as the ledger holds it: the chunk, its place, its leaf hash (hex)."""

    chunk: Chunk
    location: Location
    leaf: str


class Segments:
    """The segments in one directory. Reading works at once; `open_for_append` must come before `append`."""

    def __init__(self, directory: Path, at: Callable[[str], None] = _nothing) -> None:
        self.directory = directory
        self._at = at
        self._file = _CLOSED
        self._segment = 0
        self._size = 0

    def path(self, segment: int) -> Path:
        """The plain file of a segment, for messages."""
        return segment_path(self.directory, segment)

    def sizes(self) -> dict[int, int]:
        """Bytes of content by segment number. Raises LedgerError when a segment between others is missing."""
        return {number: segment.size for number, segment in segment_files(self.directory).items()}

    def read(self, segment: int = 1, offset: int = 0) -> Iterator[Stored]:
        """Every chunk from a place on, verified. Raises LedgerError, with segment and offset, at damage of any kind."""
        for number, file in segment_files(self.directory).items():
            if number >= segment:
                yield from self._read_segment(file, offset if number == segment else 0)

    def _read_segment(self, file: SegmentFile, begin: int) -> Iterator[Stored]:
        with open_at(file, begin) as content:
            while begin < file.size:
                try:
                    stored = _read_chunk(content, file, begin)
                except BadChunk as error:
                    raise LedgerError(
                        f"the ledger is damaged in {file.path} at byte {begin}: {error}; {_RESTORE}"
                    ) from None
                begin += stored.location.length
                yield stored
            if file.sealed and content.read(1):
                raise LedgerError(f"the ledger is damaged: {file.path} holds more than it says; {_RESTORE}")

    def open_for_append(self, segment: int = 1, offset: int = 0, leaf: int = 0) -> None:
        """Cut off a torn last commit, seal what is full, and get ready to append.

        What lies before (segment, offset), `leaf` chunks, is known to be whole. Raises LedgerError for damage that no
        crash explains, DiskError.
        """
        after = (segment, offset)
        try:
            for stored in self.read(segment, offset):
                after = stored.location.end
                leaf += 1
        except LedgerError as error:
            torn = torn_at(self.directory, *after, leaf)
            if torn is None:
                raise error
            self._cut(*torn)
        self.close()
        files = segment_files(self.directory)
        last = files.get(len(files))
        self._segment = len(files) + 1 if last is None or last.sealed else len(files)
        self._open()
        self._seal()

    def _cut(self, segment: int, offset: int) -> None:
        path = self.path(segment)
        try:
            with path.open("r+b") as file:
                file.truncate(offset)
                self._at("ledger.cut")
                os.fsync(file.fileno())
        except OSError as error:
            raise disk_error(error, path) from None

    def append(self, chunks: Sequence[Chunk]) -> list[Stored]:
        """Write the chunks of one commit and make them durable together. Raises DiskError; then all is as before."""
        encoded = [encoded_parts(chunk) for chunk in chunks]
        lengths = [sum(map(len, parts)) for parts in encoded]
        if self._size and self._size + sum(lengths) > SEGMENT_BYTES:
            self.close()
            self._segment += 1
            self._open()
            self._seal()
        end = self._size
        stored: list[Stored] = []
        try:
            for chunk, parts, length in zip(chunks, encoded, lengths, strict=True):
                self._at("ledger.write")
                written = os.writev(self._file, parts)
                while written < length:  # a signal or a nearly full disk may split a write
                    written += os.write(self._file, memoryview(b"".join(parts))[written:])
                stored.append(Stored(chunk, Location(self._segment, end, length), leaf_hash(*parts)))
                end += length
            self._at("ledger.fsync")
            os.fsync(self._file)
        except OSError as error:
            self._undo()
            raise disk_error(error, self.path(self._segment)) from None
        self._at("ledger.written")
        self._size = end
        return stored

    def _undo(self) -> None:
        with suppress(OSError):  # what is left then is a torn commit, which the next start cuts off
            os.ftruncate(self._file, self._size)

    def _open(self) -> None:
        path = self.path(self._segment)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            ensure_origin(self.directory)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
            self._size = os.fstat(self._file).st_size
            self._at("ledger.segment")
            fsync_path(self.directory)
        except OSError as error:
            raise disk_error(error, path) from None

    def _seal(self) -> None:
        """Seal every segment but the one that is appended to."""
        for number, file in segment_files(self.directory).items():
            if number < self._segment and not file.sealed:
                seal(file, self._at)

    def close(self) -> None:
        """Release the file that is appended to."""
        if self._file != _CLOSED:
            os.close(self._file)
            self._file = _CLOSED


def _read_chunk(content: BinaryIO, file: SegmentFile, offset: int) -> Stored:
    line = content.readline(MAX_HEADER_BYTES)
    if not line.endswith(b"\n"):
        raise ShortChunk("the header line has no end")
    header = read_header(line)
    size = size_behind(header)
    if offset + len(line) + size > file.size:  # asked before reading: a forged size must not fill the memory
        raise ShortChunk(f"the header says {size} bytes, but there are {file.size - offset - len(line)}")
    rest = content.read(size)
    return Stored(
        decode_behind(header, rest), Location(file.number, offset, len(line) + len(rest)), leaf_hash(line, rest)
    )
