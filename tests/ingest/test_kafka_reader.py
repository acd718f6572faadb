"""What a Kafka reader does when things go wrong: a cluster in memory, a clock that is set, and no waiting."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from kafka.errors import (
    CorruptRecordError,
    KafkaConnectionError,
    KafkaError,
    LogTruncationError,
    OffsetOutOfRangeError,
    SaslAuthenticationFailedError,
)
from kafka.structs import OffsetAndMetadata

from ingest.errors import SourceError
from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, MAX_LINE_BYTES, Line, Received, Source
from ingest.sources.kafka.clients import Bounds, ConnectError, Place, Survey, Topic
from ingest.sources.kafka.decoding import STRETCH_LINES, Stretch
from ingest.sources.kafka.errors import fault_of
from ingest.sources.kafka.lines import chunks_of, joined
from ingest.sources.kafka.places import Begin, Stand, Truncated, begin, stand_of
from ingest.sources.kafka.reader import Reader
from ingest.sources.kafka.settings import KafkaSettings
from ingest.sources.kafka.watch import Pace


@dataclass
class Cluster:
    """Topics with their id and the first offset and values of each partition; what calls are to raise, in turn."""

    topics: dict[str, tuple[str | None, list[tuple[int, list[bytes]]]]]
    opening: list[Exception] = field(default_factory=list)
    fetching: dict[Place, Exception] = field(default_factory=dict)
    looking: list[Exception] = field(default_factory=list)
    silent: bool = False
    opened: int = 0
    closed: int = 0


class Blame:
    """The part of a client that explains errors."""

    blame = staticmethod(fault_of)


class Session:
    """A session on such a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        cluster.opened += 1
        if cluster.opening:
            raise cluster.opening.pop(0)
        self._cluster = cluster
        self.admin = self.consumer = Blame()
        self.seen = Survey({}, {})
        self.places: set[Place] = set()
        self._offsets: dict[Place, int] = {}
        self._only: set[Place] | None = None

    def look(self) -> Survey:
        if self._cluster.looking:
            raise self._cluster.looking.pop(0)
        topics = {
            name: Topic(number, frozenset(range(len(parts)))) for name, (number, parts) in self._cluster.topics.items()
        }
        bounds = {
            (name, index): Bounds(first, first + len(values), first + len(values))
            for name, (_, parts) in self._cluster.topics.items()
            for index, (first, values) in enumerate(parts)
        }
        self.seen = Survey(topics, bounds)
        return self.seen

    def assign(self, stands: dict[Place, Stand]) -> None:
        for place in stands.keys() - self.places:
            self._offsets[place] = stands[place].offset
        self.places = set(stands)

    def only(self, places: Any) -> None:
        self._only = set(places)

    def fetch(self, wait: float, most_bytes: int) -> dict[Place, list[Stretch]]:
        found: dict[Place, list[Stretch]] = {}
        for place in sorted(self.places if self._only is None else self.places & self._only):
            if self._cluster.silent:
                continue
            if place in self._cluster.fetching:
                if found:
                    return found
                raise self._cluster.fetching[place]
            first, values = self._cluster.topics[place[0]][1][place[1]]
            begin = max(first, self._offsets[place])
            lines: list[Line] = list(values[begin - first :])
            if lines:
                found[place] = [Stretch(lines, [[begin, len(lines)]], sum(map(len, values)) + len(lines), 0)]
                self._offsets[place] = begin + len(lines)
        return found

    def offset(self, place: Place) -> int:
        return self._offsets[place]

    def close(self) -> None:
        self._cluster.closed += 1


