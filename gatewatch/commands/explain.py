"""`explain`: one finding with its evidence as a timeline, and what would have satisfied the rule."""

from __future__ import annotations

from typing import Any

import click
import duckdb

from gatewatch.context import Context, json_option, pass_context
from gatewatch.errors import InputError
from gatewatch.output import clean, emit_json, plain, table
from gatewatch.reading import snapshot
from transforms.catalogue import Rule, rules

_FIND = "SELECT * FROM findings WHERE starts_with(finding_id, $wanted) ORDER BY finding_id LIMIT 2"

_TIMELINE = """
SELECT ts, event_id, kind, list_contains($evidence, event_id) AS evidence,
    coalesce("by", caller, agent, actor, holder, system, source) AS who,
    concat_ws(' ', gate, decision, tool, outcome, error_class, action, effect, state, claim, terminal_state, signal,
        task_family, list_aggregate(granted_tools, 'string_agg', ' ')) AS what,
    coalesce(subject, artifact_id, path, target, task_id, proposal_id, decision_id, receipt_id, call_id, ticket_id)
        AS subject
FROM events
WHERE list_contains($evidence, event_id)
   OR (correlation_id = $correlation AND tenant IS NOT DISTINCT FROM $tenant)
ORDER BY ts, event_id
"""

_HEADERS = ("ts", "event_id", "kind", "evidence", "who", "what", "subject")


@click.command()
@click.argument("finding_id")
@json_option
@pass_context
def explain(context: Context, finding_id: str, as_json: bool) -> None:
    """One finding: what happened, the evidence in order, what would have satisfied the rule.

    FINDING_ID may be shortened as long as it is unique.
    """
    with snapshot(context.data) as con:
        finding = _find(con, finding_id)
        timeline = con.execute(
            _TIMELINE,
            {
                "evidence": finding["evidence"],
                "correlation": finding["correlation_id"],
                "tenant": finding["tenant"],
            },
        ).fetchall()
        policy = con.execute("SELECT name, version FROM policy_about").fetchone()
    rule = rules()[finding["rule"]]
    if as_json:
        emit_json(
            {
                "finding": finding,
                "rule": {"means": rule.means, "do": rule.do, "satisfied_by": rule.satisfied_by},
                "policy": {"name": policy[0], "version": policy[1]} if policy else None,
                "timeline": [dict(zip(_HEADERS, map(plain, row), strict=True)) for row in timeline],
            }
        )
        return
    _print(finding, rule, timeline, policy)


def _find(con: duckdb.DuckDBPyConnection, wanted: str) -> dict[str, Any]:
    result = con.execute(_FIND, {"wanted": wanted.lower()})
    names = [column[0] for column in result.description or ()]
    rows = result.fetchall()
    if not rows:
        raise InputError(f"no finding {clean(wanted)}; `gatewatch findings` lists them (it may have been cleared)")
    if len(rows) > 1:
        raise InputError(f"{clean(wanted)} fits more than one finding; give more characters of the id")
    return dict(zip(names, rows[0], strict=True))


def _print(finding: dict[str, Any], rule: Rule, timeline: list[Any], policy: Any) -> None:
    where = [
        f"{label} {clean(str(finding[key]))}"
        for label, key in (("run", "correlation_id"), ("tenant", "tenant"), ("gate", "gate"), ("tool", "tool"))
        if finding[key]
    ]
    click.echo(f"{finding['severity'].upper()} {finding['rule']} ({finding['status']}) {finding['finding_id']}")
    click.echo(clean(finding["message"]))
    click.echo(f"{finding['event_ts']:%Y-%m-%d %H:%M:%S} UTC; {'; '.join(where)}")
    click.echo("")
    click.echo(f"Means:         {rule.means}")
    click.echo(f"Do:            {rule.do}")
    click.echo(f"Satisfied by:  {rule.satisfied_by}")
    if policy:
        click.echo(f"Judged by:     policy {clean(policy[0])} version {policy[1]}, {finding['policy_digest']}")
    click.echo("")
    click.echo("Timeline (* is evidence):")
    rows = [("*" if row[3] else "", *row[:3], *row[4:]) for row in timeline]
    click.echo(table(("", "ts", "event_id", "kind", "who", "what", "subject"), rows))
