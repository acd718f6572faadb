"""A live source that follows a script, and a clock that only moves when somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ingest.errors import SourceError
from ingest.lines import Received, Source
from ingest.sources.jsonl import Positions

START = datetime(2026, 6, 3, 10, 0, 0)  # noqa: DTZ001 - naive UTC, as everywhere


class FakeClock:
    """Seconds and UTC that move by `wait` and `spend` only."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def monotonic(self) -> float:
        return self.seconds

    def utc(self) -> datetime:
        return START + timedelta(seconds=self.seconds - 1_000.0)

    def wait(self, seconds: float) -> None:
        self.seconds += seconds

    spend = wait


@dataclass(frozen=True)
class Lines:
    """One poll that brings these lines."""

    lines: Sequence[bytes]
    takes: float = 0.0
    final: bool = False
    gap: dict[str, str] | None = None


@dataclass(frozen=True)
class Pause:
    """So many seconds in which nothing comes."""

    seconds: float


@dataclass(frozen=True)
class Ahead:
    """So many seconds in which nothing comes; then what follows was read ahead, and nothing waits outside any more."""

    seconds: float


@dataclass(frozen=True)
class Away:
    """So many seconds in which the source says that it is in trouble; `faults` says what about, when that is a part."""

    seconds: float
    why: str = "the broker does not answer"
    faults: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Abort:
    """The source cannot go on."""

    why: str = "the topic was made anew: set on_lost"


@dataclass(frozen=True)
class Call:
    """Something that happens before the next step: a signal, a clock, a look at the service."""

    what: Callable[[], None]


Step = Lines | Pause | Ahead | Away | Abort | Call


@dataclass
class ScriptedSource:
    """Plays `script` from the step that `positions` says; after the last step nothing comes any more.

    The position is the number of steps with lines that were handed out, under the key ``script:<name>``. `made`,
    `acknowledged` and `closed` count across all that were made from one script.
    """

    name: str
    script: Sequence[Step]
    clock: FakeClock
    at: int = 0
    done: int = 0
    troubles: dict[str, str] = field(default_factory=dict)
    away: bool = False
    events: list[str] = field(default_factory=list)
    until: float | None = None

    @property
    def unreadable(self) -> int:
        return 0 if self.away else len(self.troubles)

    @property
    def label(self) -> str:
        return f"jsonl:{self.name}"

    def poll(self, wait: float) -> list[Received]:
        while self.at < len(self.script):
            step = self.script[self.at]
            if isinstance(step, Call):
                self.at += 1
                step.what()
            elif isinstance(step, Abort):
                raise SourceError(step.why)
            elif isinstance(step, Lines):
                self.at += 1
                self.clock.spend(step.takes)
                return [self._received(step)]
            elif not self._passes(step, wait):
                return []
        self.clock.wait(wait)
        return []

    def _passes(self, step: Pause | Ahead | Away, wait: float) -> bool:
        """Whether the step is over; otherwise `wait` has passed."""
        if self.until is None:
            self.until = self.clock.monotonic() + step.seconds
        if self.clock.monotonic() >= self.until:
            self.until, self.troubles, self.away = None, {}, False
            self.at += 1
            return True
        if isinstance(step, Away):
            self.troubles = {"": step.why} if step.faults is None else dict(step.faults)
            self.away = step.faults is None
        self.clock.wait(min(wait, self.until - self.clock.monotonic()))
        return False

    def _received(self, step: Lines) -> Received:
        before, self.done = self.done, self.done + 1
        end = {"step": self.done} | ({"gap": step.gap} if step.gap else {})
        return Received(
            Source(self.name, "tail", self.name, "auto"),
            list(step.lines),
            {"step": before},
            end,
            step.final,
            {f"script:{self.name}": {"step": self.done}},
        )

    def kept(self, received: Sequence[Received]) -> None:
        steps = [one.end["step"] for one in received if one.source.name == self.name]
        if steps:
            self.events.append(f"kept {max(steps)}")

    def lag(self) -> dict[str, int]:
        left = self.script[self.at :]
        if left and isinstance(left[0], Ahead) and self.until is not None and self.clock.monotonic() >= self.until:
            left = []
        return {self.name: sum(isinstance(step, Lines) for step in left)}

    def close(self) -> None:
        self.events.append("closed")


def scripted(
    name: str, script: Sequence[Step], clock: FakeClock, events: list[str] | None = None
) -> Callable[[Positions, object], ScriptedSource]:
    """Makes the source anew from a position, as the service does after a failure; calls before it are not repeated."""
    told = events if events is not None else []

    def make(positions: Positions, claims: object = None) -> ScriptedSource:
        known = positions.position(f"script:{name}")
        done = known["step"] if known else 0
        told.append(f"made at {done}")
        at = lines = 0
        while lines < done:
            lines += isinstance(script[at], Lines)
            at += 1
        return ScriptedSource(name, script, clock, at, done, events=told)

    return make
