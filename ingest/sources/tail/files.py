"""Files that are followed: how they are known, and a bounded number of open handles on them."""

from __future__ import annotations

import errno
import os
import resource
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

FileId = tuple[int, int]
"""Device and inode number."""

_MOST_OPEN = 256
_SHARE_OF_LIMIT = 4
"""At most this part of the files that the process may open, of which the database and the broker need some too."""


def id_of(status: os.stat_result) -> FileId:
    """How a file is known, whatever it is called."""
    return status.st_dev, status.st_ino


def key_of(file: FileId) -> str:
    """The key of a file's position, the same as of one-shot reading."""
    return f"file:{file[0]}:{file[1]}"


def regular(path: str) -> os.stat_result | None:
    """The status of a regular file, links followed; None when there is none. Raises OSError when nobody can tell."""
    try:
        status = os.stat(path)  # noqa: PTH116 - thousands of times a second, where a Path would take most of it
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise
    return status if stat.S_ISREG(status.st_mode) else None


class Clock:
    """The time, for tests to replace: `wall` as file times are given, `monotonic` to measure with, in seconds."""

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Moved(Exception):
    """Another file is at that path now, or none."""


@dataclass(frozen=True, slots=True)
class Handle:
    """An open file."""

    descriptor: int

    def read_at(self, most: int, offset: int) -> bytes:
        """Bytes from an offset on; fewer than `most` only at the file's end."""
        found = os.pread(self.descriptor, most, offset)
        while 0 < len(found) < most:
            more = os.pread(self.descriptor, most - len(found), offset + len(found))
            if not more:
                break
            found += more
        return found

    def size(self) -> int:
        """Bytes of the file now."""
        return os.fstat(self.descriptor).st_size


class Handles:
    """The open files, by identity; of too many, those that were used the longest time ago are closed."""

    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = _MOST_OPEN if soft == resource.RLIM_INFINITY else soft // _SHARE_OF_LIMIT
        self.most = max(1, min(_MOST_OPEN, limit))
        self._open: OrderedDict[FileId, Handle] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, file: FileId) -> bool:
        return file in self._open

    def get(self, file: FileId, path: str, pinned: Callable[[FileId], bool]) -> Handle:
        """The file, opened at `path` if need be; `pinned` tells which ones nobody could open again.

        Raises Moved when the path leads elsewhere by now, OSError when the file cannot be opened.
        """
        handle = self._open.get(file)
        if handle is None:
            handle = self._opened(file, path)
            self._open[file] = handle
            self._shrink(file, pinned)
        self._open.move_to_end(file)
        return handle

    def _opened(self, file: FileId, path: str) -> Handle:
        handle = open_at(path)
        if id_of(os.fstat(handle.descriptor)) != file:
            close_handle(handle)
            raise Moved
        return handle

    def _shrink(self, newest: FileId, pinned: Callable[[FileId], bool]) -> None:
        while len(self._open) > self.most:
            oldest = next((file for file in self._open if file != newest and not pinned(file)), None)
            if oldest is None:
                return
            self.drop(oldest)

    def drop(self, file: FileId) -> None:
        """Close a file, if it is open."""
        handle = self._open.pop(file, None)
        if handle is not None:
            close_handle(handle)

    def close(self) -> None:
        """Close all of them."""
        for file in list(self._open):
            self.drop(file)


def close_handle(handle: Handle) -> None:
    """Close a file that was opened by `open_at`."""
    os.close(handle.descriptor)


def open_at(path: str) -> Handle:
    """A file, opened without waiting should it be a pipe by now. Raises Moved, OSError."""
    try:
        return Handle(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY))
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise Moved from None
        raise
