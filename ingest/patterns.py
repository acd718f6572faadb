"""Personal data and secrets in text: how they look, how a look-alike is told apart, what replaces them.

A false positive destroys evidence, a miss keeps what should not be kept. So every pattern asks for its whole form with
a boundary on both sides (an order number with a phone number inside is no phone number), and what has a checksum
must pass it (`ingest.numbers`). What has no form of its own (a password, a local phone number) is recognised by the
name that stands before it. Every expression runs in linear time: bounded repeats, possessive ones, or a boundary that
pins the start.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from ingest import numbers
from ingest.forms import HINTS, NUMBER_NAME, PHONE_NAMES, SECRET_NAMES, TOKEN_STARTS, TOKENS

_START = r"(?:(?<![\w.#/+-])|(?<=\\[nrtbf]))"
"""Not inside a word, number, path or anchor; or right after a JSON escape, where the line is no valid JSON."""

_END = r"(?!\w|[-./+]\w)"
_DASH = r"\u2010-\u2015\u2212-"
_BLANK = r" \u00a0\u2007\u2009\u202f"
_GAP = rf"[{_BLANK}.{_DASH}]"
_IS = r"\\?[\"']?[ \t]{0,2}[:=]>?[ \t]{0,2}\\?[\"']?"
"""Between a name and its value, in prose, in configuration, in JSON and in JSON inside JSON."""


def _all(text: str) -> int:
    return len(text)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One type of data: its name in `[name]`, the expression, and how many characters of a match are really it.

    Where the expression has a group `what`, the match is that group. Only a text with one of `needs` (in lower case)
    can hold a match; empty: any text with a digit can.
    """

    name: str
    expression: re.Pattern[str]
    length: Callable[[str], int] = _all
    needs: tuple[str, ...] = ()


def _pattern(name: str, *parts: str, length: Callable[[str], int] = _all, needs: tuple[str, ...] = ()) -> Pattern:
    return Pattern(name, re.compile("".join(parts)), length, needs)


_DOMAIN = r"(?:[\w-]{1,63}\.){1,8}(?:[^\W\d_]{2,24}|[xX][nN]--[\w-]{2,59})(?![\w-])"
_NOT_IN_ADDRESS = r"(?:(?<![\w.%+-])(?<![\w.%+-]')(?!(?<=\\)[nrtbf](?!@))|(?<=\\[nrtbf]))"

