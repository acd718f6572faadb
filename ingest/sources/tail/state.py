"""What the one who follows files knows of them: which content is in which file, what came before it, what is over."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ingest.lines import Position, Received, Source, readable
from ingest.sources.fingerprint import Fingerprint
from ingest.sources.tail.file import BEGINNING, TailedFile
from ingest.sources.tail.files import Clock, FileId, Handle, Handles, key_of
from ingest.sources.tail.packed import PackedFile
from ingest.sources.tail.settings import TailSettings

GRACE_SECONDS = 5.0
"""How long a file that was rotated away or deleted must not have grown before it is held to be finished: its producer
may still write to the file that it has open."""

PAST = "past:"
"""Keys of the positions of contents whose file holds something else by now: looked for, or over."""

NO_FILE: FileId = (-1, -1)
"""The file of such a content."""

LEAST_TO_RECOGNISE = 32
"""Bytes that must have been read of a file before another can be told to be its copy: a line of an event has more."""


class Claims:
    """Which source reads which file, where the patterns of several match it: the first one. One for all sources."""

    def __init__(self) -> None:
        self._owners: dict[FileId, object] = {}

    def take(self, file: FileId, owner: object) -> bool:
        """Whether `owner` reads the file, from now on if nobody did."""
        return self._owners.setdefault(file, owner) is owner

    def of(self, owner: object) -> set[FileId]:
        """The files of an owner."""
        return {file for file, one in self._owners.items() if one is owner}

    def release(self, file: FileId) -> None:
        """Nobody reads the file any more."""
        self._owners.pop(file, None)


class Followed(TailedFile):
    """A followed file among others.

    `before` is what was at its `slot` before and has to be read first; `superseded`: it is itself such a one. `lost`:
    its file holds something else now. `copied`: it is read on in a copy, which nobody writes to. `packed`: it is read
    on in a compressed file. `gone`: nothing more will come. `fresh`: nothing was read of it, and once it has a content
    it may turn out to be a copy. Times are of the monotonic clock.
    """

    def __init__(self, source: Source, slot: str, file: FileId, path: str, known: Position | None = None) -> None:
        super().__init__(source, slot, file, path, known)
        self.before: list[Followed] = []
        self.superseded = False
        self.lost = False
        self.copied = bool(known and known.get("copied"))
        self.gone = False
        self.fresh = self.offset == 0
        self.packed: PackedFile | None = None
        self.missing_since: float | None = None
        self.grown_at: float | None = None
        self.size = self.offset
        self.modified = 0.0
        self._version: tuple[int, int] | None = None

    def look(self, status: os.stat_result, clock: Clock) -> None:
        """Take over what a look at the file has shown: whether it changed since the last one."""
        version = (status.st_size, status.st_mtime_ns)
        if version == self._version:
            return
        now = clock.monotonic()
        # At the first look the file's own time says how long it has been quiet.
        self.grown_at = now if self._version else now - max(0.0, clock.wall() - status.st_mtime)
        self._version = version
        self.size, self.modified = status.st_size, status.st_mtime
        self.changed = True

    def position(self, **more: Any) -> Position:
        """What has to be known to go on from here."""
        return super().position(**({"copied": True} if self.copied else {}), **more)

    @property
    def open(self) -> bool:
        """Whether its source is still written to, as far as this file goes."""
        return not (self.closed or self.superseded or self.gone)

    def quiet(self, now: float) -> bool:
        """Whether it has not grown, nor been missed, for the grace."""
        since = max(self.grown_at or 0.0, self.missing_since or 0.0)
        return now - since >= GRACE_SECONDS


class State:
    """Everything that is known about the files of one source.

    `files` are those that are there, or open; `lost` those whose content is to be looked for elsewhere; `past` those
    that are over, by which copies are recognised; `packed` the compressed ones that are being read. `owed` are
    positions that go with the next chunk, `told` chunks that were not read but follow from what happened. `faults` says
    what could not be read at the last look, by path, `postponed` what has to wait for the next one, and `broken` which
    version of which compressed file cannot be read.
    """

    def __init__(self, settings: TailSettings, claims: Claims, clock: Clock) -> None:
        self.settings = settings
        self.claims = claims
        self.clock = clock
        self.handles = Handles()
        self.files: dict[FileId, Followed] = {}
        self.lost: list[Followed] = []
        self.past: list[Followed] = []
        self.packed: dict[FileId, PackedFile] = {}
        self.stored: dict[str, Position] = {}
        self.owed: dict[str, Position] = {}
        self.told: list[Received] = []
        self.faults: dict[str, str] = {}
        self.postponed: set[FileId] = set()
        self.broken: dict[FileId, tuple[str, list[int], str]] = {}
        self._slots: defaultdict[str, list[Followed]] = defaultdict(list)

    def source_of(self, slot: str) -> Source:
        """The source of the file at a path."""
        path = readable(slot)
        return Source(self.settings.name or path, "tail", path, self.settings.dialect)

    def begin(self, file: FileId, path: str, known: Position | None = None, slot: str | None = None) -> Followed:
        """Follow a file from now on; what was at its path before is read first."""
        slot = slot or path
        followed = Followed(self.source_of(slot), slot, file, path, known)
        if known is None:
            self._keep_past(followed.key)
        earlier = [one for one in self._slots[slot] if not one.gone or self._is_unpacking(one)]
        for before in earlier:
            before.superseded = True
            if before.lost and before.file == file:
                followed.replaced = {"offset": before.offset, "line": before.line}
        followed.before = earlier
        self._slots[slot] = [*earlier, followed]
        self.files[file] = followed
        return followed

    def handle(self, followed: Followed) -> Handle:
        """The open file. Raises Moved, OSError."""
        return self.handles.get(followed.file, followed.path, self._is_nameless)

    def _is_nameless(self, file: FileId) -> bool:
        """Whether a file could not be opened again."""
        followed = self.files.get(file)
        return followed is not None and followed.missing_since is not None

    def readable(self, followed: Followed) -> bool:
        """Whether the file can be read now: it is there or open, and what was before it is read."""
        there = followed.missing_since is None or followed.file in self.handles
        later = followed.fresh or followed.path in self.faults or followed.file in self.postponed
        return there and not later and self.is_first(followed)

    def is_first(self, followed: Followed) -> bool:
        """Whether everything that was at its path before it was read."""
        if followed.before:
            followed.before = [one for one in followed.before if not self._settled(one)]
        return not followed.before

    def _is_unpacking(self, followed: Followed) -> bool:
        packed = followed.packed
        return packed is not None and self.packed.get(packed.file) is packed

    def _settled(self, before: Followed) -> bool:
        """Whether everything before another file's first line was read."""
        if self._is_unpacking(before):
            return False
        if before.gone or before.path in self.faults:
            return True
        if before.lost or before.missing_since is not None or before.changed or not self.is_first(before):
            return False
        return before.closed or before.quiet(self.clock.monotonic())

    def lose(self, followed: Followed, over: bool = False) -> None:
        """The file of a content holds something else now; `over`: nothing of it was awaited any more."""
        del self.files[followed.file]
        self._keep_past(followed.key)
        self.stored.pop(followed.key, None)
        followed.lost = True
        if over:
            self.remember(followed)
            return
        self.lost.append(followed)
        if followed.offset:
            self.owed[past_key(followed)] = followed.position()
            self.owed[followed.key] = nothing(followed)

    def restore_lost(self, followed: Followed) -> None:
        """A content that an earlier run looked for."""
        followed.lost = True
        self.lost.append(followed)
        self._slots[followed.slot].append(followed)

    def give_up(self, followed: Followed) -> None:
        """A content that was looked for is nowhere."""
        self._leave(followed)
        self.owed[past_key(followed)] = followed.position(done=True)
        self.remember(followed)

    def retire(self, followed: Followed) -> None:
        """Nothing more will come of this content."""
        del self.files[followed.file]
        self.handles.drop(followed.file)
        self.stored[followed.key] = followed.position(done=True)
        self.remember(followed)

    def remember(self, followed: Followed) -> None:
        """By a content that is over its copies are recognised."""
        followed.gone = True
        self.past.append(followed)

    def move(self, followed: Followed, file: FileId, path: str) -> None:
        """Go on with a content that is in another file now, which is a copy."""
        self._leave(followed)
        self._keep_past(key_of(file))
        followed.file = file
        followed.move_to(path)
        followed.lost = followed.gone = followed.closed = False
        followed.copied = followed.changed = True
        followed.missing_since = None
        self.files[file] = followed
        self.owed[followed.key] = self.stored[followed.key] = followed.position()

    def move_packed(self, followed: Followed, file: FileId, path: str) -> None:
        """Go on with a content that is in a compressed file now."""
        packed = PackedFile(followed.source, followed.slot, file, path, followed.position())
        self._leave(followed)
        self._keep_past(key_of(file))
        followed.packed = self.packed[file] = packed
        self.remember(followed)
        self.owed[packed.key] = packed.position()

    def _keep_past(self, key: str) -> None:
        """A file is used again: what is known of the content that was in it before is kept under another key."""
        known = self.stored.get(key)
        if known is not None and known.get("done") and known["offset"] >= LEAST_TO_RECOGNISE:
            del self.stored[key]
            self.owed[_past_key(known)] = known

    def _leave(self, followed: Followed) -> None:
        """The old file's position is of no use any more: it says what is in that file now, or that it is over."""
        if followed.lost:
            self.owed[past_key(followed)] = nothing(followed)
        elif not followed.gone:
            del self.files[followed.file]
            self.handles.drop(followed.file)
            self.owed[followed.key] = followed.position(done=True)
            self.stored.pop(followed.key, None)
        self.lost = [one for one in self.lost if one is not followed]
        self.past = [one for one in self.past if one is not followed]

    def all(self) -> Iterator[Followed]:
        """Every content that is known."""
        yield from self.files.values()
        yield from self.lost
        yield from self.past

    def open_names(self) -> Counter[str]:
        """How many files of each source are still written to."""
        names = Counter(one.source.name for one in (*self.files.values(), *self.lost) if one.open)
        names.update(one.source.name for one in self.packed.values())
        return names

    def tell(self, received: Received, positions: dict[str, Position] | None = None) -> None:
        """Hand out a chunk that was not read; `positions`, if given, take the place of its own."""
        positions = received.positions if positions is None else positions
        self.told.append(self.with_owed(replace(received, positions=positions)))

    def with_owed(self, received: Received) -> Received:
        """The chunk, with the positions that were waiting for one."""
        owed, self.owed = self.owed, {}
        return replace(received, positions={**owed, **received.positions})


def nothing(followed: Followed) -> Position:
    """The position of a file, or a key, under which nothing is known any more."""
    return {**BEGINNING, "sha256": None, **Fingerprint().as_position(), "path": followed.slot, "at": "", "done": True}


def past_key(followed: Followed) -> str:
    """The key of the position of a content that is in no file, as far as anybody knows."""
    return _past_key(followed.position())


def _past_key(known: Position) -> str:
    sha256 = known["head"][1] if "head" in known else known["sha256"]
    return f"{PAST}{sha256}:{known['offset']}"
