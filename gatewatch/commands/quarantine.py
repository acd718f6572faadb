"""`quarantine`: the lines that were not accepted, and why."""

from __future__ import annotations

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import cell, clean, emit_json, emit_rows
from gatewatch.reading import snapshot

REASONS = (
    "not_json", "not_an_object", "unknown_kind", "schema", "event_conflict", "line_too_long", "encoding", "dialect",
)  # fmt: skip

_LIST = """
SELECT quarantine_id, reason, source, position, received_at, errors
FROM quarantine
WHERE $reason IS NULL OR reason = $reason
ORDER BY seq
LIMIT $limit
"""


@click.group()
def quarantine() -> None:
    """The lines that were not accepted, with reasons."""


@quarantine.command("list")
@click.option("--reason", type=click.Choice(REASONS), help="Only this reason.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@json_option
@pass_context
def list_(context: Context, reason: str | None, limit: int, as_json: bool) -> None:
    """List rejected lines."""
    with snapshot(context.data) as con:
        result = con.execute(_LIST, {"reason": reason, "limit": limit})
        names = [column[0] for column in result.description or ()]
        emit_rows(
            "quarantine",
            names,
            result.fetchall(),
            as_json=as_json,
            empty=f"nothing is quarantined as {reason}" if reason else "nothing is quarantined",
        )


@quarantine.command()
@click.argument("quarantine_id")
@json_option
@pass_context
def show(context: Context, quarantine_id: str, as_json: bool) -> None:
    """Show one rejected line whole."""
    with snapshot(context.data) as con:
        result = con.execute("SELECT * FROM quarantine WHERE quarantine_id = $id", {"id": quarantine_id})
        names = [column[0] for column in result.description or ()]
        row = result.fetchone()
    if row is None:
        raise InputError(f"no quarantined line {clean(quarantine_id)}; `gatewatch quarantine list` lists them")
    if as_json:
        emit_json({"quarantine": dict(zip(names, row, strict=True))})
        return
    for name, value in zip(names, row, strict=True):
        click.echo(f"{name}: {cell(value)}")
