"""`explain`: one finding with its evidence as a timeline, and what would have satisfied the rule."""

from __future__ import annotations

from typing import Any

import click
import duckdb

from gatewatch.conflicts import Conflict, Refused, conflict
from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import OperationError
from gatewatch.output import cell, clean, count_of, emit_json, plain, table
from gatewatch.reading import snapshot
from gatewatch.story import Story, story
from gatewatch.times import spell_length, spell_offset
from gatewatch.waiting import Waiting

_REASONS = {
    ("opened", "evidence"): "the events show it",
    ("opened", "grace_over"): "what was awaited had not come when its time was over",
    ("opened", "policy"): "the policy or the rules were changed",
    ("cleared", "late_evidence"): "what was missing had happened in time and arrived late",
    ("cleared", "evidence"): "newer events settle it",
    ("cleared", "recalled"): "a source that joined late may still bring what is missing",
    ("cleared", "policy"): "the policy or the rules were changed",
}
"""The words of `finding_history` in a reader's words; any other is shown as it is."""


@click.command()
@click.argument("finding_id")
@click.option("--all", "everything", is_flag=True, help="Every event of a long run, not only those near the evidence.")
@json_option
@pass_context
def explain(context: Context, finding_id: str, everything: bool, as_json: bool) -> None:
    """One finding: what happened, the evidence in order, what would have satisfied the rule.

    FINDING_ID may be shortened as long as it is unique. A finding that was cleared is told as well.
    """
    with snapshot(context.data) as con:
        try:
            told = story(con, finding_id, everything=everything)
            reused = conflict(con, told.finding["subject"]) if told.finding["rule"] == "event_conflict" else None
        except (duckdb.CatalogException, duckdb.BinderException):
            raise OperationError(
                f"the snapshot of {context.data} was made by another version of gatewatch; run `gatewatch rebuild`"
            ) from None
    if as_json:
        emit_json(_document(told, reused))
    else:
        _print(told, reused)


def _document(told: Story, reused: Conflict | None) -> dict[str, Any]:
    rule, waits = told.rule, told.waits
    return {
        "finding": told.finding,
        "rule": rule
        and {
            "family": rule["family"],
            "means": rule["means"],
            "do": rule["action"],
            "satisfied_by": rule["satisfied_by"],
        },
        "policy": told.policy,
        "pending": waits
        and {
            "grace_seconds": None if waits.grace is None else waits.grace.total_seconds(),
            "until": waits.until,
            "watermark": waits.watermark,
            "held_back_by": waits.source,
        },
        "timeline": [
            {
                "place": moment.place,
                "ts": moment.ts,
                "offset_seconds": moment.offset.total_seconds(),
                "event_id": moment.event_id,
                "kind": moment.kind,
                "evidence": moment.evidence,
                "who": moment.who,
                "what": moment.what,
                "subject": moment.subject,
                "correlation_id": moment.correlation_id,
                "tenant": moment.tenant,
            }
            for moment in told.timeline
        ],
        "events": told.events,
        "left_out": told.events - len(told.timeline),
        "look": told.look,
        "conflict": reused
        and {
            "stored": reused.stored,
            "source": reused.source,
            "seq": reused.seq,
            "refused": [_refused(line) for line in reused.refused],
            "count": reused.lines,
        },
        "history": told.history,
    }


def _refused(line: Refused) -> dict[str, Any]:
    facts = {
        name: getattr(line, name) for name in ("quarantine_id", "seq", "source", "position", "received_at", "line")
    }
    differs = {name: {"stored": was, "refused": now} for name, (was, now) in (line.differs or {}).items()}
    return facts | {"differs": None if line.differs is None else differs}


