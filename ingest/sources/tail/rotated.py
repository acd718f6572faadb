"""Tells rotated pieces and copies, which nobody writes to any more, from files whose producer fell silent.

That matters where nothing of the original was read before it was rotated: such a piece is a source of its own, and its
silence says nothing. A piece is

* a file that is called as another one in its folder with a number, a date or a word for old behind it
  (``events.jsonl.1``, ``events.jsonl-20260603``);
* a file with which another, longer one in its folder begins: a backup of a file that went on.

What is wrongly held to be one and grows after all is open again.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from contextlib import suppress

from ingest.sources.tail.files import Moved
from ingest.sources.tail.state import GRACE_SECONDS, LEAST_TO_RECOGNISE, Followed, State

_ROTATED = re.compile(r"(.+?)[._-](?:\d+(?:[-_.:T]\d+)*Z?|old|bak|backup|orig|prev|save)~?")


class Pieces:
    """The pieces among the files that `state` follows; looked for once in a grace, since none is in a hurry."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._due_at = float("-inf")
        self._is_due = False
        self._slots: set[str] | None = None
        self._sorted: list[Followed] | None = None

    def begin_look(self) -> None:
        """A new look at all files begins."""
        now = self._state.clock.monotonic()
        self._is_due = now >= self._due_at
        self._slots = self._sorted = None
        if self._is_due:
            self._due_at = now + GRACE_SECONDS

    def has(self, followed: Followed) -> bool:
        """Whether a file is one, and was read to its end; half a line at its end may still go on."""
        if not self._is_due or not followed.offset or followed.size > followed.offset:
            return False
        return self._is_called_so(followed) or self._is_a_beginning(followed)

    def _is_called_so(self, followed: Followed) -> bool:
        folder, name = os.path.split(followed.slot)
        found = _ROTATED.fullmatch(name)
        if found is None:
            return False
        if self._slots is None:
            self._slots = {one.slot for one in self._state.all()}
        original = os.path.join(folder, found[1])  # noqa: PTH118 - a name that is not UTF-8 stays as it is
        return original in self._slots or os.path.lexists(original)

    def _is_a_beginning(self, followed: Followed) -> bool:
        if followed.offset < LEAST_TO_RECOGNISE:
            return False
        if self._sorted is None:
            self._sorted = sorted(self._state.files.values(), key=_by_beginning)
        # Those that begin as it does come right after it.
        at = bisect_left(self._sorted, _by_beginning(followed), key=_by_beginning)
        for other in self._sorted[at:]:
            if other.home != followed.home or not other.begins_with(followed.first_bytes):
                return False
            if other is not followed and other.offset > followed.offset:
                with suppress(Moved, OSError):  # what cannot be read now is asked later
                    if followed.begins(self._state.handle(other).read_at):
                        return True
        return False


def _by_beginning(followed: Followed) -> tuple[str, bytes]:
    return followed.home, followed.first_bytes
