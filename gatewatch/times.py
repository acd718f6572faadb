"""Times and lengths of time as people type them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

from gatewatch.errors import InputError
from schemas.fields import parse_rfc3339

_LENGTH = re.compile(r"([1-9][0-9]{0,5})([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_length(text: str, *, option: str) -> timedelta:
    """``30d`` → 30 days; s, m, h, d, w. Raises InputError."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise InputError(f'{option} {text}: is no length of time; write it like "24h", "7d" or "4w"')
    return timedelta(**{_UNITS[match[2]]: int(match[1])})


def parse_since(text: str, *, now: datetime) -> datetime:
    """A point in time as naive UTC: an RFC 3339 timestamp, a date (its start, UTC), or a length before `now`."""
    if _LENGTH.fullmatch(text):
        try:
            return now - parse_length(text, option="--since")
        except OverflowError:
            raise InputError(f"--since {text}: reaches back before year 1; give a shorter length") from None
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time())
        return parse_rfc3339(text).replace(tzinfo=None)
    except ValueError:
        raise InputError(
            f'--since {text}: is no time; write a date (2026-06-03), a timestamp with an offset, or a length like "24h"'
        ) from None


def utc_now() -> datetime:
    """Now, as naive UTC."""
    return datetime.now(UTC).replace(tzinfo=None)


def spell_length(length: timedelta) -> str:
    """A length of time to the two units that matter, exact below a minute: ``0.25 s``, ``4m 03s``, ``3d 04h``."""
    if length < timedelta(0):
        return f"-{spell_length(-length)}"
    if length < timedelta(minutes=1):
        return f"{length.total_seconds():.6f}".rstrip("0").rstrip(".") + " s"
    minutes, seconds = divmod(int(length.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d {hours:02d}h"
    return f"{hours}h {minutes:02d}m" if hours else f"{minutes}m {seconds:02d}s"


def spell_offset(offset: timedelta) -> str:
    """A length with its sign, ``+3.2 s``; nothing at all is ``0 s``."""
    return f"+{spell_length(offset)}" if offset > timedelta(0) else spell_length(offset)
