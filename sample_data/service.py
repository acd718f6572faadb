"""What good or bad service looks like in numbers: how long a ticket waits, what it costs, what people say afterwards.

Nothing of it is evidence for a rule, so it may vary freely in faulty and in clean runs.
"""

from __future__ import annotations

from random import Random
from typing import Any, Literal, NamedTuple

from sample_data.casts import SLA_MINUTES
from sample_data.story import PACE, Moment, raw

SlaState = Literal["ok", "warn", "breach"]

TIERS = ("opus", "sonnet", "sonnet", "sonnet", "haiku")
COST = {"opus": raw("0.«r:1200:4800»"), "sonnet": raw("0.0«r:2000:9900»"), "haiku": raw("0.00«r:2000:9900»")}
"""US dollars of one run, by the tier of its model."""

HOUR = 3600.0
_LATE, _TOO_LATE = 0.07, 0.03
_LONGEST_USUAL_WAIT = 3 * HOUR


def sla_state(priority: str, received: Moment, responded: Moment) -> SlaState | None:
    """The state that the policy's targets imply, or None when it depends on the pace of the run."""
    states = {_state(priority, received, responded, pace) for pace in PACE}
    return states.pop() if len(states) == 1 else None


def _state(priority: str, received: Moment, responded: Moment, pace: int) -> SlaState:
    waited = (responded.slow - received.slow) * pace / 1000 + responded.fixed - received.fixed
    warn, target = SLA_MINUTES[priority]
    minutes = waited / 60_000
    return "ok" if minutes <= warn else "warn" if minutes <= target else "breach"


def waiting(priority: str, rng: Random, *, at_once: bool = False) -> float:
    """Seconds for which a ticket lies before somebody takes it; not too long if ``at_once``."""
    luck, share = rng.random(), rng.random()
    warn, target = (60.0 * minutes for minutes in SLA_MINUTES[priority])
    # Between the two limits of a P1 there is no room for a wait and for the work that follows it.
    if luck < _LATE and not at_once and priority != "P1":
        return warn + (0.02 + 0.4 * share) * (target - warn)
    if luck > 1 - _TOO_LATE and not at_once:
        return target * (1.02 + 0.5 * share)
    return share**3 * min(0.2 * warn, _LONGEST_USUAL_WAIT)


class Later(NamedTuple):
    """An event that comes ``seconds`` after the end of a run."""

    seconds: float
    kind: str
    fields: dict[str, Any]


class _Saying(NamedTuple):
    """A signal of ``human.feedback``: who gives it, in which share of the runs, from and up to how many hours later."""

    signal: str
    by: str
    share: float
    hours: tuple[int, int]


_SAYINGS: dict[str, tuple[_Saying, ...]] = {
    "RESOLVED": (
        _Saying("csat", "customer", 0.16, (1, 48)),
        _Saying("resolution_confirmed", "customer", 0.03, (1, 24)),
        _Saying("reopened", "customer", 0.03, (12, 120)),
        _Saying("complaint", "customer", 0.02, (6, 96)),
        _Saying("missed_escalation", "lead:maria", 0.01, (24, 96)),
    ),
    "ESCALATED_TO_HUMAN": (
        _Saying("escalation_warranted", "lead:maria", 0.36, (1, 40)),
        _Saying("escalation_unwarranted", "lead:maria", 0.1, (1, 40)),
    ),
}
_SAYINGS_OTHERWISE = (
    _Saying("resolution_rejected", "customer", 0.1, (1, 48)),
    _Saying("complaint", "customer", 0.03, (6, 96)),
    _Saying("missed_escalation", "lead:maria", 0.04, (24, 96)),
)


def sayings(terminal: str, rng: Random) -> list[Later]:
    """What people say about a run that ended in this state: mostly nothing, and one judgement of an escalation."""
    said: list[Later] = []
    for saying in _SAYINGS.get(terminal, _SAYINGS_OTHERWISE):
        luck, hours = rng.random(), saying.hours[0] + rng.random() * (saying.hours[1] - saying.hours[0])
        if luck < saying.share and not (said and terminal == "ESCALATED_TO_HUMAN"):
            value = raw("«csat»") if saying.signal == "csat" else None
            said.append(Later(hours * HOUR, "human.feedback", _feedback(saying, value)))
    return said


def _feedback(saying: _Saying, value: str | None) -> dict[str, Any]:
    return {"signal": saying.signal, "value": value, "by": saying.by}


def gap(agent: str, path: str, *, closed: bool = False) -> dict[str, Any]:
    """The fields of the line about a gap in the knowledge base: somebody files it, or has closed it."""
    return {
        "agent": agent,
        "phase": "kb-gaps",
        "severity": "unknown",
        "category": "general",
        "outcome": "resolved" if closed else None,
        "path": path,
        "sla_state": "n/a",
    }
