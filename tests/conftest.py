"""The order in which the test files begin, so that workers that each run whole files end together."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault
settings.load_profile("untimed")

HERE = Path(__file__).parent
LONGEST = (
    "ingest/columnar/test_doubles.py", "ingest/columnar/test_soundness.py",
    "ingest/columnar/test_soundness_received.py",
    "golden/test_golden.py", "gatewatch/test_verification.py", "laws/test_incremental.py", "laws/test_truth.py",
    "transforms/test_backtest.py", "e2e/test_overview.py", "gatewatch/test_tampering.py", "gatewatch/test_bad_input.py",
    "laws/test_sql_agrees.py", "laws/test_strategies.py", "laws/test_order_free.py", "transforms/test_time.py",
)  # fmt: skip
"""Files that take longer than half a minute, the longest first: one that began last would keep one core busy alone."""
FOLDERS_THAT_WAIT = ("faults",)
"""Folders whose tests wait for other processes more than they compute: begun early, they run beside the rest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the files that take longest to the front; the others stay as they were found."""

    def rank(item: pytest.Item) -> int:
        file = item.path.relative_to(HERE).as_posix()
        if file.split("/")[0] in FOLDERS_THAT_WAIT:
            return -1
        return LONGEST.index(file) if file in LONGEST else len(LONGEST)

    items.sort(key=rank)
