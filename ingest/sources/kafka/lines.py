"""Messages of a partition as chunks of lines: every message is a line, whatever is in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, MAX_LINE_BYTES, Line, OverLong, Received, Source
from ingest.sources.kafka.clients import Topic
from ingest.sources.kafka.places import Begin, Stand, moved


def line_of(value: bytes | None) -> Line:
    """The line of a message: a tombstone (no value) is blank, like an empty value; one too long is its hash."""
    if value is None:
        return b""
    if len(value) > MAX_LINE_BYTES:
        return OverLong(len(value), hashlib.sha256(value).hexdigest())
    return value


def chunks_of(
    source: Source, key: str, stand: Stand, records: Sequence[Any], topic: Topic
) -> Iterator[tuple[Received, Stand]]:
    """Messages (in the order of their offsets) as chunks, and where the partition stands after each of them."""
    begin, size = 0, 0
    lines = [line_of(record.value) for record in records]
    for index, line in enumerate(lines):
        length = (len(line) if isinstance(line, bytes) else 0) + 1
        if index > begin and (size + length > MAX_CHUNK_BYTES or index - begin >= MAX_CHUNK_LINES):
            after = moved(stand, records[index - 1], topic)
            yield _received(source, key, stand, after, lines[begin:index], records[begin:index]), after
            begin, size, stand = index, 0, after
        size += length
    if lines:
        after = moved(stand, records[-1], topic)
        yield _received(source, key, stand, after, lines[begin:], records[begin:]), after


def _received(
    source: Source, key: str, start: Stand, after: Stand, lines: list[Line], records: Sequence[Any]
) -> Received:
    position = after.position()
    end = {**position, "offsets": runs([record.offset for record in records])}
    return Received(source, lines, {"offset": start.offset}, end, final=False, positions={key: position})


def runs(offsets: Sequence[int]) -> list[list[int]]:
    """Rising offsets as runs [first, how many]: transactions and compaction leave some out."""
    if offsets and offsets[-1] - offsets[0] == len(offsets) - 1:
        return [[offsets[0], len(offsets)]]
    found: list[list[int]] = []
    for offset in offsets:
        if found and offset == sum(found[-1]):
            found[-1][1] += 1
        else:
            found.append([offset, 1])
    return found


def without_lines(source: Source, key: str, before: Stand | None, begin: Begin) -> Received:
    """A chunk that only keeps where a partition stands, and what was lost on the way there."""
    position = begin.stand.position()
    start = {"offset": (before or begin.stand).offset}
    end = {**position, "gap": begin.gap} if begin.gap is not None else position
    return Received(source, [], start, end, final=False, positions={key: position})
