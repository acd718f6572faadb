"""A Kafka source and the real pipeline, as a service would run them, for the tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ingest.accounting import Accounting
from ingest.lines import Received
from ingest.pipeline import Pipeline, verify
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.kafka.source import KafkaSource
from ingest.sources.kafka.watch import Pace
from tests.ingest.builders import line, query
from tests.support.broker import Broker

QUICK = Pace(look=0.3, grace=3.0, stall=8.0, idle=2.0, confirm=0.5, retry=(0.1, 0.2, 0.5))
"""The same as in service, with shorter waits."""

HANG_SECONDS = 180
"""When nothing has come for so long, nothing will: a test that waits for it fails."""


class Reading:
    """One life of a reader: a pipeline on a data directory and a source that goes on from what is stored there."""

    def __init__(
        self,
        data: Path,
        broker: Broker,
        topics: Iterable[str],
        connection: KafkaConnection | None = None,
        pace: Pace = QUICK,
        **settings: Any,
    ) -> None:
        self.total = Accounting()
        self.received: list[Received] = []
        self.pipeline = Pipeline(data)
        self.source = KafkaSource(
            connection or KafkaConnection(bootstrap_servers=[broker.address]),
            KafkaSettings(type="kafka", topics=list(topics), **settings),
            self.pipeline.positions,
            pace,
        )

    def __enter__(self) -> Reading:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()
        self.pipeline.close()

    def turn(self) -> None:
        """Poll once and keep what came. Raises SourceError."""
        batch = self.source.poll(0.2)
        if batch:
            self.received += batch
            self.total.add(self.pipeline.commit(batch))
            self.source.kept(batch)

    def until(self, reached: Callable[[], object]) -> None:
        """Read until something is so. Raises SourceError."""
        lines, deadline = -1, 0.0
        while not reached():
            if self.total.lines != lines:
                lines, deadline = self.total.lines, time.monotonic() + HANG_SECONDS
            assert time.monotonic() < deadline, f"not reached: {self.total}, trouble: {self.source.trouble}"
            self.turn()

    def read(self, lines: int) -> Reading:
        """Read until so many lines in all have come, then look whether more come."""
        self.until(lambda: self.total.lines >= lines)
        self.settle()
        assert self.total.lines == lines
        return self

    def settle(self) -> None:
        """Read until there is no trouble and, for a while, nothing comes."""
        quiet = 0
        while quiet < 5:
            lines = self.total.lines
            self.until(lambda: self.source.trouble is None and self.source.lag())
            self.turn()
            quiet = quiet + 1 if self.total.lines == lines else 0


def ids(data: Path) -> list[str]:
    """The ids of all stored events, in order."""
    return [event_id for (event_id,) in query(data, "SELECT event_id FROM events ORDER BY event_id")]


def events(prefix: str, count: int) -> list[bytes]:
    """Lines of events whose ids are the prefix and a number."""
    return [line(f"{prefix}{number:07}") for number in range(count)]


def names(prefix: str, *counts: range) -> list[str]:
    """The ids of such events."""
    return [f"{prefix}{number:07}" for numbers in counts for number in numbers]


def assert_sound(data: Path) -> None:
    """Ledger and database agree."""
    assert verify(data).problems == []


def gaps(data: Path) -> list[tuple[Any, ...]]:
    """Source, from, to and why of every gap."""
    return query(data, "SELECT source, from_position, to_position, why FROM gaps ORDER BY seq, source")
