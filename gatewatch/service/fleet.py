"""The configured sources together: polled in turn, gathered into one commit, each given up alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gatewatch.service.clock import Clock
from ingest.commits import Gathered
from ingest.errors import SourceError
from ingest.lines import MAX_COMMIT_SECONDS, Received
from ingest.sources.jsonl import Positions
from ingest.sources.live import LiveSource
from ingest.sources.tail.state import Claims

LITTLE_BYTES = 1 << 20
PAUSE_SECONDS = 0.1
"""After a round that brought little, wait before the next one: each poll makes a chunk, and a busy loop makes many."""

Maker = Callable[[Positions, Claims], LiveSource]
"""Makes a source that goes on from its stored position; of files that several match, the claims say whose they are."""


@dataclass(slots=True)
class Member:
    """A configured source: its label in logs and metrics, how it is made, and what has become of it."""

    label: str
    unit: str
    """What its lag counts: ``bytes`` or ``messages``."""
    make: Maker
    source: LiveSource | None = None
    stopped: str | None = None
    """Why it was given up; it is not made again by this process."""


class Fleet:
    """All sources. `gave_up` is told of each that cannot go on without a person."""

    def __init__(self, members: Sequence[Member], gave_up: Callable[[Member], None]) -> None:
        self.members = list(members)
        self.is_open = False
        self._gave_up = gave_up
        self._held: list[Received] = []
        self._next = 0

    @property
    def running(self) -> list[Member]:
        """The sources that have not been given up."""
        return [member for member in self.members if member.stopped is None]

    def open(self, positions: Positions) -> None:
        """Make every source that has not been given up, from where the store says that it was left."""
        self.is_open = True
        claims = Claims()
        for member in self.running:
            try:
                member.source = member.make(positions, claims)
            except SourceError as error:
                self._give_up(member, error)

    def gather(self, wait: float, clock: Clock, stopping: Callable[[], bool]) -> list[Received]:
        """What one commit is made of; waits up to `wait` seconds for the first of it, and returns [] when nothing came.

        What does not fit into it any more is the first of the next one: two commits of which the second is small take
        longer than two that are full.
        """
        gathered = Gathered()
        ends = clock.monotonic() + MAX_COMMIT_SECONDS
        new, self._held = self._held, []
        if not self._fill(gathered, new):
            return gathered.take()
        while True:
            before = gathered.size
            running = self._in_turn()
            for member in running:
                new = self._poll(member, 0.0 if gathered.received else wait / len(running))
                if new and not gathered.received:
                    ends = clock.monotonic() + MAX_COMMIT_SECONDS
                if not self._fill(gathered, new) or stopping():
                    return gathered.take()
            left = ends - clock.monotonic()
            if not gathered.received or left <= 0:
                return gathered.take()
            if gathered.size - before < LITTLE_BYTES:
                clock.wait(min(PAUSE_SECONDS, left))

    def _fill(self, gathered: Gathered, new: list[Received]) -> bool:
        """Add what fits; whether more would. What does not fit is held back."""
        for number, one in enumerate(new):
            if not gathered.has_room(one):
                self._held = new[number:]
                return False
            gathered.add(one)
        return not gathered.is_full

    def _in_turn(self) -> list[Member]:
        """The running sources, another one first each time, so that none is always served last."""
        running = self.running
        if not running:
            return []
        self._next = (self._next + 1) % len(running)
        return running[self._next :] + running[: self._next]

    def _poll(self, member: Member, wait: float) -> list[Received]:
        if member.source is None:
            return []
        try:
            return member.source.poll(wait)
        except SourceError as error:
            self._give_up(member, error)
            return []

    def _give_up(self, member: Member, error: SourceError) -> None:
        member.stopped = str(error)
        self._close(member)
        self._gave_up(member)

    def kept(self, received: Sequence[Received]) -> None:
        """These, of what was gathered, are in the store."""
        for member in self.running:
            if member.source is not None:
                member.source.kept(received)

    def lag(self) -> dict[str, int]:
        """How much waits to be read, by label; a source that does not know is left out."""
        found: dict[str, int] = {}
        for member in self.running:
            waiting = member.source.lag() if member.source is not None else {}
            if waiting:
                found[member.label] = sum(waiting.values())
        return found

    def troubles(self) -> dict[str, Mapping[str, str]]:
        """What cannot be read from a source just now and why, by label and by what it is about (`LiveSource`)."""
        troubles = {member.label: member.source.troubles for member in self.running if member.source is not None}
        return {label: faults for label, faults in troubles.items() if faults}

    def away(self) -> frozenset[str]:
        """The labels of the sources from which nothing at all can be read just now."""
        return frozenset(one.label for one in self.running if one.source is not None and one.source.away)

    def unreadable(self) -> dict[str, int]:
        """How many files and folders cannot be read, by label."""
        return {member.label: member.source.unreadable for member in self.running if member.source is not None}

    def close(self) -> None:
        """Give everything back; `open` makes the sources anew."""
        self.is_open = False
        self._held = []
        for member in self.members:
            self._close(member)

    def _close(self, member: Member) -> None:
        source, member.source = member.source, None
        if source is not None:
            with contextlib.suppress(SourceError):  # what it handed out is committed or will be read again
                source.close()
