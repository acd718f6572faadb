"""From the arguments of `ingest` to what is to be read: files, globs, folders, standard input."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import SourceError, source_error
from ingest.sources.decision_records import SUFFIXES, is_inside, is_record, record_files

STDIN = "-"
_OWN_FOLDERS = ("ledger", "published", "keys")
_OWN_FILES = ("policy.toml", "lock")
_OWN_DATABASES = ("work.duckdb", "gatewatch.duckdb")  # and what stands beside them: logs, new ones in the making
_JSONL = (".jsonl", ".ndjson")
_COMPRESSED = ("", ".gz", ".zst")
JSONL_NAMES = tuple(name + suffix for name in _JSONL for suffix in _COMPRESSED)
"""How the names of files of JSON lines end, in lower case."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """A file of JSON lines, or standard input (`-`)."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class Records:
    """Files that may be decision records, and the folder that they are named from."""

    folder: Path
    files: list[Path]

    def __str__(self) -> str:
        return str(self.files[0] if len(self.files) == 1 else self.folder)


Entry = JsonLines | Records
Plan = list[Entry]


class OwnFiles:
    """What gatewatch itself keeps in a data directory, which is no source: reading its ledger would make it longer.

    Other files of that directory are sources like any others. Without a directory nothing is held.
    """

    def __init__(self, data: Path | None) -> None:
        self._data = None if data is None else os.path.realpath(data)

    def holds(self, path: str | Path) -> bool:
        """Whether this path, links followed, is or would be one of them."""
        if self._data is None:
            return False
        try:
            real = os.path.realpath(path)
        except ValueError:  # a NUL: no file is called so
            return False
        if not real.startswith(self._data.rstrip("/") + "/"):
            return False
        first, *deeper = real[len(self._data.rstrip("/")) + 1 :].split("/")
        return first in _OWN_FOLDERS or (not deeper and (first in _OWN_FILES or first.startswith(_OWN_DATABASES)))

    def refuse(self, path: str) -> None:
        """Raise SourceError when somebody names one of them."""
        if self.holds(path):
            real = os.path.realpath(path)
            in_ledger = self._data is not None and f"{real}/".startswith(f"{self._data.rstrip('/')}/ledger/")
            fix = "use `gatewatch rebuild` or `gatewatch verify --ledger`" if in_ledger else "name other files"
            raise SourceError(f"{path} is what gatewatch itself keeps in its data directory, and no source: {fix}")


def plan(paths: Sequence[str], data: Path | None = None) -> Plan:
    """What the paths stand for, each once, in the given order; reads no content and writes nothing.

    What gatewatch itself keeps in the directory `data` is left out. Raises SourceError for the first path that is part
    of that, does not exist, cannot be listed, or holds nothing to read.
    """
    found: Plan = []
    own = OwnFiles(data)
    for path in paths:
        for entry in _expand(path, own):
            if entry not in found:
                found.append(entry)
    return found


def _expand(path: str, own: OwnFiles) -> Plan:
    if path == STDIN:
        return [JsonLines(STDIN)]
    own.refuse(path)
    if Path(path).is_dir():
        return _folder(path, own)
    if os.path.lexists(path):
        return [_file(path)]
    if glob.has_magic(path):
        matches = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        files = sorted(match for match in matches if not Path(match).is_dir())
        if not files:
            raise SourceError(f"{path} matches no file: check the pattern")
        others = [file for file in files if not own.holds(file)]
        if not others:
            own.refuse(files[0])
        return [_file(file) for file in others]
    raise SourceError(f"{path} does not exist: check the path")


def _file(path: str) -> Entry:
    try:
        Path(path).stat()
        if not os.access(path, os.R_OK):  # not by opening it: a named pipe's writer would believe that we read
            raise PermissionError(errno.EACCES, "")
    except OSError as error:
        raise source_error(error, path) from None
    if not path.lower().endswith(SUFFIXES):
        return JsonLines(path)
    if not is_record(Path(path)):
        raise SourceError(f"{path} is no decision record: it has neither the heading nor a decision_id")
    return Records(Path(path).parent, [Path(path)])


def _folder(path: str, own: OwnFiles) -> Plan:
    found: Plan = []
    root = Path(path).resolve()
    for directory, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = Path(directory, name)
            if name.lower().endswith(JSONL_NAMES) and is_inside(file, root) and not own.holds(file):
                found.append(_file(str(file)))
    records = [file for file in record_files(Path(path)) if not own.holds(file)]
    if (found and records) or any(map(is_record, records)):
        found.append(Records(Path(path), records))
    if not found:
        raise SourceError(f"{path} holds no decision record and no JSON lines ({', '.join(_JSONL)}): check the path")
    return found
