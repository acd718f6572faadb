"""Opening the published snapshot as any reader would: resolve the link first, read-only, sandboxed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import duckdb

from gatewatch.errors import InputError, OperationError

_SANDBOX = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "2GB",  # whatever is asked, the machine goes on
    "lock_configuration": "true",
}


@contextlib.contextmanager
def snapshot(data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The newest snapshot of a data directory, opened read-only with external access off and the settings locked.

    Raises InputError when there is none yet, OperationError when it cannot be read.
    """
    link = data / "gatewatch.duckdb"
    try:
        # DuckDB hands out the old database when a path is opened again in a process: open the versioned name.
        file = link.resolve(strict=True)
        con = duckdb.connect(str(file), read_only=True, config=dict(_SANDBOX))
    except FileNotFoundError:
        raise InputError(f"{data} holds no snapshot yet; run `gatewatch --data {data} ingest PATH` first") from None
    except (duckdb.Error, OSError) as error:
        first = str(error).splitlines()[0]
        raise OperationError(f"the snapshot {link} cannot be read ({first}); run `gatewatch rebuild`") from None
    try:
        yield con
    finally:
        con.close()
