"""`/metrics`: the numbers of the running service, in a registry of their own.

Counters start at 0 with each process. Label values are few: one for each configured source, verdict, reason, severity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from gatewatch import __version__
from gatewatch.service.status import Status
from ingest.accounting import Accounting
from schemas.export import SCHEMA_VERSION

VERDICTS = ("accepted", "duplicate", "quarantined", "blank")
SEVERITIES = ("critical", "high", "medium", "low", "info")
_STEPS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""From one small chunk on a fast disk to a full refresh of a long history, in seconds."""


class Metrics:
    """What is counted, and a collector of what `status` says at the moment of a scrape; `units` names each source's."""

    def __init__(self, status: Status, units: dict[str, str], now: Callable[[], datetime]) -> None:
        # A start time beside each series would double their number and tell nothing here.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=False)
        self._lines = self._counter("lines", "Lines that were committed, by verdict.", "verdict")
        for verdict in VERDICTS:
            self._lines.labels(verdict)
        self._quarantined = self._counter("quarantined_lines", "Lines that were quarantined, by reason.", "reason")
        self._redacted = self._counter("redacted_lines", "Lines from which personal data was taken.")
        self._recovered = self._counter(
            "recovered_lines", "Lines that an interrupted commit had left in the ledger; not in the lines by verdict."
        )
        self._gaps = self._counter("gaps", "Ranges of a source that could not be read any more.")
        self._failures = self._counter("commit_failures", "Commits that failed; their lines were read again.")
        self._ticks = self._counter("ticks", "Chunks without lines, which say that nothing had come.")
        self._commit = self._histogram(
            "commit_duration", "Ledger and database transaction of one commit, and its wait for those before."
        )
        self._refresh = self._histogram("refresh_duration", "Judging what a commit or time has changed.")
        self._publish = self._histogram("publish_duration", "Copying the database for readers.")
        self._signed = self._counter("checkpoints_signed", "Checkpoints that were signed and kept in the ledger.")
        self._sent = self._counter("checkpoints_published", "Checkpoints that reached an outside place.")
        self._unsent = self._counter("checkpoints_failed", "Checkpoints that could not be signed or did not arrive.")
        ProcessCollector(registry=self.registry)
        self.registry.register(_Now(status, units, now))

    def _counter(self, name: str, help_text: str, *labels: str) -> Counter:
        return Counter(f"gatewatch_{name}", help_text, labels, registry=self.registry)

    def _histogram(self, name: str, help_text: str) -> Histogram:
        return Histogram(f"gatewatch_{name}_seconds", help_text, buckets=_STEPS, registry=self.registry)

    def committed(self, accounting: Accounting, seconds: Sequence[float]) -> None:
        """Lines are in the store, and with them as many commits as there are durations."""
        for verdict in VERDICTS:
            self._lines.labels(verdict).inc(getattr(accounting, verdict))
        for reason, count in accounting.reasons.items():
            self._quarantined.labels(reason).inc(count)
        self._redacted.inc(accounting.redacted)
        for duration in seconds:
            self._commit.observe(duration)

    def recovered(self, lines: int) -> None:
        """Lines that only the ledger had are in the store now; their verdicts are not counted again."""
        self._recovered.inc(lines)

    def commit_failed(self) -> None:
        """A commit, or opening the data directory, failed."""
        self._failures.inc()

    def ticked(self) -> None:
        """Nothing had come, which the ledger now says."""
        self._ticks.inc()

    def gap(self) -> None:
        """A source skipped what it could not read."""
        self._gaps.inc()

    def refreshed(self, seconds: float) -> None:
        """Judged."""
        self._refresh.observe(seconds)

    def published(self, seconds: float) -> None:
        """A snapshot was published."""
        self._publish.observe(seconds)

    def signed(self) -> None:
        """A checkpoint was signed."""
        self._signed.inc()

    def handed_out(self, *, arrived: int, failed: int) -> None:
        """A checkpoint has come to so many places for the first time, and not to so many others."""
        self._sent.inc(arrived)
        self._unsent.inc(failed)

    def sign_failed(self) -> None:
        """A checkpoint could not be signed or kept."""
        self._unsent.inc()


class _Now:
    """Collects what is so at the moment of a scrape; what is not known is left out."""

    def __init__(self, status: Status, units: dict[str, str], now: Callable[[], datetime]) -> None:
        self._status = status
        self._units = units
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """See `prometheus_client.registry.Collector`."""
        status, now = self._status, self._now()
        build = {"version": __version__, "schema_version": str(SCHEMA_VERSION)}
        yield InfoMetricFamily("gatewatch_build", "What runs here.", value=build)
        yield from self._sources(status)
        yield _by("open_findings", "Findings that hold now.", "severity", _findings(status))
        yield _one("ledger_size_bytes", "Bytes of the ledger's segments on disk.", status.ledger_bytes)
        yield _one("ledger_chunks", "Chunks in the ledger: the size of its Merkle tree.", status.ledger_chunks)
        ok = {"ok": 1, "degraded": 0.5}.get(status.health(now)["status"], 0)
        yield _one("health", "1 ok, 0.5 degraded, 0 failing; /healthz says why.", ok)
        if status.watermark is not None:
            delay = (now - status.watermark).total_seconds()
            yield _one("watermark_delay_seconds", "How far behind now time is judged; absent: not at all.", delay)
        if status.published_at is not None:
            age = max(0.0, (now - status.published_at).total_seconds())
            yield _one("snapshot_age_seconds", "Age of the snapshot that readers see.", age)
        if status.committed_at is not None:
            at = status.committed_at.replace(tzinfo=UTC).timestamp()
            yield _one("last_commit_timestamp_seconds", "When lines were last committed.", at)

    def _sources(self, status: Status) -> Iterator[Metric]:
        states, away = status.sources, status.away
        up = [(label, float(state != "stopped" and label not in away)) for label, state in states.items()]
        yield _by("source_up", "1 while something of a source can be read.", "source", up)
        trouble = [(label, float(state == "trouble")) for label, state in states.items()]
        yield _by("source_trouble", "1 while something of a source cannot be read for now.", "source", trouble)
        files = [(label, count) for label, count in status.unreadable.items() if self._units.get(label) == "bytes"]
        help_text = "Files and folders that are there and cannot be read; their bytes are in no lag."
        yield _by("source_unreadable_files", help_text, "source", files)
        lag = status.lag
        for unit in ("bytes", "messages"):
            waiting = [(label, count) for label, count in lag.items() if self._units.get(label) == unit]
            yield _by(f"source_lag_{unit}", "What waits to be read of a source.", "source", waiting)


def _findings(status: Status) -> list[tuple[str, float]]:
    return [(severity, status.findings.get(severity, 0)) for severity in SEVERITIES]


def _one(name: str, help_text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"gatewatch_{name}", help_text, value=value)


def _by(name: str, help_text: str, label: str, values: Iterable[tuple[str, float]]) -> Metric:
    family = GaugeMetricFamily(f"gatewatch_{name}", help_text, labels=[label])
    for labelled, value in values:
        # A path may hold bytes that are no UTF-8, which could not be sent.
        family.add_metric([labelled.encode("utf-8", "backslashreplace").decode()], value)
    return family
