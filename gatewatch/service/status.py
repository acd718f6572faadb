"""How the service is: written by the loop, read by the threads that answer `/healthz` and `/metrics`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from gatewatch import __version__

STUCK_SECONDS = 600.0
"""A step of the loop that takes longer than this is shown. The largest commit takes seconds; judging and copying a long
history may take minutes and end well, which is no reason to have the process killed."""

_MAY_TAKE_LONG = frozenset({"opening the data directory", "judging", "publishing"})
_TAKES_LONG = frozenset({"verifying"})

MOST_REASONS = 100
"""Most reasons of `/healthz`: more is nothing that anybody reads there, and each is in the log."""

TELL_AGAIN = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be: what, since when, and whether a person has to do something."""

    text: str
    since: datetime
    failing: bool
    told_at: datetime


@dataclass(slots=True)
class Status:
    """The newest facts. A field is replaced as a whole, never changed in place, so that readers need no lock."""

    started_at: datetime
    sources: Mapping[str, str] = field(default_factory=dict)
    """``up``, ``trouble`` or ``stopped``, by label."""
    away: frozenset[str] = frozenset()
    """The labels from which nothing at all can be read; others in trouble are read except for what it is about."""
    unreadable: Mapping[str, int] = field(default_factory=dict)
    """Files and folders that are there and cannot be read, by label."""
    lag: Mapping[str, int] = field(default_factory=dict)
    findings: Mapping[str, int] = field(default_factory=dict)
    """Open findings by severity."""
    watermark: datetime | None = None
    """Naive UTC; None when nothing is awaited."""
    published_at: datetime | None = None
    committed_at: datetime | None = None
    ledger_bytes: int = 0
    ledger_chunks: int = 0
    step: tuple[str, datetime] | None = None
    """What the loop is doing and since when; None while it waits."""
    _problems: dict[str, Problem] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def begin(self, key: str, text: str, at: datetime, *, failing: bool) -> bool:
        """Note a problem under a name; whether people have to be told: of a new one, and of one that has changed."""
        with self._lock:
            known = self._problems.get(key)
            # One whose words change all the time is told of once a minute.
            tell = known is None or (known.text != text and at - known.told_at >= TELL_AGAIN)
            since, told_at = (at, at) if known is None else (known.since, at if tell else known.told_at)
            self._problems[key] = Problem(text, since, failing, told_at)
            return tell

    def over(self, key: str) -> Problem | None:
        """Forget a problem; the one that it was, if there was one."""
        with self._lock:
            return self._problems.pop(key, None)

    def keys(self, prefix: str) -> list[str]:
        """The names that begin so and under which there is a problem."""
        with self._lock:
            return [key for key in self._problems if key.startswith(prefix)]

    def problems(self) -> list[Problem]:
        """The problems of now, the oldest first."""
        with self._lock:
            return sorted(self._problems.values(), key=lambda problem: problem.since)

    def health(self, now: datetime) -> dict[str, Any]:
        """The document of `/healthz`: status ok, degraded (it may go away by itself) or failing, and the reasons."""
        problems = self.problems()
        step = self.step
        if step is not None and step[0] not in _TAKES_LONG and (now - step[1]).total_seconds() > STUCK_SECONDS:
            slow = f"{step[0]} has taken more than {STUCK_SECONDS / 60:.0f} minutes"
            problems.append(Problem(slow, step[1], step[0] not in _MAY_TAKE_LONG, now))
        failing = any(problem.failing for problem in problems)
        problems.sort(key=lambda problem: not problem.failing)  # none of those is left out for a file among thousands
        more = [f"{len(problems) - MOST_REASONS} more, all in the log"] if len(problems) > MOST_REASONS else []
        published = self.published_at
        return {
            "status": "failing" if failing else "degraded" if problems else "ok",
            "reasons": [problem.text for problem in problems[:MOST_REASONS]] + more,
            "snapshot_age_seconds": None if published is None else max(0.0, (now - published).total_seconds()),
            "sources": dict(self.sources),
            "started_at": f"{self.started_at.isoformat(timespec='seconds')}Z",
            "version": __version__,
        }
