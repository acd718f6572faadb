"""The ways in which the lines of one file get into a DuckDB database on disk, each timed from the first byte read to
the checkpoint after the last row.

Bare loading is DuckDB's own reader with the types of the contract's columns and no further check; where lines are bad,
`ignore_errors` has it skip what it cannot read at all. Validating and loading is our validator over commits of 100,000
lines, while another thread inserts the rows of the commit before. The end to end way is what `gatewatch ingest` does
until it would judge and publish.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.measuring import Times, timed
from ingest.columnar import ColumnarValidator
from ingest.ledger.store import Store
from ingest.pipeline import Pipeline
from ingest.validate import Batch, RowValidator, Validator
from schemas.columns import EVENT_COLUMNS, SYSTEM_COLUMNS, fields_of, sql_type
from schemas.events import KINDS

COMMIT_LINES = 100_000

_NAMED = 'STRUCT("name" VARCHAR, "value" BIGINT)[]'
"""How the table keeps a dictionary of numbers; on the wire it is one."""


def wide_columns() -> dict[str, str]:
    """Name -> DuckDB type of what a line of any kind may have, as a reader of JSON wants to be told."""
    own = {column.name for column in SYSTEM_COLUMNS}
    return {column.name: _on_the_wire(column.duckdb) for column in EVENT_COLUMNS if column.name not in own}


def kind_columns(kind: str) -> dict[str, str]:
    """The same for one kind: what somebody would load who knows that there is no other."""
    return {name: _on_the_wire(sql_type(info.annotation)) for name, info in fields_of(KINDS[kind]).items()}


def _on_the_wire(kind: str) -> str:
    return kind.replace(_NAMED, "MAP(VARCHAR, BIGINT)")


def bare(path: Path, columns: dict[str, str], *, ignore_errors: bool) -> Times:
    """DuckDB alone, all cores, no order to preserve."""
    told = ", ".join(f"'{name}': '{kind}'" for name, kind in columns.items())
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(str(Path(folder) / "bare.duckdb")) as con:
        con.execute("SET preserve_insertion_order = false")

        def work() -> None:
            con.execute(
                f"CREATE TABLE events AS SELECT * FROM read_ndjson($path, columns = {{{told}}}, "
                f"ignore_errors = {str(ignore_errors).lower()})",
                {"path": str(path)},
            )
            con.execute("CHECKPOINT")

        took = timed(work)
        ((count,),) = con.execute("SELECT count(*) FROM events").fetchall()
        assert count
        return took


def validate_and_load(path: Path, make: Callable[[], Validator] = ColumnarValidator) -> Times:
    """Validated rows into the `events` table of an empty store; what is refused is only counted."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder) / "work.duckdb")
        seen = [0, 0]  # accepted, refused or blank

        def insert(rows: pl.DataFrame) -> None:
            store.connection.register("new_events", rows)
            store.connection.execute("INSERT INTO events SELECT * FROM new_events")
            store.connection.unregister("new_events")

        def work() -> None:
            validator = make()
            inserting: Future[None] | None = None
            with ThreadPoolExecutor(1) as other:
                for batch in _commits(path):
                    (found,) = validator.validate_all([batch])
                    seen[0] += found.accepted.height
                    seen[1] += len(found.rejects) + found.blank
                    if inserting is not None:
                        inserting.result()
                    inserting = other.submit(insert, found.accepted)
                if inserting is not None:
                    inserting.result()
            store.checkpoint()

        took = timed(work)
        ((count,),) = store.connection.execute("SELECT count(*) FROM events").fetchall()
        store.close()
        assert count == seen[0]
        return took


def row_by_row(path: Path) -> Times:
    """The same with the event models alone, line by line."""
    return validate_and_load(path, RowValidator)


def end_to_end(path: Path) -> Times:
    """Redaction, ledger with fsync, validation, dedupe, store; every line accounted for."""
    with tempfile.TemporaryDirectory() as folder, Pipeline(Path(folder) / "data") as pipeline:

        def work() -> None:
            accounting = pipeline.ingest_paths([str(path)])
            assert accounting.balanced
            pipeline.connection.execute("CHECKPOINT")

        return timed(work)


def _commits(path: Path) -> Iterator[Batch]:
    seq = 1
    with path.open("rb") as lines:
        while taken := [line.rstrip(b"\n") for line in islice(lines, COMMIT_LINES)]:
            yield Batch(taken, seq, "auto")
            seq += len(taken)


_DLT = {"VARCHAR": "text", "BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "bool", "TIMESTAMP": "timestamp"}


def dlt_columns() -> dict[str, str]:
    """Name -> dlt's data type of what a line may have; what is nested is JSON."""
    return {name: _DLT.get(kind, "json") for name, kind in wide_columns().items()}
