"""`verify`: whether ledger, database and snapshot agree, and whether the ledger still is what was signed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError, OperationError
from gatewatch.meter import Meter
from gatewatch.output import clean, count_of, emit_json, say
from gatewatch.policies import own_rules
from gatewatch.witness import verify_and_record
from gatewatch.work import require_ledger
from ingest.errors import CheckpointError, LedgerError
from ingest.ledger.checkpoints import read_outside
from ingest.ledger.keys import verifier_keys
from ingest.pipeline import VerifyReport
from ingest.tree_check import Outside
from ingest.verify_copy import verify_copy


@click.command()
@click.option(
    "--checkpoint",
    "checkpoints",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="A checkpoint that was kept outside; a file may hold several.",
)
@click.option(
    "--key", "keys", multiple=True, metavar="FILE|KEY", help="Public key that checkpoints must be signed with."
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Only the ledger in this folder, a copy perhaps: no database, no lock, nothing recorded.",
)
@json_option
@pass_context
def verify(
    context: Context, checkpoints: tuple[Path, ...], keys: tuple[str, ...], ledger: Path | None, as_json: bool
) -> None:
    """Hash the whole ledger again, and compare database, snapshot and checkpoints with it.

    The outcome is recorded in the table verifications and published; what does not agree opens a finding.
    """
    outside = _outside(checkpoints, keys, context.settings.checkpoints.key)
    with Meter() as meter:

        def told(report: VerifyReport) -> None:
            meter.clear()
            _print(report, as_json, alone=ledger is not None)

        if ledger is not None:
            report, unrecorded = _copy(ledger, meter, outside), None
            told(report)
        else:
            require_ledger(context.data)
            report, unrecorded = verify_and_record(
                context.data, progress=meter, told=told, own=own_rules(context.rules), outside=outside
            )
    if unrecorded is not None:
        say(f"the outcome was not recorded: {clean(unrecorded)}")
    if not report.consistent:
        advice = "" if ledger is not None else "; the ledger was not touched, keep a copy before `rebuild`"
        raise OperationError(f"{count_of(len(report.problems), 'problem')}{advice}")


def _outside(checkpoints: tuple[Path, ...], keys: tuple[str, ...], private: Path | None) -> Outside:
    """What the user brought along. Raises InputError."""
    if checkpoints and not keys:
        raise InputError(
            "--checkpoint needs --key, the public key that you kept: one beside the ledger could be replaced with it"
        )
    try:
        return Outside(
            [key for given in keys for key in verifier_keys(given)],
            [signed for path in checkpoints for signed in read_outside(path)],
            private,
        )
    except CheckpointError as error:
        raise InputError(str(error)) from None


def _copy(ledger: Path, meter: Meter, outside: Outside) -> VerifyReport:
    try:
        return verify_copy(ledger, meter, outside)
    except LedgerError as error:
        raise InputError(str(error)) from None


def _document(report: VerifyReport) -> dict[str, Any]:
    return {
        "consistent": report.consistent,
        "chunks": report.chunks,
        "lines": report.lines,
        "events": report.events,
        "pending_chunks": report.pending,
        "unfinished": report.unfinished,
        "origin": report.tree.origin,
        "tree_size": report.tree.size,
        "root": report.tree.root,
        "checkpoints": {"own": report.tree.own, "outside": report.tree.outside},
        "problems": report.problems,
        "left_out": report.left_out,
        "statement": report.statement,
    }


def _print(report: VerifyReport, as_json: bool, *, alone: bool) -> None:
    if as_json:
        emit_json(_document(report))
        return
    hashed = f"{count_of(report.chunks, 'chunk')} with {count_of(report.lines, 'line')} hashed"
    click.echo(hashed if alone else f"{hashed}; {count_of(report.events, 'event')} compared")
    if report.tree.own or report.tree.outside:
        held = sum(entry["holds"] for entry in report.tree.outside)
        compared = f"{count_of(report.tree.own, 'checkpoint')} of its own compared"
        click.echo(
            f"{compared}, {held} of {len(report.tree.outside)} from outside hold" if report.tree.outside else compared
        )
    if report.pending:
        click.echo(
            f"only in the ledger: {count_of(report.pending, 'chunk')}; the next ingest brings it into the database"
        )
    if report.unfinished:
        click.echo("unfinished: the ledger ends with a part of a commit, which is being written or was torn by a crash")
    for part in report.left_out:
        click.echo(f"not compared: {clean(part)}")
    for problem in report.problems:
        click.echo(f"problem: {clean(problem)}")
    agree = "the ledger is not what it should be" if alone else "the ledger and the database do not agree"
    click.echo(report.statement if report.consistent else agree)
