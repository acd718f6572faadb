"""The loop of the service. One thread, one step at a time, and each step may fail without anything being lost.

Only the way of lines into ledger and store goes on by itself: while one commit is on it, the next one is gathered.
"""

from __future__ import annotations

from gatewatch.errors import GatewatchError, OperationError
from gatewatch.output import count_of
from gatewatch.service.chores import Chores, Intervals
from gatewatch.service.engine import Engine
from gatewatch.service.fleet import Fleet
from gatewatch.service.pace import Backoff
from gatewatch.service.reporter import Reporter, sum_of
from gatewatch.service.signals import Orders
from gatewatch.service.under_way import Begun, UnderWay
from ingest.accounting import Accounting
from ingest.errors import DiskError, IngestError, LockedError, StoreError
from ingest.lines import Received
from schemas.errors import SchemaError
from transforms.errors import TransformError

IDLE_SECONDS = 0.5
"""Longest wait for lines, and so for a signal to be obeyed."""

STORE_SECONDS = 0.05
"""Longest wait for lines while others are on their way into the store, whose end something may wait for."""

LOOK_SECONDS = 2.0
"""How often the sources are asked how much waits to be read."""

QUIET_ROUNDS = 2
ONCE_PATIENCE_SECONDS = {"bytes": 2.0, "messages": 60.0}
"""`once` ends after so many rounds in which nothing came, and waits so long for a source that is away, by its unit: a
broker may just be starting, a file that is not there is a wrong path."""


