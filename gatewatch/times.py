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
