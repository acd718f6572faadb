"""`quarantine`: the lines that were not accepted, why, and another try for them."""

from __future__ import annotations

from typing import Any

import click
import duckdb

from gatewatch.commands.ingest import DIALECTS, accounting_document, print_reasons
from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import cell, clean, count_of, emit_json, emit_rows, say
from gatewatch.reading import rows, snapshot
from gatewatch.work import Signing, retry_and_publish
from ingest.retry import FIRST_LINES, Rejected, rejected_lines
from schemas.policy import suggestion

REASONS = (
    "not_json", "not_an_object", "unknown_kind", "schema", "event_conflict", "line_too_long", "encoding", "dialect",
)  # fmt: skip

_LIST = (
    "WITH RECURSIVE"  # noqa: S608 - both parts are constants
    + FIRST_LINES
    + """,

tries AS (
    SELECT r.quarantine_id, arg_max(r.outcome, r.seq) AS outcome
    FROM retries AS r
    GROUP BY r.quarantine_id
)

SELECT
    q.quarantine_id,
    q.reason,
    coalesce(f.source, q.source) AS source,
    coalesce(f.position, q.position) AS position,
    q.received_at,
    q.errors,
    CASE WHEN f.seq IS NOT NULL THEN q.position END AS retry_of,
    t.outcome AS tried_again
FROM quarantine AS q
LEFT JOIN first_lines AS f ON f.seq = q.seq
LEFT JOIN tries AS t ON t.quarantine_id = q.quarantine_id
WHERE ($reason IS NULL OR q.reason = $reason)
    AND ($all OR t.quarantine_id IS NULL)
ORDER BY q.seq
LIMIT $limit
"""
)
_HISTORY = """
SELECT r.received_at, r.dialect, r.outcome, e.event_id, n.quarantine_id
FROM retries AS r
LEFT JOIN events AS e ON e.seq = r.seq
LEFT JOIN quarantine AS n ON n.seq = r.seq
WHERE r.quarantine_id = $id
ORDER BY r.seq
"""
_BEFORE = """
SELECT r.quarantine_id FROM retries AS r INNER JOIN quarantine AS q ON q.seq = r.seq WHERE q.quarantine_id = $id
"""

reason_option = click.option("--reason", type=click.Choice(REASONS), help="Only this reason.")


@click.group()
def quarantine() -> None:
    """The lines that were not accepted, with reasons."""


@quarantine.command("list")
@reason_option
@click.option("--all", "everything", is_flag=True, help="Also those that were tried again, and their outcome.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@json_option
@pass_context
def list_(context: Context, reason: str | None, everything: bool, limit: int, as_json: bool) -> None:
    """List rejected lines that were not tried again since.

    A line that was rejected again is listed by where it first came from; retry_of is the line that was tried.
    """
    with snapshot(context.data) as con:
        result = con.execute(_LIST, {"reason": reason, "all": everything, "limit": limit})
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
    """Show one rejected line whole, and what became of it when it was tried again."""
    with snapshot(context.data) as con:
        found = rows(con, "SELECT * FROM quarantine WHERE quarantine_id = $id", id=quarantine_id)
        history = rows(con, _HISTORY, id=quarantine_id)
        before = rows(con, _BEFORE, id=quarantine_id)
    if not found:
        raise InputError(f"no quarantined line {clean(quarantine_id)}; `gatewatch quarantine list` lists them")
    retry_of = before[0]["quarantine_id"] if before else None
    if as_json:
        emit_json({"quarantine": {**found[0], "retry_of": retry_of, "retries": history}})
        return
    for name, value in found[0].items():
        click.echo(f"{name}: {cell(value)}")
    if retry_of:
        click.echo(f"retry_of: {retry_of}")
    for tried in history:
        click.echo(f"tried again: {cell(tried['received_at'])} as {tried['dialect']}, {_became(tried)}")


def _became(tried: dict[str, Any]) -> str:
    if tried["outcome"] == "accepted":
        return f"accepted as event {cell(tried['event_id'])}"
    return f"quarantined again as {tried['quarantine_id']}" if tried["outcome"] == "quarantined" else "a duplicate"


@quarantine.command("retry")
@click.argument("quarantine_ids", nargs=-1, metavar="[ID]...")
@reason_option
@click.option("--source", help="Only lines from this source.")
@click.option("--dialect", type=click.Choice(DIALECTS), help="How they are spelled; as they were read before, else.")
@json_option
@pass_context
def retry_(
    context: Context,
    quarantine_ids: tuple[str, ...],
    reason: str | None,
    source: str | None,
    dialect: str | None,
    as_json: bool,
) -> None:
    """Try rejected lines again: these, or all that were not tried again yet.

    They go through the ledger like any other line, as it keeps them: after redaction. For lines that a newer version of
    Gatewatch, or another --dialect, can read. An event that was wrong is mended by its producer, and sent again.
    """
    too_long = 0

    def choose(con: duckdb.DuckDBPyConnection) -> list[Rejected]:
        nonlocal too_long
        if source is not None:
            _known(con, source)
        found = rejected_lines(con, quarantine_ids, reason, source)
        kept = [one for one in found if one.kept]
        _complain(quarantine_ids, found, kept)
        too_long = len(found) - len(kept)
        return kept

    accounting = retry_and_publish(
        context.data,
        choose,
        dialect=dialect,
        choice=context.policy,
        rules=context.rules,
        signing=Signing(context.settings.checkpoints, context.settings.kafka),
    )
    if as_json:
        emit_json({"accounting": accounting_document(accounting), "too_long": too_long})
    else:
        click.echo(
            f"{count_of(accounting.lines, 'line')} tried again = {accounting.accepted} accepted + "
            f"{accounting.duplicate} duplicate + {accounting.quarantined} quarantined again"
        )
        print_reasons(accounting)
    if too_long:
        say(f"{count_of(too_long, 'line')} left out: too long to be kept, so that only the producer can send it again")


def _known(con: duckdb.DuckDBPyConnection, source: str) -> None:
    """Raise InputError for a source that nothing was ever rejected from: its name is misspelt, perhaps."""
    names = [name for (name,) in con.execute("SELECT DISTINCT source FROM quarantine ORDER BY source").fetchall()]
    if source not in names:
        hint = suggestion(source, names) or "; `gatewatch quarantine list --all` lists them"
        raise InputError(f"no line from a source {clean(source)} was rejected{clean(hint)}")


def _complain(ids: tuple[str, ...], found: list[Rejected], kept: list[Rejected]) -> None:
    """Raise InputError when a line that was named is not there, does not fit the options, or was not kept."""
    missing = sorted(set(ids) - {one.quarantine_id for one in found})
    if missing:
        raise InputError(
            f"no quarantined line {clean(missing[0])} that fits; `gatewatch quarantine list --all` lists them"
        )
    if ids and len(kept) < len(found):
        name = next(one.quarantine_id for one in found if not one.kept)
        raise InputError(f"{name} was too long to be kept: shorten it at its producer, and send it again")
