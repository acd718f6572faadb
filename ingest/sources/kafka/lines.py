"""Messages of a partition as chunks of lines: every message is a line, whatever is in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, Line, Received, Source
from ingest.sources.kafka.clients import Topic
from ingest.sources.kafka.decoding import Stretch
from ingest.sources.kafka.places import Begin, Stand, moved


def chunks_of(
    source: Source, key: str, stand: Stand, records: Sequence[Stretch], topic: Topic
) -> Iterator[tuple[Received, Stand]]:
    """Messages (in the order of their offsets) as chunks, and where the partition stands after each of them."""
    begin, size, count = 0, 0, 0
    for index, stretch in enumerate(records):
        if index > begin and (size + stretch.size > MAX_CHUNK_BYTES or count + len(stretch) > MAX_CHUNK_LINES):
            after = moved(stand, records[index - 1], topic)
            yield _received(source, key, stand, after, records[begin:index]), after
            begin, size, count, stand = index, 0, 0, after
        size += stretch.size
        count += len(stretch)
    if records:
        after = moved(stand, records[-1], topic)
        yield _received(source, key, stand, after, records[begin:]), after


def _received(source: Source, key: str, start: Stand, after: Stand, records: Sequence[Stretch]) -> Received:
    position = after.position()
    lines: list[Line] = []
    for stretch in records:
        lines += stretch.lines
    end = {**position, "offsets": joined(run for stretch in records for run in stretch.runs)}
    return Received(source, lines, {"offset": start.offset}, end, final=False, positions={key: position})


def joined(runs: Iterable[list[int]]) -> list[list[int]]:
    """Rising runs of offsets [first, how many], with those that follow each other as one.

    Transactions and compaction leave some offsets out.
    """
    found: list[list[int]] = []
    for first, count in runs:
        if found and first == sum(found[-1]):
            found[-1][1] += count
        else:
            found.append([first, count])
    return found


def without_lines(source: Source, key: str, before: Stand | None, begin: Begin) -> Received:
    """A chunk that only keeps where a partition stands, and what was lost on the way there."""
    position = begin.stand.position()
    start = {"offset": (before or begin.stand).offset}
    end = {**position, "gap": begin.gap} if begin.gap is not None else position
    return Received(source, [], start, end, final=False, positions={key: position})
