"""The columnar validator against the event models on lines of the ledger: the same verdicts and values, to the bit.

`make fuzz` does the same with 1,800,000 further lines (GATEWATCH_FUZZ) and prints what they were made of.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ingest.columnar.soundness import Tally, check, seeds, validating


@pytest.fixture(scope="module")
def total() -> Iterator[Tally]:
    """What all streams together were made of."""
    tally = Tally()
    yield tally
    print(f"\nvalidated: {tally}")  # noqa: T201


@pytest.mark.parametrize("seed", seeds(first=1, shards=6, of_all=10))
def test_lines_of_the_ledger(seed: int, total: Tally) -> None:
    check(seed, validating, total)
