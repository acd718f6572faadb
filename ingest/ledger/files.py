"""The files of the ledger: names, sizes and contents of segments, plain or sealed, and what makes a file durable."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import zstandard

from ingest.errors import LedgerError

PLAIN, SEALED = ".ndjson", ".ndjson.zst"
_NAME = re.compile(r"([0-9]{8})\.ndjson(\.zst)?")
_BLOCK_BYTES = 1 << 20
_FRAME_HEAD_BYTES = 18
_WINDOW_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One segment on disk: its number (from 1), its file, bytes of its content, and whether that is compressed."""

    number: int
    path: Path
    size: int
    sealed: bool


def segment_path(directory: Path, number: int, *, sealed: bool = False) -> Path:
    """The file of a segment."""
    return directory / f"{number:08d}{SEALED if sealed else PLAIN}"


def segment_files(directory: Path) -> dict[int, SegmentFile]:
    """The segments by number, in order; of one that is there plain and sealed, the plain one.

    Raises LedgerError when one between others is missing, or a sealed one does not say how long it is.
    """
    if not directory.is_dir():
        return {}
    found: dict[int, bool] = {}
    for entry in os.scandir(directory):
        name = _NAME.fullmatch(entry.name)
        if name:
            found[int(name[1])] = found.get(int(name[1]), True) and name[2] is not None
    for number in range(1, len(found) + 1):
        if number not in found:
            raise LedgerError(f"{segment_path(directory, number)} is missing: put it back from a backup")
    return {number: _segment(directory, number, found[number]) for number in sorted(found)}


def _segment(directory: Path, number: int, sealed: bool) -> SegmentFile:
    path = segment_path(directory, number, sealed=sealed)
    if not sealed:
        return SegmentFile(number, path, path.stat().st_size, sealed)
    with path.open("rb") as file:
        head = file.read(_FRAME_HEAD_BYTES)
    try:
        size = zstandard.get_frame_parameters(head).content_size
    except zstandard.ZstdError:
        size = zstandard.CONTENTSIZE_UNKNOWN
    if size == zstandard.CONTENTSIZE_UNKNOWN:
        raise LedgerError(f"{path} is not a whole sealed segment: put it back from a backup")
    return SegmentFile(number, path, size, sealed)


@contextmanager
def open_at(segment: SegmentFile, offset: int) -> Iterator[BinaryIO]:
    """The content of a segment from `offset` on, for `read` and `readline`.

    Reading raises LedgerError where a sealed one cannot be decompressed.
    """
    with segment.path.open("rb") as file:
        if not segment.sealed:
            file.seek(offset)
            yield file
            return
        decompressor = zstandard.ZstdDecompressor(max_window_size=_WINDOW_BYTES)
        # Across frames, so that nothing that was added behind the content goes unnoticed.
        with decompressor.stream_reader(file, read_across_frames=True) as reader:
            content = io.BufferedReader(reader, _BLOCK_BYTES)
            try:
                while offset:
                    skipped = len(content.read(min(offset, _BLOCK_BYTES)))
                    if not skipped:
                        break
                    offset -= skipped
                yield content
            except zstandard.ZstdError as error:
                raise LedgerError(
                    f"the ledger is damaged: {segment.path} cannot be decompressed ({error}); "
                    "put the file back from a backup"
                ) from None


def fsync_path(path: Path) -> None:
    """Make a file, or the names in a directory, durable. Raises OSError."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
