"""How long things may last while Kafka is read, and who keeps an eye on partitions that do not move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ingest.sources.kafka.clients import Place, Survey
from ingest.sources.kafka.places import Stand


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds. Tests take shorter ones."""

    look: float = 5.0
    """Between two looks at the cluster: new partitions, topics made anew, a broker that went away."""

    grace: float = 60.0
    """How long what a person would have to mend may last, once reading has begun, before it is told as an error: a
    restarted cluster may refuse logins for a moment, and a topic that is made anew is missing for one."""

    stall: float = 60.0
    """How long a partition may stand still although there is more to read, before the clients are made anew."""

    idle: float = 600.0
    """After this long, that a partition has moved on without messages (transaction markers) is stored as well, so that
    their removal is not taken for a loss; removal by age takes hours."""

    confirm: float = 3.0
    """How long a partition must end before the place where it was left, until its log counts as cut: a leader that has
    just been elected may know less for a moment."""

    retry: tuple[float, ...] = (0.2, 0.5, 1.0, 2.0, 5.0)
    """Waits after the first, second, … failure in a row."""

    @property
    def calm(self) -> float:
        """How long nothing must go wrong until the next failure counts as the first again."""
        return 2 * max(self.look, *self.retry)


class StandsStill(Exception):
    """A partition does not move although there is more to read: the clients are made anew."""


@dataclass(slots=True)
class _Still:
    offset: int
    since: float
    behind: float | None = None
    """Since when there is more to read."""


class Watch:
    """Remembers since when each partition has been standing where it is."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._still: dict[Place, _Still] = {}

    def look(self, seen: Survey, offsets: dict[Place, int], now: float) -> None:
        """Take note of the offsets that would be fetched next. Raises StandsStill for one that should have moved."""
        for place in self._still.keys() - offsets.keys():
            del self._still[place]
        for place, offset in offsets.items():
            still = self._still.get(place)
            if still is None or still.offset != offset:
                self._still[place] = still = _Still(offset, now)
            readable = seen.bounds[place].readable
            if offset >= readable:
                still.behind = None
            elif still.behind is None:
                still.behind = now
            elif now - still.behind >= self._pace.stall:
                still.behind = now  # the new clients get as long as the old ones
                raise StandsStill(f"{place[0]}/{place[1]} stands at offset {offset} and can be read up to {readable}")

    def passed(self, stands: dict[Place, Stand], offsets: dict[Place, int], now: float) -> Iterator[tuple[Place, int]]:
        """Partitions that have been standing for long behind offsets without messages, which is worth storing."""
        for place, offset in offsets.items():
            if offset > stands[place].offset and now - self._still[place].since >= self._pace.idle:
                yield place, offset
