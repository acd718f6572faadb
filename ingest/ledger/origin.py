"""The ledger's name `gatewatch/<incarnation>`, the first line of its checkpoints, in `<data>/ledger/origin`.

The incarnation is random: a ledger that was deleted and begun anew is another log, whose checkpoints say so.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from ingest.errors import LedgerError, disk_error
from ingest.ledger.files import fsync_path

ORIGIN = "origin"
_FORM = re.compile(r"gatewatch/[0-9a-f]{32}\n")
_MOST_BYTES = 1024


def ensure_origin(directory: Path) -> str:
    """The origin of the ledger in this folder, made durably where there is none yet. Raises LedgerError, DiskError."""
    found = read_origin(directory)
    if found is not None:
        return found
    origin = f"gatewatch/{secrets.token_hex(16)}"
    path = directory / ORIGIN
    draft = path.with_name(f"{ORIGIN}.new")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="ascii") as file:
            file.write(f"{origin}\n")
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        fsync_path(directory)
    except OSError as error:
        raise disk_error(error, path) from None
    return origin


def read_origin(directory: Path) -> str | None:
    """The origin of the ledger in this folder; None when it has none yet. Raises LedgerError when it is no origin."""
    path = directory / ORIGIN
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise LedgerError(f"{path} cannot be read ({error.strerror}): allow this user to read it") from None
    text = content.decode("latin-1")
    if not _FORM.fullmatch(text):
        raise LedgerError(f"{path} does not hold the name of a ledger: put the file back from a backup")
    return text[:-1]
