"""A progress bar on a terminal's stderr for long work that is done once; silent elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections import deque
from collections.abc import Callable

import click

from gatewatch.output import clean, width
from ingest.progress import Progress

_EVERY_SECONDS = 0.1
"""Redrawn no more often than this: nobody reads faster, and a terminal far away is slow."""

_WINDOW_SECONDS = 10.0
"""The rate is that of the last seconds, so that the time left follows what the disk does now."""

_BAR_COLUMNS = 20
_LEAST_NAME_COLUMNS = 12


class Meter:
    """Shows how far the work is; a context manager, whose end takes the bar away."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._shown = sys.stderr.isatty()
        self._clock = clock
        self._source = ""
        self._seen: deque[tuple[float, int]] = deque()
        self._drawn = 0.0
        self._dirty = False

    def __call__(self, progress: Progress) -> None:
        """Show how far the work is."""
        if not self._shown:
            return
        now = self._clock()
        if progress.source != self._source or (self._seen and progress.done < self._seen[-1][1]):
            self._source = progress.source
            self._seen.clear()
        if self._dirty and now - self._drawn < _EVERY_SECONDS and progress.done != progress.total:
            return
        self._seen.append((now, progress.done))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_SECONDS:
            self._seen.popleft()
        self._drawn, self._dirty = now, True
        click.echo(f"\r\x1b[K{bar(progress, self._rate(), _columns() - 1)}", err=True, nl=False)

    def step(self, text: str) -> None:
        """Say what goes on now, without a bar: nobody knows how long it takes."""
        if self._shown:
            click.echo(f"\r\x1b[K{text} …", err=True, nl=False)
            self._dirty = True

    def _rate(self) -> float | None:
        """Bytes a second of late; None while there is nothing to tell it from."""
        (began, first), (ended, last) = self._seen[0], self._seen[-1]
        return (last - first) / (ended - began) if ended > began else None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def clear(self) -> None:
        """Take the bar away, so that something else can be printed."""
        if self._dirty:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._dirty = False


def bar(progress: Progress, rate: float | None, columns: int) -> str:
    """One line of at most so many columns: what is read, how far it is, bytes a second, lines, time left."""
    parts: list[str] = []
    if progress.total:
        share = min(1.0, progress.done / progress.total)
        filled = int(share * _BAR_COLUMNS)
        parts.append(f"[{'#' * filled}{'.' * (_BAR_COLUMNS - filled)}] {int(100 * share):3d} %")
    else:
        parts.append(_size(progress.done))
    if rate is not None:
        parts.append(f"{_size(rate)}/s")
    parts.append(f"{progress.lines:,} lines")
    if rate and progress.total and progress.done < progress.total:
        parts.append(f"{_duration((progress.total - progress.done) / rate)} left")
    room = columns - sum(len(part) + 2 for part in parts)
    # Whatever does not fit is left out from the end; a bar that wraps cannot be taken away again.
    while room < _LEAST_NAME_COLUMNS and len(parts) > 1:
        room += len(parts.pop()) + 2
    return "  ".join([*([_ending(clean(progress.source), room)] if room > 0 else []), *parts])[: max(0, columns)]


def _ending(name: str, room: int) -> str:
    """The end of a name, which tells files apart better than its beginning."""
    if width(name) <= room:
        return name
    while name and width(name) > room - 1:
        name = name[1:]
    return f"…{name}"


def _size(count: float) -> str:
    units = iter(("B", "kB", "MB", "GB"))
    unit = next(units)
    while count >= 1000 and unit != "GB":
        count, unit = count / 1000, next(units)
    return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError):  # no real terminal behind it
        return 80
