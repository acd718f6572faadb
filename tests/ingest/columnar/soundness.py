"""The differential test itself: a stream through the columnar validator and through the authority, compared."""

from __future__ import annotations

import os
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from itertools import islice
from typing import Protocol

from ingest.columnar import ColumnarValidator
from ingest.redact import Redacted
from ingest.validate import Batch, RowValidator, Validated
from tests.ingest.columnar.compare import Outcome, differing, parts, same, verdict_on
from tests.ingest.columnar.streams import Call, calls
from tests.support.mutation_base import base_of


class Judge(Protocol):
    """Both validators."""

    def validate_all(self, batches: list[Batch]) -> list[Validated]:
        """Verdicts on lines as they stand."""

    def receive_all(self, batches: list[Batch]) -> list[tuple[Redacted, Validated]]:
        """Verdicts on redacted lines."""


Way = Callable[[Judge, list[Batch]], list[Outcome]]
"""How a call is put to a validator."""
ROWS = RowValidator()


def validating(judge: Judge, batches: list[Batch]) -> list[Outcome]:
    """As lines of the ledger."""
    return [(validated, None) for validated in judge.validate_all(batches)]


def receiving(judge: Judge, batches: list[Batch]) -> list[Outcome]:
    """As lines from a source."""
    return [(validated, redacted) for redacted, validated in judge.receive_all(batches)]


