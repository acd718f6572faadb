"""Cuts bytes into lines at newlines, with bounded memory."""

from __future__ import annotations

import hashlib

from ingest.lines import MAX_LINE_BYTES, Line, OverLong


class Splitter:
    """Holds at most one unfinished line, and of an over-long one only its length and hash."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._size = 0
        self._hash = hashlib.sha256()

    def feed(self, block: bytes) -> list[Line]:
        """The lines that a block completes, without their newlines."""
        lines: list[Line]
        pieces = block.split(b"\n")
        rest = pieces.pop()
        if len(block) > MAX_LINE_BYTES:
            lines = [self._finish(piece) if self._size or len(piece) > MAX_LINE_BYTES else piece for piece in pieces]
        else:  # then only the first one may be the end of one that is too long
            lines = [*pieces]
            if pieces and self._size:
                lines[0] = self._finish(pieces[0])
        self._keep(rest)
        return lines

    def rest(self) -> Line | None:
        """The unterminated last line, which the end of the source ends; None when there is none."""
        return self._finish(b"") if self._size else None

    def _keep(self, piece: bytes) -> None:
        if piece:
            self._size += len(piece)
            self._hash.update(piece)
            self._partial.append(piece)
            if self._size > MAX_LINE_BYTES:
                self._partial.clear()

    def _finish(self, piece: bytes) -> Line:
        self._keep(piece)
        line: Line = b"".join(self._partial)
        if self._size > MAX_LINE_BYTES:
            line = OverLong(self._size, self._hash.hexdigest())
        self._partial.clear()
        self._size = 0
        self._hash = hashlib.sha256()
        return line


def size_of(line: Line) -> int:
    """Bytes of a line in its source, without the newline."""
    return line.bytes if isinstance(line, OverLong) else len(line)


def sha256_of(line: Line) -> str:
    """SHA-256 (hex) of a line as it was received."""
    return line.sha256 if isinstance(line, OverLong) else hashlib.sha256(line).hexdigest()
