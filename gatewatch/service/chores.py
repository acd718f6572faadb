"""What follows from the lines that were read: judging, publishing, signing, verifying, each when it is time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gatewatch.output import count_of
from gatewatch.service.engine import Engine, Judged
from gatewatch.service.pace import Backoff, Pace
from gatewatch.service.reporter import Reporter
from ingest.errors import CheckpointError, IngestError
from schemas.errors import SchemaError
from transforms.errors import PublishError, TransformError

REFRESH_SHARE = 0.5
PUBLISH_SHARE = 0.05
"""How much of the time judging and copying may take, so that reading goes on when the database is large."""

UNCHANGED_SECONDS = 300.0
"""A snapshot that would only say that nothing came is published no more often than this."""

HAND_OUT_SECONDS = 20.0
"""How long the end waits for outside places to take the last checkpoint."""

LOOK_SECONDS = 5.0
"""How often the size of the ledger is looked up."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """Seconds between what the service does again and again; `verify` None: never."""

    refresh: float = 1.0
    publish: float = 2.0
    tick: float = 30.0
    verify: float | None = None


class Chores:
    """Knows what is not judged, published and signed yet, and does it when it is due.

    A DiskError or LockedError of any step means that the data directory has to be opened anew; LedgerError and
    StoreError that a person is needed. Everything else is reported, tried again, and keeps nothing from being read.
    """

    def __init__(
        self, engine: Engine, intervals: Intervals, report: Reporter, stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self._engine = engine
        self._stopping = stopping
        self._intervals = intervals
        self._report = report
        self._refresh = Pace(intervals.refresh, REFRESH_SHARE)
        self._publish = Pace(intervals.publish, PUBLISH_SHARE)
        self._judging, self._publishing = Backoff(), Backoff()
        self._unjudged = True
        self._unpublished = False
        self._aged = False  # by ticks alone
        self._unsigned_lines = self._idle = False
        self.snapshot: Path | None = None
        now = report.clock.monotonic()
        self._refresh.due = self._publish.due = self._published = self._look_due = now
        self._verify_due = now + (intervals.verify or 0.0)

    def start(self) -> None:
        """Judge what is there, by the policy of now, and publish it unless readers see exactly that already."""
        self._judge()
        if self._unjudged:
            return
        self._report.status.published_at = self._engine.published_at()
        self._unpublished = self._report.status.published_at is None
        if self._unpublished:
            self._publish_now()

    def lines_came(self) -> None:
        """A commit is in the store."""
        self._unjudged = self._unpublished = self._unsigned_lines = True
        self._idle = False

    def nothing_came(self) -> None:
        """The ledger's own clock has moved on, and nothing else: waits may be over, and it is a good time to sign."""
        self._unjudged = self._aged = True
        self._idle = True

    def policy_changed(self) -> None:
        """Everything has to be judged again."""
        self._unjudged = self._unpublished = True

    def wait(self) -> float:
        """Seconds until something is due; may be below 0."""
        due = self._refresh.due if self._unjudged else self._publish.due if self._unpublished else self._look_due
        return due - self._report.clock.monotonic()

    def is_due(self) -> bool:
        """Whether `due` would work with the database now, which should be still for that."""
        verifies = self._intervals.verify is not None and self._now() >= self._verify_due
        looks = self._now() >= self._look_due
        return self._judge_is_due or self._publish_is_due or self._sign_is_due or verifies or looks

    def _now(self) -> float:
        return self._report.clock.monotonic()

    @property
    def _judge_is_due(self) -> bool:
        return self._unjudged and self._now() >= self._refresh.due

    @property
    def _publish_is_due(self) -> bool:
        aged = self._aged and self._now() - self._published >= UNCHANGED_SECONDS
        return (self._unpublished or aged) and not self._unjudged and self._now() >= self._publish.due

    @property
    def _sign_is_due(self) -> bool:
        return (self._idle and self._unsigned_lines) or self._engine.sign_is_due()

    def due(self) -> None:
        """Do what is due."""
        if self._judge_is_due:
            self._judge()
        if self._publish_is_due:
            self._publish_now()
        if self._sign_is_due:
            self._sign()
        self._handed_out()
        if self._intervals.verify is not None and self._now() >= self._verify_due:
            self._verify(self._intervals.verify)
        if self._now() >= self._look_due:
            self._look_due = self._now() + LOOK_SECONDS
            self._look()

    def finish(self) -> list[str]:
        """The last judgement, snapshot and checkpoint; what of it could not be made, a sentence each."""
        failed: list[str] = []
        try:
            if self._unjudged:
                with self._report.step("judging"):
                    self._note(self._engine.judge())
            if self._unpublished or self._aged:
                with self._report.step("publishing"):
                    self.snapshot = self._engine.publish()
            self._handed_out(HAND_OUT_SECONDS)
            unsigned = self._sign()
            if unsigned is not None:
                failed.append(unsigned)
            self._handed_out(HAND_OUT_SECONDS)
        except (IngestError, TransformError) as error:
            failed.append(str(error))
        return failed

    def _judge(self) -> None:
        began = self._report.clock.monotonic()
        try:
            with self._report.step("judging"):
                judged = self._engine.judge()
        except TransformError as error:
            # An own rule that cannot judge what has come. Reading goes on; the rule may be mended meanwhile.
            self._refresh.due = self._report.clock.monotonic() + self._judging.next()
            self._report.trouble("judging", f"nothing is judged: {error}", failing=True)
            return
        ended = self._report.clock.monotonic()
        self._refresh.took(began, ended)
        self._report.metrics.refreshed(ended - began)
        self._note(judged)
        self._judging.reset()
        self._report.over("judging", "everything is judged again")

    def _note(self, judged: Judged) -> None:
        self._unjudged = False
        self._unpublished = self._unpublished or judged.changed
        self._report.status.findings = judged.findings
        self._report.status.watermark = judged.watermark

    def _publish_now(self) -> None:
        began = self._report.clock.monotonic()
        try:
            with self._report.step("publishing"):
                self.snapshot = self._engine.publish()
        except PublishError as error:
            # The database may have seen the full disk as well: it is opened anew by whatever comes next.
            self._engine.close()
            self._publish.due = self._report.clock.monotonic() + self._publishing.next()
            self._report.trouble("publishing", str(error), failing=True, told=f"{error}; trying again until it works")
            return
        ended = self._report.clock.monotonic()
        self._publish.took(began, ended)
        self._published, self._unpublished, self._aged = ended, False, False
        self._report.metrics.published(ended - began)
        self._report.status.published_at = self._report.clock.utc()
        self._publishing.reset()
        self._report.over("publishing", "a snapshot could be published")

    def _sign(self) -> str | None:
        """Sign the ledger as it is; what went wrong. That it did not reach a place is told when it is known."""
        self._idle = False
        try:
            with self._report.step("signing a checkpoint"):
                if self._engine.sign():
                    self._report.metrics.signed()
        except CheckpointError as error:
            self._report.metrics.sign_failed()
            self._report.trouble("signing", f"no checkpoint could be signed: {error}", failing=True)
            return str(error)
        self._unsigned_lines = False
        self._report.over("signing", "checkpoints can be signed again")
        return None

    def _handed_out(self, wait: float = 0.0) -> None:
        """Tell what became of the checkpoint that was on its way to outside places."""
        outcome = self._engine.notary.handed_out(wait) if self._engine.notary is not None else None
        if outcome is None:
            return
        self._report.metrics.handed_out(arrived=outcome.arrived, failed=len(outcome.problems))
        if outcome.problems:
            # Every place by its name: one that is down for good must not hide another.
            self._report.trouble("handing out", "; ".join(outcome.problems), failing=False)
        else:
            self._report.over("handing out", "the newest checkpoint is everywhere")

    def _verify(self, interval: float) -> None:
        self._verify_due = self._report.clock.monotonic() + interval
        try:
            with self._report.step("verifying"):
                found = self._engine.verify(self._stopping)
        except SchemaError as error:  # the kept policy was changed by hand, and cannot be read
            self._report.trouble("verification", f"nothing can be verified: {error}", failing=False)
            return
        if found is None:
            return
        verified, unrecorded = found
        self._verify_due = self._report.clock.monotonic() + interval
        self._report.status.published_at = self._engine.published_at() or self._report.status.published_at
        if unrecorded is not None:
            self._report.log.error(f"the outcome of the verification was not recorded: {unrecorded}")
        if verified.consistent:
            self._report.log.info(
                f"verified: {count_of(verified.chunks, 'chunk')} with {count_of(verified.lines, 'line')} and "
                f"{count_of(verified.events, 'event')} agree; {verified.statement}"
            )
            self._report.status.over("verification")
        else:
            problem = f"{count_of(len(verified.problems), 'problem')}: {verified.problems[0]}"
            self._report.trouble(
                "verification",
                f"the ledger and the database do not agree, {problem}",
                failing=True,
                told=f"verification: {problem}; `gatewatch verify` lists all; keep a copy before `rebuild`",
            )

    def _look(self) -> None:
        chunks, size = self._engine.ledger_size()
        self._report.status.ledger_chunks, self._report.status.ledger_bytes = chunks, size
