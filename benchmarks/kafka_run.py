"""How close is `gatewatch run` to a plain loop that polls Kafka and throws the messages away?

One real broker, one topic of three partitions, sample events as values (about 360 bytes, every kind, about 1 % of the
lines bad or repeated), lz4. By turns and each in a process of its own: kafka-python's `poll` and nothing else, with the
same fetch settings and checksums checked by the same compiled crc32c; our source alone; and the service's loop with
everything that `run` does to a message until it is in the store: ledger, redaction, validation, dedupe, transaction.
Judging and publishing are left out, as they are spread over time by `refresh_interval` and `publish_interval`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from benchmarks.measuring import Times, medians, ratio, timed
from gatewatch.metrics import Metrics
from gatewatch.service.chores import Intervals
from gatewatch.service.clock import SystemClock
from gatewatch.service.engine import Engine
from gatewatch.service.fleet import Fleet, Member
from gatewatch.service.log import Log
from gatewatch.service.loop import Service
from gatewatch.service.reporter import Reporter
from gatewatch.service.signals import Orders
from gatewatch.service.status import Status
from ingest.sources.kafka.clients import FETCH_BYTES, PARTITION_BYTES
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.kafka.source import KafkaSource
from sample_data.generate import generate

TOPIC = "agents"
PARTITIONS = 3
BARS = {"source": 0.95, "run": 0.85}
_BLOCK = 500
"""Messages that go to one partition before the next one has its turn: producers batch by partition."""


def main() -> None:
    """Print the ratios of our rates to the plain loop's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="how often each side runs; medians are printed")
    parser.add_argument("--compression", choices=("none", "lz4", "zstd", "snappy", "gzip"), default="lz4")
    parser.add_argument("--at", help="address of a broker whose topic is filled already; default: one is started")
    parser.add_argument(
        "--keep", type=Path, help="fill a broker, write its address here, and wait for the end of input"
    )
    parser.add_argument("--side", choices=list(SIDES), help="run this side alone, once, and print its seconds as JSON")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(SIDES[arguments.side](arguments.at, arguments.messages)))
        return
    if arguments.at:
        compare(arguments.at, arguments.messages, arguments.rounds)
        return
    compression = None if arguments.compression == "none" else arguments.compression
    with filled(arguments.messages, compression) as address:
        if arguments.keep:
            arguments.keep.write_text(address)
            sys.stdin.read()
        else:
            compare(address, arguments.messages, arguments.rounds)


def compare(address: str, messages: int, rounds: int) -> None:
    """Run every side by turns and print their ratios."""
    runs: dict[str, list[Times]] = {side: [] for side in SIDES}
    for _ in range(rounds):
        for side, times in runs.items():
            command = [sys.executable, "-m", "benchmarks.kafka_run", "--side", side, "--at", address]
            done = subprocess.run([*command, "--messages", str(messages)], check=True, capture_output=True, text=True)
            times.append(Times(*json.loads(done.stdout)))
            print(f"{side}: {times[-1].wall:.2f} s, {times[-1].cpu:.2f} s of processor", flush=True)
    poll = medians(runs["poll"])
    print(f"poll and discard: {messages / poll.wall:,.0f} messages/s")
    for side, bar in BARS.items():
        # The rate is what counts, so the plain loop's time stands above the line.
        own = medians(runs[side])
        print(ratio(f"rate of {side} ÷ poll and discard, {messages:,} messages, at least {bar:g}", poll, own))


@contextmanager
def filled(messages: int, compression: str | None) -> Iterator[str]:
    """The address of a broker whose topic holds so many sample events."""
    from tests.support import broker_jars
    from tests.support.broker import Broker

    if (lacking := broker_jars.missing()) is not None:
        raise SystemExit(f"{lacking}: needed for Apache Kafka")
    with tempfile.TemporaryDirectory() as folder:
        broker = Broker(Path(folder), broker_jars.classpath())
        try:
            broker.start()
            broker.create_topic(TOPIC, PARTITIONS)
            _fill(broker.address, messages, compression, Path(folder) / "events.jsonl")
            yield broker.address
        finally:
            broker.end()


