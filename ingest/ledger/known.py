"""Which events of a commit have an id that is stored already, and the stored events themselves. Without an index.

An index would be as large as the ids and slow down every insert. Instead every commit is held against all stored ids
with one scan of a column; where that was done a few times, they are hashed into the filter of `ingest.ledger.ids`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb
import polars as pl

from ingest.canonical import content_columns
from ingest.ledger.ids import Hash, StoredIds, ranges_of

SCANS_BEFORE_FILTER = 3
"""To make the filter costs as much as so many scans of the ids. So whoever brings few lines to a long history does not
pay for it, and nobody pays more than twice what would have been best. A store that was empty has it for nothing."""

_READ_ROWS = 1 << 20
_MOST_RANGES = 32
"""With more of them a look at all ids is quicker than the test of so many conditions."""


class KnownEvents:
    """Looks up the stored events by id; `folder` is where a filter may keep files."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Path, hashed: Hash | None = None) -> None:
        self._connection = connection
        self._folder = folder
        self._hash = hashed
        self._ids: StoredIds | None = None
        self._scanned = 0

    def find(self, new: pl.DataFrame) -> pl.DataFrame | None:
        """The stored events whose ids are among those of `new`: `seq` and the `content_columns` of the kinds in `new`.

        None when there is no such event.
        """
        if new.is_empty():
            return None
        ((stored,),) = self._connection.execute("SELECT count(*) FROM events").fetchall()
        if self._ids is not None and self._ids.size != stored:
            self.forget()  # what was committed last was not counted in, or somebody else wrote
        try:
            return self._find(new, stored)
        except OSError:  # no space for the filter, or it cannot be read: it is only a shortcut
            self.forget()
            return self._stored(new, "")

    def _find(self, new: pl.DataFrame, stored: int) -> pl.DataFrame | None:
        if self._ids is None:
            if self._scanned < SCANS_BEFORE_FILTER * stored:
                self._scanned += stored
                return self._stored(new, "")
            self._ids = self._read_all()
        maybe, blocks = self._ids.candidates(new["event_id"])
        if not blocks:
            return None
        ranges = ranges_of(blocks)
        places = " OR ".join(f"seq BETWEEN {first} AND {last}" for first, last in ranges)
        return self._stored(new.filter(maybe), f"WHERE {places}" if len(ranges) <= _MOST_RANGES else "")

    def _read_all(self) -> StoredIds:
        ids = StoredIds(self._folder, self._hash)
        reader = self._connection.sql("SELECT event_id, seq FROM events").to_arrow_reader(_READ_ROWS)
        for batch in reader:
            frame = pl.DataFrame(pl.from_arrow(batch))
            ids.add(frame["event_id"], frame["seq"])
        return ids

    def _stored(self, new: pl.DataFrame, where: str) -> pl.DataFrame | None:
        """The stored events with these ids, of those that `where` leaves."""
        columns = ", ".join(f'"{name}"' for name in ("seq", *content_columns(new["kind"].unique())))
        self._connection.register("wanted_ids", new.select("event_id"))
        try:
            # By rowid, so that only the ids are read of what is not wanted.
            found = self._connection.sql(
                f"SELECT {columns} FROM events WHERE rowid IN "  # noqa: S608 - our own columns and numbers
                f"(SELECT rowid FROM events SEMI JOIN wanted_ids USING (event_id) {where})"
            ).to_arrow_table()
        finally:
            with suppress(duckdb.Error):  # after a fatal error, which is the one to tell
                self._connection.unregister("wanted_ids")
        return pl.DataFrame(pl.from_arrow(found)) if found.num_rows else None

    def committed(self, events: pl.DataFrame) -> None:
        """Count in events that are durably stored, and not before: a transaction that fails leaves no trace here."""
        if self._ids is not None:
            try:
                self._ids.add(events["event_id"], events["seq"])
            except OSError:
                self.forget()

    def forget(self) -> None:
        """Give up the filter; the next commits do without, or make it again."""
        if self._ids is not None:
            self._ids.close()
        self._ids = None
        self._scanned = 0
