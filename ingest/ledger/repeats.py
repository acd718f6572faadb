"""Lines of one commit whose event id was used before: duplicates, which are counted, and conflicts, which are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ingest.canonical import content_columns, same_content
from ingest.sentences import short


@dataclass(frozen=True, slots=True)
class Conflict:
    """The line `seq` of the ledger used an event id that the line `first` had used with other content."""

    seq: int
    event_id: str
    first: int

    @property
    def errors(self) -> str:
        """What is wrong with the line, for people."""
        return (
            f"event_id {short(self.event_id)} was used before, with other content, by line {self.first} of the ledger"
        )


def first_and_conflicts(
    accepted: pl.DataFrame, known: pl.DataFrame | None
) -> tuple[pl.Series | None, Sequence[Conflict]]:
    """Which events are the first with their ids (a mask; None: all), and the conflicts among the others, in ledger
    order, as `accepted` is.

    `known` are the stored events whose ids are among those of `accepted`, if there are any: `seq` and the
    `content_columns` of the kinds in `accepted` that share an id with them.
    """
    new = accepted["event_id"].is_first_distinct()
    if known is not None:
        new &= ~accepted["event_id"].is_in(known["event_id"].implode())
    if new.all():
        return None, ()
    columns = ["seq", *content_columns(accepted["kind"].filter(~new).unique())]
    repeats = accepted.select(columns).filter(~new)
    # By a mask in which few are true: anything else would copy all the others.
    used = accepted.select(columns).filter(new & accepted["event_id"].is_in(repeats["event_id"].implode()))
    if known is not None:
        # Columns that it lacks belong to kinds that only repeat inside the commit.
        used = pl.concat([used, known.select(name for name in columns if name in known.columns)], how="diagonal")
    # One id can be stored twice where somebody else wrote: the line that used it first counts.
    places = used.select("seq", "event_id").with_row_index("place").sort("seq").unique("event_id", keep="first")
    place = repeats.select("event_id").join(places, on="event_id", how="left", maintain_order="left")["place"]
    first = used[place]
    differing = ~same_content(repeats, first)
    found = repeats.select("seq", "event_id").with_columns(first=first["seq"]).filter(differing)
    return new, [Conflict(*row) for row in found.iter_rows()]
