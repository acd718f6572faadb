"""Folders of decision records: every record file becomes one line of the ledger, in the dialect `decision_record`.

The line is ``{"path": path in the folder, "mtime": RFC 3339, "text": content}``, so that a rebuild reads what was
received. A file is known by its path and the SHA-256 of its bytes: an unchanged one is not read twice, an edited one
is a new line. Only regular files inside the folder are read, never what a link points to outside of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.dialects import DECISION_RECORD
from ingest.dialects.decision_record import INVALID, looks_like_record
from ingest.errors import source_error
from ingest.lines import MAX_CHUNK_BYTES, Chunks, Line, OverLong, Position, Received, Source, readable
from ingest.sources.jsonl import Positions
from ingest.sources.splitter import size_of

SUFFIXES = (".md", ".markdown", ".yaml", ".yml")
MAX_RECORD_BYTES = 1 << 20
"""A larger file is no decision record that anybody wrote: it is quarantined by its length and hash."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _File:
    """A record file's content: its SHA-256, the ledger line, or None for `line` when it is no record at all."""

    sha256: str
    line: Line | None


def record_files(folder: Path) -> list[Path]:
    """The files under a folder that could be records, sorted. Raises SourceError when the folder cannot be read."""
    root = folder.resolve()
    found: list[Path] = []

    def fail(error: OSError) -> None:
        raise source_error(error, error.filename or folder) from None

    for directory, folders, names in os.walk(folder, onerror=fail):
        folders.sort()
        for name in names:
            path = Path(directory, name)
            if path.suffix.lower() in SUFFIXES and is_inside(path, root):
                found.append(path)
    return sorted(found)


def is_inside(path: Path, root: Path) -> bool:
    """Whether a regular file really lies under `root` (resolved), links followed."""
    try:
        real = path.resolve(strict=True)
        return real.is_relative_to(root) and stat.S_ISREG(real.stat().st_mode)
    except (OSError, RuntimeError):  # a dangling link, a link to itself
        return False


def read_records(folder: Path, files: list[Path], positions: Positions, skipped: Callable[[str], None]) -> Chunks:
    """What is new among the record files of a folder; `skipped` is told of each file that is no record.

    Raises SourceError when a file cannot be read.
    """
    name = readable(os.path.abspath(folder))  # noqa: PTH100 - a link keeps its own name
    source = Source(name, "decision_record", name, DECISION_RECORD)
    prefix = f"record:{json.dumps(name)}:"
    known = positions.positions(prefix)
    lines: list[Line] = []
    taken: list[tuple[str, str]] = []
    size = 0
    for path in files:
        relative = readable(path.relative_to(folder).as_posix())
        file = _read(path, relative)
        if file.line is None:
            skipped(str(path))
            continue
        if known.get(relative, {}).get("sha256") == file.sha256:
            continue
        if lines and size + size_of(file.line) > MAX_CHUNK_BYTES:
            yield _chunk(source, prefix, lines, taken, final=False)
            lines, taken, size = [], [], 0
        lines.append(file.line)
        taken.append((relative, file.sha256))
        size += size_of(file.line) + 1
    if lines:
        yield _chunk(source, prefix, lines, taken, final=True)


def _chunk(source: Source, prefix: str, lines: list[Line], taken: list[tuple[str, str]], final: bool) -> Received:
    positions: dict[str, Position] = {prefix + relative: {"sha256": sha256} for relative, sha256 in taken}
    return Received(source, lines, {}, {"files": [list(entry) for entry in taken]}, final, positions)


def is_record(path: Path) -> bool:
    """Whether the file claims to be a decision record. Raises SourceError when it cannot be read."""
    return _read(path, "").line is not None


def _read(path: Path, relative: str) -> _File:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path.resolve(strict=True), flags), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return _File("", None)
            content = file.read(MAX_RECORD_BYTES + 1)
            text = content.decode("utf-8-sig", "backslashreplace")
            if not looks_like_record(text):
                return _File("", None)
            if len(content) > MAX_RECORD_BYTES:
                return _too_large(content, file.read)
            return _line(content, text, relative, status.st_mtime_ns)
    except OSError as error:
        raise source_error(error, path) from None


def _too_large(content: bytes, read: Callable[[int], bytes]) -> _File:
    digest = hashlib.sha256()
    size = 0
    while content:
        digest.update(content)
        size += len(content)
        content = read(MAX_RECORD_BYTES)
    return _File(digest.hexdigest(), OverLong(size, digest.hexdigest()))


def _line(content: bytes, text: str, relative: str, mtime_ns: int) -> _File:
    sha256 = hashlib.sha256(content).hexdigest()
    modified = _EPOCH + timedelta(microseconds=mtime_ns // 1000)
    entry = {"path": relative, "mtime": modified.isoformat(), "text": text}
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        entry[INVALID] = f"byte {error.start + 1} of the file is not valid UTF-8"
    line = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    return _File(sha256, line if len(line) <= 2 * MAX_RECORD_BYTES else OverLong(len(content), sha256))
