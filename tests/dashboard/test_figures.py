"""Every number opens to the rows behind it, and there are as many of them as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.app_pages import gates, kpis, overview, quality, reconciliation, runs, tools
from dashboard.figures import Figure
from dashboard.queries import choices
from dashboard.queries import overview as queries
from dashboard.queries.base import Scope
from dashboard.snapshot import Snapshots
from dashboard.view import PERIODS, View

PAGES = (overview, gates, reconciliation, tools, kpis, runs, quality)
FIGURES = [(module, figure) for module in PAGES for figure in module.FIGURES]


@pytest.mark.parametrize(
    ("module", "figure"),
    FIGURES,
    ids=[f"{module.__name__.rsplit('.', 1)[1]}: {figure.key}" for module, figure in FIGURES],
)
def test_a_number_is_the_count_of_its_rows(module: object, figure: Figure, demo: Path) -> None:
    con = Snapshots(demo).current().con
    about = queries.about(con).row(0, named=True)
    known = choices.choices(con)
    counted = 0
    for scope in _scopes(about, module.FILTERS, known):  # type: ignore[attr-defined]
        rows = figure.rows(con, scope, 1_000_000)
        assert figure.number(con, scope) == rows.height, scope
        assert rows.height == 0 or set(rows["matching"]) == {rows.height}
        few = figure.rows(con, scope, 2)
        assert few.rows() == rows.rows()[:2], "a limit cuts the same rows off"
        counted += rows.height
    assert counted, "the demo has none of it, so nothing was shown"


def _scopes(about: dict[str, object], filters: tuple[str, ...], known: object) -> list[Scope]:
    """Every period, and with each filter of the page one value at a time."""
    found = [View(period=period).scope(about, filters) for period in PERIODS]
    for name in filters:
        values = known.filter(known["field"] == name)["value"].to_list()  # type: ignore[attr-defined, index]
        found += [View(period="all").with_filter(name, [value]).scope(about, filters) for value in values[:3]]
        found += [View(period="30d").with_filter(name, values[-1:]).scope(about, filters)]
    return found


def test_keys_are_unique() -> None:
    keys = [figure.key for _, figure in FIGURES]
    assert len(keys) == len(set(keys))
