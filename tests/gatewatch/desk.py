"""A service on a made-up engine, whose steps take as long as a test says, on a clock that waiting moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from gatewatch.metrics import Metrics
from gatewatch.service.chores import Intervals
from gatewatch.service.engine import Judged
from gatewatch.service.fleet import Fleet, Member
from gatewatch.service.log import Log
from gatewatch.service.loop import Service
from gatewatch.service.reporter import Reporter
from gatewatch.service.signals import Orders
from gatewatch.service.status import Status
from ingest.accounting import Accounting
from ingest.lines import Received
from ingest.pipeline import VerifyReport
from tests.support.live import FakeClock, Step, scripted


@dataclass
class MadeUpEngine:
    """Keeps lines and positions in memory. `faults` holds, by step, what each next call raises (None: it works).

    `did` is every step with the time at which it ended; `takes` the seconds of each.
    """

    clock: FakeClock
    takes: dict[str, float] = field(default_factory=dict)
    faults: dict[str, list[Exception | None]] = field(default_factory=dict)
    did: list[tuple[float, str]] = field(default_factory=list)
    stored: list[bytes] = field(default_factory=list)
    commits: list[list[Received]] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict)
    snapshot_of: datetime | None = None
    findings: dict[str, int] = field(default_factory=dict)
    changed: bool = False
    policy: str = "p version 1 (p.toml)"
    problems: list[str] = field(default_factory=list)
    notary: None = None
    checkpoints: str = "checkpoints are signed"
    sign_due: bool = False
    recovered: list[int] = field(default_factory=list)
    begun: list[list[Received]] = field(default_factory=list)
    settled: bool = True

    def _step(self, name: str) -> None:
        faults = self.faults.get(name, [])
        fault = faults.pop(0) if faults else None
        self.clock.spend(self.takes.get(name, 0.0))
        self.did.append((self.clock.monotonic() - 1_000.0, name))
        if fault is not None:
            raise fault

    def open(self) -> Accounting:
        self._step("open")
        return Accounting(recovered=self.recovered.pop(0) if self.recovered else 0)

    def close(self) -> None:
        self.begun = []
        self._step("close")

    @property
    def positions(self) -> MadeUpEngine:
        return self

    def position(self, key: str) -> Any:
        return self.known.get(key)

    def begin(self, received: Sequence[Received]) -> Accounting:
        """One commit at a time is on its way: the next one waits for it."""
        done = self.settle()
        self.begun = [list(received)]
        return done

    def settle(self) -> Accounting:
        """What fails was begun before."""
        begun, self.begun = self.begun, []
        count = 0
        for received in begun:
            self._step("commit")
            self.commits.append(received)
            lines = [line for one in received for line in one.lines]
            self.stored += lines
            count += len(lines)
            for one in received:
                self.known |= one.positions
        return Accounting(lines=count, accepted=count)

    def tick(self) -> None:
        self._step("tick")

    def judge(self) -> Judged:
        self._step("judge")
        return Judged(dict(self.findings), None, self.changed)

    def published_at(self) -> datetime | None:
        return self.snapshot_of

    def publish(self) -> Path:
        self._step("publish")
        return Path("published/gatewatch-7.duckdb")

    def sign_is_due(self) -> bool:
        return self.sign_due

    def sign(self) -> bool:
        self.sign_due = False
        self._step("sign")
        return True

    def reload_policy(self) -> bool:
        self._step("reload")
        return True

    def verify(self, stopping: Callable[[], bool]) -> tuple[VerifyReport, None] | None:
        self._step("verify")
        if stopping():
            return None
        return VerifyReport(chunks=1, lines=2, events=2, problems=list(self.problems)), None

    def ledger_size(self) -> tuple[int, int]:
        return len(self.commits), 0

    def times(self, name: str) -> list[float]:
        """When a step ended, in seconds since the beginning."""
        return [at for at, step in self.did if step == name]

    @property
    def steps(self) -> list[str]:
        return [step for _, step in self.did]


class Desk:
    """The service, what it works with, and what it said."""

    def __init__(
        self, scripts: dict[str, Sequence[Step]], *, once: bool = False, unit: str = "bytes", **intervals: Any
    ) -> None:
        self.clock = FakeClock()
        self.orders = Orders()
        self.engine = MadeUpEngine(self.clock)
        self.events: list[str] = []
        self.said: list[str] = []
        self.status = Status(self.clock.utc())
        self.metrics = Metrics(self.status, {f"jsonl:{name}": unit for name in scripts}, self.clock.utc)
        self.report = Reporter(self.clock, Log(self.clock.utc, self.said.append), self.status, self.metrics)
        members = [
            Member(f"jsonl:{name}", unit, scripted(name, script, self.clock, self.events))
            for name, script in scripts.items()
        ]
        self.fleet = Fleet(members, self.report.gave_up)
        self.service = Service(self.engine, self.fleet, Intervals(**intervals), self.orders, self.report, once=once)

    def stop(self) -> None:
        """What SIGTERM does."""
        self.orders.by = "SIGTERM"
        self.orders.stop.set()

    def run(self) -> Desk:
        self.service.run()
        return self

    def counted(self, name: str, **labels: str) -> float | None:
        """A metric's value, as a scrape would see it."""
        return self.metrics.registry.get_sample_value(f"gatewatch_{name}", labels)

    def lines(self, level: str) -> list[str]:
        """What the log said at this level, without times."""
        return [line.split(f" {level}", 1)[1].strip() for line in self.said if f" {level} " in line]
