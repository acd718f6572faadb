"""`check` and `findings`: what is open, as a table for people and an exit code for CI."""

from __future__ import annotations

from typing import Any, get_args

import click
import duckdb

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import EXIT_CLEAN, EXIT_FINDINGS, InputError
from gatewatch.output import emit_json, emit_rows, records, say, table
from gatewatch.reading import snapshot
from gatewatch.times import parse_since, utc_now
from schemas.policy import Severity
from schemas.policy_file import suggestion

SEVERITIES: tuple[str, ...] = get_args(Severity)
"""From worst to least."""

_LISTED = (
    "finding_id",
    "severity",
    "rule",
    "status",
    "event_ts",
    "tenant",
    "correlation_id",
    "subject",
    "gate",
    "message",
)
_ALL = (
    "finding_id", "rule", "severity", "status", "subject", "correlation_id", "run_id", "tenant", "caller", "tool",
    "gate", "event_ts", "message", "evidence", "policy_digest",
)  # fmt: skip

_QUERY = """
SELECT {columns}
FROM findings
WHERE ($rule IS NULL OR rule = $rule)
  AND ($status IS NULL OR status = $status)
  AND ($tenant IS NULL OR tenant = $tenant)
  AND ($tool IS NULL OR tool = $tool)
  AND ($gate IS NULL OR gate = $gate)
  AND ($correlation IS NULL OR correlation_id = $correlation)
  AND ($since::TIMESTAMP IS NULL OR event_ts >= $since::TIMESTAMP)
  AND list_position($severities, severity) > 0
ORDER BY list_position($order, severity), event_ts DESC, rule, subject, gate
LIMIT $limit
"""


def _select(con: duckdb.DuckDBPyConnection, columns: tuple[str, ...], **given: Any) -> list[tuple[Any, ...]]:
    parameters: dict[str, Any] = {
        "rule": None, "status": None, "tenant": None, "tool": None, "gate": None, "correlation": None, "since": None,
        "severities": list(SEVERITIES), "limit": None, **given, "order": list(SEVERITIES),
    }  # fmt: skip
    # The column names are this module's own constants; what the user gives are parameters.
    return con.execute(_QUERY.format(columns=", ".join(columns)), parameters).fetchall()


def _check_rule(con: duckdb.DuckDBPyConnection, rule: str) -> None:
    """Raise InputError for the name of no rule, neither a shipped one nor one of the user's own."""
    # The snapshot names every rule that judged it, so that readers need no folder of rules.
    known = {name for (name,) in con.execute("SELECT rule FROM policy_severity").fetchall()}
    if rule not in known:
        raise InputError(f"--rule {rule}: no such rule{suggestion(rule, known) or '; docs/rules.md lists them'}")


def _at_least(severity: str) -> list[str]:
    return list(SEVERITIES[: SEVERITIES.index(severity) + 1])


@click.command()
@click.option(
    "--fail-on", type=click.Choice(SEVERITIES), default="high", show_default=True, help="Exit 1 from here up."
)
@click.option("--since", metavar="T", help="Only what happened since: a date, a timestamp, or a length like 24h.")
@json_option
@pass_context
def check(context: Context, fail_on: str, since: str | None, as_json: bool) -> None:
    """Open findings as a table; exit code 1 when one is at or above the threshold."""
    start = parse_since(since, now=utc_now()) if since is not None else None
    with snapshot(context.data) as con:
        rows = _select(con, _ALL if as_json else _LISTED, status="open", since=start)
    severity = (_ALL if as_json else _LISTED).index("severity")
    counts = {name: sum(row[severity] == name for row in rows) for name in SEVERITIES}
    failing = sum(counts[name] for name in _at_least(fail_on))
    if as_json:
        emit_json(
            {
                "findings": records(_ALL, rows),
                "count": len(rows),
                "by_severity": counts,
                "fail_on": fail_on,
                "failing": failing,
            }
        )
    else:
        if rows:
            click.echo(table([*_LISTED[:1], *_LISTED[1:]], [(row[0][:12], *row[1:]) for row in rows]))
        summary = ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "none"
        say(f"open findings: {summary}; {failing} at or above {fail_on}")
        if rows:
            say("`gatewatch explain ID` shows the evidence of one")
    raise click.exceptions.Exit(EXIT_FINDINGS if failing else EXIT_CLEAN)


@click.command()
@click.option("--rule", help="Only this rule.")
@click.option("--severity", type=click.Choice(SEVERITIES), help="Only this severity and worse.")
@click.option("--status", type=click.Choice(["open", "pending"]), help="Only open, or only pending.")
@click.option("--tenant", help="Only this tenant.")
@click.option("--tool", help="Only this tool.")
@click.option("--gate", help="Only this gate.")
@click.option("--correlation", metavar="ID", help="Only this correlation id.")
@click.option("--since", metavar="T", help="Only what happened since: a date, a timestamp, or a length like 24h.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many.")
@json_option
@pass_context
def findings(
    context: Context,
    rule: str | None,
    severity: str | None,
    status: str | None,
    tenant: str | None,
    tool: str | None,
    gate: str | None,
    correlation: str | None,
    since: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List findings, worst first; exit code 0 whatever there is."""
    start = parse_since(since, now=utc_now()) if since is not None else None
    columns = _ALL if as_json else _LISTED
    with snapshot(context.data) as con:
        if rule is not None:
            _check_rule(con, rule)
        rows = _select(
            con, columns, rule=rule, status=status, tenant=tenant, tool=tool, gate=gate, correlation=correlation,
            since=start, severities=_at_least(severity or SEVERITIES[-1]), limit=limit,
        )  # fmt: skip
    shown = rows if as_json else [(row[0][:12], *row[1:]) for row in rows]
    emit_rows("findings", columns, shown, as_json=as_json, empty="no findings")
