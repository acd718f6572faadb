"""`sql`: one read-only query on the snapshot."""

from __future__ import annotations

import threading

import click
import duckdb

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import clean, emit_rows, say
from gatewatch.reading import snapshot


@click.command()
@click.argument("query")
@click.option("--limit", type=click.IntRange(min=1), default=1000, show_default=True, help="At most so many rows.")
@click.option(
    "--timeout", type=click.IntRange(min=1), default=60, show_default=True, help="Seconds until it is stopped."
)
@json_option
@pass_context
def sql(context: Context, query: str, limit: int, timeout: int, as_json: bool) -> None:
    """Run one read-only QUERY on the snapshot: no files, no network, no settings."""
    with snapshot(context.data) as con:
        # A query that never ends, or eats the machine, is the writer's problem too: both run here.
        alarm = threading.Timer(timeout, con.interrupt)
        alarm.start()
        try:
            statements = con.extract_statements(query)
            if len(statements) != 1:
                raise InputError(f"the query has {len(statements)} statements; give one")
            result = con.execute(statements[0])
            names = _distinct([column[0] for column in result.description or ()])
            rows = result.fetchmany(limit + 1)
        except duckdb.InterruptException:
            raise InputError(f"the query was stopped after {timeout} s; ask for less, or raise --timeout") from None
        except duckdb.Error as error:
            raise InputError(f"the query failed: {clean(' '.join(str(error).split()))[:500]}") from None
        finally:
            alarm.cancel()
    if len(rows) > limit:
        rows = rows[:limit]
        say(f"only the first {limit} rows are shown; raise --limit for more")
    emit_rows("rows", names, rows, as_json=as_json, empty="no rows")


def _distinct(names: list[str]) -> list[str]:
    """Column names that a JSON object can hold: a repeated one gets a number."""
    found: list[str] = []
    for name in names:
        number, given = 1, name
        while given in found:
            number += 1
            given = f"{name}_{number}"
        found.append(given)
    return found
