"""Kafka as a live source: a thread that reads ahead by one batch, and a queue.

The thread is what keeps `poll` prompt whatever the cluster does, since kafka-python's calls may wait for seconds, and
what decodes messages while the store is busy. At most three batches of `MAX_POLL_BYTES` are in memory, the one in the
making, the one in the queue, and the one that was handed out, and one answer of each broker (`FETCH_BYTES`). A batch of
messages is decompressed as a whole, by its producer's choice of size: what that takes comes on top.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence

from ingest.errors import SourceError
from ingest.lines import Received
from ingest.sources.jsonl import Positions
from ingest.sources.kafka.clients import REQUEST_SECONDS, Place
from ingest.sources.kafka.places import Stand, key_prefix, stand_of
from ingest.sources.kafka.reader import Reader
from ingest.sources.kafka.session import Session
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.kafka.watch import Pace

_STEP_SECONDS = 0.25
"""Longest wait of the thread for messages, so that it notices soon that it is to stop."""


class KafkaSource:
    """The partitions of the topics of one configured source, as `LiveSource`.

    Positions are read when it is made, in the thread of the caller, who owns the database. `opener` makes sessions;
    tests put one without a network there.
    """

    def __init__(
        self,
        connection: KafkaConnection,
        settings: KafkaSettings,
        positions: Positions,
        pace: Pace | None = None,
        opener: Callable[[], Session] | None = None,
    ) -> None:
        topics = ", ".join(settings.topics)
        self._label = f"kafka:{settings.name}" if settings.name else f"kafka:{topics}"
        opener = opener or (lambda: Session(connection, settings))
        self._reader = Reader(settings, _stands(settings, positions), opener, pace)
        self._batches: queue.Queue[list[Received]] = queue.Queue(maxsize=1)
        self._fault: BaseException | None = None
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._prefixes = {topic: key_prefix(settings, topic) for topic in settings.topics}
        self._to_commit: dict[Place, int] = {}

    @property
    def label(self) -> str:
        """What logs and metrics call it."""
        return self._label

    @property
    def trouble(self) -> str | None:
        """Why nothing, or not everything, can be read just now."""
        return self._reader.trouble

    @property
    def troubles(self) -> Mapping[str, str]:
        """The same, as `LiveSource` tells it."""
        why = self._reader.trouble
        return {} if why is None else {"": why}

    @property
    def away(self) -> bool:
        """Whether nothing at all can be read: while it is, nobody knows what waits in any partition."""
        return self._reader.trouble is not None and not self._reader.lag

    @property
    def unreadable(self) -> int:
        """There are no files."""
        return 0

    @property
    def note(self) -> str | None:
        """Why the last commit of offsets failed, if it did: lag tools are wrong then, and nothing else."""
        return self._reader.note

    def poll(self, wait: float) -> list[Received]:
        """What has come, waiting up to `wait` seconds for the first of it.

        Raises SourceError when the source cannot go on without a person, after all that came before was handed out.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._label, daemon=True)
            self._thread.start()
        try:
            batch = self._batches.get(timeout=wait) if wait > 0 else self._batches.get_nowait()
        except queue.Empty:
            # The thread ends after its last batch, so that with a fault an empty queue stays empty.
            if self._fault is not None and self._batches.empty():
                raise self._fault from None
            return []
        return batch

    def kept(self, received: Sequence[Received]) -> None:
        """What is in the store the cluster may know, for its lag tools."""
        stored: dict[Place, int] = {}
        for one in received:
            topic, _, number = one.source.path.rpartition("/")
            if topic in self._prefixes and f"{self._prefixes[topic]}{number}" in one.positions:
                stored[topic, int(number)] = one.end["offset"]
        with self._lock:
            self._to_commit |= stored

    def lag(self) -> dict[str, int]:
        """Messages that are waiting to be read, by partition, as of the last look at the cluster."""
        return dict(self._reader.lag)

    def close(self) -> None:
        """End the thread and its connections. What was not kept is read again by whoever goes on from the store."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(REQUEST_SECONDS + 2)  # it may be waiting for an answer; then it ends by itself

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                batch = self._reader.step(_STEP_SECONDS)
                self._commit()
                while batch and not self._stopped.is_set():
                    try:
                        self._batches.put(batch, timeout=_STEP_SECONDS)
                        break
                    except queue.Full:
                        self._commit()
            self._commit()
        except BaseException as error:
            self._fault = error if isinstance(error, SourceError) else _unforeseen(self._label, error)
        finally:
            self._reader.close()

    def _commit(self) -> None:
        with self._lock:
            offsets, self._to_commit = self._to_commit, {}
        if offsets and not self._reader.commit(offsets):
            with self._lock:
                self._to_commit = offsets | self._to_commit  # the newer ones win


def _unforeseen(label: str, error: BaseException) -> SourceError:
    fault = SourceError(f"{label}: reading ended by a mistake of gatewatch ({type(error).__name__}): please report it")
    fault.__cause__ = error
    return fault


def _stands(settings: KafkaSettings, positions: Positions) -> dict[Place, Stand]:
    found: dict[Place, Stand] = {}
    for topic in settings.topics:
        for number, position in positions.positions(key_prefix(settings, topic)).items():
            found[topic, int(number)] = stand_of(position)
    return found
