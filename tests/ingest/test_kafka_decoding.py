"""Record batches decoded by us and by kafka-python, side by side, and what neither may accept."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from kafka.consumer.fetcher import Fetcher
from kafka.errors import CorruptRecordError
from kafka.record import MemoryRecords, MemoryRecordsBuilder
from kafka.structs import TopicPartition

from ingest.lines import MAX_LINE_BYTES, Line, OverLong
from ingest.sources.kafka import decoding
from ingest.sources.kafka.decoding import STRETCH_BYTES, STRETCH_LINES, Stretch, line_of, stretch_of, stretches

PLACE = TopicPartition("t", 0)
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
Message = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]
"""Offset, key, value and headers."""


def batch(messages: Sequence[Message], codec: str = "none", magic: int = 2) -> bytes:
    """A batch as a broker keeps it, which has put the first offset and its epoch (5) in; neither is in the checksum."""
    builder = MemoryRecordsBuilder(magic=magic, compression_type=CODECS[codec], batch_size=1 << 30)
    base = messages[0][0]
    for offset, key, value, headers in messages:
        builder.skip(offset - base - builder._next_offset)
        assert builder.append(1_700_000_000_000 + offset % 7 * 10**6, key, value, headers) is not None
    builder.close()
    data = bytes(builder.buffer())
    return struct.pack(">q", base) + data[8:12] + struct.pack(">i", 5) + data[16:] if magic == 2 else data


class Fetched:
    """A broker's answer with these bytes, for a fetch that began at an offset."""

    def __init__(self, data: bytes, start: int = 0, *, library: bool = False) -> None:
        kind: Any = Fetcher.PartitionRecords if library else decoding._partition_records()
        self.records = kind(start, PLACE, MemoryRecords(data), check_crcs=True)

    def taken(self) -> tuple[list[tuple[int, Line]], int]:
        """Offsets with lines, and where the next fetch begins."""
        found: list[tuple[int, Line]] = []
        while self.records:
            for record in self.records.take(1):
                stretch = stretch_of(record)
                offsets = [first + number for first, count in stretch.runs for number in range(count)]
                assert len(offsets) == len(stretch.lines) == len(stretch)
                assert stretch.size == sum(len(one) if isinstance(one, bytes) else 0 for one in stretch.lines) + len(
                    stretch
                )
                assert stretch.last == offsets[-1] == record.offset
                assert stretch.epoch in (-1, 5)
                found += zip(offsets, stretch.lines, strict=True)
        return found, self.records.next_fetch_offset


def some(chance: random.Random, count: int) -> list[Message]:
    """Messages of all sizes, with and without keys, values and headers, some offsets left out."""
    offset = chance.choice([0, 1, 60, 2**40])
    found: list[Message] = []
    for _ in range(count):
        key = chance.choice([None, b"", b"k", chance.randbytes(chance.choice([63, 64, 8191, 8192]))])
        value = chance.choice(
            [None, b"", chance.randbytes(chance.choice([1, 62, 63, 64, 65, 360, 8191, 8192, 70_000]))]
        )
        headers = chance.choice([[], [], [("h", None)], [("h", b""), ("k" * 70, b"v" * 200)]])
        found.append((offset, key, value, headers))
        offset += chance.choice([1, 1, 1, 1, 2, 70, 9000])
    return found


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(6))
def test_the_same_as_the_library(codec: str, seed: int) -> None:
    """Every message of several batches, from the beginning and from the middle of one."""
    chance = random.Random(f"{codec}{seed}")
    first, second = some(chance, 40), some(chance, chance.choice([1, 300]))
    shift = first[-1][0] + 3 - second[0][0]
    second = [(offset + shift, *rest) for offset, *rest in second]  # type: ignore[misc]
    data = batch(first, codec) + batch(second, codec)
    for start in (0, first[7][0], first[7][0] + 1, first[-1][0] + 1, second[0][0], second[-1][0], second[-1][0] + 1):
        expected = [(offset, value or b"") for offset, _, value, _ in first + second if offset >= start]
        assert Fetched(data, start).taken() == (expected, second[-1][0] + 1)
        assert Fetched(data, start, library=True).taken() == (expected, second[-1][0] + 1)


