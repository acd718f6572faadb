"""`demo`, `generate` and `dashboard`: everything once on made-up data, the data alone, the page alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import click

from dashboard.errors import DashboardError
from dashboard.launch import prepare, running
from gatewatch.commands.ingest import print_accounting
from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError, OperationError
from gatewatch.output import emit_json, say, table
from gatewatch.reading import snapshot
from gatewatch.work import ingest_and_publish
from sample_data.generate import generate as make_events
from sample_data.plan import SCENARIOS

_RULES = """
SELECT rule, severity, count(*) AS n, min(message) AS example
FROM findings
WHERE status = 'open'
GROUP BY rule, severity
ORDER BY list_position(['critical', 'high', 'medium', 'low', 'info'], severity), n DESC, rule
"""

_SILENT = "SELECT count(*) FILTER (WHERE silent), count(*) FROM gate_checks"


@click.command()
@click.option("--no-dashboard", is_flag=True, help="Stop after the findings.")
@click.option("--events", type=click.IntRange(min=500), default=20_000, show_default=True, help="How many events.")
@click.option("--seed", type=int, default=7, show_default=True, help="Another seed, other data.")
@click.option("--port", type=click.IntRange(1024, 65_535), help="Port of the dashboard.  [default: a free one]")
@pass_context
def demo(context: Context, no_dashboard: bool, events: int, seed: int, port: int | None) -> None:
    """Everything once on generated data: events, ledger, database, findings, dashboard."""
    file = _demo_events(context.data, events, seed)
    say(f"2. ledger, checks and database in {context.data}")
    accounting, _, _ = ingest_and_publish(context.data, [str(file)], dialect="auto", choice=SCENARIOS[0])
    print_accounting(accounting)
    with snapshot(context.data) as con:
        rows = con.execute(_RULES).fetchall()
        silent, checks = con.execute(_SILENT).fetchone() or (0, 0)
    say("3. what does not add up")
    click.echo("")
    click.echo(table(("rule", "severity", "open", "for example"), rows))
    click.echo("")
    click.echo(f"{checks} gate checks, {silent} silent drops; `gatewatch findings` lists each, `explain ID` shows one")
    if not no_dashboard:
        _serve(context.data, port)


def _demo_events(data: Path, events: int, seed: int) -> Path:
    """The demo's events, in a folder of their own: made once, up to now, and found again by a second demo.

    Made-up data never mixes with a real ledger, nor with another demo. Raises InputError or OperationError.
    """
    folder = data / "demo"
    file = folder / "events.jsonl"
    try:
        made = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        if (data / "ledger").exists():
            raise InputError(f"{data} holds data that is not the demo's; name another folder with --data") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{folder} holds no demo that can be read ({error}); remove {data}, or name another") from None
    else:
        if (made.get("accepted"), made.get("seed")) != (events, seed):
            raise InputError(f"{data} holds a demo of other --events or --seed; remove it, or name another with --data")
        say(f"1. the {events} events of an earlier demo, in {folder}")
        return file
    say(f"1. generating {events} events of a support squad, with known faults, in {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        make_events(events, seed, file, end=datetime.now(UTC))
    except OSError as error:
        raise OperationError(
            f"cannot write {folder}: {error.strerror or error}; name another folder with --data"
        ) from None
    return file


@click.command()
@click.option("--port", type=click.IntRange(1024, 65_535), help="Port on loopback.  [default: a free one]")
@pass_context
def dashboard(context: Context, port: int | None) -> None:
    """Serve the dashboard on loopback until Ctrl-C."""
    _serve(context.data, port)


def _serve(data: Path, port: int | None) -> None:
    launch = prepare(data, port=port)
    try:
        with running(launch) as server:
            click.echo(f"dashboard: {launch.url}  (Ctrl-C stops it)")
            code = server.wait()
    except DashboardError as error:
        raise OperationError(str(error)) from None
    except KeyboardInterrupt:
        say("stopped")
        return
    if code:
        raise OperationError(f"the dashboard ended with exit code {code}; its messages above say why")


@click.command()
@click.option("--events", type=click.IntRange(min=1), required=True, help="How many different events.")
@click.option("--seed", type=int, default=7, show_default=True, help="Same seed, same bytes.")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="FILE", help="Where the events go.")
@click.option("--scenario", type=click.Choice(SCENARIOS), default=SCENARIOS[0], show_default=True, help="Whose data.")
@json_option
def generate(events: int, seed: int, out: Path, scenario: str, as_json: bool) -> None:
    """Write sample events, with the truth (truth.jsonl) and the exact accounting (summary.json) beside them."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        summary = make_events(events, seed, out, scenario=scenario)  # type: ignore[arg-type]
    except OSError as error:
        raise InputError(f"cannot write {out}: {error.strerror or error}; name another file") from None
    if as_json:
        emit_json({name: getattr(summary, name) for name in summary.__dataclass_fields__})
    else:
        click.echo(
            f"{summary.lines} lines in {out}: {summary.accepted} events, {sum(summary.truth.values())} known faults"
        )
        click.echo(f"judge them with --policy {summary.policy}")
