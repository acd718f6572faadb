"""The DuckDB store `<data>/work.duckdb`: what the ledger says, as tables. One chunk is one transaction.

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
import polars as pl

from ingest.accounting import Accounting
from ingest.errors import DiskError, IngestError, LockedError, StoreError, disk_error
from ingest.ledger import rows
from ingest.ledger.segments import Location, Stored, fsync_path
from ingest.ledger.tables import SOURCES, STORE_VERSION, create_tables, layout
from ingest.lines import Position
from ingest.validate import Validated

READABLE_SINCE = "v1.2.0"
"""The oldest DuckDB that can read the file, and so the snapshots that are copies of it: analysts keep their clients."""

_REBUILD = "make it again with `gatewatch rebuild`"
_OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_NO_ROOM = ("no space left", "disk quota", "could not write", "out of disk", "exceeds available")
_FORBIDDEN = ("permission denied", "read-only file system", "operation not permitted")


@dataclass(frozen=True, slots=True)
class StoreEnd:
    """The last chunk that the store has: its place and leaf hash in the ledger, and the next line's number."""

    location: Location
    leaf: str
    next_seq: int


def store_error(error: duckdb.Error, path: Path) -> IngestError:
    """The one of our errors that says in one line what a DuckDB error about the store means."""
    told = str(error).splitlines()[0] if str(error) else type(error).__name__
    low = told.lower()
    if "could not set lock" in low:
        return LockedError(f"{path} is open in another program: close it, then run again ({told[:200]})")
    if any(sign in low for sign in _NO_ROOM):
        return DiskError(f"no space left while writing {path}: free some space, then run again")
    if any(sign in low for sign in _FORBIDDEN):
        return DiskError(f"{path} cannot be written: make it writable or choose another --data directory")
    return StoreError(f"{path} cannot be used ({told[:200]}): {_REBUILD}")


def _create(path: Path, at: Callable[[str], None]) -> None:
    """A new database with empty tables, there as a whole or not at all."""
    unfinished = path.with_name(path.name + ".new")
    remove_database(unfinished)
    try:
        with duckdb.connect(
            str(unfinished), config={**_OFFLINE, "storage_compatibility_version": READABLE_SINCE}
        ) as connection:
            connection.execute("BEGIN")
            for statement in create_tables():
                connection.execute(statement)
            facts = [str(STORE_VERSION), layout()]
            connection.execute("INSERT INTO meta VALUES ('version', ?), ('layout', ?)", facts)
            at("store.create")
            connection.execute("COMMIT")
            connection.execute("CHECKPOINT")  # closing would write it too, but keep a full disk to itself
    except duckdb.Error as error:
        with suppress(DiskError):
            remove_database(unfinished)
        raise store_error(error, path) from None
    replace_database(unfinished, path, at)


def remove_database(path: Path) -> None:
    """Remove a database file and its write-ahead log, if they are there. Raises DiskError."""
    try:
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".wal").unlink(missing_ok=True)
    except OSError as error:
        raise disk_error(error, path) from None


def replace_database(fresh: Path, path: Path, at: Callable[[str], None]) -> None:
    """Put a closed database in the place of another, or of none. Raises DiskError."""
    # The old write-ahead log must go first: DuckDB would replay it into the new file. Without it the old file is
    # merely behind the ledger, which the next start makes good.
    try:
        path.with_name(path.name + ".wal").unlink(missing_ok=True)
        at("store.replace")
        fresh.replace(path)
        at("store.replaced")
        fsync_path(path.parent)
    except OSError as error:
        raise disk_error(error, path) from None


def check_version(connection: duckdb.DuckDBPyConnection, path: Path, database: str = "main") -> None:
    """Raise StoreError when a database, open here or attached under a name, is not of this version's layout."""
    query = f'SELECT key, value FROM "{database}".meta'  # noqa: S608 - the name is our own
    found = dict(connection.execute(query).fetchall())
    version = int(found.get("version", "0"))
    if version > STORE_VERSION:
        raise StoreError(f"{path} was made by a newer gatewatch (store version {version}): update gatewatch")
    if version < STORE_VERSION or found.get("layout") != layout():
        raise StoreError(f"{path} was made by another version of gatewatch: {_REBUILD}")


