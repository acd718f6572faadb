"""Clients of kafka-python as we use them: opened and closed without leaving anything behind, and what they tell.

kafka-python is imported when the first client is opened. What had to be mended in it is in `mending`.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.errors import SourceError, source_error
from ingest.sources.kafka.decoding import decode_stretches
from ingest.sources.kafka.errors import Fault, Kind, fault_of
from ingest.sources.kafka.mending import TlsContext, direct_proxy, mend, tls_context
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings, client_options, token_of

CONNECT_SECONDS = 5.0
"""How long one attempt to reach the cluster may take; the next one follows, so this only bounds a wait."""

REQUEST_SECONDS = 10.0
"""How long a broker may take for an answer; one under load takes a second, one that is frozen never answers."""

FETCH_BYTES = 16 << 20
"""Most bytes in one answer of one broker, however many partitions it has: what a poll hands out at most."""

PARTITION_BYTES = 4 << 20
"""Most bytes of one partition in an answer: one chunk. A larger message comes all the same, alone."""

_ZERO_ID = uuid.UUID(int=0)
_TELLTALES = ("kafka.admin.client", "kafka.net.connection", "kafka.net.transport", "kafka.protocol.parser")
"""Loggers that print options and requests, the login among them, at level DEBUG."""

Place = tuple[str, int]
"""A topic and the number of a partition."""


@dataclass(slots=True)
class Client:
    """A client of kafka-python, and why its last connection failed, if it did."""

    api: Any
    failures: list[BaseException] = field(default_factory=list)
    tls: TlsContext | None = None

    def blame(self, error: BaseException) -> Fault:
        """What an exception means, by the failed connection behind it where that says more."""
        return _blame(error, self.failures)

    def close(self) -> None:
        """Give back connections and threads; what goes wrong on the way is of no interest any more."""
        with contextlib.suppress(Exception):
            self.api.close()
        if self.tls is not None:
            self.tls.close()


class ConnectError(Exception):
    """No client could be made; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.sentence)
        self.fault = fault


def _blame(error: BaseException, failures: list[BaseException]) -> Fault:
    fault = fault_of(error)
    if fault.kind is Kind.PASSING and failures:
        return fault_of(failures[-1])
    return fault


def _open(kind: Callable[..., Any], connection: KafkaConnection, options: dict[str, Any]) -> Client:
    from kafka.net.compat import KafkaNetClient

    for name in _TELLTALES:
        logging.getLogger(name).setLevel(logging.INFO)
    _check_files(connection)
    nets: list[Any] = []
    failures: list[BaseException] = []

    def net(**configs: Any) -> Any:
        made = KafkaNetClient(**configs)
        nets.append(made)
        mend(made, failures)
        return made

    common: dict[str, Any] = {
        "kafka_client": net,
        "proxy_url": direct_proxy(),
        "request_timeout_ms": int(REQUEST_SECONDS * 1000),
        "bootstrap_timeout_ms": int(CONNECT_SECONDS * 1000),
        "reconnect_backoff_max_ms": 1000,
    }
    if connection.sasl_mechanism == "OAUTHBEARER":
        common["sasl_oauth_token_provider"] = _token_provider(connection)
    own = client_options(connection)
    tls: TlsContext | None = None
    try:
        if connection.protocol.endswith("SSL"):
            own["ssl_context"] = tls = tls_context(own)
        return Client(kind(**own, **common, **options), failures, tls)
    except Exception as error:
        for made in nets:  # a constructor that fails leaves the thread of its network client running
            with contextlib.suppress(Exception):
                made._manager.closed = False
                made.close()
        if tls is not None:
            tls.close()
        raise ConnectError(_blame(error, failures)) from None


def _check_files(connection: KafkaConnection) -> None:
    """Raise SourceError with the path for a file that cannot be read; OpenSSL says "No such file" and no more."""
    for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "sasl_oauth_token_file"):
        path: Path | None = getattr(connection, name)
        if path is not None:
            try:
                path.open("rb").close()
            except OSError as error:
                raise source_error(error, path) from None


def _token_provider(connection: KafkaConnection) -> Any:
    """What gives the token for each login. Raises SourceError when there is none now."""
    from kafka.errors import SaslAuthenticationFailedError
    from kafka.net.sasl.oauth import AbstractTokenProvider

    class Provider(AbstractTokenProvider):  # type: ignore[misc]
        def token(self) -> str:
            try:
                return token_of(connection)
            except (OSError, ValueError) as error:  # for a later login, in the thread of the client
                raise SaslAuthenticationFailedError("no token") from error

    try:
        token_of(connection)
    except ValueError as error:
        raise SourceError(f"{error}: let it hold nothing but the token") from None
    return Provider()


