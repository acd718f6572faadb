"""Commits that were begun and are not all in the store yet, in their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ingest.lines import Received


@dataclass(frozen=True, slots=True)
class Begun:
    """What was handed over to be committed, without the lines, how many they are, and when it was (`Clock`)."""

    received: list[Received]
    lines: int
    at: float


class UnderWay:
    """Tells which commits are in the store by how many lines are: they get there in their order."""

    def __init__(self) -> None:
        self._begun: deque[Begun] = deque()
        self._lines = 0

    def __bool__(self) -> bool:
        return bool(self._begun)

    def begin(self, received: Sequence[Received], at: float) -> None:
        """These are on their way from now on."""
        self._begun.append(
            Begun([replace(one, lines=[]) for one in received], sum(len(one.lines) for one in received), at)
        )

    def stored(self, lines: int) -> list[Begun]:
        """What is in the store as a whole, now that so many lines more are.

        Of a commit without lines that is known once a later one is there.
        """
        self._lines += lines
        whole = reached = 0
        for number, begun in enumerate(self._begun, 1):
            reached += begun.lines
            if reached > self._lines:
                break
            if begun.lines:
                whole = number
        done = [self._begun.popleft() for _ in range(whole)]
        self._lines -= sum(begun.lines for begun in done)
        return done

    def clear(self) -> list[Begun]:
        """What was on its way, of which nothing is any more."""
        done = list(self._begun)
        self._begun.clear()
        self._lines = 0
        return done
