"""Valid values of every type of the contract, as JSON text in the hand of one producer."""

from __future__ import annotations

import json
import random
import re
import types
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tests.ingest.columnar.hands import ASCII, ASTRAL, CONTROLS, ESCAPED, NAMES, PERSONAL, WIDE, Style

Writer = Callable[[random.Random, Style], str]
"""Makes one value: chance and the producer's hand in, JSON text out."""


def quoted(text: str, chance: random.Random, hand: Style) -> str:
    """A string as this producer escapes it."""
    if hand.escape == "mixed":
        return '"' + "".join(_escaped(char, chance) for char in text) + '"'
    return json.dumps(text, ensure_ascii=hand.escape == "ascii")


def _escaped(char: str, chance: random.Random) -> str:
    if char < " " or char in '"\\' or chance.random() < 0.1:
        units = char.encode("utf-16-be", "surrogatepass").hex()
        spelled = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
        return spelled.upper().replace("\\U", "\\u") if chance.random() < 0.5 else spelled
    return "\\/" if char == "/" and chance.random() < 0.5 else char


def characters(size: int, chance: random.Random, hand: Style, free: bool) -> str:
    """A text of so many characters; control characters only where the contract lets them through."""
    pool = ASCII if hand.text == "ascii" else ASCII + WIDE
    if hand.text == "escaped":
        pool += ASTRAL + (ESCAPED + CONTROLS if free else ESCAPED[:3])
    return "".join(chance.choices(pool, k=size))


