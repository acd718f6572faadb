"""Recognises content that was followed in another file: copies that copytruncate makes, and compressed rotated files.

A copy of a file that is still followed holds nothing new, and waits: should its original be emptied, what was not read
of it is read in the copy. A file that begins with all that was read of one that is gone is that one.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum, auto

from ingest.errors import SourceError
from ingest.sources.fingerprint import WINDOW_BYTES, ReadAt
from ingest.sources.tail.file import Replaced
from ingest.sources.tail.files import FileId, Handle, Moved, close_handle, id_of, open_at, regular
from ingest.sources.tail.packed import head_of, is_packed, unpacked_begins, version_of
from ingest.sources.tail.paths import Listing
from ingest.sources.tail.state import GRACE_SECONDS, LEAST_TO_RECOGNISE, Followed, State


class Kind(Enum):
    """What a file that was not known is."""

    NEW = auto()
    COPY = auto()
    """Of a file that is followed: it waits."""
    MOVED = auto()
    """The rest of a file that is gone: it is followed now."""
    LATER = auto()
    """It cannot be told yet."""


class Copies:
    """Tells what unknown files are, and looks for content that is gone from its file."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._waiting: dict[FileId, tuple[Followed, list[int]]] = {}  # copies, of what, and their version
        self._settling: dict[FileId, tuple[list[int], float]] = {}  # compressed files, and since when they are as now
        self._refused: dict[tuple[int, FileId], list[int]] = {}  # what was looked for, where in vain
        self._heads: dict[tuple[str, int, str], list[Followed]] | None = None
        self._deleted: list[Followed] | None = None
        self._strangers: dict[str, list[tuple[str, os.stat_result]]] = {}
        self.unsettled: set[str] = set()  # folders with compressed files that are still being written

    def begin_look(self) -> None:
        """A new look at all files begins."""
        self._heads = None
        self._deleted = None
        self._strangers = {}
        self.unsettled = set()

    def forget(self, file: FileId) -> None:
        """A file is not there any more."""
        self._waiting.pop(file, None)
        self._settling.pop(file, None)

    def tell(self, file: FileId, path: str, status: os.stat_result) -> Kind:
        """What a plain file is. Raises OSError when it cannot be read."""
        if status.st_size < LEAST_TO_RECOGNISE:
            return Kind.NEW
        if (known := self._still_waiting(file, status)) is not None:
            return known
        try:
            handle = open_at(path)
        except Moved:
            return Kind.LATER
        try:
            if id_of(os.fstat(handle.descriptor)) != file:
                return Kind.LATER
            for original in self._candidates(_home_of(path), handle.read_at):
                kind = self._beside(original, handle)
                if kind is Kind.MOVED:
                    self._state.move(original, file, path)
                    self.forget(file)
                if kind is Kind.COPY:
                    self._waiting[file] = original, version_of(status)
                if kind is not Kind.NEW:
                    return kind
        finally:
            close_handle(handle)
        self.forget(file)
        return Kind.NEW

    def _still_waiting(self, file: FileId, status: os.stat_result) -> Kind | None:
        original, version = self._waiting.get(file, (None, []))
        if original is None or version != version_of(status):
            return None
        # What is shorter than what was read of its original holds nothing new, whatever became of that one.
        return Kind.COPY if self._is_followed(original) or status.st_size <= original.offset else None

    def _is_followed(self, followed: Followed) -> bool:
        here = self._state.files.get(followed.file) is followed
        return here and (followed.missing_since is None or followed.file in self._state.handles)

    def _candidates(self, home: str, read_at: ReadAt) -> list[Followed]:
        """Known contents of a folder that begin as this one does, those of which most was read first."""
        if self._heads is None:
            self._heads = defaultdict(list)
            for one in self._state.all():
                if one.offset >= LEAST_TO_RECOGNISE:
                    self._heads[one.home, *one.head].append(one)
        head = read_at(WINDOW_BYTES, 0)
        lengths = {length for folder, length, _ in self._heads if folder == home and length <= len(head)}
        found = [
            one
            for length in lengths
            for one in self._heads.get((home, length, hashlib.sha256(head[:length]).hexdigest()), ())
        ]
        if len(head) < WINDOW_BYTES:  # it may be a copy that is still being made
            longer = (
                one
                for (folder, length, _), ones in self._heads.items()
                if folder == home
                for one in ones
                if length > len(head)
            )
            found += [one for one in longer if one.begins_with(head)]
        found += [one for one in self._unread(home) if self._state.handle(one).read_at(len(head), 0) == head]
        return sorted(found, key=lambda one: one.offset, reverse=True)

    def _unread(self, home: str) -> Iterator[Followed]:
        """Deleted files that are still open, and of which nothing was read by which a copy could be recognised."""
        state = self._state
        if self._deleted is None:
            self._deleted = [one for one in state.files.values() if one.missing_since is not None]
        for one in self._deleted:
            unread = one.offset < LEAST_TO_RECOGNISE <= one.size and one.missing_since is not None
            if unread and one.home == home and one.file in state.handles and state.files.get(one.file) is one:
                yield one

    def _beside(self, original: Followed, handle: Handle) -> Kind:
        """What an unknown file is to one of the candidates."""
        size = handle.size()
        whole = size >= original.offset
        if whole and not original.begins(handle.read_at):
            return Kind.NEW
        if not self._is_followed(original):
            return Kind.MOVED if whole else Kind.NEW
        length = min(size, WINDOW_BYTES)
        try:
            there = self._state.handle(original)
            same = there.read_at(length, size - length) == handle.read_at(length, size - length)
            original.check(there)  # only now: the original may have been emptied while it was compared
        except Moved:
            return Kind.LATER
        except Replaced:
            self._state.lose(original)
            return Kind.MOVED if whole else Kind.NEW
        return Kind.COPY if same else Kind.NEW

    def tell_packed(self, file: FileId, path: str, status: os.stat_result) -> Kind:
        """What a compressed file is. Raises SourceError when it cannot be decompressed."""
        if not self.is_settled(file, status):
            self.unsettled.add(_home_of(path))
            return Kind.LATER
        if (known := self._still_waiting(file, status)) is not None:
            return known
        head = head_of(path)
        for original in self._candidates(_home_of(path), lambda most, offset: head[offset : offset + most]):
            if unpacked_begins(path, original.position()):
                if self._is_followed(original):
                    self._waiting[file] = original, version_of(status)
                    return Kind.COPY
                self._state.move_packed(original, file, path)
                return Kind.MOVED
        return Kind.NEW

    def is_settled(self, file: FileId, status: os.stat_result) -> bool:
        """Whether a compressed file has stopped growing: what compresses it has come to its end."""
        now, version = self._state.clock.monotonic(), version_of(status)
        before, since = self._settling.get(file, (version, now))
        since = since if before == version else now
        self._settling[file] = version, since
        return max(now - since, self._state.clock.wall() - status.st_mtime) >= GRACE_SECONDS

    def look_for(self, followed: Followed, listing: Listing) -> Kind:
        """Look in its folder for a content that is gone from its file, or whose file is gone.

        MOVED when it is followed elsewhere now, LATER while something is there that cannot be told yet, else NEW.
        """
        later = False
        for path, status in self._others(followed.home, listing):
            if not self._may_hold(followed, status):
                continue
            try:
                kind = self._compare(followed, path, status)
            except SourceError:
                kind = Kind.NEW  # it is broken: what is in it cannot be told
            except Moved:
                kind = Kind.LATER
            except OSError:
                continue
            if kind is Kind.MOVED:
                return kind
            if kind is Kind.LATER:
                later = True
            else:
                self._refused[id(followed), id_of(status)] = version_of(status)
        return Kind.LATER if later or followed.home in self.unsettled else Kind.NEW

    def _others(self, home: str, listing: Listing) -> list[tuple[str, os.stat_result]]:
        """The regular files of a folder that were not followed when they were first asked for in this look."""
        found = self._strangers.get(home)
        if found is None:
            found = self._strangers[home] = []
            known = {file[1] for file in (*self._state.files, *self._state.packed)}
            for name, entry in listing.entries(home).items():
                if entry.inode() not in known and not entry.is_symlink():
                    path = os.path.join(home, name)  # noqa: PTH118 - a name that is not UTF-8 stays as it is
                    with suppress(OSError):
                        status = regular(path)
                        if status is not None:
                            found.append((path, status))
        return found

    def _may_hold(self, followed: Followed, status: os.stat_result) -> bool:
        file = id_of(status)
        free = file not in self._state.files and file not in self._state.packed and followed.offset > 0
        return free and self._refused.get((id(followed), file)) != version_of(status)

    def _compare(self, followed: Followed, path: str, status: os.stat_result) -> Kind:
        """Whether one file holds the content; if so it is followed there."""
        file = id_of(status)
        if is_packed(path):
            if not self.is_settled(file, status):
                return Kind.LATER
            begins = unpacked_begins(path, followed.position())
        else:
            begins = status.st_size >= followed.offset and _begins(followed, path, file)
        if not begins:
            return Kind.NEW
        if not self._state.claims.take(file, self._state):
            return Kind.NEW  # another source reads it, under another name
        if is_packed(path):
            self._state.move_packed(followed, file, path)
        else:
            self._state.move(followed, file, path)
        self.forget(file)
        return Kind.MOVED


def _begins(followed: Followed, path: str, file: FileId) -> bool:
    handle = open_at(path)
    try:
        return id_of(os.fstat(handle.descriptor)) == file and followed.begins(handle.read_at)
    finally:
        close_handle(handle)


def _home_of(path: str) -> str:
    return os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - a name that is not UTF-8 stays as it is
