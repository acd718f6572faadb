"""A full segment is sealed: compressed into a file of the same content, which then takes its place."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import zstandard

from ingest.errors import LedgerError, disk_error
from ingest.ledger.files import SegmentFile, fsync_path, open_at, segment_path

_LEVEL = 1
"""A tenth of the size of JSON events. zstd's default of 3 takes half as long again, for a hundredth less or more."""

_BLOCK_BYTES = 1 << 20


def seal(segment: SegmentFile, at: Callable[[str], None]) -> None:
    """Replace a plain segment, to which nothing is appended any more, by its compressed form.

    The plain file goes only when what the compressed one holds was read back and is the same. Killed at any point,
    the segment is there, plain or sealed or both. Raises DiskError, LedgerError.
    """
    sealed = segment_path(segment.path.parent, segment.number, sealed=True)
    draft = sealed.with_name(f"{sealed.name}.new")
    try:
        _compress(segment, draft)
        at("seal.written")
        if not _same(segment, SegmentFile(segment.number, draft, segment.size, sealed=True)):
            raise LedgerError(f"{draft} does not hold what {segment.path} does: check the disk, then run again")
        draft.replace(sealed)
        fsync_path(sealed.parent)
        at("seal.named")
        segment.path.unlink()
        fsync_path(sealed.parent)
        at("seal.done")
    except OSError as error:
        raise disk_error(error, sealed) from None


def _compress(segment: SegmentFile, draft: Path) -> None:
    """Write the compressed file, durably."""
    parameters = zstandard.ZstdCompressionParameters.from_level(_LEVEL, write_checksum=True, write_content_size=True)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj(size=segment.size)
    with open_at(segment, 0) as content, draft.open("wb") as file:
        while block := content.read(_BLOCK_BYTES):
            file.write(compressor.compress(block))
        file.write(compressor.flush())
        file.flush()
        os.fsync(file.fileno())


def _same(one: SegmentFile, other: SegmentFile) -> bool:
    """Whether two segments hold the same bytes."""
    with open_at(one, 0) as left, open_at(other, 0) as right:
        while block := left.read(_BLOCK_BYTES):
            if right.read(_BLOCK_BYTES) != block:
                return False
        return not right.read(1)
