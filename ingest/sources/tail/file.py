"""One followed file, as far as it was read: takes complete lines from it and notices when its content was exchanged.

Its position is the one of one-shot reading (`ingest.sources.jsonl`), with `sha256` null, since no hash of everything is
kept, and in addition `seen` (bytes that were there when it was last read), `path` (where it was first found, which
names its source) and `at` (where it was last, links followed).
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, MAX_LINE_BYTES, Line, OverLong, Position, Received, Source
from ingest.sources.fingerprint import WINDOW_BYTES, Fingerprint, ReadAt, recognise
from ingest.sources.splitter import sha256_of
from ingest.sources.tail.files import FileId, Handle, key_of

BOM = b"\xef\xbb\xbf"
BEGINNING: Position = {"offset": 0, "line": 0, "partial": None, "final": False}


class Replaced(Exception):
    """The file does not begin any more with what was read of it."""


class _Unfinished:
    """What is kept of a line that is too long already and has no end yet: its length and hash, and up to where."""

    def __init__(self, before: Fingerprint, offset: int) -> None:
        self.fingerprint = before
        self.end = offset
        self.bytes = 0
        self._hash = hashlib.sha256()

    def add(self, piece: bytes) -> None:
        self.fingerprint = self.fingerprint.extended(piece)
        self._hash.update(piece)
        self.bytes += len(piece)
        self.end += len(piece)

    def line(self) -> OverLong:
        return OverLong(self.bytes, self._hash.hexdigest())


class TailedFile:
    """The content of a file between two moments at which it was emptied or exchanged.

    `file` is the file that holds it, `path` where that is and `home` the folder in which it really lies; `slot` is the
    path that it was first found at. Of a line without an end nothing is kept in memory but, when it is too long, its
    hash: it is read again when the file grew. `changed` is set by whoever sees that the file may have grown, and
    cleared where everything complete was read.
    """

    def __init__(self, source: Source, slot: str, file: FileId, path: str, known: Position | None = None) -> None:
        self.source = source
        self.slot = slot
        self.file = file
        self.move_to(path)
        self._known = known = known or BEGINNING
        self.offset: int = known["offset"]
        self.line: int = known["line"]
        self.seen: int = max(self.offset, known.get("seen", 0)) if self.offset else 0  # of nothing, nothing is known
        self.closed: bool = known["final"]
        self.changed = True
        self.replaced: dict[str, Any] | None = None  # what was in the file before, for the first chunk to tell
        self._partial: str | None = known["partial"]
        self._fingerprint: Fingerprint | None = None if self.offset else Fingerprint()
        self._unfinished: _Unfinished | None = None
        self._without_newline = self.offset  # between the position and here is no newline

    def move_to(self, path: str) -> None:
        """The file has another name now."""
        self.path = path
        self._at = os.path.realpath(path)
        self.home = os.path.dirname(self._at)  # noqa: PTH120 - a name that is not UTF-8 stays as it is

    @property
    def key(self) -> str:
        """The key of the position."""
        return key_of(self.file)

    @property
    def head(self) -> tuple[int, str]:
        """Length and SHA-256 of the first bytes that were read; of an old position that has none, nothing."""
        length, sha256 = self._known.get("head", (0, ""))
        if self._fingerprint is not None and length < WINDOW_BYTES:
            length, sha256 = self._fingerprint.as_position()["head"]
            if length == WINDOW_BYTES:  # and so it will stay
                self._known = {**self._known, "head": [length, sha256]}
        return length, sha256

    def position(self, **more: Any) -> Position:
        """What has to be known to go on from here."""
        if self._fingerprint is None:  # never looked at: as it was stored
            return {**self._known, "path": self.slot, "at": self._at, **more}
        return {
            "offset": self.offset,
            "line": self.line,
            "sha256": None,
            **self._fingerprint.as_position(),
            "partial": self._partial,
            "final": self.closed,
            "seen": self.seen,
            "path": self.slot,
            "at": self._at,
            **more,
        }

    @property
    def first_bytes(self) -> bytes:
        """The first bytes that were read, at most a window of them; none before the file was looked at."""
        return b"" if self._fingerprint is None else self._fingerprint.head

    def begins_with(self, content: bytes) -> bool:
        """Whether the first bytes that were read, where they are in memory, begin with these."""
        return self._fingerprint is not None and self._fingerprint.head.startswith(content)

    def begins(self, read_at: ReadAt) -> bool:
        """Whether a file, this one or another, begins with what was read."""
        if self._fingerprint is None:
            return recognise(read_at, self._known) is not None
        return self._fingerprint.still_in(read_at, self.offset)

    def check(self, handle: Handle) -> None:
        """Raise Replaced when the file does not begin any more with what was read."""
        if self._fingerprint is None:
            self._fingerprint = recognise(handle.read_at, self._known)
            if self._fingerprint is None:
                raise Replaced
        elif not self._fingerprint.still_in(handle.read_at, self.offset):
            raise Replaced

    def unread(self) -> tuple[int, int] | None:
        """From where to where there was something that was never read, if the whole content is gone."""
        return (self.offset, self.seen) if self.seen > self.offset and not self._partial else None

    def read(self, handle: Handle) -> Received | None:
        """The next complete lines, at most one chunk. Raises Replaced, OSError.

        None while no line is complete: then nothing is to be read before the file grows, unless `changed` is still set.
        """
        size = handle.size()
        start = self._unfinished.end if self._unfinished else self.offset
        data = handle.read_at(max(0, min(MAX_CHUNK_BYTES, size - start)), start)
        # Only now: whatever was exchanged before or while this was read cannot have the known bytes before it.
        self.check(handle)
        if size < self.seen:
            return self._shortened(size)
        if self._unfinished and not self._unfinished.fingerprint.still_in(handle.read_at, start):
            self._forget_unfinished()
            return None
        self.changed = start + len(data) < size
        self.seen = size
        received = self._end_unfinished(data) if self._unfinished else self._lines(data)
        if received is None and data:
            self._without_newline = start + len(data)
        return received

    def _shortened(self, size: int) -> Received | None:
        """The end of the file is gone, but nothing that was read: a torn line that its producer took back, or more."""
        before, self.seen = self.seen, size
        torn = before <= self._without_newline
        self._forget_unfinished()
        return None if torn else self.gap(size, before, "the file was cut off before this was read")

    def gap(self, start: int, end: int, why: str, **more: Any) -> Received:
        """Tells that bytes which were in the file, from `start` up to `end`, can never be read."""
        here: Position = {"offset": self.offset, "line": self.line}
        gap = {"from": f"byte {start}", "to": f"byte {end}", "why": why}
        return Received(self.source, [], here, {**here, "gap": gap}, False, {self.key: self.position(**more)})

    def _forget_unfinished(self) -> None:
        self._unfinished = None
        self._without_newline = self.offset

    def _lines(self, data: bytes) -> Received | None:
        end = data.rfind(b"\n") + 1
        if not end:
            if len(data) > MAX_LINE_BYTES:
                self._unfinished = _Unfinished(self._fingerprint or Fingerprint(), self.offset)
                self._unfinished.add(data)
            return None
        lines: list[Line] = [*data.split(b"\n")]
        lines.pop()
        if len(lines) > MAX_CHUNK_LINES:
            del lines[MAX_CHUNK_LINES:]
            end = sum(len(line) for line in lines if isinstance(line, bytes)) + len(lines)
        if end > MAX_LINE_BYTES:
            lines = [_kept(line) for line in lines]
        self.changed = True  # until a look finds nothing more
        return self._received(
            lines, self.offset + end, (self._fingerprint or Fingerprint()).extended(memoryview(data)[:end])
        )

    def _end_unfinished(self, data: bytes) -> Received | None:
        unfinished = self._unfinished
        if unfinished is None:
            return None
        newline = data.find(b"\n")
        if newline < 0:
            unfinished.add(data)
            return None
        unfinished.add(data[:newline])
        self._unfinished = None
        self.changed = True
        return self._received([unfinished.line()], unfinished.end + 1, unfinished.fingerprint.extended(b"\n"))

    def _received(self, lines: list[Line], offset: int, fingerprint: Fingerprint) -> Received:
        start = self._start()
        complete = len(lines)
        if self._partial is not None and sha256_of(lines[0]) == self._partial:
            # It was taken when it had no newline yet: by one-shot reading, or because its file was finished.
            start = {**start, "offset": offset if complete == 1 else self.offset + _size(lines[0]) + 1}
            start["line"] = self.line + 1
            lines = lines[1:]
        elif self.line == 0 and isinstance(lines[0], bytes):
            lines[0] = lines[0].removeprefix(BOM)
        self._partial = None
        self._fingerprint = fingerprint
        self.offset = self._without_newline = offset
        self.seen = max(self.seen, offset)
        self.line += complete
        self.closed = False
        end = {"offset": self.offset, "line": self.line}
        return Received(self.source, lines, start, end, False, {self.key: self.position()})

    def _start(self) -> Position:
        start: Position = {"offset": self.offset, "line": self.line}
        if self.replaced is not None:
            start["replaced"], self.replaced = self.replaced, None
        return start

    def finish(self, handle: Handle | None, final: bool, **more: Any) -> Received | None:
        """The end of the file: what stands there without a newline is its last line. `final`: the source ends too.

        None when there is something complete to read before. Without a handle there is nothing to read any more.
        Raises Replaced, OSError.
        """
        lines = [] if handle is None else self._rest(handle)
        if lines is None:
            return None
        self.closed = True
        end = {"offset": self.offset, "line": self.line, "final": True}
        return Received(self.source, lines, self._start(), end, final, {self.key: self.position(**more)})

    def _rest(self, handle: Handle) -> list[Line] | None:
        size = handle.size()
        end = self._unfinished.end if self._unfinished else self.offset
        if self._unfinished is None and size - end > MAX_LINE_BYTES:
            self.changed = True
            return None
        piece = handle.read_at(max(0, size - end), end)
        self.check(handle)
        if b"\n" in piece or (self._unfinished and piece):
            self.changed = True
            return None
        rest: Line = self._unfinished.line() if self._unfinished else piece
        if rest == b"" or (rest == BOM and self.line == 0) or sha256_of(rest) == self._partial:
            return []
        self._partial = sha256_of(rest)
        self.seen = max(self.seen, size)
        return [rest.removeprefix(BOM) if self.line == 0 and isinstance(rest, bytes) else rest]


def _kept(line: Line) -> Line:
    if isinstance(line, bytes) and len(line) > MAX_LINE_BYTES:
        return OverLong(len(line), hashlib.sha256(line).hexdigest())
    return line


def _size(line: Line) -> int:
    return line.bytes if isinstance(line, OverLong) else len(line)
