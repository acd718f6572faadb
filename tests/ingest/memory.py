"""A positions table in memory, and sources read against it as by one run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ingest.lines import Position, Received
from ingest.sources import jsonl


class Memory:
    """The positions table, as a dictionary."""

    def __init__(self) -> None:
        self.found: dict[str, Position] = {}

    def position(self, key: str) -> Position | None:
        return self.found.get(key)

    def positions(self, prefix: str) -> dict[str, Position]:
        return {key.removeprefix(prefix): value for key, value in self.found.items() if key.startswith(prefix)}

    def take(self, chunks: Iterator[Received], most: int = 1_000_000) -> list[Received]:
        """The chunks, as if each was committed; a run that is killed after `most` of them."""
        taken = []
        for chunk in chunks:
            if len(taken) == most:
                break
            taken.append(chunk)
            self.found |= chunk.positions
        return taken


def lines_of(chunks: list[Received]) -> list[bytes]:
    """The lines of the chunks that were kept whole."""
    return [item for chunk in chunks for item in chunk.lines if isinstance(item, bytes)]


def read_file(path: Path, memory: Memory, most: int = 1_000_000) -> list[Received]:
    """What is new in a file, up to a kill after `most` chunks."""
    return memory.take(jsonl.read_file(str(path), "auto", memory, lambda stream: None), most)
