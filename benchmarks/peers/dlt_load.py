"""dlt: the lines of one file into DuckDB, checked by its schema contract. Prints [seconds, processor seconds].

    dlt_load.py events.jsonl '{"attempt": "bigint", …}' default|parquet

In its favour: every column is declared, so that it infers nothing; nested values stay JSON instead of becoming tables
of their own; lines that are no JSON objects are passed over before it sees them. A value of another type drops its
row, and what nobody declared is left out. `default` is the form in between that it prefers for DuckDB, INSERT
statements; `parquet` is the one that DuckDB loads fastest.
"""

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dlt  # type: ignore[import-not-found, unused-ignore]

PAGE = 1000


def main() -> None:
    """Load once."""
    path, columns, form = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3]
    events = dlt.resource(
        _pages(path),
        name="events",
        columns={name: {"data_type": kind} for name, kind in columns.items()},
        max_table_nesting=0,
        schema_contract={"tables": "evolve", "columns": "discard_value", "data_type": "discard_row"},
        write_disposition="append",
    )
    with tempfile.TemporaryDirectory() as folder:
        pipeline = dlt.pipeline(
            "benchmark",
            pipelines_dir=folder,
            destination=dlt.destinations.duckdb(str(Path(folder) / "events.duckdb")),
            dataset_name="loaded",
        )
        begin, cpu = time.perf_counter(), _cpu()
        pipeline.run(events, loader_file_format=None if form == "default" else form)
        took = time.perf_counter() - begin, _cpu() - cpu
        with pipeline.sql_client() as client:
            ((count,),) = client.execute_sql("SELECT count(*) FROM events")
        print(f"dlt loaded {count:,} rows", file=sys.stderr)
    print(json.dumps(took))


def _pages(path: Path) -> Iterator[list[dict[str, Any]]]:
    with path.open("rb") as lines:
        page = []
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                page.append(event)
            if len(page) == PAGE:
                yield page
                page = []
        yield page


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    main()
