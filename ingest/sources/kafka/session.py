"""One stretch of reading with one pair of clients: from a look at the cluster to the first thing that goes wrong.

Nothing is mended here. An exception ends the session, `reader` says what it means and opens the next one: a
client that has raised is never used again, since kafka-python's decoder spins for ever after some errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ingest.sources.kafka.clients import (
    Client,
    ConnectError,
    Place,
    Survey,
    open_admin,
    open_consumer,
    survey,
    topic_ids,
)
from ingest.sources.kafka.decoding import Stretch, stretch_of
from ingest.sources.kafka.errors import Fault, Kind, fault_of
from ingest.sources.kafka.places import Stand, Truncated, is_wanted
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.kafka.watch import StandsStill

_FIRST_STRETCHES = 4
_MOST_STRETCHES = 20_000
_ASKED_BYTES = 4 << 20
"""How much one call of poll is to give, at the size that stretches had: batches may be small or large."""


class Recreated(Exception):
    """A topic is not the one that was being read: what came of it since the last look is thrown away."""


class Session:
    """Clients, the partitions that they read, and where. Everything raises what kafka-python raises."""

    def __init__(self, connection: KafkaConnection, settings: KafkaSettings) -> None:
        self._settings = settings
        self.admin: Client = open_admin(connection)
        try:
            self.consumer: Client = open_consumer(connection, settings)
        except BaseException:
            self.admin.close()
            raise
        self._ask = _FIRST_STRETCHES
        self.seen: Survey = Survey({}, {})
        self.places: set[Place] = set()
        self._deferred: Exception | None = None

    def look(self) -> Survey:
        """Ask the cluster what there is now."""
        self.seen = survey(self.admin, self._settings.topics, self._wanted, self._settings.isolation)
        return self.seen

    def _wanted(self, place: Place) -> bool:
        return is_wanted(self._settings, place)

    def assign(self, stands: dict[Place, Stand]) -> None:
        """Read these partitions from now on; those that are read already go on where they are."""
        from kafka import TopicPartition
        from kafka.structs import OffsetAndMetadata

        api = self.consumer.api
        api.assign([TopicPartition(*place) for place in stands])
        for place in stands.keys() - self.places:
            stand = stands[place]
            # The public seek() knows no epoch, and without it a log that was cut and grew again looks whole.
            api._subscription.seek(TopicPartition(*place), OffsetAndMetadata(stand.offset, "", stand.epoch))
        self.places = set(stands)

    def only(self, places: Iterable[Place]) -> None:
        """Read only these of the assigned partitions until the next call."""
        from kafka import TopicPartition

        wanted = {TopicPartition(*place) for place in places}
        every = {TopicPartition(*place) for place in self.places}
        self.consumer.api.pause(*(every - wanted))
        self.consumer.api.resume(*wanted)

    def fetch(self, wait: float, most_bytes: int) -> dict[Place, list[Stretch]]:
        """Messages by partition, waiting up to `wait` seconds for the first of them: about `most_bytes` at most.

        They are certain to be of the topics that were looked at: a topic that has the same id before and after was
        not made anew between. (A broker that has not heard of it yet could say so wrongly, for some milliseconds.)
        Raises Recreated when one has another id. What fails behind messages is raised by the next call.
        """
        found: dict[Place, list[Stretch]] = {}
        deferred, self._deferred = self._deferred, None
        if deferred is not None:
            raise deferred
        taken = 0
        while taken < most_bytes:
            try:
                polled = self.consumer.api.poll(timeout_ms=0 if found else int(wait * 1000), max_records=self._ask)
            except Exception as error:
                if not found:
                    raise
                self._deferred = error
                break
            if not polled:
                break
            came = {
                tuple(partition): [stretch_of(record) for record in records] for partition, records in polled.items()
            }
            taken += self._weigh([stretch for stretches in came.values() for stretch in stretches])
            for place, stretches in came.items():
                found.setdefault(place, []).extend(stretches)
        if found:
            self._check_ids(sorted({topic for topic, _ in found}))
        return found

    def _weigh(self, came: list[Stretch]) -> int:
        """Bytes of the messages; how many stretches to ask for next follows from their size."""
        size = sum(stretch.size for stretch in came)
        self._ask = max(1, min(_MOST_STRETCHES, _ASKED_BYTES * len(came) // size))
        return size

    def _check_ids(self, topics: list[str]) -> None:
        now = topic_ids(self.admin, topics)
        for topic in topics:
            if topic not in now or now[topic] != self.seen.topics[topic].id:
                raise Recreated

    def offset(self, place: Place) -> int:
        """The offset that is fetched next, behind everything that holds no message for us."""
        from kafka import TopicPartition

        return int(self.consumer.api.position(TopicPartition(*place), timeout_ms=0))

    def close(self) -> None:
        """Close both clients."""
        self.consumer.close()
        self.admin.close()


Opener = Callable[[], Session]
"""Makes a session. Raises ConnectError, or SourceError for a file that cannot be read."""


def fault_in(error: Exception, session: Session | None) -> Fault:
    """What an exception means, by the connections of the session that it ended."""
    if isinstance(error, ConnectError):
        return error.fault
    if isinstance(error, Recreated):
        return Fault(Kind.PASSING, "a topic was made anew")
    if isinstance(error, Truncated):
        return Fault(Kind.PASSING, "a partition ends before the place where it was left")
    if isinstance(error, StandsStill):
        return Fault(Kind.PASSING, str(error))
    return fault_of(error) if session is None else session.consumer.blame(error)


def divergence(error: Exception) -> dict[Place, int | None]:
    """The places of a LogTruncationError, and up to which offset the logs agree."""
    told = getattr(error, "divergent_offsets", {})
    return {tuple(place): None if where is None else where.offset for place, where in told.items()}
