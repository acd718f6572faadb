"""Lines as a column of text, so that what is asked of all of them is asked in one pass."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from ingest.lines import Line, OverLong

_FEW = 64
"""So many lines or fewer are decoded one by one when one of them is no text."""


def texts_of(lines: Sequence[Line]) -> pl.Series:
    """The lines as text; NULL stands for one that is not UTF-8, or too long to be kept."""
    try:
        found = pl.Series(lines, dtype=pl.Binary)
    except (TypeError, ValueError):  # an over-long line among them, of which nobody has the bytes
        found = pl.Series([None if isinstance(line, OverLong) else line for line in lines], dtype=pl.Binary)
    return _decoded(found)


def _decoded(lines: pl.Series) -> pl.Series:
    """As text. Halved until few are left: most often there is none that is not, and asking is quick."""
    try:
        return lines.cast(pl.String)
    except pl.exceptions.ComputeError:
        if len(lines) > _FEW:
            half = len(lines) // 2
            return pl.concat([_decoded(lines[:half]), _decoded(lines[half:])])
    return pl.Series([_text(line) for line in lines], dtype=pl.String)


def _text(line: bytes | None) -> str | None:
    try:
        return None if line is None else line.decode()
    except UnicodeDecodeError:
        return None
