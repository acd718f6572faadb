"""Signing in the loop, handing out beside it: a place that answers slowly must not keep lines from being read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread

from ingest.checkpointer import Checkpointer
from ingest.errors import CheckpointError


@dataclass(frozen=True, slots=True)
class Outcome:
    """Places that a checkpoint has come to for the first time, and a sentence for each that it did not reach."""

    arrived: int
    problems: list[str]


class Notary:
    """A checkpointer, and the hand-over that is under way in a thread of its own."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer = checkpointer
        self._thread: Thread | None = None
        self._problems: list[str] = []
        self._arrived: tuple[int, int] = (0, 0)  # chunks of the newest checkpoint, and how many places have it

    @property
    def enabled(self) -> bool:
        """Whether there is a key to sign with."""
        return self._checkpointer.enabled

    def is_due(self) -> bool:
        """Whether a checkpoint is to be signed by the checkpointer's interval, or handed out once more."""
        return self._thread is None and self._checkpointer.due()

    def sign(self, state: tuple[int, str], root_of_first: Callable[[int], str]) -> bool:
        """Sign this state of the ledger, if it is new, and hand out what is newest; whether something was signed.

        `root_of_first` gives the root (hex) over so many chunks, to see that the ledger goes on from what was signed.
        Raises CheckpointError when the ledger cannot be signed.
        """
        signed = self._checkpointer.sign(state, root_of_first)
        if self._checkpointer.sign_problem is not None:
            raise CheckpointError(self._checkpointer.sign_problem)
        if self._thread is None and self._checkpointer.last is not None:
            self._thread = Thread(target=self._hand_out, name="hand-out", daemon=True)
            self._thread.start()
        return signed is not None

    def _hand_out(self) -> None:
        self._problems = self._checkpointer.publish()

    def handed_out(self, wait: float = 0.0) -> Outcome | None:
        """What became of the hand-over, once; None while none has ended. Waits up to `wait` seconds for it."""
        thread, last = self._thread, self._checkpointer.last
        if thread is None or last is None:
            return None
        thread.join(wait)
        if thread.is_alive():
            return None
        self._thread = None
        before = self._arrived[1] if self._arrived[0] == last.size else 0
        there = self._checkpointer.places - len(self._problems)
        self._arrived = (last.size, there)
        return Outcome(max(0, there - before), self._problems)