def open_admin(connection: KafkaConnection) -> Client:
    """A client for questions about topics. Raises ConnectError, or SourceError for a file that cannot be read."""
    from kafka import KafkaAdminClient

    return _open(KafkaAdminClient, connection, {})


def open_consumer(connection: KafkaConnection, settings: KafkaSettings) -> Client:
    """A client that reads stretches of messages, without a place yet. Raises as `open_admin` does."""
    from kafka import KafkaConsumer

    options = {
        "group_id": None,  # offsets are committed by the other client: no group can get in the way of reading
        "enable_auto_commit": False,
        "auto_offset_reset": "none",
        "isolation_level": settings.isolation,
        "check_crcs": True,
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": PARTITION_BYTES,
        "fetch_max_wait_ms": 250,
        "metadata_max_age_ms": 30_000,
        "metrics_enabled": False,
    }
    opened = _open(KafkaConsumer, connection, options)
    decode_stretches(opened.api)
    return opened


def open_producer(connection: KafkaConnection, **options: Any) -> Client:
    """A client that sends. Raises as `open_admin` does."""
    from kafka import KafkaProducer

    return _open(KafkaProducer, connection, options)


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that exists: its id (None from a broker before 2.8) and the numbers of its partitions."""

    id: str | None
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Offsets of a partition: the earliest record, what follows the last one, and how far reading may go now.

    `readable` is below `end` while a transaction is open and only committed messages are read.
    """

    first: int
    end: int
    readable: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What a cluster says about topics at one moment; a partition without a leader has no bounds."""

    topics: dict[str, Topic]
    bounds: dict[Place, Bounds]

    def without_leader(self, wanted: Callable[[Place], bool]) -> list[Place]:
        """The partitions that nobody serves just now."""
        every = [(name, number) for name, topic in self.topics.items() for number in sorted(topic.partitions)]
        return [place for place in every if wanted(place) and place not in self.bounds]


def topic_ids(admin: Client, topics: list[str]) -> dict[str, str | None]:
    """The ids of the topics that exist. Raises what kafka-python raises."""
    return {name: topic.id for name, topic in _topics(admin, topics)[0].items()}


def survey(admin: Client, topics: list[str], wanted: Callable[[Place], bool], isolation: str) -> Survey:
    """Topics that exist and the bounds of the partitions that are wanted. Raises what kafka-python raises."""
    from kafka import TopicPartition
    from kafka.protocol.consumer import IsolationLevel, OffsetSpec

    found, led = _topics(admin, topics)
    places = [place for place in led if wanted(place)]

    def offsets(spec: Any, level: Any) -> dict[Any, int]:
        asked = {TopicPartition(*place): spec for place in places}
        answers = admin.api.list_partition_offsets(asked, isolation_level=level) if asked else {}
        return {tuple(place): answer.offset for place, answer in answers.items()}

    everything, committed = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED
    first = offsets(OffsetSpec.EARLIEST, everything)
    end = offsets(OffsetSpec.LATEST, everything)
    readable = offsets(OffsetSpec.LATEST, committed) if isolation == "read_committed" else end
    return Survey(found, {place: Bounds(first[place], end[place], readable[place]) for place in places})


def _topics(admin: Client, names: list[str]) -> tuple[dict[str, Topic], list[Place]]:
    """The topics that exist, and their partitions that have a leader."""
    from kafka.errors import NoError, UnknownTopicOrPartitionError, for_code

    found: dict[str, Topic] = {}
    led: list[Place] = []
    for told in admin.api.describe_topics(names):
        error = for_code(told["error_code"])
        if error is UnknownTopicOrPartitionError:
            continue
        if error is not NoError:
            raise error(told["name"])
        number = told.get("topic_id")
        topic_id = str(number) if number not in (None, _ZERO_ID) else None
        partitions = told["partitions"]
        found[told["name"]] = Topic(topic_id, frozenset(one["partition_index"] for one in partitions))
        led += [(told["name"], one["partition_index"]) for one in partitions if one["leader_id"] >= 0]
    return found, led


def commit(admin: Client, group: str, offsets: dict[Place, int]) -> list[str]:
    """Commit offsets for the group, which has no members; the problems of single partitions. Raises as kafka-python."""
    from kafka import TopicPartition
    from kafka.errors import NoError
    from kafka.structs import OffsetAndMetadata

    asked = {TopicPartition(*place): OffsetAndMetadata(offset, "", -1) for place, offset in offsets.items()}
    answers = admin.api.alter_group_offsets(group, asked)
    return [f"{place[0]}/{place[1]}: {error.__name__}" for place, error in answers.items() if error is not NoError]
