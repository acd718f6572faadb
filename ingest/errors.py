"""Errors of `ingest`.

    IngestError                 base; never raised itself
    ├── SourceError             input that cannot be read: a missing file, a directory without records, bad compression
    ├── LedgerError             the ledger is damaged: cut in the middle, a changed byte, a missing segment
    ├── StoreError              the work database cannot be used: corrupt, of another version, ahead of the ledger
    ├── DiskError               a write failed: disk full, quota used up, read-only or forbidden directory
    ├── LockedError             another gatewatch holds the data directory
    └── CheckpointError         a key or a file of checkpoints that cannot be used

Every message is one line that says what happened, where, and what to do about it.
"""

from __future__ import annotations

import errno
import os

from ingest.accounting import Accounting

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_FORBIDDEN = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})


class IngestError(Exception):
    """Base of the errors that this package raises on purpose; the text is one line with cause and fix."""


class SourceError(IngestError):
    """A source is missing, holds nothing to read, or cannot be read to its end.

    `accounting` is what was read all the same, where that is known.
    """

    def __init__(self, message: str, accounting: Accounting | None = None) -> None:
        super().__init__(message)
        self.accounting = accounting


class LedgerError(IngestError):
    """The ledger does not hold what was written to it, or cannot be continued."""


class StoreError(IngestError):
    """The work database cannot be opened or does not belong to this ledger; it can be made again from the ledger."""


class DiskError(IngestError):
    """The data directory cannot be written; nothing is lost, since a later run takes up where this one stopped."""


class LockedError(IngestError):
    """Another process works on this data directory."""


class CheckpointError(IngestError):
    """A key or a file of checkpoints is missing, is none, or must not be overwritten."""


def disk_error(error: OSError, path: str | os.PathLike[str]) -> DiskError:
    """The DiskError that says in one line why writing to `path` failed, and what helps."""
    if error.errno in _FULL:
        return DiskError(f"no space left while writing {path}: free some space, then run again")
    if error.errno in _FORBIDDEN:
        why = _why(error)
        return DiskError(f"{path} cannot be written ({why}): make it writable or choose another --data directory")
    return DiskError(f"writing {path} failed ({_why(error)}): check the disk, then run again")


def source_error(error: OSError, path: str | os.PathLike[str]) -> SourceError:
    """The SourceError that says in one line why `path` cannot be read, and what helps."""
    if error.errno == errno.ENOENT:
        return SourceError(f"{path} does not exist: check the path")
    if error.errno in _FORBIDDEN:
        return SourceError(f"{path} cannot be read ({_why(error)}): allow this user to read it")
    return SourceError(f"{path} cannot be read ({_why(error)})")


def _why(error: OSError) -> str:
    return os.strerror(error.errno).lower() if error.errno else str(error).splitlines()[0]
