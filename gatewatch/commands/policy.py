"""`policy`: validate a policy file, show the policy that judges now, or try another on what is stored."""

from __future__ import annotations

import click

from gatewatch.commands.backtest import backtest_command
from gatewatch.context import Context, json_option, pass_context
from gatewatch.output import count_of, emit_json, table
from gatewatch.policies import current_policy, own_rules, read_policy
from transforms.own_rules import file_of, judged_by
from transforms.refresh import severities


@click.group()
def policy() -> None:
    """Validate, show or try a policy."""


@policy.command()
@click.argument("file")
@pass_context
def validate(context: Context, file: str) -> None:
    """Check FILE (or a shipped policy's name), and the own rules of the settings; exit code 2 with the mistake."""
    own = own_rules(context.rules)
    found = read_policy(file, own)
    click.echo(
        f"{found.name} version {found.version} is valid: {len(found.tools)} tools, {len(found.gates)} gates, "
        f"{len(found.pipelines)} pipelines; {judged_by(found, own)}"
    )
    if context.rules is not None:
        number, files = count_of(len(own.rules), "own rule"), count_of(len(own.relations), "file")
        click.echo(f"{context.rules} is valid: {number} in {files}")


@policy.command()
@json_option
@pass_context
def show(context: Context, as_json: bool) -> None:
    """The policy that judges the data directory now."""
    own = own_rules(context.rules)
    found, origin = current_policy(context.data, context.policy, own)
    digest, severity = judged_by(found, own), dict(severities(found, own.rules))
    if as_json:
        mine = [{"rule": name, "severity": severity[name], "means": rule.means} for name, rule in own.rules.items()]
        document = {"origin": origin, "digest": digest, "policy": found.model_dump(mode="json"), "own_rules": mine}
        emit_json(document)
        return
    click.echo(f"{found.name} version {found.version} ({origin}); {digest}")
    pipelines = [
        (p.name, ", ".join(map(str, p.applies_to["kind"])), " → ".join(p.gates), p.binding) for p in found.pipelines
    ]
    click.echo("")
    click.echo(table(("pipeline", "guards", "gates in order", "binding"), pipelines))
    tools = [(t.name, t.privilege, t.side_effects, t.receipt, t.allowed_callers) for t in found.tools]
    click.echo("")
    click.echo(table(("tool", "privilege", "side effects", "receipt", "callers"), tools))
    if own.rules:
        click.echo("")
        listed = [
            (name, severity[name], file_of(f"rule_{rule.family}"), rule.means) for name, rule in own.rules.items()
        ]
        click.echo(table(("own rule", "severity", "file", "means"), listed))


policy.add_command(backtest_command)
