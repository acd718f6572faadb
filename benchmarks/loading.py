"""The ways in which the lines of one file get into a DuckDB database on disk, each timed from the first byte read to
the checkpoint after the last row.

Bare loading is DuckDB's own reader with the types of the contract's columns and no further check; where lines are bad,
`ignore_errors` has it skip what it cannot read at all. Validating and loading is our validator over the lines of one
commit after the other, while one thread inserts the rows of the commit before and another reads the next. The end to
end way is what `gatewatch ingest` does until it would judge and publish.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import duckdb
import polars as pl

from benchmarks.measuring import Times, timed
from ingest.columnar import ColumnarValidator
from ingest.ledger.store import PART_ROWS, Store
from ingest.lines import MAX_COMMIT_LINES, Line
from ingest.parts import in_parts
from ingest.pipeline import Pipeline
from ingest.sources.splitter import Splitter
from ingest.validate import Batch, RowValidator, Validator
from schemas.columns import EVENT_COLUMNS, SYSTEM_COLUMNS, fields_of, sql_type
from schemas.events import KINDS

_BLOCK_BYTES = 1 << 20

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
            store.connection.register("new_events", in_parts(rows, PART_ROWS))
            store.connection.execute("INSERT INTO events SELECT * FROM new_events")
            store.connection.unregister("new_events")

        def work() -> None:
            validator = make()
            with ThreadPoolExecutor(1) as judging, ThreadPoolExecutor(1) as inserting:

                def judge(batch: Batch, before: Future[None] | None) -> Future[None]:
                    (found,) = validator.validate_all([batch])
                    seen[0] += found.accepted.height
                    seen[1] += len(found.rejects) + found.blank
                    if before is not None:
                        before.result()
                    return inserting.submit(insert, found.accepted)

                inserted: Future[None] | None = None
                judged: Future[Future[None]] | None = None
                for batch in _commits(path):
                    inserted = None if judged is None else judged.result()
                    judged = judging.submit(judge, batch, inserted)
                if judged is not None:
                    judged.result().result()
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
    splitter, waiting, seq = Splitter(), list[Line](), 1
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            waiting += splitter.feed(block)
            while len(waiting) >= MAX_COMMIT_LINES:
                yield Batch(waiting[:MAX_COMMIT_LINES], seq, "auto")
                seq += MAX_COMMIT_LINES
                del waiting[:MAX_COMMIT_LINES]
    rest = splitter.rest()
    if waiting or rest is not None:
        yield Batch([*waiting, *([] if rest is None else [rest])], seq, "auto")


_DLT = {"VARCHAR": "text", "BIGINT": "bigint", "DOUBLE": "double", "BOOLEAN": "bool", "TIMESTAMP": "timestamp"}


def dlt_columns() -> dict[str, str]:
    """Name -> dlt's data type of what a line may have; what is nested is JSON."""
    return {name: _DLT.get(kind, "json") for name, kind in wide_columns().items()}
