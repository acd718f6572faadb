"""`keys init`: the key that signs checkpoints, and the one that checks them."""

from __future__ import annotations

from pathlib import Path

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import emit_json, say
from ingest.errors import CheckpointError, LedgerError
from ingest.ledger.keys import KEYS, PRIVATE, PUBLIC, make_keys
from ingest.ledger.origin import read_origin
from ingest.rebuild import LEDGER

_DEFAULT_NAME = "gatewatch"
_ADVICE = (
    "keep a copy of the public key where nobody can write who can write this data directory: whoever rewrites the "
    "ledger can put another key beside it, and then only your copy tells (`gatewatch verify --checkpoint … --key …`)"
)


@click.group()
def keys() -> None:
    """The keys that sign the state of the ledger."""


@keys.command("init")
@click.option("--name", help="Name in signatures, without spaces and +.  [default: the ledger's]")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder for the keys.  [default: DATA/keys]"
)
@json_option
@pass_context
def init(context: Context, name: str | None, out: Path | None, as_json: bool) -> None:
    """Make a key pair; from then on `ingest` and `run` sign what the ledger is. Overwrites nothing."""
    folder = out or context.data / KEYS
    try:
        # A log's key should have the name of the log, where that has one already.
        key = make_keys(folder, name or read_origin(context.data / LEDGER) or _DEFAULT_NAME)
    except (CheckpointError, LedgerError) as error:
        raise InputError(str(error)) from None
    if as_json:
        emit_json(
            {
                "key": str(key.verifier),
                "public": str(folder / PUBLIC),
                "private": str(folder / PRIVATE),
                "name": key.verifier.name,
            }
        )
    else:
        click.echo(str(key.verifier))
    say(f"the private key is {folder / PRIVATE}, readable by this user only; the public key is {folder / PUBLIC}")
    say(_ADVICE)
    if out is not None:
        say(f'write key = "{folder / PRIVATE}" under [checkpoints] in the configuration, so that it signs')
