"""Sources that do not end: what the service asks of them.

A source hands out chunks of lines and remembers in memory how far it has got. What counts is the position that each
chunk carries, which the pipeline stores in the transaction of its lines: a source that is made anew goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ingest.lines import Received

MAX_POLL_BYTES = 16 << 20
"""Most bytes of lines that one `poll` hands out, so that one busy source cannot starve the others."""


class LiveSource(Protocol):
    """A tailed file pattern, or the partitions of a Kafka topic."""

    @property
    def label(self) -> str:
        """What logs and metrics call it."""

    @property
    def troubles(self) -> Mapping[str, str]:
        """What cannot be read just now and why, a sentence each, by what it is about: a path, or "" for all of it.

        Each lasts for as long as it is here: the broker or the folder is away, a file may not be read.
        """

    @property
    def away(self) -> bool:
        """Whether nothing at all can be read just now."""

    @property
    def unreadable(self) -> int:
        """How many files or folders are there and cannot be read; 0 of what has none."""

    def poll(self, wait: float) -> list[Received]:
        """What has come, waiting up to `wait` seconds for the first of it; each item becomes one chunk.

        Raises SourceError when the source cannot go on without a person.
        """

    def kept(self, received: Sequence[Received]) -> None:
        """These, which `poll` has handed out, are in the store now; those of other sources may be among them."""

    def lag(self) -> dict[str, int]:
        """How much is waiting to be read, by source name: bytes of files, messages of partitions. Unknown: left out."""

    def close(self) -> None:
        """Give back files and connections."""
