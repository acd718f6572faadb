"""`ingest` and `rebuild`: bytes into the ledger, and the database from the ledger."""

from __future__ import annotations

from typing import Any

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.output import clean, count_of, emit_json, say
from gatewatch.policies import DEFAULT
from gatewatch.reading import snapshot
from gatewatch.work import Signing, ingest_and_publish, rebuild_and_publish
from ingest.accounting import COUNTS, Accounting
from ingest.errors import SourceError

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


def print_reasons(accounting: Accounting) -> None:
    """How many lines were quarantined for which reason."""
    for reason, count in sorted(accounting.reasons.items()):
        click.echo(f"  quarantined: {count} {reason}")


def print_accounting(accounting: Accounting) -> None:
    """The accounting for people: one line that adds up, then what needs attention."""
    click.echo(
        f"{count_of(accounting.lines, 'line')} = {accounting.accepted} accepted + {accounting.duplicate} duplicate "
        f"+ {accounting.quarantined} quarantined + {accounting.blank} blank"
    )
    print_reasons(accounting)
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
            context.data,
            paths,
            dialect=dialect,
            choice=policy or context.policy,
            rules=context.rules,
            signing=Signing(context.settings.checkpoints, context.settings.kafka),
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