class Bench:
    """A reader on a cluster, with a clock of its own."""

    def __init__(self, cluster: Cluster, stands: dict[Place, Stand] | None = None, **settings: Any) -> None:
        self.cluster = cluster
        self.now = 1000.0
        self.received: list[Received] = []
        self.pace = Pace()
        self.reader = Reader(
            KafkaSettings.model_validate({"type": "kafka", "topics": ["t"], **settings}),
            stands or {},
            lambda: Session(cluster),  # type: ignore[arg-type, return-value]
            self.pace,
            clock=lambda: self.now,
            sleep=lambda seconds: self.pass_by(seconds),
        )

    def pass_by(self, seconds: float) -> None:
        self.now += seconds

    def steps(self, count: int = 1, each: float = 0.0) -> Bench:
        for _ in range(count):
            self.now += each
            self.received += self.reader.step(0.25)
        return self

    @property
    def values(self) -> list[Any]:
        return [line for received in self.received for line in received.lines]


def one(values: list[bytes], first: int = 0, topic_id: str | None = "id1") -> Cluster:
    return Cluster({"t": (topic_id, [(first, values)])})


def stand(offset: int, topic_id: str | None = "id1", partitions: int = 1) -> dict[Place, Stand]:
    return {("t", 0): Stand(offset, 0, topic_id, partitions)}


def test_reading_and_what_is_stored() -> None:
    bench = Bench(one([b"a", b"b"], first=5)).steps(2)
    assert bench.values == [b"a", b"b"]
    first, second = bench.received  # where reading begins is stored before anything is read
    assert (first.lines, first.start, first.end["offset"]) == ([], {"offset": 5}, 5)
    assert second.positions == {"kafka::t:0": {"offset": 7, "leader_epoch": 0, "topic_id": "id1", "partitions": 1}}
    assert second.end["offsets"] == [[5, 2]]
    assert second.source == Source("kafka:t/0", "kafka", "t/0", "auto")
    assert stand_of(second.positions["kafka::t:0"]) == Stand(7, 0, "id1", 1)


def test_a_broker_that_is_away_is_waited_for() -> None:
    """For as long as it takes, with the words of the failed connection, and no error."""
    cluster = one([b"a"])
    cluster.opening = [ConnectError(fault_of(KafkaConnectionError("111 ECONNREFUSED")))] * 500
    bench = Bench(cluster).steps(100, each=6)
    assert bench.reader.trouble == "the broker cannot be reached (KafkaConnectionError: 111 ECONNREFUSED)"
    cluster.opening.clear()
    bench.steps(2, each=6)
    assert (bench.values, bench.reader.trouble) == ([b"a"], None)


def test_a_session_that_broke_is_closed_and_replaced() -> None:
    cluster = one([b"a"])
    bench = Bench(cluster).steps()
    cluster.looking = [KafkaConnectionError("gone")]
    bench.steps(each=5)
    assert (cluster.opened, cluster.closed) == (1, 1)
    assert bench.reader.lag == {}
    cluster.topics["t"][1][0][1].append(b"b")
    bench.steps(2, each=1)
    assert (cluster.opened, bench.values, bench.reader.trouble) == (2, [b"a", b"b"], None)


def test_a_refused_login_is_an_error_at_once_but_not_of_a_cluster_that_restarts() -> None:
    refused = ConnectError(fault_of(SaslAuthenticationFailedError("bad")))
    cluster = one([b"a"])
    cluster.opening = [refused]
    with pytest.raises(SourceError, match=r"^kafka: the broker refused the login: check sasl_mechanism"):
        Bench(cluster).steps()
    cluster = one([b"a"])
    bench = Bench(cluster).steps()
    cluster.looking, cluster.opening = [KafkaConnectionError("gone")], [refused] * 100
    bench.steps(6, each=5)
    assert str(bench.reader.trouble).startswith("the broker refused the login")
    with pytest.raises(SourceError, match="the broker refused the login"):
        bench.steps(20, each=6)


def test_what_nobody_foresaw_is_an_error_when_it_stays() -> None:
    cluster = one([b"a"])
    cluster.looking = [KafkaError("strange")] * 100
    bench = Bench(cluster).steps(5, each=5)
    assert bench.reader.trouble == "kafka: KafkaError: strange"
    with pytest.raises(SourceError, match=r"KafkaError: strange; this has come back \d+ times"):
        bench.steps(50, each=6)


