"""A story: one run as a template, from which `render` makes any number of concrete runs at once.

A story holds the JSON line of every event and the truth that follows from them. What differs between the runs of one
story stands in the text as a token between ``«`` and ``»`` (no other text of a story contains these):

===================  ==============================================================================================
``«run»``            the run's label; unique within its tenant only, so that labels recur across tenants
``«uid»``            the run's number in the whole file
``«hex»``            16 hexadecimal digits of the run
``«t:S:F»``          RFC 3339 time of the run's start + S milliseconds at the run's own pace + F exact milliseconds
``«amount»``         an amount of money; ``«amount_over»`` is larger by 40, ``«amount_part»`` about half of it
``«r:LO:HI»``        a whole number, LO <= n < HI, drawn anew at every place
``«deflection»``     the run's score (0..3) for not turning a customer away unhelped; likewise ``«grounded»``,
                     ``«solved»``, ``«tone»`` and ``«clarity»``; ``«csat»`` is the customer's own (1..5)
``«tenant»``         the tenant member at the end of an object, with its comma, or nothing
``«tenant_or_null»`` the tenant as a JSON value
===================  ==============================================================================================
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

TOKEN = re.compile(r"«([a-z_]+)(?::(\d+):(-?\d+))?»")
_RAW_OPEN, _RAW_CLOSE = "⟦", "⟧"

PACE = (650, 1700)
"""How many milliseconds a slow second of a story takes, depending on the run: from, up to (exclusive)."""


def raw(text: str) -> str:
    """A field value that stands in the JSON as it is (a number made of tokens), not as a string."""
    return f"{_RAW_OPEN}{text}{_RAW_CLOSE}"


def whole(low: int, high: int) -> str:
    """A random whole number, ``low`` <= n < ``high``, as a raw JSON value."""
    return raw(f"«r:{low}:{high}»")


AMOUNT, AMOUNT_OVER, AMOUNT_PART = raw("«amount»"), raw("«amount_over»"), raw("«amount_part»")


def to_line(fields: dict[str, Any]) -> str:
    """The JSON line of an event template; fields that are None are left out, the tenant is appended."""
    present = {name: value for name, value in fields.items() if value is not None}
    text = json.dumps(present, ensure_ascii=False, separators=(",", ":"))
    text = text.replace(f'"{_RAW_OPEN}', "").replace(f'{_RAW_CLOSE}"', "")
    return text[:-1] + "«tenant»}"


def digest(label: str) -> str:
    """A digest that differs by label and by run: ``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(label.encode()).hexdigest()[:48]}«hex»"


@dataclass(frozen=True)
class Step:
    """One event: when it happens (milliseconds: ``slow`` at the run's pace, ``fixed`` exact) and its line."""

    slow: int
    fixed: int
    line: str


@dataclass(frozen=True)
class Truth:
    """One finding that a run of the story must lead to; ``subject`` and ``correlation`` may hold tokens.

    Without a ``correlation`` it is a finding about the whole tenant, which any number of runs lead to together.
    """

    rule: str
    subject: str
    correlation: str | None


def to_truth_line(truth: Truth) -> str:
    """The JSON line of a finding."""
    names = {"rule": truth.rule, "subject": truth.subject, "correlation_id": truth.correlation}
    return json.dumps(names, ensure_ascii=False, separators=(",", ":"))[:-1] + ',"tenant":«tenant_or_null»}'


@dataclass
class Story:
    """A run's events in the order in which they happen, and the findings that they imply.

    ``tickets`` is the number of correlation ids in it: more than one when a follow-up ticket belongs to the story.
    """

    name: str
    steps: list[Step] = field(default_factory=list)
    truth: list[Truth] = field(default_factory=list)
    tickets: int = 1


@dataclass(frozen=True)
class Moment:
    """A time of a story: milliseconds since its start, ``slow`` at the run's pace and ``fixed`` exact."""

    slow: int
    fixed: int

    def text(self, seconds: float = 0.0) -> str:
        """The time that is ``seconds`` after this one, as a token."""
        return f"«t:{self.slow}:{self.fixed + round(seconds * 1000)}»"


class Clock:
    """Where a story is in time. ``wait`` passes at the pace of the run, ``exactly`` in seconds that no run changes."""

    def __init__(self) -> None:
        self.slow = 0
        self.fixed = 0

    def wait(self, seconds: float) -> None:
        """Let human time pass; a run stretches or shrinks it."""
        self.slow += round(seconds * 1000)

    def exactly(self, seconds: float) -> None:
        """Let an exact time pass, for whatever a limit of the policy is measured against."""
        self.fixed += round(seconds * 1000)

    def now(self) -> Moment:
        """The present moment."""
        return Moment(self.slow, self.fixed)

    def at(self, seconds: float = 0.0) -> str:
        """The time that is ``seconds`` from now, as a token."""
        return self.now().text(seconds)
