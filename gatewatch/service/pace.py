"""When something that costs time may be done again."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST_PAUSE_S = 60.0
"""Longest wait between two tries of something that fails: a person who mends it does not wait long to see it work."""


@dataclass(slots=True)
class Pace:
    """Not before `shortest` seconds have passed, nor so often that it takes more than `share` of the time.

    `due` is the earliest time of the next turn, on the clock whose times are handed over.
    """

    shortest: float
    share: float
    due: float = 0.0

    def took(self, began: float, ended: float) -> None:
        """It was done, from one time to the other."""
        self.due = max(began + self.shortest, ended + (ended - began) * (1 / self.share - 1))


@dataclass(slots=True)
class Backoff:
    """Growing pauses between tries: 1, 2, 4, … seconds, at most `LONGEST_PAUSE_S`."""

    tries: int = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        pause = min(2.0**self.tries, LONGEST_PAUSE_S) if self.tries < 10 else LONGEST_PAUSE_S
        self.tries += 1
        return pause

    def reset(self) -> None:
        """It worked."""
        self.tries = 0
