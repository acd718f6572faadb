"""Bytes of one-shot input: plain, gzip or zstd files and standard input, decompressed with bounded memory.

What could be read before a fault is handed out first; then the fault becomes a SourceError.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from ingest.errors import SourceError, source_error

BLOCK_BYTES = 256 << 10
_ZSTD_STEP = 1 << 10
"""Compressed bytes given to zstd at once: at most 32 MiB come out, since a block of 128 KiB takes four bytes."""

_ZSTD_WINDOW = 1 << 27
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


class Stream:
    """The decompressed bytes of a file or of standard input, in order.

    `taken` and `size` are compressed bytes read so far and in all (None when nobody knows), for a progress bar.
    """

    def __init__(self, file: BinaryIO, name: str, size: int | None) -> None:
        self.name = name
        self.size = size
        self.taken = 0
        self._file = file
        self._block = b""
        self._at = 0
        self._blocks = self._decompressed()

    def read(self, most: int) -> bytes:
        """Exactly `most` bytes, fewer only at the end. Raises SourceError; what came before it was handed out."""
        parts: list[bytes] = []
        missing = most
        while missing:
            if self._at == len(self._block):
                try:
                    self._block, self._at = next(self._blocks, b""), 0
                except SourceError as error:
                    if not parts:
                        raise
                    self._blocks = _Failing(error)
                    break
                if not self._block:
                    break
            piece = self._block[self._at : self._at + missing]
            self._at += len(piece)
            missing -= len(piece)
            parts.append(piece)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _raw(self) -> Iterator[bytes]:
        while True:
            try:
                block = self._file.read(BLOCK_BYTES)
            except OSError as error:
                raise source_error(error, self.name) from None
            if not block:
                return
            self.taken += len(block)
            yield block

    def _decompressed(self) -> Iterator[bytes]:
        blocks = self._raw()
        head = b""
        for block in blocks:
            head += block
            if len(head) >= len(_ZSTD_MAGIC):
                break
        if head.startswith(_GZIP_MAGIC) or (head and self.name.endswith(".gz")):
            yield from self._gunzip(_chain(head, blocks))
        elif head.startswith(_ZSTD_MAGIC) or (head and self.name.endswith(".zst")):
            yield from self._unzstd(_chain(head, blocks))
        elif head:
            yield from _chain(head, blocks)

    def _gunzip(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)
        begun = False
        for block in blocks:
            data = block
            while data:
                if not begun:
                    data = data.lstrip(b"\0")  # padding between members is allowed
                    begun = bool(data)
                    continue
                try:
                    plain = member.decompress(data, BLOCK_BYTES)
                except zlib.error as error:
                    raise self._corrupt("gzip", str(error)) from None
                if plain:
                    yield plain
                data = member.unconsumed_tail
                if member.eof:
                    data = member.unused_data
                    member = zlib.decompressobj(wbits=31)
                    begun = False
        if begun:
            raise self._corrupt("gzip", "it ends in the middle")

    def _unzstd(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        frame = decompressor.decompressobj()
        begun = False
        for block in blocks:
            for start in range(0, len(block), _ZSTD_STEP):
                data = block[start : start + _ZSTD_STEP]
                while data:
                    begun = True
                    try:
                        plain = frame.decompress(data)
                    except zstandard.ZstdError as error:
                        raise self._corrupt("zstd", str(error)) from None
                    if plain:
                        yield plain
                    data = b""
                    if frame.eof:
                        data = frame.unused_data
                        frame = decompressor.decompressobj()
                        begun = False
        if begun:
            raise self._corrupt("zstd", "it ends in the middle")

    def _corrupt(self, kind: str, why: str) -> SourceError:
        return SourceError(
            f"{self.name} is not a whole {kind} file ({why}): fetch it again; what could be read of it was kept"
        )

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class _Failing(Iterator[bytes]):
    """The rest of a stream that failed: the same error again."""

    def __init__(self, error: SourceError) -> None:
        self._error = error

    def __next__(self) -> bytes:
        raise self._error


def _chain(head: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from blocks


def open_file(path: str) -> tuple[Stream, os.stat_result]:
    """Open a regular file, or a pipe, for reading. Raises SourceError."""
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - the stream closes it
        status = os.fstat(file.fileno())
    except OSError as error:
        raise source_error(error, path) from None
    return Stream(file, path, status.st_size if stat.S_ISREG(status.st_mode) else None), status


def open_stdin() -> Stream:
    """Standard input as a stream."""
    return Stream(sys.stdin.buffer, "-", None)