@dataclass(slots=True)
class Tally:
    """What a stream was made of."""

    lines: int = 0
    accepted: int = 0
    blank: int = 0
    redacted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    fast: int = 0
    plain_accepted: int = 0
    plain_fast: int = 0

    def add(self, batch: Batch, outcome: Outcome) -> None:
        """Count one batch."""
        validated, redacted = outcome
        assert validated.accepted.height + len(validated.rejects) + validated.blank == len(batch.lines)
        self.lines += len(batch.lines)
        self.accepted += validated.accepted.height
        self.blank += validated.blank
        self.reasons.update(reject.reason for reject in validated.rejects)
        self.redacted += len(redacted.redactions) if redacted else 0

    def add_roads(self, call: Call, outcomes: list[Outcome], fast: int) -> None:
        """Count how many lines of a call took the fast road."""
        self.fast += fast
        if call.plain:
            self.plain_fast += fast
            self.plain_accepted += sum(validated.accepted.height for validated, _ in outcomes)

    def merge(self, other: Tally) -> None:
        """Count what another stream was made of as well."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        why = ", ".join(f"{reason} {count:,}" for reason, count in self.reasons.most_common())
        told = f"{self.lines:,} lines: accepted {self.accepted:,}, quarantined {self.reasons.total():,} ({why})"
        told += f", blank {self.blank:,}" + (f", redacted {self.redacted:,}" if self.redacted else "")
        share = self.plain_fast / max(self.plain_accepted, 1)
        return f"{told}; {self.fast:,} took the fast road, {share:.0%} of the accepted ones of plain producers"


def differences(
    fresh: Callable[[], Judge], judge: Judge, stream: Iterable[Call], way: Way, tally: Tally
) -> Iterator[str]:
    """One text for each call in which `judge` differs from the authority. `fresh` makes a judge that knows nothing."""
    learning: Call | None = None
    for call in stream:
        learning = call if call.learning else learning
        expected = way(ROWS, call.batches)
        before = getattr(judge, "fast", 0)
        try:
            found = way(judge, call.batches)
        except Exception:  # whatever it is, nothing may stop a validator
            yield f"seed {call.seed}, {call.place}: {traceback.format_exc(limit=-6)}"
            continue
        if len(found) != len(expected):
            yield f"seed {call.seed}, {call.place}: {len(found)} outcomes for {len(expected)} batches"
            continue
        tally.add_roads(call, expected, getattr(judge, "fast", 0) - before)
        for batch, right, got in zip(call.batches, expected, found, strict=True):
            tally.add(batch, right)
            if not same(right, got):
                yield _told(call, batch, right, got, way, lambda call=learning: _taught(fresh, call, way))


def _taught(fresh: Callable[[], Judge], learning: Call | None, way: Way) -> Judge:
    judge = fresh()
    if learning is not None:
        way(judge, learning.batches)
    return judge


def _told(call: Call, batch: Batch, right: Outcome, got: Outcome, way: Way, taught: Callable[[], Judge]) -> str:
    place = f"seed {call.seed}, {call.place}, dialect {batch.dialect}"
    seqs = differing(right, got, batch.first_seq, len(batch.lines))
    if not seqs:
        return f"{place}: the same rows and rejects, but not in the same order or with other columns or counts"
    texts = [f"{place}: {len(seqs)} lines differ"]
    for seq in seqs[:3]:
        line = batch.lines[seq - batch.first_seq]
        expected, found = verdict_on(seq, right, batch.first_seq), verdict_on(seq, got, batch.first_seq)
        texts.append(f"line {line!r}\n  expected {parts(expected, found)}\n  got      {parts(found, expected)}")
    first = batch.lines[seqs[0] - batch.first_seq]
    if isinstance(first, bytes):
        texts.append(f"smallest that still differs: {smallest(first, batch.dialect, way, taught())!r}")
    return "\n".join(texts)


def smallest(line: bytes, dialect: str, way: Way, judge: Judge, tries: int = 400) -> bytes | None:
    """The line with every member taken away without which a taught judge still errs; None: alone it is judged right."""

    def wrong(candidate: bytes) -> bool:
        batches = [Batch([candidate], 1, dialect)]
        return not all(same(*pair) for pair in zip(way(ROWS, batches), way(judge, batches), strict=True))

    if not wrong(line):
        return None
    shrunk = True
    while shrunk and tries > 0:
        shrunk = False
        for candidate in _smaller(line):
            tries -= 1
            if wrong(candidate):
                line, shrunk = candidate, True
                break
            if tries <= 0:
                break
    return line


def _smaller(line: bytes) -> Iterator[bytes]:
    """The line without one of its members, then with shorter texts."""
    try:
        base = base_of(line)
    except IndexError:  # brackets that do not match
        return
    for start, end in sorted(base.members, key=lambda span: span[0] - span[1]):
        rest = line[end:].lstrip(b" \t")
        if rest[:1] == b",":
            yield line[:start] + rest[1:].lstrip(b" \t")
        else:
            yield line[:start].rstrip(b" \t,") + rest
    for start, end in base.scalars:
        if end - start > 8:
            yield line[: start + 1] + line[start + 1 + (end - start) // 2 :]


FUZZ = int(os.environ.get("GATEWATCH_FUZZ", "0"))
"""How many lines are wanted besides the 200,000 of `make test`."""

SHARD = 20_000
"""Lines of one stream, before which a validator knows nothing."""


def seeds(first: int, shards: int, of_all: int) -> range:
    """The seeds of a file that has `shards` of the `of_all` streams of `make test`, or its part of what is wanted."""
    if not FUZZ:
        return range(first, first + shards)
    return range(first + 1_000, first + 1_000 + -(-FUZZ * shards // (of_all * SHARD)))


def validator() -> ColumnarValidator:
    """One that takes the fast road also for the few lines of a kind that a call of ours has."""
    return ColumnarValidator(least=1)


def check(seed: int, way: Way, total: Tally) -> None:
    """Put one stream to a new validator. Raises AssertionError with what differs, and when it took the wrong road."""
    tally = Tally()
    judge = validator()
    found = list(islice(differences(validator, judge, calls(seed, SHARD), way, tally), 3))
    total.merge(tally)
    assert not found, "\n\n".join(found)
    assert judge.fast + judge.slow == tally.lines >= SHARD
    # Else nothing was compared but the authority with itself.
    assert tally.plain_fast > LEAST_FAST * tally.plain_accepted > 0, str(tally)


LEAST_FAST = 0.2
"""The least part of the accepted lines of plain producers, mutants among them, that has to take the fast road."""
