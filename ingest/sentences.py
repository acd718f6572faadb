"""Readable one-line text about bad input: fields and problems, never long or unprintable values, never a URL."""

from __future__ import annotations

from pydantic import ValidationError

_MOST_PROBLEMS = 5
_MOST_CHARACTERS = 60


def short(text: str, most: int = _MOST_CHARACTERS) -> str:
    """The text on one line with unprintable characters escaped, cut to `most` characters."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    if cut.isprintable():
        return cut
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in cut)


def where(location: tuple[int | str, ...]) -> str:
    """A field's path as people write it: ``actions_attempted[0].executed``."""
    path = ""
    for step in location:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else step
    return short(path, 120)


def problems(error: ValidationError) -> str:
    """``field: problem; field: problem`` for the first five problems, and how many more there are."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{where(item['loc'])}: {explain(item['type'], item['msg'])}" for item in found[:_MOST_PROBLEMS]]
    if len(found) > _MOST_PROBLEMS:
        told.append(f"and {len(found) - _MOST_PROBLEMS} more")
    return "; ".join(told)


def explain(kind: str, message: str) -> str:
    """Pydantic's message without its technical prefix."""
    if kind == "string_pattern_mismatch" and r"\x00-\x1f" in message:
        return "must not contain control characters"
    return short(message.removeprefix("Value error, "), 200)
