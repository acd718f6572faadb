"""How following a file ends: what is gone is looked for, what is over is finished, what can never be read is a gap."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

from ingest.sources.tail.copies import Copies, Kind
from ingest.sources.tail.file import Replaced
from ingest.sources.tail.files import Moved
from ingest.sources.tail.paths import Listing
from ingest.sources.tail.rotated import Pieces
from ingest.sources.tail.state import Followed, State, past_key

_EMPTIED = "the file was emptied or exchanged before this was read, and no copy of it is in its folder"
_DELETED = "the file was deleted before this was read, and no copy of it is in its folder"


class Endings:
    """Ends what `state` follows."""

    def __init__(self, state: State, copies: Copies) -> None:
        self._state = state
        self._copies = copies
        self._open: Counter[str] | None = None  # counted when something ends
        self._pieces = Pieces(state)

    def recover(self, listing: Listing) -> None:
        """Look for contents that are gone from their files, or whose files are gone."""
        state = self._state
        self._open = None
        for followed in list(state.lost):
            if self._copies.look_for(followed, listing) is Kind.NEW:
                self._give_up(followed)
        for followed in list(state.files.values()):
            if followed.missing_since is None or followed.file in state.handles:
                continue
            found = self._copies.look_for(followed, listing)
            if found is Kind.NEW and followed.quiet(state.clock.monotonic()) and state.is_first(followed):
                if (unread := followed.unread()) is not None:
                    state.tell(followed.gap(*unread, _DELETED))
                self._close(followed, done=True)

    def _give_up(self, followed: Followed) -> None:
        """The content of a file was exchanged, and what was not read of it is nowhere."""
        self._state.give_up(followed)
        if (unread := followed.unread()) is not None:
            self._state.tell(followed.gap(*unread, _EMPTIED), {past_key(followed): followed.position(done=True)})

    def finish(self) -> None:
        """Finish deleted files, copies and rotated pieces that were read, and what did not grow for `close_after`."""
        state = self._state
        self._open = None
        self._pieces.begin_look()
        for followed in list(state.files.values()):
            if followed.changed or not state.is_first(followed):
                continue
            if followed.missing_since is not None:
                if followed.file in state.handles and followed.quiet(state.clock.monotonic()):
                    self._close(followed, done=True)
            elif not followed.closed and self._is_over(followed):
                self._close(followed, done=False)

    def _is_over(self, followed: Followed) -> bool:
        """Whether nobody will write to a file any more, as far as anybody can tell."""
        quiet = followed.quiet(self._state.clock.monotonic())
        if followed.copied or (quiet and followed.open and self._pieces.has(followed)):
            return quiet
        close_after = self._state.settings.close_after
        return close_after is not None and (self._state.clock.wall() - followed.modified >= close_after.total_seconds())

    def _close(self, followed: Followed, done: bool) -> None:
        """The file has ended, if everything complete was read; `done`: it is not there any more, either."""
        state = self._state
        there = followed.missing_since is None or followed.file in state.handles
        was_open = followed.open
        if self._open is None:
            self._open = state.open_names()
        final = was_open and self._open[followed.source.name] == 1
        with suppress(Moved, OSError):  # the next look tells why
            try:
                more = {"done": True} if done else {}
                received = followed.finish(state.handle(followed) if there else None, final, **more)
            except Replaced:
                state.lose(followed)
                return
            if received is None:
                return
            self._open[followed.source.name] -= was_open
            if received.lines or final:
                state.tell(received)
            else:
                state.owed.update(received.positions)
            if done:
                state.retire(followed)