def test_a_partition_that_stands_still_gets_new_clients() -> None:
    """Although the clients say nothing, and only while there is more to read."""
    cluster = one([b"a"])
    bench = Bench(cluster).steps(20, each=30)
    assert cluster.opened == 1  # nothing to read: standing still is right
    cluster.silent = True
    cluster.topics["t"][1][0][1].append(b"b")
    bench.steps(2, each=bench.pace.stall / 2)
    assert cluster.opened == 1
    bench.steps(1, each=bench.pace.stall)
    assert bench.reader.trouble == "t/0 stands at offset 1 and can be read up to 2"
    cluster.silent = False
    bench.steps(3, each=1)
    assert (cluster.opened, bench.values, bench.reader.trouble) == (2, [b"a", b"b"], None)


def test_a_damaged_batch_is_found_among_many_and_the_others_go_on() -> None:
    cluster = Cluster({"t": ("id1", [(0, [b"a"]), (0, [b"b"]), (0, [b"c"])])})
    cluster.fetching = {("t", 1): CorruptRecordError("failed crc check")}
    bench = Bench(cluster)
    with pytest.raises(SourceError, match=r"^kafka:t/1 cannot be read at offset 0: .*CorruptRecordError.*replica"):
        bench.steps(100, each=1)
    assert bench.values == [b"a", b"c"]


def test_damage_of_the_transfer_passes() -> None:
    cluster = one([b"a"])
    cluster.fetching = {("t", 0): CorruptRecordError("failed crc check")}
    bench = Bench(cluster).steps(2, each=1)
    assert bench.reader.trouble == "a batch of messages is damaged"
    cluster.fetching.clear()
    bench.steps(5, each=5)
    assert (bench.values, bench.reader.trouble) == ([b"a"], None)


@pytest.mark.parametrize(
    ("cluster", "stands", "why", "gap"),
    [
        (one([b"x"], topic_id="id2"), stand(0), "made again", ("offset 0", "offset 0")),
        (one([b"x"], first=7), stand(5), "earliest record is 7", ("offset 5", "offset 7")),
        (one([b"x"]), stand(9), "ends at 1: its log was cut", ("offset 9", "offset 0")),
    ],
)
def test_what_was_lost_stops_or_is_kept_as_a_gap(
    cluster: Cluster, stands: dict[Place, Stand], why: str, gap: tuple[str, str]
) -> None:
    with pytest.raises(SourceError, match=rf"kafka:t/0 cannot be read on at offset \d+: .*{why}.*on_lost"):
        Bench(cluster, stands).steps(50, each=1)
    bench = Bench(cluster, stands, on_lost="earliest").steps(50, each=1)
    assert bench.values == [b"x"]
    told = [received.end["gap"] for received in bench.received if "gap" in received.end]
    assert [(one["from"], one["to"]) for one in told] == [gap]
    assert why in told[0]["why"]
    bench = Bench(cluster, stands, on_lost="latest").steps(50, each=1)
    assert bench.values == []
    (kept,) = [received for received in bench.received if "gap" in received.end]
    assert kept.positions["kafka::t:0"]["offset"] == cluster.topics["t"][1][0][0] + 1


def test_an_end_before_our_place_has_to_last() -> None:
    """A leader that has just been elected may know less for a moment."""
    cluster = one([b"a", b"b"])
    bench = Bench(cluster, stand(2)).steps()
    last = cluster.topics["t"][1][0][1].pop()
    bench.steps(each=5).steps(each=0.3)
    assert bench.reader.trouble == "a partition ends before the place where it was left"
    cluster.topics["t"][1][0][1].append(last)
    bench.steps(3, each=5)
    assert (bench.reader.trouble, bench.values) == (None, [])


