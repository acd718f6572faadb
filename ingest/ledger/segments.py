"""The ledger on disk: append-only segments `00000001.ndjson`, … of chunks, the truth that all else is made from.

A chunk is one write and one fsync before anything depends on it. So only the very last chunk can be torn by a crash;
it is cut off when the ledger is opened for writing, and read again from its source. Damage anywhere else is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import LedgerError, disk_error
from ingest.ledger.chunks import MAX_HEADER_BYTES, BadChunk, Chunk, ShortChunk, decode, encode, leaf_hash, payload_size

SEGMENT_BYTES = 128 << 20
"""A segment is closed before it grows past this."""

_NAME = re.compile(r"([0-9]{8})\.ndjson")
_SECTOR = bytes(512)
_CLOSED = -1
_HEADER_START = b'\n{"v":'


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
        """The file of a segment."""
        return self.directory / f"{segment:08d}.ndjson"

    def sizes(self) -> dict[int, int]:
        """Bytes by segment number. Raises LedgerError when a segment between others is missing."""
        if not self.directory.is_dir():
            return {}
        found: dict[int, int] = {}
        for entry in os.scandir(self.directory):
            name = _NAME.fullmatch(entry.name)
            if name:
                found[int(name[1])] = entry.stat().st_size
        for number in range(1, len(found) + 1):
            if number not in found:
                raise LedgerError(f"{self.path(number)} is missing: put it back from a backup")
        return dict(sorted(found.items()))

    def read(self, segment: int = 1, offset: int = 0) -> Iterator[Stored]:
        """Every chunk from a place on, verified. Raises LedgerError, with segment and offset, at damage of any kind."""
        for number, size in self.sizes().items():
            if number < segment:
                continue
            begin = offset if number == segment else 0
            with self.path(number).open("rb") as file:
                file.seek(begin)
                while begin < size:
                    try:
                        stored = self._read_chunk(file.readline, file.read, number, begin)
                    except BadChunk as error:
                        raise self._damaged(number, begin, error) from None
                    begin += stored.location.length
                    yield stored

    def _read_chunk(
        self, readline: Callable[[int], bytes], read: Callable[[int], bytes], segment: int, offset: int
    ) -> Stored:
        line = readline(MAX_HEADER_BYTES)
        if not line.endswith(b"\n"):
            raise ShortChunk("the header line has no end")
        encoded = line + read(payload_size(line))
        location = Location(segment, offset, len(encoded))
        return Stored(decode(encoded), location, leaf_hash(encoded))

    def _damaged(self, segment: int, offset: int, error: BadChunk) -> LedgerError:
        return LedgerError(
            f"the ledger is damaged in {self.path(segment)} at byte {offset}: {error}; put the file back from a backup"
        )

    def open_for_append(self, segment: int = 1, offset: int = 0) -> list[Location]:
        """Cut off a torn last chunk and get ready to append; what lies before (segment, offset) is known to be whole.

        Returns the places of the chunks from there on. Raises LedgerError for damage that no crash explains.
        """
        sizes = self.sizes()
        whole: list[Location] = []
        try:
            for stored in self.read(segment, offset):
                whole.append(stored.location)
        except LedgerError as error:
            torn_at = self.torn_at(*(whole[-1].end if whole else (segment, offset)))
            if torn_at is None:
                raise error
            self._cut(*torn_at)
        self._segment = max(len(sizes), 1)
        self._open()
        return whole

    def torn_at(self, segment: int, offset: int) -> tuple[int, int] | None:
        """Where the last chunk is torn, when the chunks up to (segment, offset) are whole and what follows is not.

        None when no crash explains the damage: a crash tears the very last chunk only.
        """
        sizes = self.sizes()
        if offset == sizes.get(segment):
            segment, offset = segment + 1, 0
        return (segment, offset) if segment == len(sizes) and self._is_torn(segment, offset) else None

    def _is_torn(self, segment: int, offset: int) -> bool:
        """Whether a crash explains the damage there: the chunk ends too soon, or sectors of it were never written."""
        with self.path(segment).open("rb") as file:
            file.seek(offset)
            line = file.readline(MAX_HEADER_BYTES)
            rest = file.read()
        if self._holds_chunk(line + rest):
            return False
        if _SECTOR in line or _SECTOR in rest or not line.endswith(b"\n"):
            return True
        try:
            return len(rest) < payload_size(line)
        except BadChunk:
            return False

    def _holds_chunk(self, data: bytes) -> bool:
        """Whether a whole chunk begins at some later line: then what is before it was damaged, not torn."""
        begin = data.find(_HEADER_START)
        while begin >= 0:
            end = data.find(b"\n", begin + 1)
            try:
                decode(data[begin + 1 : end + 1 + payload_size(data[begin + 1 : end])])
                return True
            except BadChunk:
                begin = data.find(_HEADER_START, begin + 1)
        return False

    def _cut(self, segment: int, offset: int) -> None:
        path = self.path(segment)
        try:
            with path.open("r+b") as file:
                file.truncate(offset)
                self._at("ledger.cut")
                os.fsync(file.fileno())
        except OSError as error:
            raise disk_error(error, path) from None

    def append(self, chunk: Chunk) -> Stored:
        """Write a chunk and make it durable. Raises DiskError; then the ledger is as before."""
        encoded = encode(chunk)
        if self._size and self._size + len(encoded) > SEGMENT_BYTES:
            self.close()
            self._segment += 1
            self._open()
        location = Location(self._segment, self._size, len(encoded))
        self._at("ledger.write")
        try:
            written = os.write(self._file, encoded)
            while written < len(encoded):  # a signal or a nearly full disk may split a write
                written += os.write(self._file, memoryview(encoded)[written:])
            self._at("ledger.fsync")
            os.fsync(self._file)
        except OSError as error:
            self._undo()
            raise disk_error(error, self.path(self._segment)) from None
        self._at("ledger.written")
        self._size += len(encoded)
        return Stored(chunk, location, leaf_hash(encoded))

    def _undo(self) -> None:
        with suppress(OSError):  # what is left then is a torn chunk, which the next start cuts off
            os.ftruncate(self._file, self._size)

    def _open(self) -> None:
        path = self.path(self._segment)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o640)
            self._size = os.fstat(self._file).st_size
            self._at("ledger.segment")
            fsync_path(self.directory)
        except OSError as error:
            raise disk_error(error, path) from None

    def close(self) -> None:
        """Release the file that is appended to."""
        if self._file != _CLOSED:
            os.close(self._file)
            self._file = _CLOSED


def fsync_path(path: Path) -> None:
    """Make a file, or the names in a directory, durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
