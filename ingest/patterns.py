"""Personal data and secrets in text: how they look, how a look-alike is told apart, what replaces them.

A false positive destroys evidence, a miss keeps what should not be kept. So every pattern asks for its whole form with
a boundary on both sides (an order number with a phone number inside is no phone number), and what has a checksum
must pass it. Every expression runs in linear time: bounded repeats, possessive ones, or a boundary that pins the start.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

_IBAN_LENGTHS = {
    word[:2]: int(word[2:])
    for word in re.findall(
        r"\w+",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 "
        "ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 "
        "LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 "
        "QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30",
    )
}
"""Length by country, as in the SWIFT IBAN registry."""

_START = r"(?:(?<![\w.#/+-])|(?<=\\[nrtbf]))"
"""Not inside a word, number, path or anchor; or right after a JSON escape, where the line is no valid JSON."""

_END = r"(?!\w|[-./+]\w)"
_GAP = r"[ \u00a0.-]"
_ISSUERS = re.compile(
    r"4(?:[0-9]{12}|[0-9]{15}|[0-9]{18})"  # Visa
    r"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    r"|3[47][0-9]{13}"  # American Express
    r"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}(?:[0-9]{3})?"  # Discover
    r"|3(?:0[0-5]|[689][0-9])[0-9]{11}"  # Diners Club
    r"|35(?:2[89]|[3-8][0-9])[0-9]{12}"  # JCB
    r"|62[0-9]{14,17}"  # UnionPay
)


def _all(text: str) -> int:
    return len(text)


def _luhn(number: str) -> bool:
    digits = [int(char) for char in number]
    doubled = [digit * 2 - 9 if digit > 4 else digit * 2 for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _card(text: str) -> int:
    number = text.replace(" ", "").replace("-", "")
    return len(text) if _ISSUERS.fullmatch(number) and _luhn(number) else 0


def _iban(text: str) -> int:
    length = _IBAN_LENGTHS.get(text[:2].upper(), 0)
    compact = ""
    for taken, char in enumerate(text, start=1):
        compact += char.strip()
        if len(compact) == length:
            ends = taken == len(text) or text[taken] == " "
            digits = "".join(str(int(sign, 36)) for sign in compact[4:] + compact[:4])
            return taken if ends and int(digits) % 97 == 1 else 0
    return 0


def _ssn(text: str) -> int:
    digits = re.sub("[^0-9]", "", text)
    unassigned = digits[:3] in ("000", "666") or digits[0] == "9" or digits[3:5] == "00" or digits[5:] == "0000"
    return 0 if unassigned else len(text)


def _phone(text: str) -> int:
    digits = len(re.sub("[^0-9]", "", text))
    return len(text) if not text.startswith("+") or 9 <= digits <= 15 else 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """One type of data: its name in `[name]`, the expression, and how many characters of a match are really it."""

    name: str
    expression: re.Pattern[str]
    length: Callable[[str], int] = _all


def _pattern(name: str, *parts: str, length: Callable[[str], int] = _all) -> Pattern:
    return Pattern(name, re.compile("".join(parts)), length)


_KEYS = (
    r"eyJ[\w-]{8,4096}\.eyJ[\w-]{8,8192}(?:\.[\w-]{0,4096})?"
    r"|(?:sk|pk|rk)-(?=[A-Za-z_-]{0,200}[0-9])[\w-]{20,250}"
    r"|(?:sk|rk)_(?:live|test)_\w{10,250}"
    r"|gh[pousr]_[A-Za-z0-9]{20,255}|github_pat_\w{20,255}|glpat-[\w-]{20,255}|npm_[A-Za-z0-9]{30,255}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,255}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{35}"
)

PATTERNS: tuple[Pattern, ...] = (
    _pattern("secret", _START, "(?:", _KEYS, r")(?![\w-])"),
    _pattern("secret", r"(?i)(?<=\bbearer )(?=[a-z._~+/=-]{0,250}[0-9])[\w.~+/=-]{16,4096}"),
    _pattern("secret", r"(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.{0,8192}?(?:-----END [A-Z ]{0,30}-----|\Z)"),
    _pattern("email", r"(?<![\w.%+'-])(?!git@)[\w.%+'-]++@(?!\dx\.)(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])"),
    _pattern("iban", _START, r"[A-Za-z]{2}[0-9]{2}(?: ?[A-Za-z0-9]){11,30}(?!\w)", length=_iban),
    _pattern(
        "card",
        r"(?:(?<![\w./+-])|(?<=\\[nrtbf]))[2-6][0-9]{3}",
        r"(?:([ -]?)[0-9]{4}\1[0-9]{4}\1[0-9]{1,7}(?:\1[0-9]{1,3})?|([ -])[0-9]{6}\2[0-9]{4,5})",
        _END,
        length=_card,
    ),
    _pattern("ssn", _START, "[0-9]{3}-[0-9]{2}-[0-9]{4}", _END, length=_ssn),
    _pattern("ssn", r"(?i)(?<=\bssn[: ]) ?[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", _END, length=_ssn),
    _pattern(
        "phone",
        _START,
        rf"\+[0-9]{{1,3}}{_GAP}?(?:\([0-9]{{1,4}}\){_GAP}?)?[0-9]{{1,14}}(?:{_GAP}[0-9]{{1,10}}){{0,6}}",
        _END,
        length=_phone,
    ),
    _pattern(
        "phone",
        _START,
        rf"(?:1{_GAP})?(?:\([2-9][0-9]{{2}}\){_GAP}?|[2-9][0-9]{{2}}{_GAP})[0-9]{{3}}{_GAP}[0-9]{{4}}",
        _END,
    ),
)

_EDGE = r"(?:^|[^\w-]|\\[nrtbf]|\\u[0-9a-fA-F]{4})"
SUSPECT = "|".join(
    (
        r"@(?:[\w-]|\\u[0-9a-fA-F]{4})+\.",
        r"\\u00(?:[0-7]|[aA]0)",
        r"[0-9]{3}-[0-9]{2}-[0-9]{4}|(?i:ssn)",
        r"\+[0-9](?:[ .()\x{a0}-]{0,3}[0-9]){8}",
        r"[2-9][0-9]{2}(?:\)?[ .\x{a0}-]|\))[0-9]{3}[ .\x{a0}-][0-9]{4}",
        _EDGE + r"[2-6][0-9]{3}(?:[ -]?[0-9]){9,15}(?:$|\W)",
        _EDGE + r"[A-Za-z]{2}[0-9]{2}(?: ?[A-Za-z0-9]){11,30}(?:$|\W)",
        _EDGE + r"(?:eyJ|[spr]k[-_]|gh[pousr]_|github_pat_|glpat-|npm_|xox[a-z]-|AKIA|ASIA|AIza)",
        r"(?i:bearer )|PRIVATE KEY-----",
    )
)
"""An expression for RE2-like engines that finds every line, as it stands in a file, in which a pattern could match:
it knows JSON's escapes, but neither checksums nor what is behind a boundary, so it finds more."""


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


def scrub(text: str, counts: Counter[str]) -> str:
    """The text with every hit replaced by its typed placeholder; `counts` is added to."""
    for _ in range(_MOST_PASSES):
        clean = text
        for pattern in PATTERNS:
            clean = _replaced(clean, pattern, counts)
        if clean == text:
            break
        text = clean  # once more: a number glued to another one has its boundary only now
    return text


def _replaced(text: str, pattern: Pattern, counts: Counter[str]) -> str:
    parts: list[str] = []
    done = 0
    match = pattern.expression.search(text)
    while match is not None:
        length = pattern.length(match[0])
        after = match.start() + (length or 1)
        if length:
            parts += (text[done : match.start()], f"[{pattern.name}]")
            counts[pattern.name] += 1
            done = after
        match = pattern.expression.search(text, after)
    return "".join(parts) + text[done:]