def test_a_fetch_that_finds_nothing_at_our_place_is_judged_by_the_bounds() -> None:
    """Records may be removed while we read: said by the fetch, since what is on its way is still good."""
    cluster = one([b"a"])
    bench = Bench(cluster, on_lost="earliest").steps()
    cluster.topics["t"] = ("id1", [(8, [b"z"])])
    cluster.silent = True
    bench.steps(each=5)
    assert [received for received in bench.received if "gap" in received.end] == []
    cluster.silent = False
    cluster.fetching = {("t", 0): OffsetOutOfRangeError({("t", 0): 1})}
    bench.steps()
    cluster.fetching.clear()
    bench.steps(3, each=1)
    assert [received.end["gap"]["to"] for received in bench.received if "gap" in received.end] == ["offset 8"]
    assert bench.values == [b"a", b"z"]


@pytest.mark.parametrize(("agree", "begins"), [(OffsetAndMetadata(2, "", 0), 2), (None, 0)])
def test_a_log_that_took_another_course(agree: OffsetAndMetadata | None, begins: int) -> None:
    """Where the logs agree is where earliest goes on; where nobody knows, from the first record."""
    cluster = one([b"a", b"b", b"C", b"D"])
    cluster.fetching = {("t", 0): LogTruncationError({("t", 0): agree})}
    with pytest.raises(SourceError, match=r"at offset 3: the log was cut by the election of another leader"):
        Bench(cluster, stand(3)).steps(5, each=1)
    bench = Bench(cluster, stand(3), on_lost="earliest").steps()
    cluster.fetching.clear()
    bench.steps(3, each=1)
    assert bench.values == [b"a", b"b", b"C", b"D"][begins:]
    assert [received.end["gap"]["to"] for received in bench.received if "gap" in received.end] == [f"offset {begins}"]


def test_a_gap_is_kept_whatever_goes_wrong_next() -> None:
    """Else the jump would have been made, and nobody would know."""
    cluster = Cluster({"t": ("id1", [(7, [b"x"]), (0, [b"y"])])})
    cluster.fetching = {("t", 0): KafkaConnectionError("gone")}
    stands = {("t", 0): Stand(5, 0, "id1", 2), ("t", 1): Stand(9, 0, "id1", 2)}
    bench = Bench(cluster, stands, on_lost="earliest").steps(3, each=0.3)
    assert bench.reader.trouble is not None
    cluster.fetching.clear()
    bench.steps(30, each=1)
    told = [(received.source.path, received.end["gap"]["to"]) for received in bench.received if "gap" in received.end]
    assert told == [("t/0", "offset 7"), ("t/1", "offset 0")]
    assert bench.values == [b"x", b"y"]


def test_what_comes_back_again_and_again_is_an_error() -> None:
    """Also when every other attempt goes well, and the other partitions with it."""
    cluster = Cluster({"t": ("id1", [(0, [b"a"]), (0, [b"b"])])})
    cluster.fetching = {("t", 1): OffsetOutOfRangeError({("t", 1): 0})}
    bench = Bench(cluster)
    with pytest.raises(SourceError, match=r"has not got the next message any more; this has come back \d+ times"):
        bench.steps(200, each=1)
    assert bench.values == [b"a"]


def test_an_answer_that_is_not_understood_is_no_damaged_batch() -> None:
    cluster = one([b"a"])
    cluster.looking = [ValueError("nonsense")] * 100
    with pytest.raises(SourceError, match="an answer of the broker was not understood; this has come back"):
        Bench(cluster).steps(200, each=1)


def test_latest_is_for_what_was_there_before() -> None:
    """A partition that came after reading began holds new records only, in this life of the process or a later one."""
    cluster = one([b"old"])
    bench = Bench(cluster, start="latest").steps(2)
    assert bench.values == []
    assert [received.end["offset"] for received in bench.received] == [1]  # kept at once, or a restart would jump again
    cluster.topics["t"][1].append((0, [b"new"]))
    bench.steps(2, each=5)
    assert bench.values == [b"new"]
    cluster.topics["t"][1].append((0, [b"newer"]))
    stands = {("t", 0): Stand(1, -1, "id1", 2), ("t", 1): Stand(1, 0, "id1", 2)}
    assert Bench(cluster, stands, start="latest").steps(2).values == [b"newer"]


