"""The frame around every page: the snapshot, the state of the address, the title line, and the sentence when there is
nothing to draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

import duckdb
import polars as pl
import streamlit as st

from dashboard import address, freshness, source, states
from dashboard.errors import NoSnapshotError, UnreadableError
from dashboard.queries import overview
from dashboard.queries.base import Scope
from dashboard.snapshot import Snapshot, first_line
from dashboard.view import View

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page draws from."""

    snapshot: Snapshot
    about: Mapping[str, Any]
    """The row of the snapshot's `about`."""
    view: View
    scope: Scope

    def ask(
        self,
        query: Callable[Concatenate[duckdb.DuckDBPyConnection, P], pl.DataFrame],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> pl.DataFrame:
        """The frame of a query; the same question on the same snapshot is not asked twice. Raises duckdb.Error."""
        name = f"{query.__module__}.{query.__qualname__}"
        if "<" in name:
            raise ValueError(f"{name} has no name of its own to keep its frame under: ask with a function of a module")
        return _asked(self.snapshot.identity, name, args, tuple(sorted(kwargs.items())), query, self.snapshot.con)

    def one(
        self,
        query: Callable[Concatenate[duckdb.DuckDBPyConnection, P], pl.DataFrame],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> dict[str, Any]:
        """The only row of a query by column."""
        return self.ask(query, *args, **kwargs).row(0, named=True)


@st.cache_data(max_entries=512, show_spinner=False)
def _asked(
    identity: str,
    name: str,
    args: tuple[Any, ...],
    kwargs: tuple[tuple[str, Any], ...],
    _query: Callable[..., pl.DataFrame],
    _con: duckdb.DuckDBPyConnection,
) -> pl.DataFrame:
    del identity, name  # only keys of the cache: a published file never changes
    return _query(_con, *args, **dict(kwargs))


Draw = Callable[[Page], None]


def framed(draw: Draw, filters: Sequence[str]) -> Callable[[], None]:
    """What `st.Page` runs: `draw`, or the sentence for the state in which there is nothing to draw.

    `filters` are those that the page has, by their names in the address (`view.FIELDS`).
    """

    def run() -> None:
        snapshots = source.snapshots()
        view = address.current()
        try:
            snapshot = snapshots.current()
            about = _asked(snapshot.identity, "about", (), (), overview.about, snapshot.con).row(0, named=True)
            address.mark(about["snapshot"])
            draw(Page(snapshot, about, view, view.scope(about, filters)))
        except NoSnapshotError as error:
            states.no_snapshot(error)
            freshness.show(None, None)
        except UnreadableError as error:
            states.unreadable(error)
            freshness.show(None, snapshots.identity())
        except duckdb.Error as error:
            snapshots.forget()
            states.unreadable(UnreadableError(first_line(error)))
            freshness.show(None, snapshots.identity())

    return run


def head(page: Page, title: str) -> None:
    """The title of the page and how fresh it is; it comes first."""
    with st.container(key="headline"):
        st.title(title, anchor=False)
        freshness.show(page.about, page.snapshot.identity)
    address.note(page.about["snapshot"])
    if page.about["events"] == 0:
        states.no_events()
