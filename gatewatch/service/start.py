"""From the settings to a running service: sources, keys, addresses."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path

from gatewatch import __version__
from gatewatch.errors import InputError
from gatewatch.metrics import Metrics
from gatewatch.metrics_server import serving
from gatewatch.output import say
from gatewatch.service.chores import Intervals
from gatewatch.service.clock import SystemClock
from gatewatch.service.engine import Engine
from gatewatch.service.fleet import Fleet, Maker, Member
from gatewatch.service.log import Log
from gatewatch.service.loop import Service
from gatewatch.service.reporter import Reporter
from gatewatch.service.signals import Orders, obeying
from gatewatch.service.status import Status
from gatewatch.settings import Settings, SourceSettings, listen_address
from ingest.lines import readable
from ingest.lock import holding
from ingest.sources.jsonl import Positions
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.live import LiveSource
from ingest.sources.tail.settings import TailSettings
from ingest.sources.tail.source import TailSource
from ingest.sources.tail.state import Claims

NO_SOURCES = (
    "no source to read: write three lines into gatewatch.toml (or the file of --config): "
    '`[[sources]]`, `type = "jsonl"`, `paths = ["logs/*.jsonl"]`'
)


def run_service(data: Path, settings: Settings, *, choice: str | None, rules: Path | None, once: bool) -> None:
    """Run until a signal says stop; with `once`, until everything is read. Raises the errors of all layers."""
    if not settings.sources:
        raise InputError(NO_SOURCES)
    # The log has a line of our own for whatever a library could complain of.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    orders = Orders()
    clock, log = SystemClock(orders.stop), Log()
    engine = Engine(data, choice=choice, rules=rules, checkpoints=settings.checkpoints, kafka=settings.kafka)
    members = _members(settings, data)
    status = Status(clock.utc())
    metrics = Metrics(status, {member.label: member.unit for member in members}, clock.utc)
    report = Reporter(clock, log, status, metrics)
    with holding(data):
        pass  # who is in the way is said before anything else is tried
    with ExitStack() as stack:
        stack.enter_context(obeying(orders, lambda name: say(f"gatewatch: ended at once by {name}; nothing is lost")))
        log.info(f"gatewatch {__version__} on {data}, judged by {engine.policy}")
        if settings.metrics.listen and not once:
            address = listen_address(settings.metrics.listen)
            health = lambda: status.health(clock.utc())  # noqa: E731
            server = stack.enter_context(
                serving(address, metrics.registry, health, allow_remote=settings.metrics.allow_remote)
            )
            log.info(f"metrics: {server.url}/metrics, health: {server.url}/healthz")
        for member in members:
            log.info(f"reads {member.label}")
        service = Service(engine, Fleet(members, report.gave_up), _intervals(settings), orders, report, once=once)
        service.run()


def _intervals(settings: Settings) -> Intervals:
    run = settings.run
    verify = None if run.verify_interval is None else run.verify_interval.total_seconds()
    return Intervals(
        refresh=run.refresh_interval.total_seconds(),
        publish=run.publish_interval.total_seconds(),
        tick=run.tick_interval.total_seconds(),
        verify=verify,
    )


def _members(settings: Settings, data: Path) -> list[Member]:
    """The configured sources, each under a label of its own."""
    members: list[Member] = []
    for source in settings.sources:
        taken = {member.label for member in members}
        label = unique = _label(source)
        while unique in taken:
            unique = f"{label} ({int(unique.removeprefix(label).strip(' ()') or 1) + 1})"
        if isinstance(source, KafkaSettings):
            assert settings.kafka is not None  # noqa: S101 - load_settings has seen to it
            members.append(Member(unique, "messages", _kafka(source, settings.kafka)))
        else:
            members.append(Member(unique, "bytes", _tail(source, data)))
    return members


def _label(source: SourceSettings) -> str:
    """What logs and metrics call a source: its kind, and its name or the first thing that it reads."""
    names = source.topics if isinstance(source, KafkaSettings) else source.paths
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{source.type}:{source.name}" if source.name else f"{source.type}:{readable(names[0])}{more}"


def _tail(settings: TailSettings, data: Path) -> Maker:
    return lambda positions, claims: TailSource(settings, positions, claims, data=data)


def _kafka(settings: KafkaSettings, connection: KafkaConnection) -> Maker:
    def make(positions: Positions, claims: Claims) -> LiveSource:
        # Imported here: who reads files only does not wait for a Kafka client to load.
        from ingest.sources.kafka.source import KafkaSource

        return KafkaSource(connection, settings, positions)

    return make