class Store:
    """The open database. `connection` is for the layers above, which read and add tables of their own."""

    def __init__(self, path: Path, at: Callable[[str], None] = lambda point: None) -> None:
        """Open the store, or make a new one. Raises StoreError, DiskError or LockedError."""
        self.path = path
        self._at = at
        if not path.exists():
            _create(path, at)
        try:
            self.connection = duckdb.connect(str(path), config=_OFFLINE)
        except duckdb.Error as error:
            raise store_error(error, path) from None
        try:
            self.connection.execute("SET TimeZone = 'UTC'")
            # At DuckDB's 16 MB every other chunk would rewrite the last row group: half of the time of loading.
            self.connection.execute("SET wal_autocheckpoint = '128MB'")
            check_version(self.connection, path)
        except duckdb.Error as error:
            self.connection.close()
            raise store_error(error, path) from None
        except BaseException:
            self.connection.close()
            raise

    def end(self) -> StoreEnd | None:
        """The last chunk in the store; None when there is none."""
        row = self._one(
            "SELECT segment, segment_offset, bytes, leaf_hash, first_seq + lines AS next_seq "
            "FROM batches ORDER BY batch_id DESC LIMIT 1"
        )
        return None if row is None else StoreEnd(Location(row[0], row[1], row[2]), row[3], row[4])

    def segment_ends(self) -> dict[int, int]:
        """How many bytes of each ledger segment the store knows."""
        query = "SELECT segment, max(segment_offset + bytes) FROM batches GROUP BY segment ORDER BY segment"
        return dict(self.connection.execute(query).fetchall())

    def position(self, key: str) -> Position | None:
        """The position stored under a key."""
        row = self._one("SELECT position FROM positions WHERE key = ?", key)
        return None if row is None else json.loads(row[0])

    def positions(self, prefix: str) -> dict[str, Position]:
        """Every position whose key begins with `prefix`, by the rest of its key."""
        query = "SELECT key, position FROM positions WHERE starts_with(key, ?)"
        found = self.connection.execute(query, [prefix]).fetchall()
        return {key.removeprefix(prefix): json.loads(position) for key, position in found}

    def _one(self, query: str, *parameters: object) -> Any:
        # Not fetchone: it leaves a result open, which keeps the connection from starting a transaction.
        found = self.connection.execute(query, list(parameters)).fetchall()
        return found[0] if found else None

    def apply(self, stored: Stored, validated: Validated) -> Accounting:
        """Bring one chunk into the tables, all of it or nothing. Raises DiskError, StoreError.

        Of lines with one event id the first in ledger order stays; another with the same content is a duplicate, with
        other content it is quarantined as `event_conflict`.
        """
        try:
            return self._apply(stored, validated)
        except duckdb.Error as error:
            with suppress(duckdb.Error):  # there may be no transaction left to undo
                self.connection.execute("ROLLBACK")
            raise store_error(error, self.path) from None

    def _apply(self, stored: Stored, validated: Validated) -> Accounting:
        chunk = stored.chunk
        before = self._source(chunk.source.name)
        sorted_out = rows.sort_out(validated, chunk, self._known(validated.accepted), before.get("floor_ts"))
        last = self._one("SELECT coalesce(max(batch_id), 0), coalesce(max(first_seq + lines), 1) FROM batches")
        if last[1] != chunk.seq:
            raise StoreError(f"{self.path} ends before line {last[1]}, but line {chunk.seq} comes next: {_REBUILD}")
        inserts = {
            "events": sorted_out.events,
            "quarantine": sorted_out.quarantine,
            "batches": rows.batch_row(stored, last[0] + 1, sorted_out.accounting),
            "sources": rows.source_row(chunk, sorted_out, before),
            "positions": rows.position_rows(chunk),
        }
        run = self.connection.execute
        for table, frame in inserts.items():
            self.connection.register(f"new_{table}", frame)
        try:
            self._at("store.begin")
            run("BEGIN")
            run("DELETE FROM sources WHERE source = ?", [chunk.source.name])
            if chunk.positions:
                run("DELETE FROM positions WHERE key IN (SELECT key FROM new_positions)")
            for table, frame in inserts.items():
                if frame.height:
                    run(f'INSERT INTO "{table}" SELECT * FROM "new_{table}"')  # noqa: S608 - our own tables
            self._at("store.commit")
            run("COMMIT")
            self._at("store.committed")
        finally:
            self._forget(*(f"new_{table}" for table in inserts))
        return sorted_out.accounting

    def _source(self, name: str) -> dict[str, Any]:
        """The row of `sources` by column; empty when nothing came from there yet."""
        row = self._one("SELECT * FROM sources WHERE source = ?", name)
        return {} if row is None else dict(zip((column.name for column in SOURCES), row, strict=True))

    def _known(self, accepted: pl.DataFrame) -> dict[str, tuple[str, int]]:
        """(content hash, ledger number) of the events that are there already, by event id."""
        if accepted.is_empty():
            return {}
        self.connection.register("new_ids", accepted.select("event_id"))
        try:
            query = "SELECT event_id, content_sha256, seq FROM events SEMI JOIN new_ids USING (event_id)"
            return {event_id: (content, seq) for event_id, content, seq in self.connection.execute(query).fetchall()}
        finally:
            self._forget("new_ids")

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
        with suppress(duckdb.Error):  # a connection that failed before has said so then
            self.connection.close()
