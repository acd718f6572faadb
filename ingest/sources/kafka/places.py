"""Where a partition is read on, and what that tells: the rules, without a network.

A *stand* is the position of a partition: the next offset, and what the topic was when it was written down. Compared
with what the cluster says now, it is either still good, or records were lost between the two; then the configuration
decides (`on_lost`) whether a person is told and reading stops, or reading goes on elsewhere and the gap is kept.

What is noticed, by what:

* the topic was deleted and made again: by its id (brokers since 2.8). Without ids only by an offset past its end.
* retention, or somebody, removed records before they were read: the stored offset is before the earliest record. That
  the offsets between belonged to records that compaction or aborted transactions had left out anyway cannot be told.
* the log was cut, by an unclean election or a restored disk: the offset is past the end; or, where messages have the
  leader's epoch (format 2), the epoch does not reach as far, also when the log has grown past the offset again.
  Without epochs, a log that was cut and has grown past the offset before anybody looked looks like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ingest.errors import SourceError
from ingest.lines import Position, Source
from ingest.sources.kafka.clients import Bounds, Place, Topic
from ingest.sources.kafka.decoding import Stretch
from ingest.sources.kafka.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class Stand:
    """Position of a partition: the next offset to read, the epoch of the last message that was read (-1: unknown), the
    id of the topic (None: unknown) and how many partitions it had."""

    offset: int
    epoch: int
    topic_id: str | None
    partitions: int

    def position(self) -> Position:
        """As the store keeps it."""
        return {
            "offset": self.offset,
            "leader_epoch": self.epoch,
            "topic_id": self.topic_id,
            "partitions": self.partitions,
        }


def stand_of(position: Position) -> Stand:
    """The stand that a stored position says."""
    return Stand(position["offset"], position["leader_epoch"], position["topic_id"], position["partitions"])


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a partition is read from now on; `news` says that this has to be stored before anything is read.

    `gap` is the entry for ``Received.end["gap"]`` when records were lost on the way here.
    """

    stand: Stand
    news: bool
    gap: dict[str, str] | None = None


class Truncated(Exception):
    """The partition ends before the stand; a look a moment later has to confirm that, since leaders change."""


def key_prefix(settings: KafkaSettings, topic: str) -> str:
    """How the keys of a topic's positions begin; a partition's number follows."""
    return f"kafka:{settings.name or ''}:{topic}:"


def source_of(settings: KafkaSettings, place: Place) -> Source:
    """The source of a partition."""
    path = f"{place[0]}/{place[1]}"
    name = f"kafka:{settings.name}/{path}" if settings.name else f"kafka:{path}"
    return Source(name, "kafka", path, settings.dialect)


def is_wanted(settings: KafkaSettings, place: Place) -> bool:
    """Whether this process reads the partition."""
    return settings.partitions is None or place[1] in settings.partitions


def begin(
    place: Place,
    stand: Stand | None,
    known: int,
    topic: Topic,
    bounds: Bounds,
    settings: KafkaSettings,
    running: bool = False,
    reading: bool = False,
    confirmed: bool = True,
) -> Begin:
    """Where to read a partition from.

    `stand` is where it was left, `known` how many partitions its topic had when any of them was last read (0: never),
    `running` that this process was reading the topic already, `reading` that it reads the partition just now (records
    that are not in the broker any more may be on their way to us still: that they are not, the fetch will say), and
    `confirmed` that an end before the stand has been there for a while. Raises SourceError when records were lost and
    the configuration says stop, Truncated when an end before the stand is still to be confirmed.
    """
    size = len(topic.partitions)
    if stand is None:
        # A partition that came after reading had begun has only new records: "latest" would skip some of them.
        came_later = known > 0 and (running or place[1] >= known)
        at_end = settings.start == "latest" and not came_later
        return Begin(Stand(bounds.readable if at_end else bounds.first, -1, topic.id, size), news=True)
    if None not in (stand.topic_id, topic.id) and stand.topic_id != topic.id:
        why = f"the topic was deleted and made again (id {stand.topic_id}, now {topic.id})"
        return _lost(place, stand, topic, bounds, settings, why, bounds.first)
    if stand.offset < bounds.first and not reading:
        why = f"the broker's earliest record is {bounds.first}: the records before it were removed unread"
        return _lost(place, stand, topic, bounds, settings, why, bounds.first)
    if stand.offset > bounds.end:
        if not confirmed:
            raise Truncated
        why = f"the partition ends at {bounds.end}: its log was cut, and records may have taken the place of others"
        return _lost(place, stand, topic, bounds, settings, why, bounds.first)
    # An id that was unknown before, and more partitions than before, are taken over with the next message.
    return Begin(replace(stand, topic_id=topic.id or stand.topic_id, partitions=size), news=False)


def diverged(
    place: Place, stand: Stand, offset: int | None, topic: Topic, bounds: Bounds, settings: KafkaSettings
) -> Begin:
    """Where to read on when the log does not hold any more what was read: it agrees up to `offset`, if that is known.

    Raises SourceError when the configuration says stop.
    """
    why = "the log was cut by the election of another leader, and other records took the place of some that were read"
    earliest = bounds.first if offset is None else max(bounds.first, min(offset, bounds.end))
    return _lost(place, stand, topic, bounds, settings, why, earliest)


def _lost(
    place: Place, stand: Stand, topic: Topic, bounds: Bounds, settings: KafkaSettings, why: str, earliest: int
) -> Begin:
    name = source_of(settings, place).name
    if settings.on_lost == "stop":
        raise SourceError(
            f"{name} cannot be read on at offset {stand.offset}: {why}; to go on, and keep the gap as a finding, "
            f'set on_lost = "earliest" (or "latest") for this source'
        )
    # Earliest repeats some records after a cut: their event ids are known, so they count as duplicates, not twice.
    offset = earliest if settings.on_lost == "earliest" else bounds.readable
    gap = {"from": f"offset {stand.offset}", "to": f"offset {offset}", "why": why}
    return Begin(Stand(offset, -1, topic.id, len(topic.partitions)), news=True, gap=gap)


def known_partitions(stands: dict[Place, Stand], topic: str) -> int:
    """How many partitions a topic had when any of them was last read; 0 when none was."""
    return max((stand.partitions for place, stand in stands.items() if place[0] == topic), default=0)


def moved(stand: Stand, last: Stretch, topic: Topic) -> Stand:
    """The stand behind the last messages that were read."""
    return Stand(last.last + 1, last.epoch, topic.id or stand.topic_id, len(topic.partitions))
