"""How producers write: their separators, escapes, orders of keys, times, numbers, and fields of their own."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

ASCII = "abcdefghijklmnopqrstuvwxyz ABCDEFXYZ 0123456789 .,:;-_/()#@!?=+*<>[]{}~|'&%$^`"
WIDE = "äößéñçøΩжשعक漢字か한\u00a0\u2028\u2029\ufeff\u200b\u0301\u212a\u0130\u017fﬁ\uffff"
ASTRAL = "😀🎉\U0010ffff"
ESCAPED = '"\\/\b\f\n\r\t\x01\x1f'
CONTROLS = "\x7f\x80\x85\x9f"
NAMES = (
    "owner", "note2", "x-trace", "schema_version", "@type", "a.b", "retry count", "sla.owner", "tokens.in", "数", "",
    "specversion", "type", "resourceSpans", "message", "uuid", "path", "text", "mtime", "seq", "extra", "Event_Id",
    "KIND",
    "kind ", "é", "a\"b", "a\\b", "a/b", "tab\there", "😀", "details", "labels", "meta", "customer", "phone", "email",
    "actions_attempted[0].x", "warnings", "dialect", "content_sha256", "redacted", "name", "value", "list", "struct",
)  # fmt: skip
"""Names that the contract does not know at the top level (nor, mostly, anywhere)."""
OFFSETS = ("Z", "Z", "Z", "+00:00", "-00:00", "+05:30", "-08:00", "+14:00", "-23:59", "+23:59", "z", "+01:00")
PERSONAL = (
    "write to jane@example.com", "call +49 170 1234567", "card 4111 1111 1111 1111", "555-123-4567", "ssn 123-45-6789",
    "DE89 3704 0044 0532 0130 00", "Bearer abcdef0123456789abcdef", "password: hunter22x", "jane%40example.com",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Style:
    """How one producer writes. `order` holds for a kind unless it is ``chaos``; shares are probabilities."""

    comma: str
    colon: str
    escape: str
    text: str
    null: float
    share: float
    order: str
    offsets: tuple[str, ...]
    fractions: tuple[int, ...]
    numbers: str
    slugs: str
    unknown: tuple[str, ...]
    stable: bool
    personal: float
    edge: float
    tail: str
    plain: bool


def style(chance: random.Random, odd_ones: bool = True) -> Style:
    """The hand of some producer: many are plain, the others (`odd_ones`) odd in one, two or four ways."""
    spaced = chance.random() < 0.4
    plain = Style(
        comma=", " if spaced else ",",
        colon=": " if spaced else ":",
        escape=chance.choice(("utf8", "ascii")),
        text=chance.choice(("ascii", "ascii", "wide")),
        null=chance.choice((0.0, 0.0, 1.0, 0.5)),
        share=chance.choice((0.3, 0.6, 0.95)),
        order=chance.choice(("model", "sorted", "shuffled")),
        offsets=chance.choice((("Z",), ("+00:00",), ("Z", "+05:30", "-08:00"))),
        fractions=chance.choice(((0,), (3,), (6,), (0, 3, 6))),
        numbers="plain",
        slugs="lower",
        unknown=tuple(chance.sample(NAMES[:6], chance.choice((0, 0, 1, 2)))),
        stable=True,
        personal=0.0,
        edge=0.02,
        tail="",
        plain=True,
    )
    odd: dict[str, Any] = {
        "comma": chance.choice((" ,", ",  ", ",\t")),
        "colon": chance.choice((" :", " : ", ":\t")),
        "escape": "mixed",
        "text": "escaped",
        "order": chance.choice(("reversed", "shuffled", "chaos")),
        "offsets": OFFSETS if chance.random() < 0.5 else (chance.choice(OFFSETS),),
        "fractions": chance.choice(((1, 2, 3), (7, 8, 9), tuple(range(10)))),
        "numbers": chance.choice(("dot", "any")),
        "slugs": chance.choice(("upper", "mixed")),
        "unknown": tuple(chance.sample(NAMES, chance.choice((1, 2, 4)))),
        "stable": False,
        "personal": 0.05,
        "edge": 0.1,
        "tail": chance.choice(("\r", " ", "\t ")),
    }
    ways = chance.sample(sorted(odd), chance.choice((0, 1, 1, 2, 4)) if odd_ones else 0)
    return replace(plain, **{way: odd[way] for way in ways}, plain=not ways)
