"""The service's log: a line on stderr for each thing that a person wants to know."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from gatewatch.output import clean, say
from gatewatch.times import utc_now


class Log:
    """``2026-06-03T10:00:00Z warning  text``: one line, with nothing in it that could steer a terminal."""

    def __init__(self, now: Callable[[], datetime] = utc_now, write: Callable[[str], None] = say) -> None:
        self._now = now
        self._write = write

    def info(self, text: str) -> None:
        """What happens in the ordinary course of things."""
        self._line("info", text)

    def warning(self, text: str) -> None:
        """What may go away by itself."""
        self._line("warning", text)

    def error(self, text: str) -> None:
        """What needs a person."""
        self._line("error", text)

    def _line(self, level: str, text: str) -> None:
        self._write(f"{self._now().isoformat(timespec='seconds')}Z {level:<7}  {clean(' '.join(text.split()))}")
