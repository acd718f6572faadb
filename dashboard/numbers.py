"""Numbers for people: intervals, and how counts, rates, times and ages are written. Unknown is a word, never a zero."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

UNKNOWN = "unknown"
FEW = 30
"""Fewer cases than this are marked: the interval is then wider than most differences that matter."""

_Z = 1.959964
_NARROW = "\u202f"
"""Narrow no-break space between a number and its unit."""


def wilson(frame: pl.DataFrame, hits: str, total: str) -> pl.DataFrame:
    """Add `rate`, `ci_low`, `ci_high` (0..1): hits / total with its Wilson 95 % interval (Wilson 1927).

    All three are null where total is 0: nothing is known then.
    """
    k, n = pl.col(hits).cast(pl.Float64), pl.col(total).cast(pl.Float64)
    middle = k + _Z**2 / 2
    half = _Z * (k * (n - k) / n + _Z**2 / 4).sqrt()
    known = n > 0
    return frame.with_columns(
        rate=pl.when(known).then(k / n),
        ci_low=pl.when(known).then(((middle - half) / (n + _Z**2)).clip(0, 1)),
        ci_high=pl.when(known).then(((middle + half) / (n + _Z**2)).clip(0, 1)),
    )


def count(value: int | None) -> str:
    """12345 → ``12,345``; None → ``unknown``."""
    return UNKNOWN if value is None else f"{value:,}"


def plural(value: int, one: str, many: str | None = None) -> str:
    """(1, "line") → ``1 line``; (2, "line") → ``2 lines``."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"


def percent(value: float | None) -> str:
    """A share (0..1) in percent with one digit. What is not all, or not nothing, is never rounded to it."""
    if value is None:
        return UNKNOWN
    if 0 < value < 0.0005:
        return f"<{_NARROW}0.1{_NARROW}%"
    if 0.9995 <= value < 1:
        return f">{_NARROW}99.9{_NARROW}%"
    return f"{value * 100:.1f}{_NARROW}%"


def interval(low: float | None, high: float | None) -> str:
    """The two ends of an interval of shares (0..1): ``97.6 to 99.0 %``."""
    if low is None or high is None:
        return UNKNOWN
    return f"{low * 100:.1f} to {high * 100:.1f}{_NARROW}%"


def moment(value: datetime | None, *, seconds: bool = False) -> str:
    """A time (naive UTC): ``29 Mar 2026, 17:57 UTC``; with `seconds`, to the millisecond."""
    if value is None:
        return UNKNOWN
    clock = f"{value:%H:%M:%S}.{value.microsecond // 1000:03d}" if seconds else f"{value:%H:%M}"
    return f"{value.day} {value:%b %Y}, {clock} UTC"


def age(value: timedelta | None) -> str:
    """A span of time in its largest unit: ``40 s``, ``3 min``, ``5 h``, ``12 days``. Negative spans count as 0."""
    if value is None:
        return UNKNOWN
    seconds = max(0, int(value.total_seconds()))
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size * (2 if unit == "days" else 1):
            return f"{seconds // size:,}{_NARROW}{unit}"
    return f"{seconds}{_NARROW}s"
