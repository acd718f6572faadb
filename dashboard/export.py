"""Tables as CSV files that a spreadsheet takes for data: what came from outside never becomes a formula there."""

from __future__ import annotations

import polars as pl

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""How a cell begins that a spreadsheet may calculate (OWASP: CSV injection), full-width forms included."""


def safe_cell(value: str) -> str:
    """The text as a spreadsheet shows it and does not calculate it: with an apostrophe before what begins a formula.

    What comes after blanks, quotes or separators counts too, since programs strip and split differently.
    """
    return f"'{value}" if value.lstrip(" \u00a0\u200b\ufeff'\"`;,|").startswith(_FORMULA) else value


def csv(frame: pl.DataFrame) -> bytes:
    """The frame as CSV (UTF-8 with a byte order mark, RFC 4180); lists as their values with a space between."""
    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    flat = frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join(" ") for name in lists)
    texts = [name for name, dtype in flat.schema.items() if dtype == pl.String]
    safe = flat.with_columns(
        pl.Series(
            name, [None if value is None else safe_cell(value.replace("\0", "")) for value in flat[name]], pl.String
        )
        for name in texts
    )
    return b"\xef\xbb\xbf" + safe.write_csv(line_terminator="\r\n").encode()
