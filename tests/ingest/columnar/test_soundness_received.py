"""The columnar validator against the event models on lines from a source: also the same redactions.

A file of its own, so that two processes share the work. More in `test_soundness.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ingest.columnar.soundness import Tally, check, receiving, seeds


@pytest.fixture(scope="module")
def total() -> Iterator[Tally]:
    """What all streams together were made of."""
    tally = Tally()
    yield tally
    print(f"\nreceived: {tally}")  # noqa: T201


@pytest.mark.parametrize("seed", seeds(first=101, shards=4, of_all=10))
def test_lines_from_a_source(seed: int, total: Tally) -> None:
    check(seed, receiving, total)
