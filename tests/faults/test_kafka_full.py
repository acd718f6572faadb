"""Reading Apache Kafka, the long part: compaction, damaged logs, a million messages. Only with GATEWATCH_FAULTS=all."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from ingest.errors import SourceError
from tests.faults.kafka_reading import Reading, assert_sound, events, gaps, ids, names
from tests.ingest.builders import line, query
from tests.support.broker import Broker

pytestmark = pytest.mark.usefixtures("collected")


def test_a_compacted_topic(broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.create_topic(
        topic, cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01", delete_retention_ms="100"
    )
    keys = [f"k{number % 5}".encode() for number in range(200)]
    broker.produce(topic, events("a", 200), keys=keys)
    time.sleep(0.3)
    broker.produce(topic, events("b", 1), keys=[b"other"])  # closes the segment, which can be cleaned then
    _wait_until_compacted(broker, topic)
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.until(lambda: reading.total.lines and not sum(reading.source.lag().values()) and reading.source.lag())
        lines = reading.total.lines
        assert 6 <= lines < 200
    kept = ids(tmp_path)
    assert len(kept) == lines
    assert {*names("a", range(195, 200)), *names("b", range(1))} <= set(kept)
    assert gaps(tmp_path) == []
    broker.produce(topic, events("c", 5), keys=[b"z"] * 5)
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(5)
    assert_sound(tmp_path)


def _wait_until_compacted(broker: Broker, topic: str) -> None:
    for _ in range(100):
        with KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest") as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            seen = 0
            while records := consumer.poll(500):
                seen += sum(map(len, records.values()))
        if seen < 200:
            return
        time.sleep(0.3)
    pytest.fail("the broker did not compact the topic")


def test_a_topic_made_anew_while_it_is_read(broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.create_topic(topic)
    broker.produce(topic, events("a", 50))
    with Reading(tmp_path, broker, [topic], on_lost="earliest") as reading:
        reading.read(50)
        broker.delete_topic(topic)
        broker.create_topic(topic)
        broker.produce(topic, events("b", 70))
        reading.read(120)
    assert ids(tmp_path) == names("a", range(50)) + names("b", range(70))
    assert [gap[1:3] for gap in gaps(tmp_path)] == [("offset 50", "offset 0")]
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.settle()
        broker.delete_topic(topic)
        with pytest.raises(SourceError, match=f"the topic {topic} was deleted: create it, or take it out of topics"):
            reading.until(lambda: False)
    assert_sound(tmp_path)


@pytest.fixture
def damaged(broker: Broker, topic: str) -> Path:
    """The log file of a topic with a hundred events a… and a hundred b…, to be damaged while the broker is stopped."""
    broker.create_topic(topic)
    broker.produce(topic, events("a", 100))
    broker.produce(topic, events("b", 100))
    return broker.folder / "log" / f"{topic}-0" / f"{0:020}.log"


def test_a_damaged_batch(broker: Broker, topic: str, damaged: Path, tmp_path: Path) -> None:
    """What is before it is read; then it is tried again, and named with its offset instead of being read over."""
    broker.create_topic(f"{topic}-whole")
    broker.produce(f"{topic}-whole", events("w", 100))
    broker.stop()
    content = bytearray(damaged.read_bytes())
    content[content.index(b"b0000050")] ^= 0xFF
    damaged.write_bytes(content)
    broker.start()
    with (
        Reading(tmp_path, broker, [topic, f"{topic}-whole"]) as reading,
        pytest.raises(
            SourceError, match=rf"kafka:{topic}/0 cannot be read at offset \d+: .*CorruptRecordError.*on_lost"
        ),
    ):
        reading.until(lambda: False)
    kept = ids(tmp_path)
    assert set(names("w", range(100)) + names("a", range(100))) <= set(kept)
    assert "b0000050" not in kept
    assert_sound(tmp_path)


def test_a_log_that_was_cut_and_grew_again(broker: Broker, topic: str, damaged: Path, tmp_path: Path) -> None:
    """As after an unclean election: the place exists again, with other records before it. The epoch gives it away."""
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(200)
    broker.stop()
    content = damaged.read_bytes()
    cut = content.index(b"b0000000")
    damaged.write_bytes(content[: _last_batch_before(content, cut)])
    for name in ("*.index", "*.timeindex", "*.snapshot"):
        for path in damaged.parent.glob(name):
            path.unlink()
    (damaged.parents[1] / ".kafka_cleanshutdown").unlink()
    broker.start()
    broker.produce(topic, events("c", 300))
    with (
        Reading(tmp_path, broker, [topic]) as reading,
        pytest.raises(SourceError, match=r"cannot be read on at offset 200: the log was cut by the election"),
    ):
        reading.until(lambda: False)
    with Reading(tmp_path, broker, [topic], on_lost="earliest") as reading:
        reading.settle()
    assert set(names("c", range(300))) <= set(ids(tmp_path))
    ((_, before, _, why),) = gaps(tmp_path)
    assert before == "offset 200"
    assert "took the place" in why
    assert_sound(tmp_path)


def _last_batch_before(content: bytes, end: int) -> int:
    """Where the batch begins that holds the byte at `end`: base offset (8 bytes), length (4 bytes), and so on."""
    begin = 0
    while True:
        after = begin + 12 + int.from_bytes(content[begin + 8 : begin + 12], "big")
        if after > end:
            return begin
        begin = after


def test_a_million_messages(broker: Broker, topic: str, tmp_path: Path) -> None:
    """All of them once; and what reading costs, beside a bare loop of the library's own client in the same run."""
    broker.create_topic(topic, 4)
    total = 1_000_000
    settings = {"linger_ms": 50, "batch_size": 200_000, "compression_type": "lz4"}
    with contextlib.closing(KafkaProducer(bootstrap_servers=broker.address, **settings)) as producer:
        for number in range(total):
            producer.send(topic, line(f"m{number:07}"), partition=number % 4)
        producer.flush()
    bare = _seconds_of_a_bare_consumer(broker, topic, total)
    began = time.monotonic()
    with Reading(tmp_path / "unused", broker, [topic]) as reading:
        count = 0
        while count < total:
            count += sum(len(received.lines) for received in reading.source.poll(1))
    alone = time.monotonic() - began
    began = time.monotonic()
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(total)
        counts = reading.total
    stored = time.monotonic() - began
    assert (counts.accepted, counts.duplicate, counts.quarantined) == (total, 0, 0)
    ((rows, different),) = query(tmp_path, "SELECT count(*), count(DISTINCT event_id) FROM events")
    assert rows == different == total
    assert_sound(tmp_path)
    for what, seconds in {"bare consumer": bare, "source alone": alone, "into the store": stored}.items():
        print(f"{what}: {total:,} messages in {seconds:.1f} s, {total / seconds:,.0f}/s")  # noqa: T201


def _seconds_of_a_bare_consumer(broker: Broker, topic: str, total: int) -> float:
    options = {"auto_offset_reset": "earliest", "isolation_level": "read_committed", "enable_auto_commit": False}
    began = time.monotonic()
    with KafkaConsumer(bootstrap_servers=broker.address, **options) as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(4)])
        count = 0
        while count < total:
            count += sum(map(len, consumer.poll(1000, max_records=20_000).values()))
    return time.monotonic() - began
