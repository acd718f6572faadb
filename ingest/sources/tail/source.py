"""Files of JSON lines that grow: follows them through rotation, truncation and restarts; each line is handed out once.

How a file is known and what cannot be seen is said in `ingest.sources.fingerprint`, what happens to files in
`ingest.sources.tail.tracker`. Beyond that

* a line is taken when its newline is there, and not a moment before: also of a file that was rotated away or that
  nobody writes to. Only where a file cannot grow any more (it was deleted, it is a copy or compressed, or has not grown
  for `close_after`), what stands at its end is its last line;
* of a file that was rotated twice while nobody was looking, only what matches the patterns is found: name the rotated
  ones too (``events.jsonl*``). What was read already is not read again;
* a copy is looked for in the folder of its original, and only of content of which 32 bytes were read before. A file
  that matches a pattern and begins as another one does counts as its copy for as long as it holds nothing else; a mere
  backup (its original goes on) is recognised only while the process lives and is then read as a file of its own, whose
  events are duplicates. The same goes for a copy that was there before anything of its original was stored. What such
  files are is told at their end (`ingest.sources.tail.rotated`), so that nobody waits for more of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ingest.errors import SourceError, source_error
from ingest.lines import MAX_CHUNK_BYTES, Received
from ingest.sources.jsonl import Positions
from ingest.sources.live import MAX_POLL_BYTES
from ingest.sources.paths import OwnFiles
from ingest.sources.tail.file import Replaced
from ingest.sources.tail.files import Clock, Moved
from ingest.sources.tail.packed import PackedFile
from ingest.sources.tail.paths import Pattern
from ingest.sources.tail.settings import TailSettings
from ingest.sources.tail.state import Claims, Followed, State
from ingest.sources.tail.tracker import Tracker

_MOST_CHUNKS = 256
"""Most chunks of one poll, so that thousands of files with a line each are stored little by little."""

_SHORTEST_INTERVAL = 0.1
_LONGEST_INTERVAL = 5.0
_SHARE_OF_TIME = 50
"""Looking at all files takes at most this part of the time: of few files ten times a second, of many less often."""


class TailSource:
    """The files that one `[[sources]]` table matches.

    `positions` is where earlier runs left them, `claims` is shared by all such sources of a process: a file that
    several match is read by the first. What gatewatch itself keeps in the directory `data` is never read.
    """

    def __init__(
        self,
        settings: TailSettings,
        positions: Positions,
        claims: Claims | None = None,
        clock: Clock | None = None,
        data: Path | None = None,
    ) -> None:
        """Raises SourceError when a path names what gatewatch itself keeps in its data directory."""
        own = OwnFiles(data)
        for path in settings.paths:
            own.refuse(Pattern(path).named)
        self._settings = settings
        self._clock = clock or Clock()
        self._state = State(settings, claims or Claims(), self._clock)
        self._tracker = Tracker(self._state, positions, own)
        self._look_at = float("-inf")
        self._looked = False
        self._busy = False  # there may be more to read without another look
        self._turn: Followed | PackedFile | None = None  # who was read last

    @property
    def label(self) -> str:
        """What logs and metrics call it: its name, else its patterns."""
        return self._settings.name or ", ".join(self._settings.paths)

    @property
    def troubles(self) -> dict[str, str]:
        """Why files or folders cannot be read, by path; or that none was found yet."""
        faults = self._state.faults | {path: why for path, _, why in self._state.broken.values()}
        if not faults and self._looked and not self._tracker.ever_found:
            patterns = ", ".join(self._settings.paths)
            if self._tracker.found_own:
                return {
                    "": f"{patterns} matches only what gatewatch itself keeps in its data directory: name other files"
                }
            return {"": f"no file matches {patterns} yet: check the path"}
        return faults

    @property
    def away(self) -> bool:
        """Whether nothing at all can be read: of what is there, all that was found."""
        return bool(self.troubles) and self._tracker.away

    @property
    def unreadable(self) -> int:
        """How many files and folders are there and cannot be read."""
        return len(self._state.faults.keys() | {path for path, _, _ in self._state.broken.values()})

    def poll(self, wait: float) -> list[Received]:
        """What has come, waiting up to `wait` seconds for the first of it; at most `MAX_POLL_BYTES`.

        Never raises: a file that cannot be read is `trouble`, and the others go on.
        """
        until = self._clock.monotonic() + wait
        while True:
            self._look_if_due()
            found = self._gather() if self._busy else []
            self._busy = bool(found)
            now = self._clock.monotonic()
            if found or now >= until:
                return found
            self._clock.sleep(max(0.001, min(until, self._look_at) - now))

    def _look_if_due(self) -> None:
        begun = self._clock.monotonic()
        if begun >= self._look_at:
            self._tracker.look()
            self._looked = self._busy = True
            took = self._clock.monotonic() - begun
            self._look_at = begun + took + min(max(_SHORTEST_INTERVAL, took * _SHARE_OF_TIME), _LONGEST_INTERVAL)

    def _gather(self) -> list[Received]:
        """What can be read now, of all files in turn."""
        found, self._state.told = self._state.told, []
        left = MAX_POLL_BYTES
        some = True
        while some:
            some = False
            for one in self._in_turn():
                if left < MAX_CHUNK_BYTES or len(found) >= _MOST_CHUNKS:
                    return found
                self._turn = one
                received = self._read_packed(one) if isinstance(one, PackedFile) else self._read(one)
                if received is not None:
                    found.append(self._state.with_owed(received))
                    left -= received.size
                elif isinstance(one, Followed) and one.changed:
                    left -= MAX_CHUNK_BYTES  # read in vain: the middle of a line that is too long
                some = some or received is not None or (isinstance(one, Followed) and one.changed)
        return found

    def _in_turn(self) -> Iterator[Followed | PackedFile]:
        """The files that have something to read, after the one that was read last."""
        state = self._state
        waiting: list[Followed | PackedFile] = [one for one in state.files.values() if one.changed]
        waiting += state.packed.values()
        start = waiting.index(self._turn) + 1 if self._turn in waiting else 0
        return (one for one in waiting[start:] + waiting[:start] if isinstance(one, PackedFile) or state.readable(one))

    def _read(self, followed: Followed) -> Received | None:
        state = self._state
        try:
            return followed.read(state.handle(followed))
        except Replaced:
            state.lose(followed)
            followed.changed = False
            self._look_at = self._clock.monotonic()
        except Moved:
            state.postponed.add(followed.file)
            self._look_at = self._clock.monotonic()
        except OSError as error:
            state.faults[followed.path] = str(source_error(error, followed.path))
        return None

    def _read_packed(self, packed: PackedFile) -> Received | None:
        state = self._state
        try:
            received = packed.read()
        except Moved:
            return None  # the next look finds out where to
        except SourceError as error:
            state.broken[packed.file] = packed.path, packed.version, str(error)
            del state.packed[packed.file]
            return None
        state.stored[packed.key] = packed.position()
        if not packed.finished:
            return received
        packed.close()
        del state.packed[packed.file]
        state.remember(Followed(packed.source, packed.slot, packed.file, packed.path, packed.position()))
        final = not state.open_names()[packed.source.name]
        if received is not None and (received.lines or final):
            return replace(received, final=final)
        state.owed[packed.key] = packed.position()
        return None

    def kept(self, received: Sequence[Received]) -> None:
        """What was handed out is stored: nothing to do, since what is stored is all that a restart goes by."""

    def lag(self) -> dict[str, int]:
        """Bytes that were there at the last look and are not read yet, by source name; compressed files left out."""
        waiting: Counter[str] = Counter()
        for one in self._state.files.values():
            waiting[one.source.name] += max(0, one.size - one.offset)
        return dict(waiting)

    def close(self) -> None:
        """Close all files and let other sources have them."""
        for packed in self._state.packed.values():
            packed.close()
        self._state.handles.close()
        for file in self._state.claims.of(self._state):
            self._state.claims.release(file)
