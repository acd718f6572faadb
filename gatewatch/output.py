"""How results look: plain aligned tables for people, one JSON document for programs. Data goes to stdout only."""

from __future__ import annotations

import json
import math
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import click


def clean(text: str) -> str:
    """Make control characters visible, so that text from an event cannot steer the reader's terminal."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
        for char in text
    )


def cell(value: Any) -> str:
    """One value as text: null as nothing, instants as RFC 3339 UTC to the second, floats to four digits."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.2f}"
    if isinstance(value, (list, tuple)):
        return ", ".join(cell(item) for item in value)
    return clean(str(value))


def width(text: str) -> int:
    """Columns that a text takes on a terminal: wide East Asian characters take two, combining marks none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """An aligned table; on a terminal the last column is cut to fit, elsewhere nothing is cut."""
    texts = [[cell(value) for value in row] for row in rows]
    headers = [clean(head) for head in headers]
    widths = [max([width(head), *(width(row[i]) for row in texts)]) for i, head in enumerate(headers)]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = []
    for row in [list(headers), ["-" * w for w in widths], *texts]:
        line = "  ".join(text + " " * (w - width(text)) for text, w in zip(row, widths, strict=True)).rstrip()
        lines.append(line if room is None or len(line) <= room else line[: room - 1] + "…")
    return "\n".join(lines)


def plain(value: Any) -> Any:
    """A value as JSON knows it: instants as RFC 3339 with Z, decimals as numbers, NaN as null."""
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return utc.isoformat(timespec="microseconds") + "Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    return str(value)


def records(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Rows as JSON objects."""
    return [{head: plain(value) for head, value in zip(headers, row, strict=True)} for row in rows]


def emit_json(document: dict[str, Any]) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(plain(document), indent=2, ensure_ascii=False))


def emit_rows(name: str, headers: Sequence[str], rows: Sequence[Sequence[Any]], *, as_json: bool, empty: str) -> None:
    """Print a listing: ``{name: [...], "count": n}`` as JSON, or a table, or the sentence for nothing."""
    if as_json:
        emit_json({name: records(headers, rows), "count": len(rows)})
    elif rows:
        click.echo(table(headers, rows))
    else:
        click.echo(empty)


def count_of(number: int, noun: str) -> str:
    """`1 line`, `2 lines`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def say(text: str) -> None:
    """A message for the person at the terminal: stderr, so that stdout stays data."""
    click.echo(text, err=True)
