"""Streams in which a validator first learns how producers write, and then gets what nobody should write.

A stream is a sequence of calls, a call a few batches. Rounds follow each other: a producer with a hand of its own sends
valid lines of some kinds; then come mutants of these lines among valid ones; now and then lines of an older round.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.dialects import DECISION_RECORD
from ingest.lines import Line, OverLong
from ingest.validate import Batch
from schemas.events import KINDS
from tests.faults.mutations import mutated_record
from tests.ingest.columnar.hands import Style, style
from tests.ingest.columnar.producers import event_line
from tests.support.mutation_base import Base, base_of
from tests.support.mutations import mutant

LEARNING, MUTANTS, FRESH = 300, 1_200, 40
"""Lines of the learning batch, of each batch of mutants, and lines of it that are newly made, in each call."""

CALLS, BATCHES = 2, 2
"""Calls with mutants in a round, and batches in each."""

ROUND = LEARNING + CALLS * BATCHES * MUTANTS
"""Lines of a round, without its few decision records."""

RECORDS = 12
ODD: tuple[Line, ...] = (
    b"", b" ", b"\t\r", b"\x0b", b"\x0c ", b"\r", b"\n", b"null", b"[]", b"{}", b'""', b"0", b"-", b"{", b"}",
    b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b'{"kind":null}', b'{"kind":1}', b'{"kind":"tool"}', b'{"kind":"xenia.other"}',
    b'{"resourceSpans":[]}', b'{"specversion":"1.0","type":"a"}', b'{"type":"user","uuid":"u"}', b"[1,2", b"NaN",
    b"// x",
    b'{"kind":"tool.invocation"}{"kind":"tool.invocation"}', b'{"kind":"tool.invocation",}',
    b"{'kind':'tool.invocation'}",
    OverLong(2_000_000, "0" * 64), OverLong(1_048_577, "f" * 64),
)  # fmt: skip


@dataclass(slots=True)
class Call:
    """What a validator is given at once. `seed` and `place` say where in which stream it stands.

    `learning`: valid lines of a producer that was not there before; `plain`: its hand is as plain as most are.
    """

    seed: int
    place: str
    batches: list[Batch]
    learning: bool = False
    plain: bool = False


@dataclass(slots=True)
class _Producer:
    hand: Style
    kinds: list[str]
    lines: list[bytes] = field(default_factory=list)
    bases: list[Base] = field(default_factory=list)

    def fresh(self, chance: random.Random, count: int) -> list[bytes]:
        """So many new valid lines; one in ten with every field."""
        return [event_line(chance.choice(self.kinds), chance, self.hand, chance.random() < 0.1) for _ in range(count)]


def calls(seed: int, lines: int) -> Iterator[Call]:
    """The calls of one stream, of about so many lines; the same for ever for the same seed."""
    chance = random.Random(seed)
    older: list[_Producer] = []
    kinds = [*KINDS, "decision.record"]  # which has as many fields as three others
    seq = chance.choice((1, 1, 0, 2**40))
    told = number = 0
    while told < lines:
        if not number % 5:  # so that each kind comes in every five rounds, in company that changes
            chance.shuffle(kinds)
        producer = _Producer(style(chance, odd_ones=number % 2 == 1), kinds[number % 5 :: 5])
        for step, call in enumerate(_round(producer, older[-3:], chance)):
            batches = []
            for batch in call:
                batches.append(batch._replace(first_seq=seq))
                seq += len(batch.lines)
                told += len(batch.lines)
            yield Call(seed, f"round {number}, call {step}", batches, step == 0, producer.hand.plain)
        older.append(producer)
        number += 1


def _round(producer: _Producer, older: list[_Producer], chance: random.Random) -> Iterator[list[Batch]]:
    dialect = _dialect(producer, chance)
    full = [event_line(kind, chance, producer.hand, full=True) for kind in producer.kinds for _ in range(4)]
    producer.lines = full + producer.fresh(chance, LEARNING - len(full))
    producer.bases = [base_of(line) for line in producer.lines]
    yield [Batch(list(producer.lines), 0, dialect)]
    for _ in range(CALLS):
        batches = [Batch(_mixed(producer, older, chance), 0, dialect) for _ in range(BATCHES)]
        if chance.random() < 0.2:
            batches.insert(chance.randrange(3), Batch(records(chance), 0, DECISION_RECORD))
        if chance.random() < 0.2:  # events, but not in the dialect that was asked for
            odd = "xenia" if dialect == "native" else "native"
            batches.append(Batch(producer.fresh(chance, 20), 0, odd))
        if chance.random() < 0.1:
            batches.insert(0, Batch([], 0, dialect))
        yield batches


def _dialect(producer: _Producer, chance: random.Random) -> str:
    xenia = {kind.startswith("xenia.") for kind in producer.kinds}
    if len(xenia) == 1 and chance.random() < 0.4:
        return "xenia" if True in xenia else "native"
    return "auto" if chance.random() < 0.95 else "xenia"


def _mixed(producer: _Producer, older: list[_Producer], chance: random.Random) -> list[Line]:
    lines: list[Line] = list(producer.fresh(chance, FRESH))
    for _ in range(MUTANTS - FRESH):
        draw = chance.random()
        if draw < 0.25:
            lines.append(chance.choice(producer.lines))
        elif draw < 0.97:
            lines.append(mutant(chance.choice(producer.bases), producer.bases, chance))
        elif draw < 0.99 and older:
            lines.append(chance.choice(chance.choice(older).lines))
        else:
            lines.append(chance.choice(ODD))
    chance.shuffle(lines)
    return lines


def records(chance: random.Random) -> list[Line]:
    """Decision records as their reader hands them on; some are broken, some no records at all."""
    unread = b'{"path":"a.md","invalid":"byte 3 is not valid UTF-8"}'
    lines: list[Line] = [b"", b"{}", b"[]", unread, OverLong(2_000_000, "0" * 64)]
    for number in range(RECORDS):
        text = mutated_record(number, chance).decode("utf-8", "replace")
        lines.append(json.dumps({"path": "r-2026-06-03.md", "mtime": "2026-06-03T10:00:00Z", "text": text}).encode())
    hand = style(chance)
    return lines + [event_line("decision.record", chance, hand) for _ in range(3)]
