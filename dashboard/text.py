"""Show what agents, customers and producers wrote: as text and nothing else.

Tool names, messages, notes and ids reach us from outside. They are never put into Markdown, HTML or a chart's
expressions; `show` and the text columns of `st.dataframe` are the only ways out. What could still deceive a reader is
taken out here: line breaks that fake a second entry, control characters, and marks that turn the direction of the text.
"""

from __future__ import annotations

import re
import unicodedata

import polars as pl
import streamlit as st

from dashboard.numbers import UNKNOWN

LIMIT = 400
"""Characters shown of one value; a page is for reading, the whole value is in the database."""

_JOINERS = frozenset("\u200c\u200d")
"""Zero-width joiners are spelling in some scripts and in emoji."""
_BREAKS = re.compile(r"\r\n|[\n\r\t\v\f\x1c-\x1e\x85\u2028\u2029]")
# Latin letters, digits and punctuation, nearly all there is, need no look at every character.
_HARMLESS = re.compile(r"[\x20-\x7e\xa0-\xac\xae-\u02ff\u2010-\u2027]*")


def _visible(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Co"):
        return character
    return f"[U+{ord(character):04X}]"


def plain(value: object, limit: int = LIMIT) -> str:
    """The value on one line, with invisible characters made visible, cut to `limit` characters; None → ``unknown``."""
    if value is None:
        return UNKNOWN
    whole = str(value)
    text = whole[:limit]
    if not _HARMLESS.fullmatch(text):
        text = "".join(map(_visible, _BREAKS.sub(" ↵ ", text)))
    left = len(whole) - limit
    return f"{text} … ({left:,} more characters)" if left > 0 else text


def show(value: object, *, limit: int = LIMIT) -> None:
    """Put one value on the page as text."""
    st.text(plain(value, limit))


def plain_frame(frame: pl.DataFrame, *, missing: str | None = None) -> pl.DataFrame:
    """The same frame with every text column made `plain`; null stays null, or becomes `missing`."""
    columns = [
        pl.Series(
            name,
            [missing if value is None else plain(value) for value in frame[name]],
            dtype=pl.String,
        )
        for name, dtype in frame.schema.items()
        if dtype == pl.String
    ]
    return frame.with_columns(columns)
