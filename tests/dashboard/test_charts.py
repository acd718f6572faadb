"""Where the axis of the success rates starts: one lonely call must not press all the others into a corner."""

from __future__ import annotations

import polars as pl
import pytest

from dashboard.charts import is_cut, success_start
from dashboard.numbers import wilson


def _frame(*tools: tuple[int, int]) -> pl.DataFrame:
    """One row for each (calls that succeeded, calls)."""
    rows = pl.DataFrame(tools, schema={"success": pl.Int64, "total": pl.Int64}, orient="row")
    return wilson(rows, "success", "total")


@pytest.mark.parametrize(
    ("tools", "start", "cut"),
    [
        # 92 of 100: 85.0 to 95.9 %. One of one: 20.7 to 100 %, which is not drawn to its end.
        (((92, 100), (1, 1)), 0.85, True),
        # Alone it is all there is.
        (((1, 1),), 0.2, False),
        # Its point stays on the chart: 1 of 2 is 50 %, and the interval goes from 9.5 to 90.5 %.
        (((92, 100), (1, 2)), 0.5, True),
        (((92, 100),), 0.85, False),
        # 30 of 30 is not few: 88.6 to 100 %.
        (((92, 100), (30, 30)), 0.85, False),
        # 100,000 of 100,000: 99.996 to 100 %, which would leave no axis at all.
        (((100_000, 100_000),), 0.95, False),
    ],
)
def test_the_axis_starts_where_the_tools_with_many_calls_need_it(
    tools: tuple[tuple[int, int], ...], start: float, cut: bool
) -> None:
    frame = _frame(*tools)
    assert success_start(frame) == pytest.approx(start)
    assert is_cut(frame) is cut
