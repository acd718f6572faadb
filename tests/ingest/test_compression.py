"""Compressed input: what can be read of a broken file is kept, and nobody's memory is at a bomb's mercy."""

from __future__ import annotations

import gzip
import hashlib
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from ingest.errors import SourceError
from ingest.lines import OverLong, Received
from ingest.sources import jsonl
from tests.ingest.builders import line, lines
from tests.ingest.memory import Memory, lines_of, read_file


def _take_all(chunks: Iterator[Received], found: list[bytes], memory: Memory) -> None:
    for chunk in chunks:
        found += lines_of([chunk])
        memory.found |= chunk.positions
        assert not chunk.final


def _zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


@pytest.mark.parametrize(("suffix", "compress"), [("gz", gzip.compress), ("zst", _zstd)])
class TestBrokenCompression:
    """What can be read is kept; then the fault is named, with what to do."""

    CONTENT = b"".join(
        line(f"{number}-{hashlib.sha256(b'%d' % number).hexdigest()}") + b"\n" for number in range(20_000)
    )

    def test_a_file_cut_in_the_middle(self, suffix: str, compress: object, tmp_path: Path) -> None:
        assert callable(compress)
        path = tmp_path / f"e.jsonl.{suffix}"
        whole = compress(self.CONTENT)
        path.write_bytes(whole[: len(whole) // 2])
        memory = Memory()
        found: list[bytes] = []
        chunks = jsonl.read_file(str(path), "auto", memory, lambda stream: None)
        with pytest.raises(SourceError, match=r"is not a whole (gzip|zstd) file \(it ends in the middle\): fetch"):
            _take_all(chunks, found, memory)
        assert 5_000 < len(found) < 20_000
        assert found == self.CONTENT.split(b"\n")[: len(found)]
        with pytest.raises(SourceError):
            assert read_file(path, memory) == []
        with path.open("r+b") as handle:
            handle.write(whole)
        assert found + lines_of(read_file(path, memory)) == self.CONTENT.split(b"\n")[:-1]

    def test_a_flipped_byte(self, suffix: str, compress: object, tmp_path: Path) -> None:
        assert callable(compress)
        path = tmp_path / f"e.jsonl.{suffix}"
        broken = bytearray(compress(self.CONTENT))
        broken[len(broken) * 3 // 4] ^= 0xFF
        path.write_bytes(broken)
        with pytest.raises(SourceError, match="is not a whole"):
            read_file(path, Memory())

    def test_a_name_that_promises_too_much(self, suffix: str, compress: object, tmp_path: Path) -> None:
        path = tmp_path / f"e.jsonl.{suffix}"
        path.write_bytes(lines("a"))
        with pytest.raises(SourceError, match="is not a whole"):
            read_file(path, Memory())

    def test_several_members_are_one_file(self, suffix: str, compress: object, tmp_path: Path) -> None:
        assert callable(compress)
        path = tmp_path / "no-suffix"
        path.write_bytes(compress(lines("a")) + compress(b"") + compress(lines("b")))
        assert lines_of(read_file(path, Memory())) == [line("a"), line("b")]

    def test_a_bomb_is_read_in_bounded_memory(self, suffix: str, compress: object, tmp_path: Path) -> None:
        assert callable(compress)
        path = tmp_path / f"e.jsonl.{suffix}"
        path.write_bytes(compress(b"x" * 300_000_000))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        (chunk,) = read_file(path, Memory())
        assert isinstance(chunk.lines[0], OverLong)
        assert chunk.lines[0].bytes == 300_000_000
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB
