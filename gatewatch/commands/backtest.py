"""`policy backtest`: what a changed policy would have opened and cleared over the stored history, changing nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import click

from gatewatch import __version__
from gatewatch.commands.findings import SEVERITIES
from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import cell, clean, count_of, emit_json, say, table
from gatewatch.policies import own_rules, read_policy
from gatewatch.reading import snapshot, snapshot_file
from schemas.policy_file import suggestion
from transforms.backtest import CHANGES, Backtest, Judge, RuleChange, backtest
from transforms.own_rules import known_rules

_COUNTS = ("before", "after", "pending_before", "pending_after")
_SNAPSHOT = {
    "number": "snapshot",
    "published_at": "published_at",
    "events": "events",
    "first_event_ts": "first_event_ts",
    "last_event_ts": "last_event_ts",
}
"""What the document says of the snapshot, and its column in `about`."""


@click.command("backtest")
@click.argument("file")
@click.option("--rule", help="Only this rule.")
@click.option(
    "--examples", type=click.IntRange(min=0), default=3, show_default=True, help="Findings shown of each change."
)
@json_option
@pass_context
def backtest_command(context: Context, file: str, rule: str | None, examples: int, as_json: bool) -> None:
    """What FILE (or a shipped policy) would have opened and cleared.

    The stored events are judged again, beside what is stored: nothing changes, and an ingest may run meanwhile.
    """
    own = own_rules(context.rules)
    policy = read_policy(file, own)
    with snapshot(context.data) as con:
        (about,) = con.execute("SELECT events, software_version FROM about").fetchall()
        if rule is not None:
            known = {name for (name,) in con.execute("SELECT rule FROM policy_severity").fetchall()} | set(
                known_rules(own)
            )
            if rule not in known:
                raise InputError(
                    f"--rule {clean(rule)}: no such rule{suggestion(rule, known) or '; docs/rules.md lists them'}"
                )
    with patience(f"judging {count_of(about[0], 'event')} by {policy.name} …"):
        result = backtest(snapshot_file(context.data), policy, own=own, rule=rule, examples=examples)
    if about[1] != __version__:
        say(
            f"the snapshot was judged by gatewatch {clean(about[1])}, this is {__version__}: some of the difference "
            "may come from that; `gatewatch rebuild` judges it anew"
        )
    if as_json:
        emit_json(_document(result))
    else:
        _print(result, file, rule)


@contextlib.contextmanager
def patience(text: str) -> Iterator[None]:
    """A line on a terminal's stderr while something takes long; silent elsewhere."""
    shown = sys.stderr.isatty()
    if shown:
        click.echo(clean(text), err=True, nl=False)
    try:
        yield
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)


def _totals(rules: tuple[RuleChange, ...]) -> dict[str, int]:
    counts = {name: sum(getattr(rule, name) for rule in rules) for name in _COUNTS}
    return counts | {name: sum(rule.changes[name] for rule in rules) for name in CHANGES}


def _worst_first(rule: RuleChange) -> tuple[int, str]:
    severity = rule.severity_after or rule.severity_before
    return (SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)), rule.rule


def _document(result: Backtest) -> dict[str, Any]:
    rules = [
        {
            "rule": rule.rule,
            "severity_before": rule.severity_before,
            "severity_after": rule.severity_after,
            **{name: getattr(rule, name) for name in _COUNTS},
            **rule.changes,
            "examples": {change: [asdict(example) for example in found] for change, found in rule.examples.items()},
        }
        for rule in sorted(result.rules, key=_worst_first)
    ]
    return {
        "policy_before": asdict(result.before),
        "policy_after": asdict(result.after),
        "snapshot": {name: result.about[column] for name, column in _SNAPSHOT.items()},
        "rules": rules,
        "count": len(rules),
        "totals": _totals(result.rules),
    }


def _print(result: Backtest, file: str, rule: str | None) -> None:
    about, totals = result.about, _totals(result.rules)
    click.echo(f"Judged by:   {_judge(result.before)}")
    click.echo(f"Would be:    {_judge(result.after)} ({clean(file)})")
    if result.before.digest == result.after.digest:
        click.echo("             the same policy")
    click.echo(
        f"Over:        {count_of(about['events'], 'event')}, {cell(about['first_event_ts'])} to "
        f"{cell(about['last_event_ts'])} UTC, snapshot {about['snapshot']}" + (f"; only {clean(rule)}" if rule else "")
    )
    click.echo("")
    stay = totals["after"] - totals["opened"] - totals["settled"]
    again = f", {totals['unsettled']} would wait for evidence again" if totals["unsettled"] else ""
    click.echo(
        f"Would open {totals['opened'] + totals['settled']} and clear {totals['cleared']}; "
        f"{count_of(stay, 'open finding')} would stay{again}."
    )
    changed = sorted((found for found in result.rules if found.changed), key=_worst_first)
    if not changed:
        return
    click.echo("")
    click.echo(_rules_table(changed))
    unchanged = [found for found in result.rules if not found.changed]
    if unchanged:
        click.echo("")
        click.echo(
            f"Unchanged: {count_of(len(unchanged), 'rule')} with "
            f"{count_of(sum(found.after for found in unchanged), 'open finding')}"
        )
    examples = [
        (change, found.rule, shown.finding_id[:12], shown.event_ts, shown.tenant, shown.correlation_id, shown.message)
        for found in changed
        for change in CHANGES
        for shown in found.examples.get(change, ())
    ]
    if examples:
        click.echo("")
        click.echo("Examples, the newest first:")
        click.echo(table(("change", "rule", "finding_id", "event_ts", "tenant", "correlation_id", "message"), examples))


def _judge(judge: Judge) -> str:
    return f"{clean(judge.name)} version {judge.version}, {judge.digest}"


def _rules_table(changed: list[RuleChange]) -> str:
    """A row for each rule that changes; the rarer changes get a column only when there is one."""
    shown = [name for name in CHANGES if name in ("opened", "cleared") or any(rule.changes[name] for rule in changed)]
    pending = any(rule.pending_before or rule.pending_after for rule in changed)
    headers = ["rule", "severity", "before", "after", *shown, *(["pending"] if pending else [])]
    rows = [
        [
            rule.rule,
            _arrow(rule.severity_before, rule.severity_after),
            rule.before,
            rule.after,
            *(rule.changes[name] for name in shown),
            *([_arrow(str(rule.pending_before), str(rule.pending_after))] if pending else []),
        ]
        for rule in changed
    ]
    return table(headers, rows)


def _arrow(before: str | None, after: str | None) -> str:
    return str(after or before) if before == after or None in (before, after) else f"{before} → {after}"
