"""Open the newest published snapshot, read-only, and notice when there is a newer one.

The writer never changes a published file: it writes the next one and moves the link ``<data>/gatewatch.duckdb``. So the
link is resolved first and the versioned file is opened; whoever holds it open keeps a consistent view.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

import duckdb

from dashboard.errors import NoSnapshotError, UnreadableError

LINK = "gatewatch.duckdb"

SAFE = {
    "access_mode": "READ_ONLY",
    # The page builds no SQL from text, but a reader that cannot leave its file cannot be talked into it either.
    "enable_external_access": "false",
    "lock_configuration": "true",
}
"""DuckDB settings of every connection to a snapshot."""

_ATTEMPTS = 3
"""The writer keeps two snapshots: a file can vanish between resolving and opening when it publishes twice meanwhile."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published file and a cursor on it for one thread."""

    identity: str
    """Differs between any two published files, also when the numbers start again after the folder was deleted."""
    con: duckdb.DuckDBPyConnection


class Snapshots:
    """The snapshots of one data directory, for any number of threads."""

    def __init__(self, data: Path) -> None:
        self.data = data
        self._lock = threading.Lock()
        self._opened: Snapshot | None = None

    def identity(self) -> str | None:
        """Which file the link points to now; None while there is none. Cheap: nothing is opened."""
        try:
            return _identity(self._target())
        except (NoSnapshotError, UnreadableError, OSError):
            return None

    def current(self) -> Snapshot:
        """A cursor on the newest snapshot. Raises NoSnapshotError or UnreadableError."""
        with self._lock:
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._open()
                except (UnreadableError, NoSnapshotError):
                    continue
            return self._open()

    def forget(self) -> None:
        """Open the file anew next time; after an error the connection may be of no more use."""
        with self._lock:
            self._opened = None

    def _open(self) -> Snapshot:
        target = self._target()
        try:
            identity = _identity(target)
            if self._opened is None or self._opened.identity != identity:
                # Let go first: DuckDB gives a second connection to one path the file that the first one sees. Cursors
                # that other threads still use keep a former file open until they are done.
                self._opened = None
                self._opened = Snapshot(identity, duckdb.connect(str(target), config=dict(SAFE)))
            return Snapshot(identity, self._opened.con.cursor())
        except (duckdb.Error, OSError) as error:
            self._opened = None
            raise UnreadableError(f"{target.name}: {first_line(error)}") from error

    def _target(self) -> Path:
        link = self.data / LINK
        try:
            return link.resolve(strict=True)
        except FileNotFoundError as error:
            if link.is_symlink():
                raise UnreadableError(f"{LINK} points to {link.readlink()}, which is gone") from error
            raise NoSnapshotError(f"nothing has been published in {self.data} yet; run `gatewatch ingest`") from error
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle, before Python 3.13
            raise UnreadableError(f"{LINK}: {first_line(error)}") from error


def _identity(target: Path) -> str:
    stat = target.stat()
    return f"{target}:{stat.st_ino}:{stat.st_mtime_ns}:{stat.st_size}"


def first_line(error: BaseException) -> str:
    """What went wrong, without the hints that DuckDB puts on further lines."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