def _fill(address: str, messages: int, compression: str | None, path: Path) -> None:
    generate(messages, 1, path)
    producer = KafkaProducer(
        bootstrap_servers=address, compression_type=compression, batch_size=1 << 16, linger_ms=50, max_block_ms=300_000
    )
    size = 0
    with path.open("rb") as lines:
        for number, line in enumerate(islice(lines, messages)):
            value = line.rstrip(b"\n")
            size += len(value)
            producer.send(TOPIC, value, partition=number // _BLOCK % PARTITIONS)
    producer.flush()
    producer.close()
    path.unlink()
    print(f"{messages:,} messages of {size / messages:.0f} bytes, {compression or 'not compressed'}", flush=True)


def poll_and_discard(address: str, messages: int) -> Times:
    """What kafka-python takes by itself."""

    def work() -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=address,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            check_crcs=True,
            fetch_max_bytes=FETCH_BYTES,
            max_partition_fetch_bytes=PARTITION_BYTES,
            metrics_enabled=False,
        )
        consumer.assign([TopicPartition(TOPIC, number) for number in range(PARTITIONS)])
        left = messages
        while left:
            left -= sum(map(len, consumer.poll(timeout_ms=1000).values()))

    return timed(work)


def source_alone(address: str, messages: int) -> Times:
    """Our source, whose lines are thrown away."""

    def work() -> None:
        source = KafkaSource(*_settings(address), _Nothing())
        left = messages
        while left:
            left -= sum(len(one.lines) for one in source.poll(1.0))

    return timed(work)


def whole_run(address: str, messages: int) -> Times:
    """The service's loop until every message is in the store."""
    orders = Orders()
    clock = SystemClock(orders.stop)
    connection, settings = _settings(address)
    label = f"kafka:{TOPIC}"
    member = Member(label, "messages", lambda positions, _: KafkaSource(connection, settings, positions))
    status = Status(clock.utc())
    said: list[str] = []
    log = Log(clock.utc, said.append)
    report = Reporter(clock, log, status, Metrics(status, {label: "messages"}, clock.utc))
    with tempfile.TemporaryDirectory() as folder:
        engine = Engine(Path(folder) / "data")
        service = Service(engine, Fleet([member], report.gave_up), Intervals(), orders, report)
        service.chores = _NoChores()  # type: ignore[assignment]
        ender = threading.Thread(target=_stop_when, args=(lambda: service.total.lines >= messages, orders), daemon=True)

        def work() -> None:
            ender.start()
            service.run()

        took = timed(work)
    if service.total.lines != messages:
        raise SystemExit("\n".join(said))
    return took


def _stop_when(reached: Callable[[], bool], orders: Orders) -> None:
    while not reached():
        time.sleep(0.02)
    orders.stop.set()


def _settings(address: str) -> tuple[KafkaConnection, KafkaSettings]:
    return KafkaConnection(bootstrap_servers=[address]), KafkaSettings(type="kafka", topics=[TOPIC])


class _Nothing:
    """Positions of a store in which nothing is."""

    def position(self, key: str) -> None:
        """None, always."""

    def positions(self, prefix: str) -> dict[str, dict[str, object]]:
        """None, always."""
        return {}


class _NoChores:
    """Judges, publishes and signs nothing."""

    snapshot = None

    def start(self) -> None:
        """Nothing."""

    lines_came = nothing_came = due = start

    def is_due(self) -> bool:
        """Never."""
        return False

    def wait(self) -> float:
        """Nothing is due for an hour."""
        return 3600.0

    def finish(self) -> list[str]:
        """Nothing has failed."""
        return []


SIDES: dict[str, Callable[[str, int], Times]] = {
    "poll": poll_and_discard,
    "source": source_alone,
    "run": whole_run,
}

if __name__ == "__main__":
    main()