@pytest.mark.parametrize("magic", [0, 1])
def test_older_formats_are_read_by_the_library(magic: int) -> None:
    messages = [(number, b"k", b"v%d" % number, []) for number in range(5)]
    found, following = Fetched(batch(messages, magic=magic)).taken()
    assert (found, following) == ([(number, b"v%d" % number) for number in range(5)], 5)


def test_stretches_are_bounded() -> None:
    """A batch may be larger than what is handed out at once; the position is behind each stretch."""
    large = [(number, None, bytes(300_000), []) for number in range(10)]
    records = Fetched(batch(large, "lz4")).records
    taken = [records.take(1)[0] for _ in range(3)]
    assert [len(record.value) for record in taken] == [4, 4, 2]
    assert all(record.value.size < STRETCH_BYTES + 300_001 for record in taken)
    records = Fetched(batch(large, "lz4")).records
    records.take(1)
    assert records.next_fetch_offset == 4
    assert Fetched(batch(large, "lz4"), 4).taken() == ([(number, bytes(300_000)) for number in range(4, 10)], 10)
    empty = Fetched(batch([(number, None, None, []) for number in range(STRETCH_LINES + 1)])).records
    assert [len(record.value) for record in empty.take(2)] == [STRETCH_LINES, 1]


def test_what_becomes_of_values() -> None:
    assert line_of(None) == line_of(b"") == b""
    longest, over = b"x" * MAX_LINE_BYTES, b"abc" * MAX_LINE_BYTES
    assert line_of(longest) == longest
    data = batch([(0, None, longest, []), (1, None, over, []), (2, b"key", None, [])], "zstd")
    (_, first), (_, second), (_, third) = Fetched(data).taken()[0]
    assert (first, third) == (longest, b"")
    assert isinstance(second, OverLong)
    assert second.bytes == 3 * MAX_LINE_BYTES
    assert second == line_of(over)


def test_a_broken_checksum_is_damage() -> None:
    """What came before it is handed out first."""
    good = batch([(0, None, b"a", [])])
    bad = bytearray(batch([(1, None, b"b", [])]))
    bad[-2] ^= 1
    records = Fetched(good + bytes(bad)).records
    assert [stretch_of(record).lines for record in records.take(5)] == [[b"a"]]
    with pytest.raises(CorruptRecordError, match="failed crc check"):
        records.take(5)


def plain(messages: Sequence[Message]) -> bytes:
    """The records of a batch without its header."""
    return batch(messages)[61:]


def read(data: bytes, count: int) -> list[Stretch]:
    return list(stretches(data, count, 0, 0))


def test_bytes_that_are_no_records_are_damage() -> None:
    """Every cut, every wrong count, and lengths that say too much or too little; never a shortened line."""
    messages = [(number, b"key", b"value %d" % number, [("h", b"1")]) for number in range(3)]
    data = plain(messages)
    lines = [value for _, _, value, _ in messages]
    (whole,) = read(data, 3)
    assert (whole.lines, whole.runs) == (lines, [[0, 3]])
    for cut in range(len(data)):
        found: list[Line] = []
        with pytest.raises((ValueError, IndexError)):
            found += [line for stretch in stretches(data[:cut], 3, 0, 0) for line in stretch.lines]
    for count in (0, 1, 2, 4):
        with pytest.raises((ValueError, IndexError)):
            read(data, count)
    for changed in (b"\x01" + data[1:], b"\x02" + data[1:], b"\xff" * 12 + data):
        with pytest.raises((ValueError, IndexError)):
            read(changed, 3)
    at = data.index(b"\x0evalue 0")  # zigzag of 7
    for length in (1 << 6, 62):
        with pytest.raises((ValueError, IndexError)):
            read(data[:at] + bytes([length]) + data[at + 1 :], 3)


def test_what_comes_before_the_damage_is_good() -> None:
    data = plain([(0, None, b"a", []), (1, None, b"b", [])])
    found = stretches(data[:-1], 2, 0, 0)
    assert next(found).lines == [b"a"]
    with pytest.raises((ValueError, IndexError)):
        next(found)
