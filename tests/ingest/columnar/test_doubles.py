"""Every hole that a validator is known to be able to have is found by the test, well within its seeded lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests.ingest.columnar.compare import Outcome, same
from tests.ingest.columnar.soundness import ROWS, Judge, validating
from tests.ingest.columnar.streams import Call, calls
from tests.ingest.columnar.unsound import LAX, WRONG, ReadNdjson, Unsound

SEED, BUDGET = 1, 200_000
_STREAM: Iterator[Call] = calls(SEED, BUDGET)


@cache
def judged(number: int) -> tuple[Call, list[Outcome]] | None:
    """The call of this number in the stream, with the right verdicts; None after the last."""
    call = next(_STREAM, None)
    return (call, validating(ROWS, call.batches)) if call is not None else None


def caught_after(judge: Judge) -> int | None:
    """How many calls it took to find out; None: it was not found out."""
    number = 0
    while (known := judged(number)) is not None:
        call, right = known
        if not all(same(*pair) for pair in zip(right, validating(judge, call.batches), strict=True)):
            return number
        number += 1
    return None


CASES: dict[str, Callable[[], Judge]] = {
    **{name: lambda hole=hole: Unsound(hole, lax=True) for name, hole in LAX.items()},
    **{name: lambda hole=hole: Unsound(hole, lax=False) for name, hole in WRONG.items()},
    "polars.read_ndjson alone": ReadNdjson,
}


@pytest.mark.parametrize("name", CASES)
def test_a_hole_is_found(name: str) -> None:
    assert caught_after(CASES[name]()) is not None
