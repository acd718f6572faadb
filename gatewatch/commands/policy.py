"""`policy`: validate a policy file, or show the policy that judges now."""

from __future__ import annotations

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.output import emit_json, table
from gatewatch.policies import current_policy, read_policy
from schemas.policy_file import policy_digest


@click.group()
def policy() -> None:
    """Validate or show a policy."""


@policy.command()
@click.argument("file")
def validate(file: str) -> None:
    """Check FILE (or a shipped policy's name); exit code 2 with the place of the mistake."""
    found = read_policy(file)
    click.echo(
        f"{found.name} version {found.version} is valid: {len(found.tools)} tools, {len(found.gates)} gates, "
        f"{len(found.pipelines)} pipelines; {policy_digest(found)}"
    )


@policy.command()
@json_option
@pass_context
def show(context: Context, as_json: bool) -> None:
    """The policy that judges the data directory now."""
    found, origin = current_policy(context.data, context.policy)
    if as_json:
        emit_json({"origin": origin, "digest": policy_digest(found), "policy": found.model_dump(mode="json")})
        return
    click.echo(f"{found.name} version {found.version} ({origin}); {policy_digest(found)}")
    pipelines = [
        (p.name, ", ".join(map(str, p.applies_to["kind"])), " → ".join(p.gates), p.binding) for p in found.pipelines
    ]
    click.echo("")
    click.echo(table(("pipeline", "guards", "gates in order", "binding"), pipelines))
    tools = [(t.name, t.privilege, t.side_effects, t.receipt, t.allowed_callers) for t in found.tools]
    click.echo("")
    click.echo(table(("tool", "privilege", "side effects", "receipt", "callers"), tools))
