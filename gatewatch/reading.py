"""Opening the published snapshot as any reader would: resolve the link first, read-only, sandboxed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from gatewatch.errors import InputError, OperationError

_LINK = "gatewatch.duckdb"

_SANDBOX = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "2GB",  # whatever is asked, the machine goes on
    "lock_configuration": "true",
}


def snapshot_file(data: Path) -> Path:
    """The versioned file that the link of a data directory names now.

    DuckDB hands out the old database when a path is opened again in a process, so nobody may open the link itself.
    Raises InputError when there is no snapshot yet, OperationError when the link cannot be followed.
    """
    try:
        return (data / _LINK).resolve(strict=True)
    except FileNotFoundError:
        raise InputError(f"{data} holds no snapshot yet; run `gatewatch --data {data} ingest PATH` first") from None
    except OSError as error:
        raise _unreadable(data, error) from None


def _unreadable(data: Path, error: Exception) -> OperationError:
    first = str(error).splitlines()[0]
    return OperationError(f"the snapshot {data / _LINK} cannot be read ({first}); run `gatewatch rebuild`")


@contextlib.contextmanager
def snapshot(data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The newest snapshot of a data directory, opened read-only with external access off and the settings locked.

    Raises InputError when there is none yet, OperationError when it cannot be read.
    """
    file = snapshot_file(data)
    try:
        con = duckdb.connect(str(file), read_only=True, config=dict(_SANDBOX))
    except (duckdb.Error, OSError) as error:
        raise _unreadable(data, error) from None
    try:
        yield con
    finally:
        con.close()


def rows(con: duckdb.DuckDBPyConnection, query: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of a query, each by column; values only go in as `$parameters`."""
    result = con.execute(query, parameters)
    names = [column[0] for column in result.description or ()]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
