"""Reading Apache Kafka: every message once, whatever is in it and whatever happens to the broker.

With GATEWATCH_FAULTS=all the broker is killed more often, and `test_kafka_full.py` runs as well.
"""

from __future__ import annotations

import base64
import contextlib
import json
import logging
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from ingest.errors import SourceError
from ingest.lines import MAX_LINE_BYTES
from ingest.sources.kafka import clients as kafka_clients
from ingest.sources.kafka.publish import PublishError, send
from ingest.sources.kafka.settings import KafkaConnection
from tests.faults.kafka_reading import Reading, assert_sound, events, gaps, ids, names
from tests.ingest.builders import event, query
from tests.support.broker import PLAIN_USER, SCRAM_USER, Broker
from tests.support.certificates import make_certificates

ALL = os.environ.get("GATEWATCH_FAULTS") == "all"
pytestmark = pytest.mark.usefixtures("collected")


def test_every_message_is_a_line(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Events, poison, tombstones, empty values, line breaks inside, values too long, in three partitions."""
    broker.create_topic(topic, 3, max_message_bytes="4000000")
    pretty = json.dumps(event("pretty"), indent=2).encode()
    assert b"\n" in pretty
    odd = [b"{", None, b"", b"\xff\xfe", pretty, b"\x00" * 10, b"x" * (MAX_LINE_BYTES + 1)]
    broker.produce(topic, events("a", 2000), 0)
    broker.produce(topic, [*events("b", 500), *odd, *events("c", 500)], 1, max_request_size=4_000_000)
    with Reading(tmp_path, broker, [topic]) as reading:
        total = reading.read(3007).total
        # Quarantined: "{", the bytes that are no UTF-8, the NULs, and the value too long. Blank: no value, empty value.
        assert (total.accepted, total.duplicate, total.quarantined, total.blank) == (3001, 0, 4, 2)
        reading.until(lambda: reading.source.note is None)
        assert reading.source.lag() == {f"kafka:{topic}/{number}": 0 for number in range(3)}
    assert ids(tmp_path) == sorted(
        [*names("a", range(2000)), *names("b", range(500)), *names("c", range(500)), "pretty"]
    )
    places = query(tmp_path, "SELECT source, position, reason FROM quarantine ORDER BY seq")
    assert [place[:2] for place in places] == [(f"kafka:{topic}/1", f"offset {500 + n}") for n in (0, 3, 5, 6)]
    with broker.admin() as admin:  # what lag tools see
        told = admin.list_group_offsets("gatewatch")["gatewatch"]
    committed = {place.partition: where.offset for place, where in told.items() if place.topic == topic}
    assert (committed[0], committed[1]) == (2000, 1007)
    broker.produce(topic, events("d", 10), 2)
    with Reading(tmp_path, broker, [topic]) as reading:  # goes on from the store, not from the group
        reading.read(10)
    assert len(ids(tmp_path)) == 3011
    assert_sound(tmp_path)


def test_transactions_leave_gaps_in_the_offsets(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Aborted messages are not read, markers are no messages, and an open transaction is waited for."""
    broker.create_topic(topic)
    with contextlib.closing(
        KafkaProducer(bootstrap_servers=broker.address, transactional_id=topic, linger_ms=5)
    ) as producer:
        producer.init_transactions()

        def transaction(values: list[bytes]) -> None:
            producer.begin_transaction()
            for value in values:
                producer.send(topic, value, partition=0)
            producer.flush()

        transaction(events("a", 100))
        producer.commit_transaction()
        transaction(events("never", 50))
        producer.abort_transaction()
        transaction(events("b", 100))
        with Reading(tmp_path, broker, [topic]) as reading:
            reading.read(100)
            producer.commit_transaction()
            reading.read(200)
            # 100 messages, a marker, 50 aborted ones, a marker, 100 messages
            offsets = [run for received in reading.received for run in received.end.get("offsets", [])]
            covered = [number for first, count in offsets for number in range(first, first + count)]
            assert covered == [*range(100), *range(152, 252)]
            # That nothing is left behind the last marker is stored after a while, so that its removal is no loss.
            reading.until(lambda: reading.received[-1].end["offset"] == 253)
    assert ids(tmp_path) == names("a", range(100)) + names("b", range(100))
    broker.produce(topic, events("c", 3))
    broker.delete_records(topic, 0, 253)
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(3)
    assert gaps(tmp_path) == []
    assert_sound(tmp_path)


def test_partitions_that_come_later_are_read_from_their_beginning(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Also where reading began at the end: what is in a new partition is new."""
    broker.create_topic(topic)
    broker.produce(topic, events("old", 10))
    with Reading(tmp_path, broker, [topic], start="latest") as reading:
        reading.settle()
        broker.produce(topic, events("a", 10))
        reading.read(10)
        broker.add_partitions(topic, 3)
        broker.produce(topic, events("b", 10), 2)
        reading.read(20)
    broker.add_partitions(topic, 4)  # while nobody reads
    broker.produce(topic, events("c", 10), 3)
    with Reading(tmp_path, broker, [topic], start="latest") as reading:
        reading.read(10)
    assert ids(tmp_path) == [*names("a", range(10)), *names("b", range(10)), *names("c", range(10))]
    assert_sound(tmp_path)


def test_some_partitions_each(broker: Broker, topic: str, tmp_path: Path) -> None:
    """Two processes with a data directory each share a topic."""
    broker.create_topic(topic, 4)
    for number in range(4):
        broker.produce(topic, events(f"p{number}", 10), number)
    for wanted in ([0, 3], [1, 2]):
        with Reading(tmp_path / str(wanted[0]), broker, [topic], partitions=wanted, name="half") as reading:
            reading.read(20)
            assert {received.source.name for received in reading.received} == {
                f"kafka:half/{topic}/{n}" for n in wanted
            }
        assert ids(tmp_path / str(wanted[0])) == sorted(name for n in wanted for name in names(f"p{n}", range(10)))
    with Reading(tmp_path / "none", broker, [topic], partitions=[7]) as reading:
        reading.until(lambda: reading.source.trouble == f"the topic {topic} has no partition 7")


@pytest.mark.parametrize("refilled", [True, False])
def test_a_topic_made_anew(broker: Broker, topic: str, tmp_path: Path, refilled: bool) -> None:
    """Known by its id also when the new one has grown past the old place; never read on as if nothing had happened."""
    broker.create_topic(topic)
    broker.produce(topic, events("a", 50))
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(50)
    broker.delete_topic(topic)
    broker.create_topic(topic)
    again = 80 if refilled else 20
    broker.produce(topic, events("b", again))
    with (
        Reading(tmp_path, broker, [topic]) as reading,
        pytest.raises(SourceError, match=rf"kafka:{topic}/0 cannot be read on at offset 50: .*made again.*on_lost"),
    ):
        reading.until(lambda: False)
    assert ids(tmp_path) == names("a", range(50))
    with Reading(tmp_path, broker, [topic], on_lost="earliest") as reading:
        reading.read(again)
    assert ids(tmp_path) == names("a", range(50)) + names("b", range(again))
    ((source, before, after, why),) = gaps(tmp_path)
    assert (source, before, after) == (f"kafka:{topic}/0", "offset 50", "offset 0")
    assert "made again" in why
    assert_sound(tmp_path)


@pytest.mark.parametrize("on_lost", ["earliest", "latest"])
def test_records_removed_before_they_were_read(broker: Broker, topic: str, tmp_path: Path, on_lost: str) -> None:
    broker.create_topic(topic)
    broker.produce(topic, events("a", 100))
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(100)
    broker.produce(topic, events("b", 100))
    broker.delete_records(topic, 0, 150)
    with (
        Reading(tmp_path, broker, [topic]) as reading,
        pytest.raises(SourceError, match=r"cannot be read on at offset 100: the broker's earliest record is 150"),
    ):
        reading.until(lambda: False)
    came = 50 if on_lost == "earliest" else 0
    with Reading(tmp_path, broker, [topic], on_lost=on_lost) as reading:
        reading.settle()
        broker.produce(topic, events("c", 1))
        reading.read(came + 1)
    assert ids(tmp_path) == names("a", range(100)) + names("b", range(100 - came, 100)) + names("c", range(1))
    ((_, before, after, _),) = gaps(tmp_path)
    assert (before, after) == ("offset 100", f"offset {200 - came}")
    assert_sound(tmp_path)


def test_the_broker_is_killed_in_the_middle(broker: Broker, topic: str, tmp_path: Path) -> None:
    """While it is written to and read from. Nothing lost, nothing doubled, and the same reader goes on by itself."""
    broker.create_topic(topic, 2)
    count, kills = (30_000, 5) if ALL else (4_000, 1)
    options = {"batch_size": 2_000, "max_block_ms": 300_000, "delivery_timeout_ms": 300_000}
    writers = [
        threading.Thread(target=broker.produce, args=(topic, events(f"a{number}-", count), number), kwargs=options)
        for number in range(2)
    ]
    with Reading(tmp_path, broker, [topic]) as reading:
        for writer in writers:
            writer.start()
        for kill in range(kills):
            reading.until(lambda kill=kill: reading.total.lines > 2 * count * kill // (kills + 1))
            broker.kill()
            reading.until(lambda: reading.source.trouble)
            assert "cannot be reached" in str(reading.source.trouble)
            broker.start()
        for writer in writers:
            writer.join()
        reading.read(2 * count)
        assert (reading.total.accepted, reading.total.duplicate) == (2 * count, 0)
    assert ids(tmp_path) == names("a0-", range(count)) + names("a1-", range(count))
    assert gaps(tmp_path) == []
    assert_sound(tmp_path)


def test_a_frozen_broker(broker: Broker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections stay and no answer comes: that is said, and reading goes on when the broker does."""
    monkeypatch.setattr(kafka_clients, "REQUEST_SECONDS", 1)
    monkeypatch.setattr(kafka_clients, "CONNECT_SECONDS", 1)
    broker.create_topic(topic)
    broker.produce(topic, events("a", 1000))
    with Reading(tmp_path, broker, [topic]) as reading:
        reading.read(1000)
        broker.freeze()
        try:
            reading.until(lambda: reading.source.trouble)
        finally:
            broker.thaw()
        broker.produce(topic, events("b", 1000))
        reading.read(2000)
    assert len(ids(tmp_path)) == 2000
    assert_sound(tmp_path)


def test_a_topic_that_does_not_exist(broker: Broker, topic: str, tmp_path: Path) -> None:
    """It may come; until then that is said, and after a while it is an error. Nobody creates it by looking for it."""
    broker.create_topic(f"{topic}-there")
    broker.produce(f"{topic}-there", events("a", 10))
    with Reading(tmp_path, broker, [f"{topic}-there", topic]) as reading:
        reading.until(lambda: reading.total.lines == 10)  # the other topic is read meanwhile
        assert reading.source.trouble == f"the topic {topic} does not exist"
        with pytest.raises(SourceError, match=f"the topic {topic} does not exist: create it, or take it out of topics"):
            reading.until(lambda: False)
    assert topic not in broker.topics()
    with Reading(tmp_path, broker, [f"{topic}-there", topic]) as reading:
        reading.until(lambda: reading.source.trouble)
        broker.create_topic(topic)
        broker.produce(topic, events("b", 10))
        reading.read(10)
    assert len(ids(tmp_path)) == 20


def secure(broker: Broker, mechanism: str, user: str, password: str, **settings: Any) -> KafkaConnection:
    return KafkaConnection(
        bootstrap_servers=[broker.secure_address],
        security_protocol="SASL_SSL",
        sasl_mechanism=mechanism,
        sasl_username=user,
        sasl_password=password,
        **{"ssl_cafile": broker.certificates.authority, **settings},
    )


@pytest.mark.parametrize(
    ("mechanism", "user"),
    [("PLAIN", PLAIN_USER), ("SCRAM-SHA-256", SCRAM_USER), ("SCRAM-SHA-512", SCRAM_USER)],
)
def test_tls_and_login(
    broker: Broker,
    topic: str,
    tmp_path: Path,
    mechanism: str,
    user: tuple[str, str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It works with the password, and without it one line says so, in which no secret is; nor is it in any log."""
    caplog.set_level(logging.DEBUG)
    broker.create_topic(topic)
    broker.produce(topic, events("a", 100))
    with Reading(tmp_path, broker, [topic], secure(broker, mechanism, *user)) as reading:
        reading.read(100)
    wrong = "falsches-Geheimnis"
    with (
        Reading(tmp_path, broker, [topic], secure(broker, mechanism, user[0], wrong)) as reading,
        pytest.raises(SourceError) as caught,
    ):
        reading.until(lambda: False)
    said = str(caught.value)
    assert said.startswith("kafka: the broker refused the login: check sasl_mechanism, sasl_username and sasl_password")
    assert "\n" not in said
    for text in (said, caplog.text, repr(caught.value.__cause__)):
        assert wrong not in text
        assert user[1] not in text


def test_login_with_a_token(broker: Broker, topic: str, tmp_path: Path) -> None:
    """From a file that somebody else renews; the broker of the tests takes tokens without a signature."""
    broker.create_topic(topic)
    broker.produce(topic, events("a", 10))
    now = int(time.time())
    parts = [{"alg": "none"}, {"sub": "gatewatch", "iat": now - 60, "exp": now + 3600}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    path = tmp_path / "token"
    path.write_text(".".join([*encoded, ""]) + "\n")
    connection = KafkaConnection(
        bootstrap_servers=[broker.secure_address],
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_file=path,
        ssl_cafile=broker.certificates.authority,
    )
    with Reading(tmp_path / "data", broker, [topic], connection) as reading:
        reading.read(10)
    for content, said in {"": "does not hold one bearer token", "nonsense": "the broker refused the login"}.items():
        path.write_text(content)
        with (
            Reading(tmp_path / "data", broker, [topic], connection) as reading,
            pytest.raises(SourceError, match=said),
        ):
            reading.until(lambda: False)


def test_what_a_wrong_connection_says(broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.create_topic(topic)
    strange = broker.folder / "strange"
    strange.mkdir(exist_ok=True)
    other = make_certificates(strange).authority
    plain = KafkaConnection(bootstrap_servers=[broker.secure_address])
    cases = [
        (
            secure(broker, "PLAIN", *PLAIN_USER, ssl_cafile=other),
            "the broker's certificate is not trusted: check ssl_ca",
        ),
        (secure(broker, "PLAIN", *PLAIN_USER, ssl_cafile=tmp_path / "no.pem"), "no.pem does not exist: check the path"),
        (plain, "what came from the broker's port is not Kafka in this protocol"),
    ]
    for connection, expected in cases:
        with (
            Reading(tmp_path / "data", broker, [topic], connection) as reading,
            pytest.raises(SourceError, match=expected),
        ):
            reading.until(lambda: False)


def test_publishing(broker: Broker, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    connection = secure(broker, "SCRAM-SHA-256", *SCRAM_USER)
    with pytest.raises(PublishError, match=f"the Kafka topic {topic}: it does not exist, create it"):
        send(connection, topic, b"key", b"value", timeout=10)
    assert topic not in broker.topics()
    broker.create_topic(topic)
    send(connection, topic, b"key", b"note\n", timeout=30)
    with KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        ((record,),) = consumer.poll(10_000).values()
    assert (record.key, record.value) == (b"key", b"note\n")
    with pytest.raises(PublishError, match="the broker refused the login"):
        send(secure(broker, "SCRAM-SHA-256", SCRAM_USER[0], "wrong-one"), topic, b"", b"x", timeout=5)
    away = KafkaConnection(bootstrap_servers=["127.0.0.1:1"])
    with pytest.raises(PublishError, match=r"nothing was sent to the Kafka topic .*: the broker cannot be reached"):
        send(away, topic, b"", b"x", timeout=2)


def test_no_thread_is_left_behind(broker: Broker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by readers that were closed nor by attempts that failed: a broker may be away for days."""
    monkeypatch.setattr(kafka_clients, "CONNECT_SECONDS", 0.5)
    before = threading.active_count()
    away = KafkaConnection(bootstrap_servers=["127.0.0.1:1"])
    with Reading(tmp_path, broker, [topic], away) as reading:
        reading.until(lambda: reading.source._reader._failing and reading.source._reader._failing.times >= 3)
        assert threading.active_count() <= before + 4
    assert threading.active_count() <= before + 1  # the pipeline's own may still be ending
