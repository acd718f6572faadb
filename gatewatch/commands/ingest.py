"""`ingest`, `rebuild` and `verify`: bytes into the ledger, the database from the ledger, and whether the two agree."""

from __future__ import annotations

from typing import Any

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import OperationError
from gatewatch.output import clean, count_of, emit_json, say
from gatewatch.policies import DEFAULT, own_rules
from gatewatch.reading import snapshot
from gatewatch.witness import verify_and_record
from gatewatch.work import Meter, ingest_and_publish, rebuild_and_publish, require_ledger
from ingest.accounting import COUNTS, Accounting
from ingest.errors import SourceError
from ingest.pipeline import VerifyReport

DIALECTS = ("auto", "native", "xenia", "decision_record")

policy_option = click.option(
    "--policy", metavar="FILE", help="Policy file, or a shipped policy's name; kept for later runs."
)


def accounting_document(accounting: Accounting) -> dict[str, Any]:
    """The accounting as JSON: counts, rejects by reason, sources without anything new, files that are no records."""
    return {
        **{name: getattr(accounting, name) for name in (*COUNTS, "recovered")},
        "reasons": dict(sorted(accounting.reasons.items())),
        "unchanged": accounting.unchanged,
        "skipped": accounting.skipped,
    }


def print_accounting(accounting: Accounting) -> None:
    """The accounting for people: one line that adds up, then what needs attention."""
    click.echo(
        f"{count_of(accounting.lines, 'line')} = {accounting.accepted} accepted + {accounting.duplicate} duplicate "
        f"+ {accounting.quarantined} quarantined + {accounting.blank} blank"
    )
    for reason, count in sorted(accounting.reasons.items()):
        click.echo(f"  quarantined: {count} {reason}")
    notes = (
        ("warning", "warnings", accounting.warnings, "something in an accepted record could not be read"),
        ("event", "events", accounting.drift, "with fields that the contract does not know"),
        ("line redacted", "lines redacted", accounting.redacted, "personal data was taken out"),
        ("line recovered", "lines recovered", accounting.recovered, "in the ledger already, the database was behind"),
        ("file skipped", "files skipped", len(accounting.skipped), "no decision record"),
    )
    for noun, plural, count, why in notes:
        if count:
            click.echo(f"  {count} {noun if count == 1 else plural}: {why}")
    if accounting.quarantined:
        say("`gatewatch quarantine list` says what is wrong with each rejected line")
    for source in accounting.unchanged:
        say(f"nothing new in {clean(source)}")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--dialect", type=click.Choice(DIALECTS), default="auto", show_default=True, help="How lines are spelled."
)
@policy_option
@json_option
@pass_context
def ingest(context: Context, paths: tuple[str, ...], dialect: str, policy: str | None, as_json: bool) -> None:
    """Read files, globs, folders of decision records, or standard input (-), once; judge; publish.

    Reads .jsonl (plain, .gz, .zst) and Markdown or YAML DecisionRecords. Reading the same file again takes only what
    is new.
    """
    fault: SourceError | None = None
    origin = ""
    try:
        accounting, origin, _ = ingest_and_publish(
            context.data, paths, dialect=dialect, choice=policy or context.policy, rules=context.rules
        )
    except SourceError as error:
        if error.accounting is None:
            raise
        fault, accounting = error, error.accounting
    with snapshot(context.data) as con:
        counted = con.execute(
            "SELECT severity, count(*) FROM findings WHERE status = 'open' GROUP BY severity"
        ).fetchall()
    opened = dict(counted)
    if as_json:
        emit_json({"accounting": accounting_document(accounting), "open_findings": opened})
    else:
        print_accounting(accounting)
    if origin.endswith("none was chosen"):
        say(f"judged by the shipped policy {DEFAULT}; choose one with --policy FILE")
    say(f"{count_of(sum(opened.values()), 'open finding')}; `gatewatch check` lists them")
    if fault is not None:
        raise fault


@click.command()
@policy_option
@click.option("--force", is_flag=True, help="Also when the ledger holds less than the database did.")
@json_option
@pass_context
def rebuild(context: Context, policy: str | None, force: bool, as_json: bool) -> None:
    """Make the database again from the ledger."""
    accounting, _, _ = rebuild_and_publish(
        context.data, choice=policy or context.policy, force=force, rules=context.rules
    )
    if as_json:
        emit_json({"accounting": accounting_document(accounting)})
    else:
        print_accounting(accounting)


@click.command()
@json_option
@pass_context
def verify(context: Context, as_json: bool) -> None:
    """Hash the whole ledger again, and compare the database and the snapshot with what it leads to, row by row.

    The outcome is recorded in the table verifications and published; what does not agree opens a finding.
    """
    require_ledger(context.data)
    own = own_rules(context.rules)
    with Meter() as meter:

        def told(report: VerifyReport) -> None:
            meter.clear()
            _print_verification(report, as_json)

        report, unrecorded = verify_and_record(context.data, progress=meter, told=told, own=own)
    if unrecorded is not None:
        say(f"the outcome was not recorded: {clean(unrecorded)}")
    if not report.consistent:
        raise OperationError(
            f"{count_of(len(report.problems), 'problem')}; the ledger was not touched, keep a copy before `rebuild`"
        )


def _print_verification(report: VerifyReport, as_json: bool) -> None:
    if as_json:
        emit_json(
            {
                "consistent": report.consistent,
                "chunks": report.chunks,
                "lines": report.lines,
                "events": report.events,
                "pending_chunks": report.pending,
                "problems": report.problems,
                "left_out": report.left_out,
                "statement": report.statement,
            }
        )
    else:
        hashed = f"{count_of(report.chunks, 'chunk')} with {count_of(report.lines, 'line')} hashed"
        click.echo(f"{hashed}; {count_of(report.events, 'event')} compared")
        if report.pending:
            click.echo(
                f"only in the ledger: {count_of(report.pending, 'chunk')}; the next ingest brings it into the database"
            )
        for part in report.left_out:
            click.echo(f"not compared: {clean(part)}")
        for problem in report.problems:
            click.echo(f"problem: {clean(problem)}")
        click.echo(report.statement if report.consistent else "the ledger and the database do not agree")
