"""`kpi`: the manager's table, with denominators, intervals and coverage."""

from __future__ import annotations

import click

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import emit_json, table
from gatewatch.reading import snapshot
from gatewatch.times import parse_length
from transforms.periods import PeriodKpi, last_days, period_kpis

_FIELDS = tuple(PeriodKpi.__dataclass_fields__)


@click.command()
@click.option("--period", default="30d", show_default=True, help="The last so many days that have data, like 7d or 4w.")
@click.option(
    "--by", type=click.Choice(["intent", "priority", "tier", "tenant", "gate"]), help="Also for each of these."
)
@json_option
@pass_context
def kpi(context: Context, period: str, by: str | None, as_json: bool) -> None:
    """The KPI table with denominators, 95 % intervals, coverage, and the value of the prior period."""
    length = parse_length(period, option="--period")
    if length.days < 1 or length.seconds:
        raise InputError(f"--period {period}: KPIs are per UTC day; give whole days, like 7d")
    with snapshot(context.data) as con:
        try:
            window = last_days(con, length.days)
            rows = period_kpis(con, *window, by) if window else []
        except OverflowError:
            raise InputError(f"--period {period}: reaches back before year 1; give a shorter length") from None
    if as_json:
        emit_json(
            {
                "period_start": window[0] if window else None,
                "period_end": window[1] if window else None,
                "kpis": [{name: getattr(row, name) for name in _FIELDS} for row in rows],
                "count": len(rows),
            }
        )
        return
    if not window:
        click.echo("no run, gate or ticket to count yet")
        return
    click.echo(f"{window[0]:%Y-%m-%d} to {window[1]:%Y-%m-%d} (UTC, end exclusive)")
    headers = ("segment", "kpi", "value", "95 % interval", "of", "prior", "coverage", "note")
    click.echo(table(headers, [_line(row) for row in rows]))


def _line(row: PeriodKpi) -> tuple[str | float | None, ...]:
    interval = "" if row.ci_low is None or row.ci_high is None else f"{row.ci_low:.3f} to {row.ci_high:.3f}"
    value = "unknown" if row.value is None else f"{row.value:.4g}"
    of = "" if row.denominator is None else f"{row.denominator:g}"
    prior = "" if row.prior is None else f"{row.prior:.4g}"
    return row.segment, row.kpi, value, interval, of, prior, f"{row.covered} of {row.eligible}", row.note
