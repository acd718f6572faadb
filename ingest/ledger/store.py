"""The DuckDB store `<data>/work.duckdb`: what the ledger says, as tables. One commit is one transaction.

No PRIMARY KEY and no unique index: an event id that is there already is found by an exact join. The file can be
deleted at any time; `ingest.pipeline.rebuild` makes it again from the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb

from ingest.accounting import Accounting
from ingest.errors import StoreError
from ingest.ledger.chunks import Place
from ingest.ledger.database import (
    REBUILD,
    ROW_GROUP_ROWS,
    attach,
    check_version,
    create_database,
    open_database,
    store_error,
)
from ingest.ledger.deliveries import SourceRow
from ingest.ledger.known import KnownEvents
from ingest.ledger.rows import FIRST, accepted_of, rows_of
from ingest.ledger.segments import Location, Stored
from ingest.ledger.tables import SOURCES
from ingest.lines import Position, Source
from ingest.parts import in_parts
from ingest.validate import Validated

PART_ROWS = ROW_GROUP_ROWS
"""Parts are inserted side by side. Of one and a half row groups each, what is over has to be put together again, which
takes half as long again."""

REATTACH_EVENTS = 500_000
"""After so many events the database is closed and opened again, which takes a hundredth of the time of their insert:
DuckDB keeps every block that it wrote in memory, and 350 kB of what it knows about each row group besides."""


@dataclass(frozen=True, slots=True)
class StoreEnd:
    """The last chunk that the store has, by its location and leaf hash (hex), and where the ledger goes on after it."""

    location: Location
    leaf: str
    place: Place


class Store:
    """The open database. `connection` is for the layers above, which read and add tables of their own."""

    def __init__(self, path: Path, at: Callable[[str], None] = lambda point: None) -> None:
        """Open the store, or make a new one. Raises StoreError, DiskError or LockedError."""
        self.path = path
        self._at = at
        if not path.exists():
            create_database(path, at)
        try:
            self.connection = open_database(path)
        except duckdb.Error as error:
            raise store_error(error, path) from None
        try:
            self.connection.execute("SET TimeZone = 'UTC'")
            # At DuckDB's 16 MB every other chunk would rewrite the last row group: half of the time of loading.
            self.connection.execute("SET wal_autocheckpoint = '128MB'")
            check_version(self.connection, path)
            self._known = KnownEvents(self.connection, path.parent)
            self._written = 0
        except duckdb.Error as error:
            self.connection.close()
            raise store_error(error, path) from None
        except BaseException:
            self.connection.close()
            raise

    def end(self) -> StoreEnd | None:
        """The last chunk in the store; None when there is none."""
        row = self._one(
            "SELECT segment, segment_offset, bytes, leaf_hash, batch_id, first_seq + lines AS next_seq "
            "FROM batches ORDER BY batch_id DESC LIMIT 1"
        )
        return None if row is None else StoreEnd(Location(row[0], row[1], row[2]), row[3], Place(row[4], row[5]))

    def leaves(self, since: int = 0) -> list[str]:
        """The leaf hashes (hex) of the chunks from number `since` (from 0) on, in the ledger's order."""
        query = "SELECT leaf_hash FROM batches WHERE batch_id > ? ORDER BY batch_id"
        return [leaf for (leaf,) in self.rows(query, since)]

    def segment_ends(self) -> dict[int, int]:
        """How many bytes of each ledger segment the store knows."""
        query = "SELECT segment, max(segment_offset + bytes) FROM batches GROUP BY segment ORDER BY segment"
        return dict(self.rows(query))

    def position(self, key: str) -> Position | None:
        """The position stored under a key."""
        row = self._one("SELECT position FROM positions WHERE key = ?", key)
        return None if row is None else json.loads(row[0])

    def positions(self, prefix: str) -> dict[str, Position]:
        """Every position whose key begins with `prefix`, by the rest of its key."""
        query = "SELECT key, position FROM positions WHERE starts_with(key, ?)"
        return {key.removeprefix(prefix): json.loads(position) for key, position in self.rows(query, prefix)}

    def rows(self, query: str, *parameters: object) -> list[Any]:
        """The rows of a query. Raises StoreError, DiskError: a damaged block may be met only when it is read."""
        try:
            return self.connection.execute(query, list(parameters)).fetchall()
        except duckdb.Error as error:
            raise store_error(error, self.path) from None

    def _one(self, query: str, *parameters: object) -> Any:
        # Not fetchone: it leaves a result open, which keeps the connection from starting a transaction.
        found = self.rows(query, *parameters)
        return found[0] if found else None

    def apply(self, commit: Sequence[tuple[Stored, Validated]]) -> Accounting:
        """Bring chunks, in ledger order, into the tables: all of it or nothing. Raises DiskError, StoreError.

        Of lines with one event id the first in ledger order stays; another with the same content is a duplicate, with
        other content it is quarantined as `event_conflict`.
        """
        try:
            return self._apply(commit)
        except duckdb.Error as error:
            with suppress(duckdb.Error):  # there may be no transaction left to undo
                self.connection.execute("ROLLBACK")
            raise store_error(error, self.path) from None

    def _apply(self, commit: Sequence[tuple[Stored, Validated]]) -> Accounting:
        if self._written >= REATTACH_EVENTS:
            self._reattach()
        end = self.end()
        place = Place() if end is None else end.place
        first = commit[0][0].chunk
        if (first.leaf, first.seq) != (place.leaf, place.seq):
            raise StoreError(f"{self.path} ends before line {place.seq}, but line {first.seq} comes next: {REBUILD}")
        known = self._known.find(accepted_of(commit).select("event_id", "kind"))
        rows = rows_of(commit, known, self._sources({stored.chunk.source.name for stored, _ in commit}), place.leaf)
        run = self.connection.execute
        for table, frame in rows.tables.items():
            self.connection.register(f"new_{table}", in_parts(frame, PART_ROWS))
        try:
            self._at("store.begin")
            run("BEGIN")
            run("DELETE FROM sources WHERE source IN (SELECT source FROM new_sources)")
            if rows.tables["positions"].height:
                run("DELETE FROM positions WHERE key IN (SELECT key FROM new_positions)")
            for table, frame in rows.tables.items():
                if frame.height:
                    which = f'* EXCLUDE ("{FIRST}") FROM "new_{table}" WHERE "{FIRST}"'
                    which = which if FIRST in frame.columns else f'* FROM "new_{table}"'
                    run(f'INSERT INTO "{table}" SELECT {which}')
            self._at("store.commit")
            run("COMMIT")
            self._known.committed(rows.ids)
            self._at("store.committed")
        finally:
            self._forget(*(f"new_{table}" for table in rows.tables))
        self._written += rows.ids.height
        return rows.accounting

    def _reattach(self) -> None:
        """Have DuckDB forget what it remembers of everything that it wrote. Raises duckdb.Error."""
        self.connection.execute("CHECKPOINT")  # detaching does it too, but keeps a full disk to itself
        self.connection.execute("USE memory")
        self.connection.execute("DETACH work")
        attach(self.connection, self.path)
        self._written = 0

    def _sources(self, names: set[str]) -> dict[str, SourceRow]:
        """The rows of `sources` by name; those from which nothing came yet are left out."""
        found = self.connection.execute("SELECT * FROM sources WHERE source IN (SELECT unnest(?))", [sorted(names)])
        rows = [dict(zip((column.name for column in SOURCES), row, strict=True)) for row in found.fetchall()]
        return {row["source"]: row for row in rows}

    def newest_source(self) -> Source | None:
        """The source that was heard last; None when there is none."""
        row = self._one(
            "SELECT source, kind, path, dialect FROM sources ORDER BY last_received_at DESC, source LIMIT 1"
        )
        return None if row is None else Source(*row)

    def _forget(self, *frames: str) -> None:
        with suppress(duckdb.Error):  # after a fatal error nothing works any more, and that error is the one to tell
            for frame in frames:
                self.connection.unregister(frame)

    def keep_verification(self, verified_at: datetime, problems: Sequence[str]) -> None:
        """Add the outcome of a verification: when it ended (naive UTC) and what did not agree.

        The one fact here that is not from the ledger: a rebuild starts without any. Raises DiskError, StoreError.
        """
        row = [verified_at, not problems, list(problems)]
        try:
            self.connection.execute("INSERT INTO verifications VALUES (?, ?, ?)", row)
        except duckdb.Error as error:
            raise store_error(error, self.path) from None

    def checkpoint(self) -> None:
        """Write everything into the one file, so that it can take another's place. Raises DiskError, StoreError."""
        try:
            self.connection.execute("CHECKPOINT")
        except duckdb.Error as error:
            raise store_error(error, self.path) from None

    def close(self) -> None:
        """Close the file; what was committed is in it or in its write-ahead log."""
        self._known.forget()
        with suppress(duckdb.Error):  # a connection that failed before has said so then
            self.connection.close()