class Service:
    """Reads, judges, publishes and signs until it is told to stop; with `once`, until nothing more comes.

    `total` is what has become of the lines so far.
    """

    def __init__(
        self,
        engine: Engine,
        fleet: Fleet,
        intervals: Intervals,
        orders: Orders,
        report: Reporter,
        *,
        once: bool = False,
    ) -> None:
        self.total = Accounting()
        self.chores = Chores(engine, intervals, report, orders.stop.is_set)
        self._engine = engine
        self._fleet = fleet
        self._intervals = intervals
        self._orders = orders
        self._report = report
        self._once = once
        self._under_way = UnderWay()
        self._writing = Backoff()
        self._last_error = ""
        self._in_chores = self._failed_in_chores = False
        self._quiet_rounds = 0
        self._missing: dict[str, list[str]] = {}
        now = report.clock.monotonic()
        self._tick_due = now + intervals.tick
        self._look_due = self._reachable = now

    def run(self) -> None:
        """Work until it is told to stop, then judge, publish and sign what there is.

        Raises LockedError and DiskError (at the start only), LedgerError, StoreError; OperationError when no source
        is left, or when the last steps failed.
        """
        try:
            self._open()
            self.chores.start()
            self._report.sources(self._fleet)
            findings = count_of(sum(self._report.status.findings.values()), "open finding")
            self._report.log.info(f"ready: {findings}, {self._engine.checkpoints}")
            while self._under_way or not (self._is_ending or self._is_done()):
                try:
                    self._turn()
                except (DiskError, LockedError) as error:
                    self._interrupted(error, "trying again until it works")
                except StoreError as error:
                    # DuckDB closes itself to all after some failures, of a write for one. Opened again it is whole, or
                    # it says what is wrong with it.
                    if self._writing.tries:
                        raise
                    self._interrupted(error, "trying once more first")
            self._sign_off()
        finally:
            self._fleet.close()
            self._engine.close()

    def _open(self) -> None:
        with self._report.step("opening the data directory"):
            found = self._engine.open()
        self._fleet.open(self._engine.positions)
        self.total.add(found)
        if found.lines:  # their commit had worked when another failed, and nobody was told
            self._report.committed([], found, [])
        if found.recovered or found.lines:
            self.chores.lines_came()
        if found.recovered:
            self._report.recovered(found.recovered)

    @property
    def _is_ending(self) -> bool:
        """Whether nothing is to be read any more."""
        return self._orders.stop.is_set() or not self._fleet.running

    def _turn(self) -> None:
        clock = self._report.clock
        self._in_chores = False
        if not self._fleet.is_open:
            self._open()
        is_quiet = not self._under_way
        # Before the round, not after it: what came meanwhile, even while the chores ran, is for the next one to take.
        self._missing = self._away() if self._once else {}
        received = [] if self._is_ending else self._fleet.gather(self._wait(), clock, self._orders.stop.is_set)
        if self._under_way and (self._is_ending or self._engine.settled):
            self._settle()
        if received:
            self._begin(received)
        elif not self._under_way and clock.monotonic() >= self._tick_due:
            self._tick()
        self._quiet_rounds = 0 if received else self._quiet_rounds + is_quiet
        if self._orders.reload.is_set():
            self._orders.reload.clear()
            self._reload()
        if self._under_way and self.chores.is_due():
            self._settle()
        self._in_chores = True
        self.chores.due()
        if self._failed_in_chores:
            self._written()
        if clock.monotonic() >= self._look_due:
            self._look_due = clock.monotonic() + LOOK_SECONDS
            self._report.sources(self._fleet)
            self._report.status.lag = self._fleet.lag()

    def _wait(self) -> float:
        """How long to wait for lines: until something else is due, but not longer than people wait for a stop."""
        if self._under_way:
            return STORE_SECONDS
        if self._once:
            return IDLE_SECONDS
        due = min(self._tick_due - self._report.clock.monotonic(), self.chores.wait())
        return min(IDLE_SECONDS, max(0.02, due))

    def _begin(self, received: list[Received]) -> None:
        """Send lines on their way; waits only for as long as too many others are on it."""
        now = self._report.clock.monotonic()
        self._under_way.begin(received, now)
        with self._report.step("writing lines"):
            accounting = self._engine.begin(received)
        self._tick_due = self._report.clock.monotonic() + self._intervals.tick
        self._stored(self._under_way.stored(accounting.lines), accounting)

    def _settle(self) -> None:
        """Wait until everything that is on its way is in the store."""
        with self._report.step("writing lines"):
            accounting = self._engine.settle()
        self._stored(self._under_way.clear(), accounting)

    def _stored(self, done: list[Begun], accounting: Accounting) -> None:
        self.total.add(accounting)
        if not done and not accounting.lines:
            return
        now = self._report.clock.monotonic()
        received = [one for begun in done for one in begun.received]
        self._fleet.kept(received)
        self._tick_due = now + self._intervals.tick
        self._report.committed(received, accounting, [now - begun.at for begun in done])
        self.chores.lines_came()
        self._written()

    def _tick(self) -> None:
        with self._report.step("noting that nothing came"):
            self._engine.tick()
        self._tick_due = self._report.clock.monotonic() + self._intervals.tick
        self._report.metrics.ticked()
        self.chores.nothing_came()
        self._written()

    def _written(self) -> None:
        self._writing.reset()
        self._failed_in_chores = False
        self._report.over("writing", "the data directory can be written again, nothing is lost,")

    def _interrupted(self, error: IngestError, then: str) -> None:
        """Nothing can be written: give everything back, and begin again later where the store says."""
        self._under_way.clear()
        self._fleet.close()
        self._engine.close()
        self._last_error, self._failed_in_chores = str(error), self._in_chores
        self._report.metrics.commit_failed()
        self._report.trouble("writing", str(error), failing=True, told=f"{error}; {then}")
        self._report.clock.wait(self._writing.next())
        # That a chunk without lines fits says nothing yet about the lines, which are read again first.
        self._tick_due = self._report.clock.monotonic() + self._intervals.tick

    def _reload(self) -> None:
        try:
            changed = self._engine.reload_policy()
        except (SchemaError, TransformError, GatewatchError, DiskError) as error:
            self._report.trouble("policy", f"the former policy judges on: {error}", failing=False)
            return
        self._report.over("policy", "the policy is in order again")
        if changed:
            self.chores.policy_changed()
        self._report.log.info(f"judged by {self._engine.policy}" + ("" if changed else ", which has not changed"))

    def _is_done(self) -> bool:
        """Whether `once` has read everything; a source that is away is waited for, but not for ever."""
        if not self._once or self._writing.tries:
            return False
        now = self._report.clock.monotonic()
        if not self._missing:
            self._reachable = now
            return self._quiet_rounds >= QUIET_ROUNDS
        patience = max(
            (ONCE_PATIENCE_SECONDS[member.unit] for member in self._fleet.running if member.label in self._missing),
            default=0.0,
        )
        return self._quiet_rounds >= QUIET_ROUNDS and now - self._reachable >= patience

    def _away(self) -> dict[str, list[str]]:
        """Why something may be missing of what `once` should have read, by label."""
        troubles = {label: list(faults.values()) for label, faults in self._fleet.troubles().items()}
        lag = self._fleet.lag()
        for member in self._fleet.running:
            # Of files that were found nothing is left after a quiet round; a broker may not have answered yet.
            if member.unit == "messages" and lag.get(member.label) != 0:
                troubles.setdefault(member.label, ["not all messages have come yet"])
        return troubles

    def _sign_off(self) -> None:
        """The last steps, and the line that adds up."""
        failed = self.chores.finish()
        if self._writing.tries and not self._failed_in_chores:
            failed = failed or [self._last_error]
        if self._once:
            self._report.sources(self._fleet)
        faults = self._away() if self._once and not failed else {}
        away = [f"{label}: {text}" for label, texts in faults.items() for text in texts]
        stopped = [f"{member.label}: {member.stopped}" for member in self._fleet.members if member.stopped]
        self._fleet.close()
        self._engine.close()
        findings = sum(self._report.status.findings.values())
        snapshot = f"; snapshot {self.chores.snapshot.name}" if self.chores.snapshot else ""
        self._report.log.info(f"{self._reason()}: {sum_of(self.total)}; {count_of(findings, 'open finding')}{snapshot}")
        if failed:
            raise OperationError(
                f"the last steps failed: {failed[0]}; nothing is lost, the next start makes up for them"
            )
        if stopped and (self._once or not self._fleet.running):
            raise OperationError(f"{'' if self._once else 'no source is left: '}{stopped[0]}")
        if away and not self._orders.stop.is_set():
            more = f" (and {len(away) - 1} more, all in the log)" if len(away) > 1 else ""
            raise OperationError(f"not everything was read: {away[0]}{more}")

    def _reason(self) -> str:
        if self._orders.stop.is_set():
            return f"stopped by {self._orders.by}" if self._orders.by else "stopped"
        return "done" if self._fleet.running else "ended"
