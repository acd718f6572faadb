"""What a crash leaves at the ledger's end, told apart from damage.

A crash can only touch the last commit, which nothing depends on yet: its end is missing, or sectors of it never
reached the disk and read as zeros, perhaps with whole chunks of the same commit behind them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ingest.ledger.chunks import MAX_HEADER_BYTES, BadChunk, Chunk, decode, payload_size
from ingest.ledger.files import segment_files

_SECTOR = bytes(512)
_HEADER_START = b'\n{"v":'
_MOST_BYTES = 1 << 30
"""Bytes that are hashed to find whole chunks: lines that look like headers must not cost a start its time."""


def torn_at(directory: Path, segment: int, offset: int, leaf: int) -> tuple[int, int] | None:
    """(segment, offset) of a torn commit, when the chunks up to (segment, offset), `leaf` of them, are whole.

    None when no crash explains what follows. Raises LedgerError when a segment is missing.
    """
    files = segment_files(directory)
    if segment in files and offset == files[segment].size:
        segment, offset = segment + 1, 0
    newest = files.get(len(files))
    if newest is None or newest.number != segment or newest.sealed:
        return None
    return (segment, offset) if _is_torn(newest.path, offset, leaf) else None


def _is_torn(path: Path, offset: int, leaf: int) -> bool:
    with path.open("rb") as file:
        file.seek(offset)
        line = file.readline(MAX_HEADER_BYTES)
        rest = file.read()
    if not all(_same_commit(chunk, leaf) for chunk in _whole_chunks(line + rest)):
        return False
    if _SECTOR in line or _SECTOR in rest or not line.endswith(b"\n"):
        return True
    try:
        return len(rest) < payload_size(line)
    except BadChunk:
        return False


def _same_commit(chunk: Chunk | None, leaf: int) -> bool:
    """Whether a whole chunk behind the damage was made durable together with what is damaged, if ever."""
    return chunk is not None and chunk.commit <= leaf < chunk.leaf


def _whole_chunks(data: bytes) -> Iterator[Chunk | None]:
    """The chunks that begin at some later line; None when there is too much to look through."""
    left = _MOST_BYTES
    begin = data.find(_HEADER_START)
    while begin >= 0:
        end = data.find(b"\n", begin + 1)
        following = begin + 1
        try:
            last = end + 1 + payload_size(data[begin + 1 : end])
            if last <= len(data):
                left -= last - begin
                if left < 0:
                    yield None
                    return
                yield decode(data[begin + 1 : last])
                following = last - 1
        except BadChunk:
            pass
        begin = data.find(_HEADER_START, following)
