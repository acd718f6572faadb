"""How far a long piece of work is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being read, bytes of it done and in all (None: unknown), lines of the whole run so far."""

    source: str
    done: int
    total: int | None
    lines: int


Report = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """The report of those who do not want to know."""
