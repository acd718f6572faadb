"""Time as the service knows it, so that tests can hold it still."""

from __future__ import annotations

import time
from datetime import datetime
from threading import Event
from typing import Protocol

from gatewatch.times import utc_now


class Clock(Protocol):
    """Seconds for intervals, UTC for people, and waiting."""

    def monotonic(self) -> float:
        """Seconds that never go back."""

    def utc(self) -> datetime:
        """Now, as naive UTC."""

    def wait(self, seconds: float) -> None:
        """Let so much time pass, less when the service is told to stop."""


class SystemClock:
    """The machine's clocks; `stopping` ends a wait."""

    def __init__(self, stopping: Event) -> None:
        self._stopping = stopping

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def utc(self) -> datetime:
        """Now, as naive UTC."""
        return utc_now()

    def wait(self, seconds: float) -> None:
        """Let so much time pass, less when the service is told to stop."""
        self._stopping.wait(seconds)
