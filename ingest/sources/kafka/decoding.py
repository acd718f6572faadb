"""Record batches decoded straight into lines.

kafka-python makes two objects of every message and reads each of its numbers by a call, which takes longer than all the
rest of what we do with it. Here the library goes on doing what concerns a batch as a whole (checksum, decompression,
transactions, markers, epochs, positions), and what it takes for a record is a *stretch* of messages that were decoded
in one loop. Only the present format (2, since Kafka 0.11) is decoded so; what is older stays the library's.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ingest.lines import MAX_LINE_BYTES, Line, OverLong

STRETCH_BYTES = 1 << 20
"""From this size on a stretch ends: a batch may hold a thousand times what its compressed bytes say."""

STRETCH_LINES = 16_384
"""Most messages in a stretch; empty ones have no size."""

_FORMAT = 2


@dataclass(slots=True)
class Stretch:
    """Messages of a partition that follow each other: their lines, and their offsets as runs [first, how many].

    `size` is the bytes of the lines with their newlines, `epoch` the leader's, -1 when unknown.
    """

    lines: list[Line] = field(default_factory=list)
    runs: list[list[int]] = field(default_factory=list)
    size: int = 0
    epoch: int = -1

    @property
    def last(self) -> int:
        """The offset of the last message."""
        first, count = self.runs[-1]
        return first + count - 1

    def __len__(self) -> int:
        return len(self.lines)


def line_of(value: bytes | None) -> Line:
    """The line of a message: a tombstone (no value) is blank, like an empty value; one too long is its hash."""
    if value is None:
        return b""
    if len(value) > MAX_LINE_BYTES:
        return OverLong(len(value), hashlib.sha256(value).hexdigest())
    return value


def stretches(data: bytes, count: int, base: int, start: int) -> Iterator[Stretch]:
    """The `count` records of an uncompressed batch whose first offset is `base`, from the offset `start` on.

    Raises ValueError or IndexError for bytes that are not so many records.
    """
    lines: list[Line] = []
    runs: list[list[int]] = []
    pos = size = 0
    first = following = -1
    whole = len(data)
    try:
        for _ in range(count):
            # Every number is zigzag-encoded, seven bits to a byte. Those of one byte are read without a call.
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = _rest(data, pos, number)
            end = pos + (number >> 1)
            pos += 1  # attributes, of which there are none
            while data[pos] > 127:  # the time of the message, which nothing here asks for
                pos += 1
            pos += 1
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = _rest(data, pos, number)
            offset = base + (number >> 1)
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = _rest(data, pos, number)
            if not number & 1:  # odd: negative, so there is no key
                pos += number >> 1
            number = data[pos]
            pos += 1
            if number > 127:
                number, pos = _rest(data, pos, number)
            value = None
            if not number & 1:
                behind = pos + (number >> 1)
                value = data[pos:behind]
                pos = behind
            if not pos < end <= whole:  # at least the number of headers follows
                raise ValueError("a record is longer than it says")
            pos = end  # headers are not looked at
            if offset < start:  # a batch comes as a whole, also when reading begins in its middle
                continue
            line: Line = value if value is not None and len(value) <= MAX_LINE_BYTES else line_of(value)
            lines.append(line)
            size += (len(line) if isinstance(line, bytes) else 0) + 1
            if offset != following:
                if first >= 0:
                    runs.append([first, following - first])
                first = offset
            following = offset + 1
            if size >= STRETCH_BYTES or len(lines) >= STRETCH_LINES:
                yield Stretch(lines, [*runs, [first, following - first]], size)
                lines, runs, size, first, following = [], [], 0, -1, -1
        if pos != whole:
            raise ValueError("there are bytes behind the last record")
    except (ValueError, IndexError):
        if lines:  # what comes before the damage is good
            yield Stretch(lines, [*runs, [first, following - first]], size)
        raise
    if lines:
        yield Stretch(lines, [*runs, [first, following - first]], size)


def _rest(data: bytes, pos: int, number: int) -> tuple[int, int]:
    """A number whose first byte is `number`, as it is encoded, and the position behind it."""
    byte = data[pos]
    if byte < 128:
        return (number & 127) | byte << 7, pos + 1
    number &= 127
    shift = 7
    while byte > 127:
        number |= (byte & 127) << shift
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
        pos += 1
        byte = data[pos]
    return number | byte << shift, pos + 1


class _Told:
    """What the library takes for one record: a stretch is its value, and its offset the last one."""

    __slots__ = ("offset", "size_in_bytes", "value")
    key = None
    headers: tuple[()] = ()
    timestamp = timestamp_type = -1
    checksum = None

    def __init__(self, stretch: Stretch) -> None:
        self.value = stretch
        self.offset = stretch.last
        self.size_in_bytes = stretch.size

    def validate_crc(self) -> bool:
        """The batch has the checksum."""
        return True


class _Batch:
    """A batch of the library whose records are stretches."""

    __slots__ = ("_batch", "_start")

    def __init__(self, batch: Any, start: int) -> None:
        self._batch = batch
        self._start = start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __iter__(self) -> Iterator[_Told]:
        from kafka.errors import CorruptRecordError

        batch = self._batch
        batch._maybe_uncompress()
        data = bytes(memoryview(batch._buffer)[batch._pos :])
        try:
            for stretch in stretches(data, batch.records_count, batch.base_offset, self._start):
                yield _Told(stretch)
        except (ValueError, IndexError) as error:
            raise CorruptRecordError(f"the records of a batch cannot be read: {error}") from None


class _Batches:
    """The batches in an answer of the broker."""

    __slots__ = ("_records", "_start")

    def __init__(self, records: Any, start: int) -> None:
        self._records = records
        self._start = start

    def next_batch(self) -> Any:
        """The next one, None behind the last."""
        batch = self._records.next_batch()
        if batch is None or batch.magic != _FORMAT or batch.is_control_batch:
            return batch
        return _Batch(batch, self._start)


@functools.cache
def _partition_records() -> Any:
    from kafka.consumer.fetcher import Fetcher

    class PartitionRecords(Fetcher.PartitionRecords):  # type: ignore[misc]
        def __init__(self, fetch_offset: int, tp: Any, records: Any, **more: Any) -> None:
            super().__init__(fetch_offset, tp, _Batches(records, fetch_offset), **more)

    return PartitionRecords


def decode_stretches(consumer: Any) -> None:
    """Let a consumer, on which nothing was polled yet, hand out stretches as the values of its records."""
    consumer._fetcher.PartitionRecords = _partition_records()


def stretch_of(record: Any) -> Stretch:
    """What a consumer has handed out: a stretch, or a record of a format that the library itself has decoded."""
    if not isinstance(record.value, Stretch):
        line = line_of(record.value)
        size = len(line) if isinstance(line, bytes) else 0
        made = Stretch([line], [[record.offset, 1]], size + 1)
    else:
        made = record.value
    made.epoch = -1 if record.leader_epoch is None else record.leader_epoch
    return made
