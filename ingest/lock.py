"""One writer per data directory: an advisory lock that the kernel releases when its holder dies."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import LockedError, disk_error


class DataLock:
    """The lock on `<data>/lock`; the file says who holds it: ``{"pid", "command", "started"}``."""

    def __init__(self, data: Path) -> None:
        self.path = data / "lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises LockedError, naming the process that holds it, or DiskError."""
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise disk_error(error, self.path) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(file, 4096, 0)
            os.close(file)
            raise LockedError(self._held_by(holder)) from None
        self._file = file
        command = shlex.join([Path(sys.argv[0] or sys.executable).name, *sys.argv[1:]])
        started = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps({"pid": os.getpid(), "command": command, "started": started}).encode(), 0)
        except OSError as error:
            self.release()
            raise disk_error(error, self.path) from None

    def _held_by(self, holder: bytes) -> str:
        try:
            known = json.loads(holder)
            who = f"process {int(known['pid'])} ({known['command']}, since {known['started']})"
        except (ValueError, KeyError, TypeError):
            who = "another process"
        return f"{self.path.parent} is in use by {who}: wait for it, stop it, or choose another --data directory"

    def release(self) -> None:
        """Give the lock back."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


@contextmanager
def holding(data: Path) -> Iterator[None]:
    """Hold the lock for as long as the block runs."""
    held = hold(data)
    try:
        yield
    finally:
        held.release()


def hold(data: Path) -> DataLock:
    """Take the lock of a data directory, which is made if need be. Raises LockedError or DiskError."""
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise disk_error(error, data) from None
    held = DataLock(data)
    held.acquire()
    return held
