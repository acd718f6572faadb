"""Reads the partitions of a Kafka source, step by step, in one thread: sessions, what ends them, what comes then."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ingest.errors import SourceError
from ingest.lines import Received
from ingest.sources.kafka.clients import Bounds, Place, Topic, commit
from ingest.sources.kafka.decoding import Stretch
from ingest.sources.kafka.errors import Fault, Kind
from ingest.sources.kafka.lines import chunks_of, without_lines
from ingest.sources.kafka.places import (
    Begin,
    Stand,
    Truncated,
    begin,
    diverged,
    is_wanted,
    key_prefix,
    known_partitions,
    source_of,
)
from ingest.sources.kafka.session import Opener, Recreated, Session, divergence, fault_in
from ingest.sources.kafka.settings import KafkaSettings
from ingest.sources.kafka.watch import Pace, Watch
from ingest.sources.live import MAX_POLL_BYTES

_MOST_DECODINGS = 3
"""How often a batch is decoded before it counts as damaged for good: a broken transfer is not, a broken disk is."""


@dataclass(slots=True)
class _Failing:
    """What has gone wrong, and again and again without a calm time in between."""

    since: float
    last: float
    times: int = 0
    decodings: dict[Place, int] = field(default_factory=dict)


class Reader:
    """`step` gives what came; `trouble` says what keeps more from coming, `lag` what is waiting.

    `stands` is where each partition was left, by what the store says.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        stands: dict[Place, Stand],
        opener: Opener,
        pace: Pace | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.trouble: str | None = None
        self.lag: dict[str, int] = {}
        self.note: str | None = None
        self._settings = settings
        self._stands = dict(stands)
        self._opener = opener
        self._pace = pace or Pace()
        self._clock = clock
        self._sleep = sleep
        self._session: Session | None = None
        self._next_look = self._retry_at = clock()
        self._ever_read = False
        self._begun: set[str] = set()
        self._failing: _Failing | None = None
        self._careful: list[Place] | None = None
        self._diverged: dict[Place, int | None] = {}
        self._doubted: dict[Place, float] = {}
        self._missing: dict[str, float] = {}
        self._watch = Watch(self._pace)
        self._moves: list[Received] = []  # changes of place without messages: handed out whatever happens meanwhile

    def step(self, wait: float) -> list[Received]:
        """What came, after at most about `wait` seconds if nothing does. Raises SourceError when a person is needed."""
        now = self._clock()
        if now < self._retry_at:
            self._sleep(min(wait, self._retry_at - now))
            return []
        lines: list[Received] = []
        reading = False
        try:
            if self._session is None:
                self._session = self._opener()
                self._next_look = now
            if now >= self._next_look:
                self._look(self._session)
            reading = True
            lines = self._read(self._session, 0.0 if self._moves else wait)
        except SourceError:
            raise
        except Exception as error:
            self._stumble(error, reading)
        else:
            if self._failing and self._careful is None and now - self._failing.last >= self._pace.calm:
                self._failing = None
        moves, self._moves = self._moves, []
        return moves + lines

    def _look(self, session: Session) -> None:
        """Compare the cluster with where we stand; what has to be stored of that is in `_moves`."""
        seen = session.look()
        now = self._clock()
        self._next_look = now + self._pace.look
        for name, topic in seen.topics.items():
            self._missing.pop(name, None)
            self._begin_topic(session, name, topic)
        self._ever_read = True
        readable = {place: self._stands[place] for place in seen.bounds if place in self._stands}
        if readable.keys() != session.places:
            session.assign(readable)
        self._note_trouble(session, now)
        offsets = {place: session.offset(place) for place in session.places}
        self.lag = {
            source_of(self._settings, place).name: max(seen.bounds[place].readable - offset, 0)
            for place, offset in offsets.items()
        }
        self._watch.look(seen, offsets, now)
        for place, offset in self._watch.passed(self._stands, offsets, now):
            before = self._stands[place]
            self._move(place, before, Begin(replace(before, offset=offset), news=True))

    def _begin_topic(self, session: Session, name: str, topic: Topic) -> None:
        known = known_partitions(self._stands, name)
        for place, bounds in sorted(session.seen.bounds.items()):
            if place[0] != name:
                continue
            before = self._stands.get(place)
            start = self._begin(session, place, before, known, topic, bounds)
            if start.news:
                self._move(place, before, start)
                if place in session.places:  # what its client has fetched ahead may be of the topic before
                    raise Recreated
            self._stands[place] = start.stand
        self._begun.add(name)

    def _move(self, place: Place, before: Stand | None, start: Begin) -> None:
        self._stands[place] = start.stand
        self._moves.append(without_lines(source_of(self._settings, place), self._key(place), before, start))

    def _begin(
        self, session: Session, place: Place, before: Stand | None, known: int, topic: Topic, bounds: Bounds
    ) -> Begin:
        if before is not None and place in self._diverged and before.topic_id == topic.id:
            return diverged(place, before, self._diverged.pop(place), topic, bounds, self._settings)
        self._diverged.pop(place, None)
        now = self._clock()
        confirmed = now - self._doubted.get(place, now) >= self._pace.confirm
        running, reading = place[0] in self._begun, place in session.places
        try:
            start = begin(place, before, known, topic, bounds, self._settings, running, reading, confirmed)
        except Truncated:
            self._doubted.setdefault(place, now)
            raise
        self._doubted.pop(place, None)
        return start

    def _key(self, place: Place) -> str:
        return f"{key_prefix(self._settings, place[0])}{place[1]}"

    def _note_trouble(self, session: Session, now: float) -> None:
        """Say what is missing. Raises SourceError for a topic that stays missing."""
        told = [
            f"partition {topic}/{number} has no leader" for topic, number in session.seen.without_leader(self._wants)
        ]
        for name in self._settings.topics:
            topic = session.seen.topics.get(name)
            if topic is not None:
                absent = [number for number in self._settings.partitions or [] if number not in topic.partitions]
                told += [f"the topic {name} has no partition {number}" for number in absent]
                continue
            since = self._missing.setdefault(name, now)
            was_read = known_partitions(self._stands, name) > 0
            what = "was deleted" if was_read else "does not exist"
            if now - since >= self._pace.grace and not (was_read and self._settings.on_lost != "stop"):
                raise SourceError(f"kafka: the topic {name} {what}: create it, or take it out of topics")
            told.append(f"the topic {name} {what}")
        self.trouble = "; ".join(told) or None

    def _wants(self, place: Place) -> bool:
        return is_wanted(self._settings, place)

    def _read(self, session: Session, wait: float) -> list[Received]:
        if not session.places:
            self._sleep(wait)
            return []
        if self._careful is None:
            return self._received(session, session.fetch(wait, MAX_POLL_BYTES))
        return self._read_carefully(session, self._careful, wait)

    def _read_carefully(self, session: Session, left: list[Place], wait: float) -> list[Received]:
        """One partition after the other, each to its end, so that the one with the damaged batch is known."""
        while left and left[0] not in session.places:
            left.pop(0)
        if not left:
            self._careful = None
            session.only(session.places)
            return []
        place = left[0]
        session.only([place])
        try:
            fetched = session.fetch(max(wait, 1.0), most_bytes=1)  # one poll: what fails then is of this partition
        except Exception as error:
            left.pop(0)
            fault = session.consumer.blame(error)
            if fault.kind is Kind.CORRUPT and self._failing is not None:
                self._count_decoding(self._failing.decodings, place, f"{fault.cause} ({type(error).__name__})")
            raise
        if not fetched:
            left.pop(0)
        return self._received(session, fetched)

    def _count_decoding(self, decodings: dict[Place, int], place: Place, cause: str) -> None:
        decodings[place] = decodings.get(place, 0) + 1
        if decodings[place] >= _MOST_DECODINGS:
            name, offset = source_of(self._settings, place).name, self._stands[place].offset
            raise SourceError(
                f"{name} cannot be read at offset {offset}: {cause}; "
                f'restore the partition from a replica, or delete its records up to there and set on_lost = "earliest"'
            ) from None

    def _received(self, session: Session, fetched: dict[Place, list[Stretch]]) -> list[Received]:
        found = []
        for place, records in fetched.items():
            source, key, stand = source_of(self._settings, place), self._key(place), self._stands[place]
            for chunk, after in chunks_of(source, key, stand, records, session.seen.topics[place[0]]):
                found.append(chunk)
                self._stands[place] = after
        return found

    def _stumble(self, error: Exception, reading: bool) -> None:
        """End the session; raise SourceError when what ended it needs a person, else open another one later."""
        session, self._session = self._session, None
        fault = fault_in(error, session)
        if fault.kind is Kind.CORRUPT and not reading:
            fault = Fault(Kind.UNEXPECTED, "an answer of the broker was not understood")
        if session is not None:
            session.close()
        now = self._clock()
        failing = self._failing = self._failing or _Failing(now, now)
        failing.times += 1
        failing.last = now
        lasting = now - failing.since >= self._pace.grace and failing.times > len(self._pace.retry)
        if fault.kind is Kind.REFUSED and (lasting or not self._ever_read):
            raise SourceError(f"kafka: {fault.sentence}")
        if fault.kind in (Kind.UNEXPECTED, Kind.LOST) and lasting:
            raise SourceError(f"kafka: {fault.sentence}; this has come back {failing.times} times")
        if fault.kind is Kind.LOST:
            self._diverged.update(divergence(error))
        if fault.kind is Kind.CORRUPT:
            blamed = failing.decodings.keys()  # the others first, so that they go on
            self._careful = sorted(self._stands, key=lambda place: (place in blamed, place))
        if not isinstance(error, Recreated):
            self.trouble = fault.sentence
        self.lag = {}  # nobody knows it now
        self._retry_at = now + self._pace.retry[min(failing.times, len(self._pace.retry)) - 1]

    def commit(self, offsets: dict[Place, int]) -> bool:
        """Tell the cluster, for those who look at its lag, what is in our store; if not, `note` says why."""
        if self._session is None:
            return False
        try:
            problems = commit(self._session.admin, self._settings.group_id, offsets)
        except Exception as error:
            problems = [self._session.admin.blame(error).sentence]
        self.note = f"offsets are not committed: {'; '.join(problems)}" if problems else None
        return not problems

    def close(self) -> None:
        """Close the session; the reader is of no use afterwards."""
        session, self._session = self._session, None
        if session is not None:
            session.close()
