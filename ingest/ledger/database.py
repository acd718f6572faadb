"""The file of the DuckDB store: made, opened, replaced and removed, and what DuckDB's errors about it mean."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import duckdb

from ingest.errors import DiskError, IngestError, LockedError, StoreError, disk_error
from ingest.ledger.files import fsync_path
from ingest.ledger.tables import STORE_VERSION, create_tables, layout

READABLE_SINCE = "v1.3.0"
"""The oldest DuckDB that can read the file, and so the snapshots that are copies of it: analysts keep their clients.
The layout of 1.2 takes half as long again to insert into: texts are compressed in two tries for it."""

ROW_GROUP_ROWS = 16_384
"""A large commit fills two or three: whole row groups are compressed and written while it is inserted, and
only what is left over is written again by the next checkpoint. DuckDB's own 122,880 would be rewritten each time. At
30,720, one and a half to a commit, a checkpoint moves all of them together to save one: as much work as loading."""

REBUILD = "make it again with `gatewatch rebuild`"
OFFLINE: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_NO_ROOM = ("no space left", "disk quota", "could not write", "out of disk", "exceeds available")
_FORBIDDEN = ("permission denied", "read-only file system", "operation not permitted")


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
    return StoreError(f"{path} cannot be used ({told[:200]}): {REBUILD}")


def create_database(path: Path, at: Callable[[str], None]) -> None:
    """A new database with empty tables, there as a whole or not at all."""
    unfinished = path.with_name(path.name + ".new")
    remove_database(unfinished)
    try:
        with duckdb.connect(
            str(unfinished), config={**OFFLINE, "storage_compatibility_version": READABLE_SINCE}
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


def open_database(path: Path) -> duckdb.DuckDBPyConnection:
    """A connection whose database is the file, under the name `work`. Raises duckdb.Error.

    Attached rather than opened, since only so the size of its row groups can be chosen. A cursor of this connection
    has to `USE work` for itself.
    """
    connection = duckdb.connect(config=OFFLINE)
    try:
        attach(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def attach(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Make the file the database `work` of a connection, the one that it uses. Raises duckdb.Error."""
    quoted = str(path).replace("'", "''")  # ATTACH takes no parameters
    connection.execute(f"ATTACH '{quoted}' AS work (ROW_GROUP_SIZE {ROW_GROUP_ROWS})")
    connection.execute("USE work")


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
    told = str(found.get("version"))
    version = int(told) if told.isdecimal() and len(told) < 10 else 0  # somebody may have put anything there
    if version > STORE_VERSION:
        newer = f"{path} was made by a newer gatewatch (store version {version})"
        raise StoreError(f"{newer}: update gatewatch, or {REBUILD}")
    if version < STORE_VERSION or found.get("layout") != layout():
        raise StoreError(f"{path} was made by another version of gatewatch: {REBUILD}")
