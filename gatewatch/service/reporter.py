"""Telling people: each thing once in the log, for as long as it lasts in `/healthz`, counted in `/metrics`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from gatewatch.metrics import Metrics
from gatewatch.output import count_of
from gatewatch.service.clock import Clock
from gatewatch.service.fleet import Fleet, Member
from gatewatch.service.log import Log
from gatewatch.service.status import Status
from gatewatch.times import spell_length
from ingest.accounting import Accounting
from ingest.lines import Received, readable


@dataclass(frozen=True, slots=True)
class Reporter:
    """The log, the status and the metrics together."""

    clock: Clock
    log: Log
    status: Status
    metrics: Metrics

    def trouble(self, key: str, text: str, *, failing: bool, told: str = "") -> None:
        """Something is wrong: `text` for `/healthz`; in the log `told` or the same, once for as long as it lasts."""
        if self.status.begin(key, text, self.clock.utc(), failing=failing):
            (self.log.error if failing else self.log.warning)(told or text)

    def over(self, key: str, text: str) -> None:
        """What was wrong under this name is over, if it was: said with how long it took."""
        problem = self.status.over(key)
        if problem is not None:
            lasted = timedelta(seconds=round((self.clock.utc() - problem.since).total_seconds()))
            self.log.info(f"{text} after {spell_length(lasted)}")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """The loop is busy with this for as long as the block runs."""
        self.status.step = (name, self.clock.utc())
        try:
            yield
        finally:
            self.status.step = None

    def committed(self, received: Sequence[Received], accounting: Accounting, seconds: Sequence[float]) -> None:
        """Lines are in the store: `received` as far as all of a commit is, and how long each commit took."""
        self.metrics.committed(accounting, seconds)
        self.status.committed_at = self.clock.utc()
        for one in received:
            gap = one.end.get("gap")
            if gap is not None:
                self.metrics.gap()
                lies = f"what lies between {gap['from']} and {gap['to']} could not be read"
                self.log.error(f"{one.source.name}: {lies}: {gap['why']}")

    def recovered(self, lines: int) -> None:
        """Lines of an interrupted commit are in the store now."""
        self.metrics.recovered(lines)
        self.log.info(f"{count_of(lines, 'line')} that only the ledger had came into the database")

    def sources(self, fleet: Fleet) -> None:
        """How the sources are, and what waits to be read of them."""
        troubles = fleet.troubles()
        self.status.sources = {
            member.label: "stopped" if member.stopped else "trouble" if member.label in troubles else "up"
            for member in fleet.members
        }
        self.status.away = fleet.away()
        self.status.unreadable = fleet.unreadable()
        for member in fleet.members:
            if member.stopped is not None:
                self._forget(member)
            elif member.source is not None:
                self._source(member.label, troubles.get(member.label, {}))

    def _source(self, label: str, troubles: Mapping[str, str]) -> None:
        """Each fault of a source by itself: of several none hides another."""
        prefix = _prefix(label)
        for key in self.status.keys(prefix):
            about = key.removeprefix(prefix)
            if about not in troubles:
                self.over(key, f"{label}: {f'{readable(about)} ' if about else ''}can be read again")
        for about, why in troubles.items():
            self.trouble(prefix + about, f"{label}: {why}", failing=False)

    def _forget(self, member: Member) -> None:
        """Nothing is known any more of the faults of a source that is not read."""
        for key in self.status.keys(_prefix(member.label)):
            self.status.over(key)

    def gave_up(self, member: Member) -> None:
        """A source cannot go on; the others do."""
        self._forget(member)
        self.trouble(
            f"source {member.label}",
            f"{member.label}: {member.stopped}",
            failing=True,
            told=f"{member.label} is not read any more: {member.stopped}; mend it, then start gatewatch again",
        )


def _prefix(label: str) -> str:
    return f"source {label}\0"


def sum_of(accounting: Accounting) -> str:
    """The line that adds up, and how many lines more an interrupted commit had left in the ledger."""
    more = f", and {accounting.recovered} recovered" if accounting.recovered else ""
    return (
        f"{count_of(accounting.lines, 'line')} = {accounting.accepted} accepted + {accounting.duplicate} duplicate "
        f"+ {accounting.quarantined} quarantined + {accounting.blank} blank{more}"
    )