PATTERNS: tuple[Pattern, ...] = (
    _pattern(
        "secret",
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----",
        r"(?:(?:[^-]|-(?!----)){0,16384}+-----END [A-Z ]{0,40}-----|(?:[A-Za-z0-9+/= \t\\]|\r?\n(?!\r?\n)){0,16384}+)",
        needs=("private key",),
    ),
    _pattern("secret", _START, r"eyJ[\w-]{8,4096}\.eyJ[\w-]{8,8192}(?:\.[\w-]{0,4096})?(?![\w-])", needs=("eyj",)),
    _pattern(
        "secret", _START, r"(?:sk|pk|rk)-(?=[A-Za-z_-]{0,200}[0-9])[\w-]{20,250}(?![\w-])", needs=("sk-", "pk-", "rk-")
    ),
    _pattern("secret", _START, "(?:", TOKENS, r")(?![\w-])", needs=tuple(TOKEN_STARTS.split())),
    _pattern(
        "secret",
        r"hooks\.slack\.com/services/(?P<what>[A-Z0-9]{5,20}/[A-Z0-9]{5,20}/[A-Za-z0-9]{10,40})",
        needs=("hooks.slack.com",),
    ),
    _pattern("secret", r"(?i)(?<=\bbearer )(?=[a-z._~+/=-]{0,250}[0-9])[\w.~+/=-]{12,4096}", needs=("bearer ",)),
    _pattern(
        "secret",
        rf"(?i)authorization{_IS}(?:basic|token|apikey) (?P<what>",
        r"(?=[^0-9=]{0,200}[0-9=])[\w.~+/-]{8,4096}={0,2})",
        needs=("authorization",),
    ),
    _pattern(
        "secret",
        rf"(?i)(?:{SECRET_NAMES}){_IS}(?P<what>(?![\[<$])(?=[^\s0-9]{{0,250}}[0-9])[^\s\"'\\,;&<>(){{}}\[\]]{{8,250}})",
        needs=("key", "token", "secret", "pass"),
    ),
    _pattern("secret", r"(?<=://)[^\s/:@\"'?#]{0,100}:(?P<what>[^\s/@\"'\[\]]{3,200})@(?=[\w.-])", needs=("://",)),
    _pattern("email", _NOT_IN_ADDRESS, rf"[\w.%+-][\w.%+'-]*+@{_DOMAIN}", length=numbers.email, needs=("@",)),
    _pattern("email", r"\"[^\"\\@\r\n]{1,64}\"@", _DOMAIN, needs=('"@',)),
    _pattern("email", r"(?<![\w.%+-])[\w.%+-][\w.%+'-]*+@\[(?:IPv6:)?[0-9A-Fa-f.:]{3,45}\]", needs=("@[",)),
    _pattern("email", r"(?<![\w.+-])[\w.+-]++%40", _DOMAIN, length=numbers.email, needs=("%40",)),
    _pattern(
        "iban", _START, rf"[A-Za-z]{{2}}[0-9]{{2}}(?:[{_BLANK}-]?[A-Za-z0-9]){{11,30}}(?!\w)", length=numbers.iban
    ),
    _pattern(
        "card",
        r"(?:(?<![\w./+-])|(?<=\\[nrtbf]))[2-69][0-9]{3}",
        rf"(?:([{_BLANK}.{_DASH}]?)[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{1,7}}(?:\1[0-9]{{1,3}})?",
        r"|([ .-])[0-9]{6}\2[0-9]{4,5})",
        r"(?!\w|[-.+]\w|/(?!(?:0[1-9]|1[0-2])[/-]?(?:20)?[2-9][0-9]\b)\w)",
        length=numbers.card,
    ),
    _pattern("ssn", _START, rf"[0-9]{{3}}[{_DASH}][0-9]{{2}}[{_DASH}][0-9]{{4}}", _END, length=numbers.ssn),
    _pattern(
        "ssn",
        r"(?i)(?:\bssn|_ssn|social[ _]?security(?:[ _](?:number|no\.?))?)\\?[\"']?[ \t]{0,2}[:=#]{0,2}",
        r"[ \t]{0,2}#?\\?[\"']?",
        r"(?P<what>[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4})",
        _END,
        length=numbers.ssn,
        needs=("ssn", "social"),
    ),
    _pattern(
        "phone",
        _START,
        rf"\(?(?:\+[0-9]{{1,3}}|00[1-9][0-9]{{0,2}}{_GAP})\)?(?:{_GAP}?\([0-9]{{1,5}}\))?(?:{_GAP}|/)?[0-9]{{1,14}}"
        rf"(?:(?:{_GAP}|/)[0-9]{{1,10}}){{0,7}}",
        _END,
        length=numbers.international,
        needs=("+", "00"),
    ),
    _pattern(
        "phone",
        _START,
        rf"(?:1{_GAP})?(?:\([2-9][0-9]{{2}}\){_GAP}?|[2-9][0-9]{{2}}{_GAP})[0-9]{{3}}{_GAP}[0-9]{{4}}",
        _END,
    ),
    _pattern(
        "phone",
        _START,
        r"(?<![0-9A-Z][ -])(?:",
        rf"0[1-9](?:([{_BLANK}.-])[0-9]{{2}}(?:\1[0-9]{{2}}){{3}})"  # France
        r"|01[5-7][0-9][ /-][0-9]{7,8}|07[0-9]{3} [0-9]{6}"  # mobiles in Germany and the United Kingdom
        r"|0[1-9][0-9]{0,3}([ -])[0-9]{3,4}\2[0-9]{3,4}|0[1-9][0-9] [0-9]{3} [0-9]{2} [0-9]{2}"
        r"|\(0[1-9][0-9]{0,4}\)[ /-]?[0-9]{3,9}(?:[ -][0-9]{2,5}){0,2}"
        r"|\([1-9][0-9]\) ?9?[0-9]{4}-[0-9]{4}"  # Brazil
        r"|1[3-9][0-9]([ -])[0-9]{4}\3[0-9]{4}"  # mobiles in China
        r"|8 ?\([0-9]{3}\) ?[0-9]{3}-[0-9]{2}-[0-9]{2}"  # Russia
        ")",
        _END,
        length=numbers.national,
    ),
    _pattern(
        "phone",
        rf"(?i)(?<![a-z])(?:{PHONE_NAMES}){NUMBER_NAME}\.?{_IS}",
        rf"(?P<what>\(?[0-9][0-9(){_BLANK}./{_DASH}]{{5,20}}[0-9])",
        _END,
        length=numbers.named_phone,
        needs=("phone", "tel", "mobile", "cell", "fax", "whatsapp", "handy", "msisdn"),
    ),
)

_TELLING = re.compile(
    rf"(?i)(?:{SECRET_NAMES}|ssn|social[ _]?security(?:[ _]number)?|authorization"
    rf"|(?<![a-z])(?:{PHONE_NAMES}){NUMBER_NAME})$"
)
"""Names whose value is recognised by its name."""