def _print(told: Story, reused: Conflict | None) -> None:
    finding, rule = told.finding, told.rule
    click.echo(f"{finding['severity'].upper()} {finding['rule']} ({finding['status']}) {finding['finding_id']}")
    click.echo(clean(finding["message"]))
    click.echo(_where(finding))
    click.echo("")
    if rule:
        click.echo(f"Means:         {clean(rule['means'])}")
        click.echo(f"Do:            {clean(rule['action'])}")
        click.echo(f"Satisfied by:  {clean(rule['satisfied_by'])}")
    else:
        click.echo("The rule is no longer among those that judge, so its words are not known any more.")
    if told.policy:
        digest = finding["policy_digest"] or told.policy["digest"]
        judged = "Judged by:" if finding["policy_digest"] else "Judges now:"
        click.echo(f"{judged:<13}  policy {clean(told.policy['name'])} version {told.policy['version']}, {digest}")
    if told.waits:
        click.echo(f"Pending:       {_waits(told.waits)}")
    if finding["status"] == "cleared":
        click.echo(f"Cleared:       {_change(told.history[-1])}")
    if reused:
        _print_conflict(reused)
    click.echo("")
    _print_timeline(told)
    if told.history:
        click.echo("")
        click.echo("History:")
        click.echo(
            table(
                ("at", "change", "why"), [(h["at"], h["change"], _why(h["change"], h["reason"])) for h in told.history]
            )
        )


def _where(finding: dict[str, Any]) -> str:
    labels = (
        ("run", "correlation_id"), ("tenant", "tenant"), ("gate", "gate"), ("tool", "tool"), ("caller", "caller"),
        ("subject", "subject"),
    )  # fmt: skip
    parts = [f"{label} {clean(str(finding[key]))}" for label, key in labels if finding[key]]
    when = [f"{cell(finding['event_ts'])} UTC"] if finding["event_ts"] else []
    return "; ".join([*when, *parts])


def _waits(waits: Waiting) -> str:
    until = "as long as its rule says"
    if waits.until is not None and waits.grace is not None:
        until = f"until the watermark has passed {cell(waits.until)} UTC (a grace of {spell_length(waits.grace)})"
    if waits.watermark is None:
        return f"what would satisfy the rule may still come, {until}."
    held = f", held back by {clean(waits.source)}" if waits.source else ""
    return f"what would satisfy the rule may still come, {until}; it stands at {cell(waits.watermark)} UTC{held}."


def _why(change: str, reason: str) -> str:
    return _REASONS.get((change, reason), str(reason).replace("_", " "))


def _change(entry: dict[str, Any]) -> str:
    return f"{cell(entry['at'])} UTC: {clean(_why(entry['change'], entry['reason']))}."


def _print_timeline(told: Story) -> None:
    if told.look:
        click.echo(told.look)
        return
    if told.finding["status"] == "cleared":
        click.echo("Timeline (which events were its evidence is not kept):")
    else:
        click.echo("Timeline (* is evidence):")
    elsewhere = any(
        (moment.correlation_id, moment.tenant) != (told.finding["correlation_id"], told.finding["tenant"])
        for moment in told.timeline
    )
    headers = ["", "ts", "offset", "event_id", "kind", *(["run"] if elsewhere else []), "who", "what"]
    rows: list[list[Any]] = []
    place = 0
    for moment in told.timeline:
        if gap := moment.place - place - 1:
            more = count_of(gap, "more event") if gap == 1 else f"{gap:,} more events"
            rows.append(["", "…", *[""] * (len(headers) - 3), f"{more}; --all shows them"])
        place = moment.place
        run = (
            [f"{moment.correlation_id or ''} {f'({moment.tenant})' if moment.tenant else ''}".strip()]
            if elsewhere
            else []
        )
        rows.append(
            [
                "*" if moment.evidence else "", moment.ts, spell_offset(moment.offset), moment.event_id, moment.kind,
                *run, moment.who, moment.what,
            ]
        )  # fmt: skip
    click.echo(table(headers, rows))


def _print_conflict(reused: Conflict) -> None:
    click.echo("")
    if reused.stored:
        click.echo(
            f"Stored:        line {reused.seq} of the ledger, from {clean(reused.source or 'an unknown source')}"
        )
    for line in reused.refused:
        click.echo(
            f"Refused:       {clean(line.source)}, {clean(line.position)}, read {cell(line.received_at)} UTC "
            f"({line.quarantine_id})"
        )
        for name, (was, now) in (line.differs or {}).items():
            click.echo(f"               {name}: {_value(was)} is stored, {_value(now)} was refused")
        if line.differs is None:
            click.echo(f"               {clean(line.line or 'too long to be kept')}")
        elif not line.differs:
            click.echo("               only fields that the contract does not know differ")
    if reused.lines > len(reused.refused):
        click.echo(
            f"               … {reused.lines - len(reused.refused):,} more; `gatewatch quarantine list` has them all"
        )


def _value(value: Any) -> str:
    return "nothing" if value is None else clean(str(plain(value)))
