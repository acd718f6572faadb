"""`schema`: the contract for producers."""

from __future__ import annotations

import json

import click

from schemas.export import avro_schema, json_schema, markdown


@click.group()
def schema() -> None:
    """The event contract."""


@schema.command()
@click.option(
    "--format", "form", type=click.Choice(["json-schema", "markdown", "avro"]), default="json-schema", show_default=True
)
def export(form: str) -> None:
    """Print the contract: JSON Schema (2020-12), the reference page, or Avro records."""
    if form == "markdown":
        click.echo(markdown(), nl=False)
    else:
        click.echo(json.dumps(json_schema() if form == "json-schema" else avro_schema(), indent=2, ensure_ascii=False))