_DIGIT = re.compile("[0-9]")
_LONGEST_NAME = 100
_LONG = 4_096
_LEAST_NUMBER = 10**6  # no pattern knows fewer than seven digits
_PASSES_IF_LONG = 4
_MOST_PASSES = 8  # a mebibyte of numbers glued together must not take a pass for each of them

_ESCAPE = re.compile(
    r"(?<!\\)\\++(?:(?P<slash>/)"
    r"|u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\++u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<code>(?![dD][89a-fA-F])[0-9a-fA-F]{4}))"
)
"""What JSON may write for a character, behind one backslash or, in JSON inside JSON, several; no lone surrogate."""

_HASHED_REFERENCE = re.compile(r"customer:[0-9a-f]{6,64}")


def hashed_reference(reference: str) -> str:
    """A customer reference as ``customer:<hash>``: itself when it is one, else 16 digits of its SHA-256."""
    if _HASHED_REFERENCE.fullmatch(reference):
        return reference
    return "customer:" + hashlib.sha256(reference.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def unescaped(text: str) -> str:
    r"""The text with each ``\uXXXX`` and ``\/`` as its character, until none is left; an unprintable one is a space."""
    for _ in range(_MOST_PASSES):
        plain = _ESCAPE.sub(_character, text)
        if plain == text:
            return text
        text = plain  # once more: the character may be part of another escape
    return _ESCAPE.sub(" ", text)


def _character(escape: re.Match[str]) -> str:
    if escape["slash"]:
        return "/"
    if escape["code"]:
        char = chr(int(escape["code"], 16))
    else:
        char = chr(0x10000 + ((int(escape["high"], 16) & 0x3FF) << 10) + (int(escape["low"], 16) & 0x3FF))
    return char if char.isprintable() else " "


def _possible(text: str) -> list[Pattern]:
    """The patterns that could match somewhere in the text."""
    lowered = text.lower()
    has_digit = _DIGIT.search(text) is not None
    hinted = None
    if len(text) > _LONG:  # an engine without backtracking reads a mebibyte faster than ours one kibibyte
        plain = pl.Series([text.encode("utf-8", "replace").decode("utf-8")])
        hinted = {name for name, hint in HINTS.items() if plain.str.contains(hint)[0]}
    return [
        pattern
        for pattern in PATTERNS
        if (hinted is None or pattern.name in hinted)
        and (_holds(lowered, pattern.needs) if pattern.needs else has_digit)
    ]


def _holds(lowered: str, needs: tuple[str, ...]) -> bool:
    # A loop, since a generator would cost more than what it looks for.
    for need in needs:  # noqa: SIM110
        if need in lowered:
            return True
    return False


def scrub(text: str, counts: Counter[str]) -> str:
    """The text with every hit replaced by its typed placeholder; `counts` is added to.

    NUL characters, of which UTF-16 taken for something else is full, hide nothing: they go when there is a hit.
    """
    if "\0" in text:
        found: Counter[str] = Counter()
        bare = scrub(text.replace("\0", ""), found)
        counts.update(found)
        return bare if found else text
    for _ in range(_MOST_PASSES if len(text) <= _LONG else _PASSES_IF_LONG):
        clean = text
        for pattern in _possible(text):
            clean = _replaced(clean, pattern, counts)
        if clean == text:
            break
        text = clean  # once more: a number glued to another one has its boundary only now
    return text


def scrub_named(name: str, text: str, counts: Counter[str]) -> str:
    """A value with the name that it has in an object, which may be what it is recognised by."""
    telling = _TELLING.search(name[-_LONGEST_NAME:])
    if telling is None:
        return scrub(text, counts)
    before = f"{telling[0]}: "
    return scrub(before + text, counts).removeprefix(before)


def scrub_number(name: str, value: int, counts: Counter[str]) -> int | str:
    """A whole number with its name in an object: as it is, or the placeholder. Without a name that tells, a card's."""
    if value < _LEAST_NUMBER or value >= 10**20:
        return value
    if _TELLING.search(name[-_LONGEST_NAME:]) is not None:
        text = scrub_named(name, str(value), counts)
        return value if text == str(value) else text
    if value < 10**12 or not numbers.card(str(value)):
        return value
    counts["card"] += 1
    return "[card]"


def _replaced(text: str, pattern: Pattern, counts: Counter[str]) -> str:
    parts: list[str] = []
    done = 0
    what = "what" if "what" in pattern.expression.groupindex else 0
    match = pattern.expression.search(text)
    while match is not None:
        start = match.start(what)
        length = pattern.length(match[what])
        if length:
            parts += (text[done:start], f"[{pattern.name}]")
            counts[pattern.name] += 1
            done = start + length
            after = done
        else:
            after = match.start() + 1
        match = pattern.expression.search(text, after)
    return "".join(parts) + text[done:]
