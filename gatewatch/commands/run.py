"""`run`: the service."""

from __future__ import annotations

import click

from gatewatch.commands.ingest import policy_option
from gatewatch.context import Context, pass_context
from gatewatch.metrics_server import refuse_remote
from gatewatch.service.start import run_service
from gatewatch.settings import listen_address


@click.command()
@policy_option
@click.option("--once", is_flag=True, help="End when everything that is there has been read, judged and published.")
@pass_context
def run(context: Context, policy: str | None, once: bool) -> None:
    """Read the sources of the configuration as they grow, until SIGTERM or Ctrl-C.

    SIGHUP reads the policy again. /metrics and /healthz are on loopback.
    """
    metrics = context.settings.metrics
    if metrics.listen:  # also with --once, which serves none: who tries a configuration wants to know
        refuse_remote(listen_address(metrics.listen)[0], allow_remote=metrics.allow_remote)
    run_service(context.data, context.settings, choice=policy or context.policy, rules=context.rules, once=once)