def text_of(least: int, most: int, free: bool) -> Writer:
    """A string of `least` to `most` characters; sometimes as long as it may be, or as short."""

    def write(chance: random.Random, hand: Style) -> str:
        if free and chance.random() < hand.personal:
            return quoted(chance.choice(PERSONAL), chance, hand)
        if chance.random() < hand.edge:
            size = min(chance.choice((least, least, 30, 60, most, most - 1, most // 2, most // 3 + 1)), most)
            char = chance.choice(("x", "é", "漢", "😀", chance.choice(ASCII + WIDE + ASTRAL))) if most > 1 else "x"
            return quoted(char * size, chance, hand)
        return quoted(characters(max(least, chance.randint(2, 24)), chance, hand, free), chance, hand)

    return write


def slug_of(most: int) -> Writer:
    """A caller, tool or gate."""

    def write(chance: random.Random, hand: Style) -> str:
        size = chance.choice((1, most)) if chance.random() < hand.edge else chance.randint(1, 16)
        text = chance.choice("abcxyz019") + "".join(chance.choices("abcdefghikz0123456789._:/-", k=size - 1))
        if hand.slugs == "upper" or (hand.slugs == "mixed" and chance.random() < 0.5):
            text = text.upper() if chance.random() < 0.7 else text.title()
        return f'"{text}"'

    return write


def hex_of(start: str, least: int, most: int) -> Writer:
    """Lower-case hexadecimal digits after a fixed beginning."""

    def write(chance: random.Random, hand: Style) -> str:
        return f'"{start}{"".join(chance.choices("0123456789abcdef", k=chance.randint(least, most)))}"'

    return write


def time_of(chance: random.Random, hand: Style) -> str:
    """A time that exists, mostly of our days; sometimes a leap second, an edge of a month, or of time itself."""
    if chance.random() < hand.edge:
        return f'"{chance.choice(TIMES)}"'
    digits = chance.choice(hand.fractions)
    fraction = "." + "".join(chance.choices("0123456789", k=digits)) if digits else ""
    day = f"{chance.choice((2024, 2025, 2026, 2026, 2026))}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    clock = f"{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"
    separator = "T" if chance.random() > hand.edge else chance.choice("t T")
    return f'"{day}{separator}{clock}{fraction}{chance.choice(hand.offsets)}"'


TIMES = (
    "2024-02-29T23:59:59.999999999Z", "2000-02-29T00:00:00Z", "2016-12-31T23:59:60Z", "2016-12-31T23:59:60.7+00:00",
    "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.9999999Z", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.9999995Z", "1899-12-31T23:59:59Z", "1900-01-01T00:00:00Z",
    "2199-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "2262-04-11T23:47:16.854775807Z", "2262-04-12T00:00:00Z",
    "1677-09-21T00:12:43Z", "1582-10-10T00:00:00Z", "2026-03-29T02:30:00+01:00", "2026-06-03T10:00:00.0000005Z",
    "2026-06-03T10:00:00.1234565Z", "2026-06-03T10:00:00.9999999Z", "2026-01-01T00:00:00+14:00",
    "2025-12-31T23:59:59-12:00", "2026-06-03T10:00:00.5-00:00", "2026-06-03T24:00:00Z"[:11] + "00:00:00Z",
)  # fmt: skip


def integer_of(least: int, most: int) -> Writer:
    """A whole number, plain, since the contract takes no other spelling."""
    edges = [n for n in (least, least + 1, 9, 10, 2**31, 2**53 - 1, 2**53, 10**17, 10**18, 2**63 - 1) if n <= most]

    def write(chance: random.Random, hand: Style) -> str:
        if chance.random() < hand.edge:
            return str(chance.choice([n for n in edges if n >= least]))
        return str(chance.randint(least, min(most, 9_999)))

    return write


def float_of(least: float | None) -> Writer:
    """A finite number; negative only where it may be."""

    def write(chance: random.Random, hand: Style) -> str:
        sign = "-" if least is None and chance.random() < 0.3 else ""
        if chance.random() < hand.edge:
            return sign + chance.choice(FLOATS)
        if hand.numbers == "plain":
            return sign + repr(round(chance.uniform(0, 999), chance.randint(0, 5)))
        if hand.numbers == "dot":
            return f"{sign}{chance.randint(0, 99)}.{chance.randint(0, 9999):04}0"
        drawn = (chance.random() * 10 ** chance.randint(-20, 20), chance.randint(0, 10**6), chance.random())
        return sign + repr(chance.choice(drawn))

    return write


FLOATS = (
    "0", "0.0", "1", "1.0", "1.50", "1e-05", "1E+2", "1e2", "0e0", "0.1", "0.30000000000000004", "5e-324", "2.5e-320",
    "1.7976931348623157e308", "9007199254740993", "9007199254740993.0", "123456789012345678", "0.1e-7", "1e22", "1e23",
    "9.5367431640625e-07", "2.2250738585072011e-308", "2.2250738585072014e-308", "8.41e21", "9.999999999999999e22",
    "1234567890123456789012345", "0.000001", "17.7976931348623157e299", "7.2057594037927933e16", "1e-400", "1.0e+0",
    "9223372036854775807", "9223372036854775808", "18446744073709551616", "0.00000000000000000000000001",
    "179769313486231580793728971405301e276", "6.631236871469758276e-316", "3.5844466002796428e298",
)  # fmt: skip


def unknown_of(chance: random.Random, hand: Style, depth: int = 0) -> str:
    """A value that the contract does not know."""
    draw = chance.random()
    if draw < 0.35:
        return text_of(0, 60, True)(chance, hand)
    if draw < 0.6:
        return chance.choice((str(chance.randint(0, 99_999)), float_of(None)(chance, hand), chance.choice(RAW)))
    if draw < 0.75 or depth > 2:
        return chance.choice(("true", "false", "null"))
    items = [unknown_of(chance, hand, depth + 1) for _ in range(chance.choice((0, 1, 1, 2, 3)))]
    if draw < 0.87:
        return "[" + hand.comma.join(items) + "]"
    pairs = [f"{quoted(chance.choice(NAMES + KNOWN), chance, hand)}{hand.colon}{item}" for item in items]
    return "{" + hand.comma.join(pairs) + "}"


KNOWN = ("event_id", "ts", "kind", "sla", "tokens", "note", "customer_ref", "amount", "in", "out", "scores")
RAW = (
    "-0", "-0.0", "0.0", "1.0", "1.50", "1e5", "1E400"[:3], "9007199254740993", "-9223372036854775808", "1e16", "1e15",
    "9223372036854775807", "9223372036854775808", "18446744073709551615", "123456789012345678901234567890", "1e-7",
    "0.1", "123456789.123456789", "1e300", "-1", "0.00001", "100000000000000000000.0", "1234567.0", "1e2",
)  # fmt: skip


def literal_of(options: Sequence[str]) -> Writer:
    """One of an enumeration."""
    return lambda chance, hand: f'"{chance.choice(options)}"'


def writer_of(annotation: Any, metadata: Sequence[Any] = ()) -> Writer:
    """The writer for an annotation of the contract. Raises TypeError for one that it does not know."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return writer_of(parts[0], [*metadata, *parts[1:]])
    if origin in (Union, types.UnionType):
        return writer_of(next(part for part in parts if part is not type(None)), metadata)
    if origin is list:
        return many_of(writer_of(parts[0]))
    if origin is dict:
        return dict_of(writer_of(parts[0]), writer_of(parts[1]))
    if origin is Literal:
        return literal_of(parts)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        from tests.ingest.columnar.producers import object_of

        return object_of(annotation)
    return _scalar(annotation, limits_of(metadata))


def limits_of(metadata: Sequence[Any]) -> dict[str, Any]:
    """What the metadata says: ge, le, min_length, max_length, pattern, and whether it is free text."""
    found: dict[str, Any] = {"free": False}
    for entry in metadata:
        if isinstance(entry, FieldInfo):
            free = found["free"] or bool(entry.json_schema_extra)
            found |= {**limits_of(entry.metadata), "free": free}
        for name in ("ge", "le", "min_length", "max_length", "pattern"):
            told = getattr(entry, name, None)
            if told is not None:
                found[name] = told
    return found


def _scalar(annotation: Any, limits: dict[str, Any]) -> Writer:
    if annotation is datetime:
        return time_of
    if annotation is bool:
        return lambda chance, hand: chance.choice(("true", "false"))
    if annotation is int:
        return integer_of(limits.get("ge", 0), limits["le"])
    if annotation is float:
        return float_of(limits.get("ge"))
    if annotation is not str:
        raise TypeError(f"no writer for {annotation!r}")
    pattern = limits.get("pattern", "")
    hexadecimal = re.fullmatch(r"\^([a-z0-9:]*)\[0-9a-f\]\{([0-9]+),?([0-9]*)\}\$", pattern)
    if hexadecimal:
        return hex_of(hexadecimal[1], int(hexadecimal[2]), int(hexadecimal[3] or hexadecimal[2]))
    if pattern.startswith("^[a-z0-9]"):
        return slug_of(limits["max_length"])
    return text_of(limits.get("min_length", 0), limits["max_length"], limits["free"])


def many_of(item: Writer) -> Writer:
    """A list of none to four."""

    def write(chance: random.Random, hand: Style) -> str:
        return "[" + hand.comma.join(item(chance, hand) for _ in range(chance.choice((0, 1, 1, 2, 4)))) + "]"

    return write


def dict_of(name: Writer, value: Writer) -> Writer:
    """A dictionary; now and then a name comes twice, and the last one counts."""

    def write(chance: random.Random, hand: Style) -> str:
        names = [name(chance, hand) for _ in range(chance.choice((0, 1, 2, 3, 5)))]
        if names and chance.random() < hand.edge:
            names.append(names[0])
        return "{" + hand.comma.join(f"{each}{hand.colon}{value(chance, hand)}" for each in names) + "}"

    return write