def test_a_topic_that_is_missing() -> None:
    with pytest.raises(SourceError, match="kafka: the topic t does not exist: create it, or take it out of topics"):
        Bench(Cluster({})).steps(30, each=5)
    bench = Bench(Cluster({}), stand(5), on_lost="earliest").steps(500, each=5)
    assert bench.reader.trouble == "the topic t was deleted"  # whoever chose to go on waits for the next one


def test_offsets_without_messages_are_stored_after_a_while() -> None:
    """What follows the last message of a transaction is removed in time, and that is no loss."""
    cluster = one([b"a"])
    bench = Bench(cluster).steps(2)
    assert bench.reader._session is not None
    bench.reader._session._offsets["t", 0] = 2  # behind a marker
    cluster.topics["t"][1][0][1].append(b"")
    bench.steps(5, each=bench.pace.idle / 2)
    assert bench.received[-1].lines == []
    assert bench.received[-1].positions["kafka::t:0"]["offset"] == 2


def test_runs_that_follow_each_other_are_one() -> None:
    assert joined([[3, 2], [5, 1], [9, 1], [11, 2]]) == [[3, 3], [9, 1], [11, 2]]
    assert joined([]) == []


@pytest.mark.parametrize(
    ("line", "count", "each"),
    [
        (b"x" * 1000, 9000, 1),
        (b"x" * 1000, 9000, 1000),
        (b"", MAX_CHUNK_LINES + 5, STRETCH_LINES),
        (b"y" * MAX_LINE_BYTES, 9, 1),
    ],
)
def test_chunks_are_bounded_and_follow_each_other(line: bytes, count: int, each: int) -> None:
    """Of stretches with `each` lines, between which a transaction has left out an offset."""
    stretches = []
    for number, at in enumerate(range(0, count, each)):
        lines: list[Line] = [line] * min(each, count - at)
        stretches.append(Stretch(lines, [[at + number, len(lines)]], len(lines) * (len(line) + 1), 7))
    source, topic = Source("n", "kafka", "t/0", "auto"), Topic("id", frozenset({0}))
    chunks = [chunk for chunk, _ in chunks_of(source, "k", Stand(0, -1, "id", 1), stretches, topic)]
    assert len(chunks) > 1
    assert [one for chunk in chunks for one in chunk.lines] == [line] * count
    assert [run for chunk in chunks for run in chunk.end["offsets"]] == [run for one in stretches for run in one.runs]
    assert chunks[-1].end["offset"] == stretches[-1].last + 1
    assert chunks[-1].end["leader_epoch"] == 7
    for chunk, following in zip(chunks, [*chunks[1:], None], strict=True):
        assert len(chunk.lines) <= MAX_CHUNK_LINES
        assert chunk.size <= MAX_CHUNK_BYTES
        assert following is None or following.start["offset"] == chunk.end["offset"]


def test_ids_that_are_not_known() -> None:
    """A broker before 2.8 has none; when it gets them, nothing was lost."""
    settings = KafkaSettings(type="kafka", topics=["t"])
    bounds = Bounds(0, 9, 9)
    old = begin(("t", 0), Stand(5, 0, "id1", 1), 1, Topic(None, frozenset({0})), bounds, settings)
    assert old == Begin(Stand(5, 0, "id1", 1), news=False)
    new = begin(("t", 0), Stand(5, 0, None, 1), 1, Topic("id1", frozenset({0})), bounds, settings)
    assert new == Begin(Stand(5, 0, "id1", 1), news=False)
    with pytest.raises(Truncated):
        begin(("t", 0), Stand(10, 0, None, 1), 1, Topic("x", frozenset({0})), bounds, settings, confirmed=False)
