"""Following files in tests: a clock that is told, a positions table in memory, and what was handed out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ingest.lines import Line, Received
from ingest.sources.tail.files import Clock
from ingest.sources.tail.settings import TailSettings
from ingest.sources.tail.source import TailSource
from ingest.sources.tail.state import Claims
from tests.ingest.memory import Memory


class ToldClock(Clock):
    """Stands still until it is told; sleeping lets it pass. `wall` is the real time, as that of files, and `shift`."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.shift = 0.0

    def wall(self) -> float:
        return time.time() + self.shift

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


class Tail:
    """A source with what it handed out; every poll is stored at once, unless `stored` says otherwise."""

    def __init__(self, *paths: Path | str, memory: Memory | None = None, **settings: Any) -> None:
        self.memory = memory or Memory()
        self.clock = ToldClock()
        self.settings = TailSettings(paths=[str(path) for path in paths], **settings)
        self.chunks: list[Received] = []
        self.source = TailSource(self.settings, self.memory, Claims(), self.clock)

    def restart(self) -> None:
        """A new process: all that is left is what was stored."""
        self.source.close()
        self.source = TailSource(self.settings, self.memory, Claims(), self.clock)

    def poll(self, stored: bool = True) -> list[Line]:
        """The lines of all that there is now."""
        found: list[Received] = []
        while True:
            self.clock.now += 3
            received = self.source.poll(0)
            if not received:
                break
            found += received
        self.chunks = found
        if stored:
            for chunk in found:
                self.memory.found |= chunk.positions
            self.source.kept(found)
        return [line for chunk in found for line in chunk.lines]

    def later(self, seconds: float = 6) -> list[Line]:
        """The lines that are there some time later."""
        found = self.poll()
        chunks = self.chunks
        self.clock.now += seconds
        found += self.poll()
        self.chunks = chunks + self.chunks
        return found

    @property
    def finals(self) -> list[str]:
        """Names of the sources that ended in the last poll."""
        return [Path(chunk.source.name).name for chunk in self.chunks if chunk.final]

    @property
    def gaps(self) -> list[tuple[str, str]]:
        """From where to where something could not be read, as the last poll told."""
        found = [chunk.end["gap"] for chunk in self.chunks if "gap" in chunk.end]
        return [(gap["from"], gap["to"]) for gap in found]


def append(path: Path, *pieces: bytes) -> None:
    """Write to the end of a file, each piece at once."""
    with path.open("ab", buffering=0) as file:
        for piece in pieces:
            file.write(piece)


def texts(lines: Sequence[Line]) -> list[str]:
    """The lines as text, those that were too long as their length."""
    return [line.decode() if isinstance(line, bytes) else f"<{line.bytes}>" for line in lines]
