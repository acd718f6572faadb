"""`run`: the service."""

from __future__ import annotations

import click

from gatewatch.commands.ingest import policy_option
from gatewatch.context import Context, pass_context
from gatewatch.service.start import run_service


@click.command()
@policy_option
@click.option("--once", is_flag=True, help="End when everything that is there has been read, judged and published.")
@pass_context
def run(context: Context, policy: str | None, once: bool) -> None:
    """Read the sources of the configuration as they grow, until SIGTERM or Ctrl-C.

    SIGHUP reads the policy again. /metrics and /healthz are on loopback.
    """
    run_service(context.data, context.settings, choice=policy or context.policy, rules=context.rules, once=once)
