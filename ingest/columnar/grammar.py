r"""What a field's value may look like for a line to take the fast road: regular expressions made from the models.

Each node stands for one type of the contract. Its `pattern` (Rust syntax) describes a *subset* of the JSON texts that
pydantic accepts for that type, and only such texts as every JSON reader understands alike: no duplicate keys, integers
of at most 18 digits, floats without overflow, times between 1900 and 2199, strings whose escapes stand for a character.
What the expression cannot say (lengths, days of a month) is an SQL condition of `bad`. A line outside of the subset is
not wrong: pydantic judges it.
"""

from __future__ import annotations

_HEX = "[0-9a-fA-F]"
_PAIR = rf"[dD][89abAB]{_HEX}{{2}}\\u[dD][c-fC-F]{_HEX}{{2}}"
_HIGH = rf"0[1-9a-fA-F]{_HEX}{{2}}|[1-9a-cefA-CEF]{_HEX}{{3}}|[dD][0-7]{_HEX}{{2}}"
PLAIN = rf'(?:[^"\\\x00-\x1f\x7f-\x{{9f}}]|\\["\\/]|\\u(?:00[a-fA-F]{_HEX}|{_HIGH}))'
"""One character of a JSON string that is no control character; escaped ones beyond the basic plane are left out."""

ANY = rf'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u(?:000[1-9a-fA-F]|00[1-9a-fA-F]{_HEX}|{_HIGH}|{_PAIR}))'
"""One character of a JSON string but NUL and half a surrogate pair."""

COMMA, COLON = ", ?", ": ?"
NEVER = "[a&&b]"
"""The expression that nothing matches."""

DAY = r"(?:19|20|21)[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
TIME_OF_DAY = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
OFFSET = r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])"
UNSIGNED = r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?"
NEGATIVE = r"-[1-9][0-9]{0,14}(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?"  # -0 is not everywhere what 0 is


def members(parts: list[tuple[str, bool]]) -> str:
    """The expression for key-value pairs in this order, of which only the required ones have to be there."""
    first = next((index for index, (_, required) in enumerate(parts) if required), None)
    if first is not None:
        before = "".join(f"(?:{part}{COMMA})?" for part, _ in parts[:first])
        return before + parts[first][0] + "".join(_follows(part, required) for part, required in parts[first + 1 :])
    starts = (part + "".join(_follows(*rest) for rest in parts[at + 1 :]) for at, (part, _) in enumerate(parts))
    return f"(?:{'|'.join(starts)})?" if parts else ""


def _follows(part: str, required: bool) -> str:
    return COMMA + part if required else f"(?:{COMMA}{part})?"


_STRING = f'"{ANY}*"'
_NUMBER = r"(?:-?[1-9][0-9]{0,14}|0)(?:\.[0-9]{1,15})?"
_SCALAR = f"{_STRING}|{_NUMBER}|true|false"


def _containing(inner: str) -> str:
    """Scalars and containers of `inner` or null, without the brackets of a group."""
    item = f"(?:{inner}|null)"
    pair = f"{_STRING}{COLON}{item}"
    return rf"{_SCALAR}|\[(?:{item}(?:{COMMA}{item})*)?\]|\{{(?:{pair}(?:{COMMA}{pair})*)?\}}"


UNKNOWN = f"(?:{_containing(_containing(_SCALAR))})"
"""A value, not null, that the contract does not know: a scalar or two levels of containers, with numbers that every
reader keeps as they are."""
