"""Lines as no producer should send them: real ones, broken in every way that a wire, a disk or an attacker can find.

A pure function of the seed. Huge lines are rare, so that a million lines are less than a gigabyte.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from sample_data.generate import generate
from tests.ingest.builders import line, record

Mutation = Callable[[bytearray, random.Random], None]

NUMBERS = [
    b"1e400", b"-1e400", b"1E+999999999", b"1" + b"0" * 5_000, b"-" + b"9" * 4_299, b"9" * 4_301, b"-0", b"-0.0",
    b"0e0", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809",
    b"18446744073709551616", b"1" + b"0" * 40,
    b"0." + b"0" * 400 + b"1", b"1e-400", b"4.9e-324", b"1.7976931348623157e308", b"123456789012345678901234567890.5",
    b"NaN", b"Infinity", b"-Infinity", b"nan", b"01", b"+1", b"1.", b".5", b"0x10", b"1_000", b"4111111111111111",
]  # fmt: skip
TEXTS = [
    b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"', b'"\\u0000"', b'"\\u001f\\u007f\\u0085"', b'"\\u2028"',
    b'"\\ufeff"', b'"\\uffff"', b'""', b'" "', b'"\xef\xbb\xbf"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xe0\x80\xaf"',
    b'"\xf8\x88\x80\x80\x80"', b'"\xf4\x90\x80\x80"', b'"\xff"', b'"a\x00b"', b'"a\tb"', b'"\\x41"', b'"\\"',
    b'"\xcc\x81"',
    b'"jane@example.com"', b'"+49 170 1234567"', b'"4111 1111 1111 1111"', b'"\\u006aane\\u0040example.com"',
    b'"0001-01-01T00:00:00+23:59"', b'"9999-12-31T23:59:60-23:59"', b'"2026-02-30T00:00:00Z"', b'"customer:Jane"',
    b'"2026-06-03T10:00:00.9999999999Z"', b'"sha256:' + b"0" * 64 + b'"', b'"xenia.escalated"', b'"decision.record"',
]  # fmt: skip
OTHERS = [b"null", b"true", b"false", b"[]", b"{}", b"[null]", b'{"":null}', b"[[1],[2]]", b"undefined", b"", b"'x'"]
TOKENS = [*NUMBERS, *TEXTS, *OTHERS]
KEYS = [
    b"event_id", b"ts", b"kind", b"correlation_id", b"customer_ref", b"reason", b"note", b"tokens", b"amount", b"sla",
    b"actions_attempted", b"extra", b"", b"\\u0000", b"a.b", b"\xff", b"\\ud800", b"__class__", b"jane@example.com",
    b"path", b"text", b"mtime", b"specversion", b"resourceSpans", b"tenant", b"attempt", b"scores", b"seq",
]  # fmt: skip
NOISE = [
    b"\x00", b"\r", b"\n", b"\r\n", b"\x0b", b"\x0c", b"\x1a", b"\x7f", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8",
    b"\xfe\xff", b"\\", b'"', b"{", b"}", b"[", b"]", b",", b":", b"/*", b"#", b"\xf0\x9f", b"\\u", b"\\ud8",
]  # fmt: skip
_VALUE = re.compile(rb':("(?:[^"\\]|\\.){0,200}"|[-0-9.]+|null|true|false)')
_NAME = re.compile(rb'"([a-z_]+)":')


def flip(broken: bytearray, chance: random.Random) -> None:
    """Up to four bits turned over."""
    for _ in range(chance.randint(1, 4)):
        if broken:
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)


def cut(broken: bytearray, chance: random.Random) -> None:
    """The end, the beginning or a piece is missing."""
    at = chance.randrange(len(broken) + 1)
    end = chance.choice((len(broken), at + chance.randint(1, 40), None))
    if end is None:
        del broken[:at]
    else:
        del broken[at:end]


def repeat(broken: bytearray, chance: random.Random) -> None:
    """A piece stands there twice, or in another place too."""
    at = chance.randrange(len(broken) + 1)
    piece = broken[at : at + chance.randint(1, 200)]
    to = chance.randrange(len(broken) + 1)
    broken[to:to] = piece


def noise(broken: bytearray, chance: random.Random) -> None:
    """Bytes that belong nowhere: control characters, newlines of all kinds, byte order marks, half characters."""
    at = chance.randrange(len(broken) + 1)
    broken[at:at] = chance.choice(NOISE) * chance.choice((1, 1, 1, 2, 9))


def swap_value(broken: bytearray, chance: random.Random) -> None:
    """A value of another type, an absurd number, an odd text."""
    places = list(_VALUE.finditer(broken))
    if places:
        place = chance.choice(places)
        broken[place.start(1) : place.end(1)] = chance.choice(TOKENS)


def swap_name(broken: bytearray, chance: random.Random) -> None:
    """A field under another name, often one that is there already."""
    places = list(_NAME.finditer(broken))
    if places:
        place = chance.choice(places)
        broken[place.start(1) : place.end(1)] = chance.choice(KEYS)


def add_field(broken: bytearray, chance: random.Random) -> None:
    """One more field in front: an unknown one, or one whose later twin hides it."""
    value = chance.choice(TOKENS)
    if chance.random() < 0.3:
        value = b'{"' + chance.choice(KEYS) + b'":[' + value + b"," + chance.choice(TOKENS) + b"]}"
    broken[1:1] = b'"' + chance.choice(KEYS) + b'":' + value + b","


def nest(broken: bytearray, chance: random.Random) -> None:
    """An unknown field, or the whole line, ten to a hundred thousand levels deep; not always closed again."""
    levels = chance.choice((10, 50, 120, 190, 200, 201, 254, 256, 500, 990, 1_000, 1_100))
    if chance.random() < 0.004:
        levels = chance.choice((5_000, 10_000, 100_000))
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"a":', b"}]"), (b'{"event_id":', b"}")))
    inner = chance.choice(TOKENS)
    deep = opening * levels + inner + closing * chance.choice((levels, levels, levels, levels - 1, levels + 1, 0))
    if chance.random() < 0.2:
        broken[:] = deep
    else:
        broken[1:1] = b'"' + chance.choice((b"deep", b"tokens", b"note", b"sla", b"customer_ref")) + b'":' + deep + b","


def grow(broken: bytearray, chance: random.Random) -> None:
    """A very long text or name, or very many fields."""
    size = chance.choice((201, 1_001, 2_001, 5_000))
    if chance.random() < 0.01:
        size = chance.choice((50_000, 500_000, (1 << 20) - 400, 1 << 20))
    how = chance.randrange(4)
    piece = chance.choice((b"x", b"1 ", b"a@", b"\\u0040", b"\xc3\xa9", b"\\", b"\\n", b"[", b"DE89 ", b"sk-", b"."))
    long = piece * (size // len(piece))
    if how == 0:
        broken[1:1] = b'"' + chance.choice((b"note", b"reason", b"odd", b"event_id", b"kind")) + b'":"' + long + b'",'
    elif how == 1:
        broken[1:1] = b'"' + long + b'":1,'
    elif how == 2:
        broken[1:1] = b"".join(b'"f%d":%d,' % (number, number) for number in range(size // 10))
    else:
        broken[1:1] = b'"many":[' + b",".join([chance.choice(TOKENS[30:])] * min(size // 10, 20_000)) + b"],"


MUTATIONS: dict[str, tuple[int, Mutation]] = {
    "flip": (12, flip),
    "cut": (10, cut),
    "repeat": (6, repeat),
    "noise": (10, noise),
    "swap_value": (24, swap_value),
    "swap_name": (10, swap_name),
    "add_field": (16, add_field),
    "nest": (3, nest),
    "grow": (2, grow),
}
"""Name -> (weight, what it does to a line, in place)."""


def base_lines(folder: Path, seed: int) -> list[bytes]:
    """Good lines of every kind: what `sample_data` makes, records as lines, events with free text and odd fields."""
    folder.mkdir()
    made: list[bytes] = []
    for scenario, events in (("support-squad", 3_000), ("workbench", 2_000)):
        path = folder / f"{scenario}.jsonl"
        generate(events, seed, path, scenario=scenario)
        made += path.read_bytes().splitlines()
    entry = {"path": "r-2026-06-03.md", "mtime": "2026-06-03T10:00:00Z", "text": record()}
    odd = [
        line("odd", reason="written by jane@example.com", x={"y": [1, None, {"z": 1.5}]}),
        line("odd2", customer_ref="customer:7f3a9c21", note="+49 170 1234567"),
        json.dumps({**entry, "decision_id": "D", "kind": "decision.record"}).encode(),
        json.dumps(entry).encode(),
    ]
    return [found for found in made if found] + odd * 40


def mutated(base: list[bytes], count: int, seed: int) -> Iterator[bytes]:
    """`count` lines, most of them broken; one with a newline inside is several when it is read."""
    chance = random.Random(seed)
    weights = [weight for weight, _ in MUTATIONS.values()]
    ways = [mutation for _, mutation in MUTATIONS.values()]
    for number in range(count):
        broken = bytearray(chance.choice(base))
        if chance.random() < 0.7:  # an identity of its own, or nearly all would be duplicates and conflicts
            broken = bytearray(re.sub(rb'"event_id":"[^"]*"', b'"event_id":"m%d"' % number, broken, count=1))
        if chance.random() < 0.04:
            other = chance.choice(base)
            broken[chance.randrange(len(broken) + 1) :] = other[chance.randrange(len(other) + 1) :]
        for way in chance.choices(ways, weights, k=chance.choice((0, 1, 1, 1, 1, 2, 3))):
            way(broken, chance)
        yield bytes(broken)


RECORD_PIECES = [
    "\t", "  ", ": ", "- ", '"', "'", "[", "}", "&a ", "*a", "# ", "\n", "\r", "|\n", ">-\n", "? ",
    "!!python/object:os.system ",
    "jane@example.com", "\x01", "\x00", "\u2028", "\ufeff", "---\n", "...\n", "<<: *a\n", "%YAML 9\n", "```\n",
    "~~~yaml\n",
    "9" * 5_000, "1e999", ".inf", "\U0001f600", "[" * 300, "{a: " * 60, "- " * 200, "a: \n " * 50, "\x85", "sla:\n",
    "@", "`",
]  # fmt: skip


def mutated_record(number: int, chance: random.Random) -> bytes:
    """The content of a record file, broken in up to four places; sometimes no UTF-8."""
    text = record(f"DR-{number}").replace(
        "sla:", "actions_attempted:\n- {action: refund, executed: yes}\nnotes: >\n  hm\nsla:"
    )
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice([*RECORD_PIECES, ""]) + text[at + chance.choice((0, 0, 1, 8, 60)) :]
    content = bytearray(text.encode())
    if chance.random() < 0.1:
        flip(content, chance)
    return bytes(content)
