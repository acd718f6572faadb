"""Valid lines, broken where a validator may be lax: tokens changed by a hair, swapped, repeated, moved; bytes flipped.

Everything is a pure function of the
chance that is handed in. The odd numbers, texts and names are those of the test of mutated lines.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from tests.faults.mutations import KEYS, NOISE, NUMBERS, OTHERS, TEXTS, grow, nest
from tests.support.mutation_base import TIME, Base
from tests.support.mutation_tokens import (
    BLANKS,
    CHARS,
    DIGITS,
    EDGES,
    FIELDS,
    FRACTIONS,
    LENGTHS,
    PLAIN,
    TAILS,
    UNITS,
    WORDS,
    YEARS,
    ZONES,
)

_DIGIT = re.compile(rb"[0-9]")
Edit = tuple[int, int, bytes]


def near(token: bytes, chance: random.Random) -> bytes:
    """A scalar changed by a hair: still its type, mostly, but perhaps no longer of the contract."""
    if token[:1] == b'"':
        return _near_time(token, chance) if TIME.match(token) and chance.random() < 0.85 else _near_text(token, chance)
    if token[:1] in b"-0123456789":
        return _near_number(token, chance)
    others = (b"1", b"0", b"null", b"true", b"false")
    return chance.choice((b'"' + token + b'"', token.upper(), token.title(), token[:-1], *others))


def _near_text(token: bytes, chance: random.Random) -> bytes:
    how = chance.randrange(12)
    inner = token[1:-1]
    at = chance.choice((0, len(inner), chance.randrange(len(inner) + 1)))
    if how < 5:
        inner = inner[:at] + chance.choice(CHARS) + inner[at:]
    elif how == 5:
        inner = inner[:at] + inner[at + chance.choice((1, 1, 2, 5)) :]
    elif how == 6:
        inner = chance.choice((inner.upper(), inner.lower(), inner.swapcase(), inner.title()))
    elif how == 7:
        unit = chance.choice(UNITS)
        inner = unit * chance.choice(LENGTHS) if len(token) < 3_000 else inner
    elif how == 8 and inner and b"\\" not in inner and inner.isascii():
        at = min(at, len(inner) - 1)
        inner = inner[:at] + b"\\u%04x" % inner[at] + inner[at + 1 :]
    elif how == 9:
        inner = inner + chance.choice((inner, b"x", b" "))
    elif how == 10:
        return inner
    else:
        inner = b""
    return b'"' + inner + b'"'


def _near_time(token: bytes, chance: random.Random) -> bytes:
    how = chance.randrange(9)
    if how < 3:  # a digit that is another one
        at = chance.choice([found.start() for found in _DIGIT.finditer(token)])
        return token[:at] + b"%d" % chance.randrange(10) + token[at + 1 :]
    if how == 3:
        return token[:11] + chance.choice((b"t", b" ", b"T", b"_", b"", b"\\u0054")) + token[12:]
    date, clock = token[1:11], token[12:20]
    fraction = b"." + b"%d" % chance.randrange(10 ** chance.randint(1, 12)) if chance.random() < 0.5 else b""
    if how == 4:
        month, day = chance.choice((0, 1, 2, 2, 2, 4, 12, 13)), chance.choice((0, 1, 28, 29, 30, 31, 32))
        date = b"%04d-%02d-%02d" % (chance.choice(YEARS), month, day)
    if how == 5:
        hour, minute, second = chance.choice((0, 23, 24)), chance.choice((0, 59, 60)), chance.choice((0, 59, 60, 61))
        clock = b"%02d:%02d:%02d" % (hour, minute, second)
    if how == 6:
        fraction = chance.choice(FRACTIONS)
    return b'"' + date + b"T" + clock + fraction + chance.choice(ZONES if how > 6 else ZONES[:5]) + b'"'


def _near_number(token: bytes, chance: random.Random) -> bytes:
    how = chance.randrange(14)
    if how > 9:
        return chance.choice(EDGES)
    if how < 4:
        return chance.choice(DIGITS)
    if how == 4:
        return repr(chance.random() * 10 ** chance.randint(-25, 25)).encode()
    if how == 5:
        return b"%d.%d" % (chance.randrange(10 ** chance.randint(1, 18)), chance.randrange(10 ** chance.randint(1, 22)))
    if how == 6:
        return b"%d" % chance.randrange(10 ** chance.randint(1, 21))
    if how == 7:
        return b"%d.%de%d" % (chance.randrange(10), chance.randrange(10**17), chance.randint(-340, 320))
    if how == 8:
        return b'"' + token + b'"'
    at = chance.randrange(len(token) + 1)
    return token[:at] + chance.choice((b"0", b"9", b".", b"e", b"-", b"+", b"E5", b"_")) + token[at:]


def token(old: bytes, chance: random.Random) -> bytes:
    """Another scalar or container in the place of one: near it, of its type, or of any."""
    draw = chance.random()
    if draw < 0.62:
        return near(old, chance)
    if draw < 0.72:
        return chance.choice(WORDS)
    if draw < 0.82:
        return chance.choice(DIGITS)
    if draw < 0.92:
        return chance.choice(PLAIN)
    return chance.choice(chance.choice((NUMBERS, TEXTS, OTHERS)))


def _value(base: Base, chance: random.Random) -> list[Edit]:
    draw = chance.random()  # numbers and times are few in a line, but have more edges than texts
    some = (draw < 0.3 and base.numbers) or (draw < 0.5 and base.times) or base.scalars
    start, end = chance.choice(some)
    return [(start, end, token(base.line[start:end], chance))]


def _container(base: Base, chance: random.Random) -> list[Edit]:
    start, end = chance.choice(base.values)
    old = base.line[start:end]
    wrapped = (b"[" + old + b"]", b'{"a":' + old + b"}", b"[null," + old + b"]", b"[" + old + b",null]")
    new = chance.choice((b"null", b"[]", b"{}", *wrapped))
    return [(start, end, new)]


def _swap(base: Base, chance: random.Random) -> list[Edit]:
    (start, end), (start2, end2) = chance.choice(base.scalars), chance.choice(base.scalars)
    return [(start, end, base.line[start2:end2]), (start2, end2, base.line[start:end])] if start != start2 else []


def _repeat(base: Base, chance: random.Random) -> list[Edit]:
    """A key twice: with the same value or another one, before or after, or in another object."""
    start, end = chance.choice(base.members)
    copy = base.line[start:end]
    draw = chance.random()
    if draw < 0.5:
        name, colon, value = copy.partition(b":")
        copy = name + colon + token(value.strip(), chance)
    to = start
    if draw > 0.7:
        to = chance.choice(base.objects)[0] + 1
        return [(to, to, copy + (b"" if base.line[to : to + 1] == b"}" else b","))]
    return [(to, to, copy + b",")] if draw < 0.35 else [(end, end, b"," + copy)]


def _drop(base: Base, chance: random.Random) -> list[Edit]:
    start, end = chance.choice(base.members)
    after = re.compile(rb"[ \t]*,[ \t]*").match(base.line, end)
    return [(start, after.end() if after else end, b"")]


def _move(base: Base, chance: random.Random) -> list[Edit]:
    """Two members change places."""
    (start, end), (start2, end2) = chance.choice(base.members), chance.choice(base.members)
    if end <= start2 or end2 <= start:
        return [(start, end, base.line[start2:end2]), (start2, end2, base.line[start:end])]
    return []


def _rename(base: Base, chance: random.Random) -> list[Edit]:
    start, end = chance.choice(base.keys)
    draw = chance.random()
    if draw < 0.3:
        return [(start, end, near(base.line[start:end], chance))]
    if draw < 0.6:
        other = chance.choice(base.keys)
        return [(start, end, base.line[other[0] : other[1]])]
    return [(start, end, b'"' + chance.choice(FIELDS if draw < 0.9 else KEYS) + b'"')]


def _insert(base: Base, chance: random.Random) -> list[Edit]:
    """One more member in some object."""
    start, end = chance.choice(base.objects)
    value = token(b'"x"', chance) if chance.random() < 0.8 else b'{"a":[1,{"b":' + token(b"1.5", chance) + b"}]}"
    pair = b'"' + chance.choice(FIELDS if chance.random() < 0.8 else KEYS) + b'":' + value
    if base.line[start + 1 : start + 2] == b"}":
        return [(start + 1, start + 1, pair)]
    return [(start + 1, start + 1, pair + b",")] if chance.random() < 0.5 else [(end - 1, end - 1, b"," + pair)]


def _space(base: Base, chance: random.Random) -> list[Edit]:
    at = chance.choice(base.gaps)
    return [(at, at, chance.choice(BLANKS[:4] if chance.random() < 0.6 else BLANKS))]


def _comma(base: Base, chance: random.Random) -> list[Edit]:
    at = chance.choice(base.gaps)
    return [(at, at, chance.choice((b",", b":", b"{", b"}", b"[", b"]", b'"', b"null", b"{}", b"#", b"1")))]


EDITS: dict[str, tuple[int, Callable[[Base, random.Random], list[Edit]]]] = {
    "value": (62, _value), "container": (5, _container), "swap": (3, _swap), "repeat": (8, _repeat), "drop": (3, _drop),
    "move": (2, _move), "rename": (4, _rename), "insert": (5, _insert), "space": (4, _space), "comma": (2, _comma),
}  # fmt: skip
"""Name -> (weight, the replacements that it makes)."""
_WAYS = [way for _, way in EDITS.values()]
_WEIGHTS = [sum(weight for weight, _ in list(EDITS.values())[: at + 1]) for at in range(len(EDITS))]


def edited(base: Base, chance: random.Random) -> bytes:
    """The line with one edit, sometimes two."""
    (way,) = chance.choices(_WAYS, cum_weights=_WEIGHTS)
    edits = way(base, chance)
    if chance.random() < 0.15:
        edits = edits + chance.choices(_WAYS, cum_weights=_WEIGHTS)[0](base, chance)
    line = base.line
    before = len(line)
    for start, end, new in sorted(edits, reverse=True):
        if end <= before:  # else it lies in what was already replaced
            line = line[:start] + new + line[end:]
            before = start
    return line


def battered(line: bytes, others: Sequence[Base], chance: random.Random) -> bytes:
    """The line's bytes flipped, cut, repeated, spliced with another line, in another case, with noise in them."""
    how = chance.randrange(12)
    at = chance.randrange(len(line) + 1)
    span = chance.choice((1, 1, 2, 3, 8, 40))
    if how < 3 and at < len(line):
        return line[:at] + bytes([line[at] ^ 1 << chance.randrange(8)]) + line[at + 1 :]
    if how == 3:
        return line[:at] + line[at + span :]
    if how == 4:
        return line[:at] + line[at : at + span] + line[at:]
    if how == 5:
        other = chance.choice(others).line
        return line[:at] + other[min(at, len(other)) :] if chance.random() < 0.7 else line + other
    if how == 6:
        return line[:at] + chance.choice((line[at:].upper(), line[at : at + span].swapcase() + line[at + span :], b""))
    if how == 7:
        return chance.choice([b"\xef\xbb\xbf", b"[", b" ", b"\xff\xfe", b"\x00", b")]}'\n"]) + line
    if how == 8:
        return line + chance.choice(TAILS)
    if how == 9:
        return line[:at] + bytes([chance.randrange(256)]) + line[at + 1 :]
    if how == 10:
        return line[:at] + chance.choice(NOISE) + line[at:]
    big = bytearray(line)
    if chance.random() < 0.1:
        (grow if chance.random() < 0.5 else nest)(big, chance)
    return bytes(big)


def mutant(base: Base, others: Sequence[Base], chance: random.Random) -> bytes:
    """One mutant of a line; `others` are what it may be spliced with. Some of them are still valid."""
    draw = chance.random()
    if draw < 0.8:
        return edited(base, chance)
    if draw < 0.95:
        return battered(base.line, others, chance)
    return battered(edited(base, chance), others, chance)
