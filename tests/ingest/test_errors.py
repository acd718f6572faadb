"""Every expected error is one line with cause and fix, and every system error is one of ours."""

from __future__ import annotations

import errno
import inspect

import pytest

from ingest import errors
from ingest.errors import DiskError, IngestError, SourceError, disk_error, source_error


def test_the_tree_is_the_one_that_is_drawn() -> None:
    classes = {
        name for name, found in vars(errors).items() if inspect.isclass(found) and issubclass(found, IngestError)
    }
    assert classes == {
        "IngestError", "SourceError", "LedgerError", "StoreError", "DiskError", "LockedError", "CheckpointError",
    }  # fmt: skip
    assert all(name in (errors.__doc__ or "") for name in classes)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, "no space left while writing /d/x: free some space, then run again"),
        (errno.EDQUOT, "no space left while writing /d/x: free some space, then run again"),
        (errno.EROFS, "/d/x cannot be written (read-only file system): make it writable or choose another --data"),
        (errno.EACCES, "/d/x cannot be written (permission denied): make it writable or choose another --data"),
        (errno.EIO, "writing /d/x failed (input/output error): check the disk, then run again"),
    ],
)
def test_a_failing_write(number: int, told: str) -> None:
    found = disk_error(OSError(number, "x"), "/d/x")
    assert isinstance(found, DiskError)
    assert str(found).startswith(told)


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOENT, "/d/x does not exist: check the path"),
        (errno.EACCES, "/d/x cannot be read (permission denied): allow this user to read it"),
        (errno.EISDIR, "/d/x cannot be read (is a directory)"),
    ],
)
def test_a_failing_read(number: int, told: str) -> None:
    found = source_error(OSError(number, "x"), "/d/x")
    assert isinstance(found, SourceError)
    assert str(found) == told


def test_an_error_without_a_number() -> None:
    assert str(source_error(OSError("odd\nthing"), "/d/x")) == "/d/x cannot be read (odd)"
