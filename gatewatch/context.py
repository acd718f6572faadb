"""What every command is given: the data directory and the settings."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from gatewatch.settings import Settings


@dataclass(frozen=True, slots=True)
class Context:
    """The data directory, the policy and the folder of own rules that command line and configuration agree on.

    `settings` is the whole configuration, for what only some commands need.
    """

    data: Path
    policy: str | None
    rules: Path | None
    settings: Settings


pass_context = click.make_pass_decorator(Context)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of a table.")
