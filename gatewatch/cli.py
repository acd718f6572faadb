"""The command line: global options, the subcommands, and the one place where errors become a line and an exit code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from gatewatch import __version__
from gatewatch.commands.demo import dashboard, demo, generate
from gatewatch.commands.explain import explain
from gatewatch.commands.findings import check, findings
from gatewatch.commands.ingest import ingest, rebuild
from gatewatch.commands.keys import keys
from gatewatch.commands.kpi import kpi
from gatewatch.commands.policy import policy
from gatewatch.commands.quarantine import quarantine
from gatewatch.commands.run import run
from gatewatch.commands.schema import schema
from gatewatch.commands.sql import sql
from gatewatch.commands.verify import verify
from gatewatch.context import Context
from gatewatch.errors import EXIT_FAILED, EXIT_INPUT, GatewatchError, InputError
from gatewatch.output import clean
from gatewatch.settings import load_settings
from ingest.errors import CheckpointError, IngestError, SourceError
from schemas.errors import SchemaError
from transforms.errors import OwnRuleError, TransformError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option(
    "--data", type=click.Path(path_type=Path), metavar="DIR", help="Data directory.  [default: ./gatewatch-data]"
)
@click.option(
    "--config", type=click.Path(path_type=Path), metavar="FILE", help="Configuration.  [default: ./gatewatch.toml]"
)
@click.version_option(__version__, prog_name="gatewatch")
@click.pass_context
def cli(context: click.Context, data: Path | None, config: Path | None) -> None:
    """The independent witness of what AI agents' tool calls did.

    Exit codes: 0 clean, 1 findings at or above the threshold, 2 usage or input error, 3 the pipeline itself failed.
    """
    settings = load_settings(config)
    folder = data or settings.data
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; --data names the folder that holds the ledger and the database")
    context.obj = Context(data=folder, policy=settings.policy, rules=settings.rules, settings=settings)


for command in (
    demo, ingest, run, check, findings, explain, kpi, quarantine, verify, rebuild, keys,
    policy, schema, sql, generate, dashboard,
):  # fmt: skip
    cli.add_command(command)


def main() -> None:
    """Run the command line; an expected error is one line on stderr and never a traceback."""
    try:
        # Outside standalone mode click hands back the exit code that a command asked for.
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        _fail("stopped", EXIT_FAILED)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "gatewatch"
        _fail(f"{error.format_message()} (`{where} --help` tells more)", EXIT_INPUT)
    except click.ClickException as error:
        _fail(error.format_message(), EXIT_INPUT)
    except BrokenPipeError:
        # The reader of our output went away (`| head`); Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except GatewatchError as error:
        _fail(str(error), error.exit_code)
    except (SchemaError, SourceError, CheckpointError, OwnRuleError) as error:
        _fail(str(error), EXIT_INPUT)
    except (IngestError, TransformError) as error:
        _fail(str(error), EXIT_FAILED)


def _fail(message: str, code: int) -> None:
    click.echo(f"gatewatch: {clean(' '.join(message.split()))}", err=True)
    sys.exit(code)
