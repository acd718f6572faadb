"""The one entry: events and a policy in, rows and findings out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Any

from tests.oracle.agents import agents
from tests.oracle.approvals import approvals
from tests.oracle.contracts import contracts
from tests.oracle.gates import gate_checks
from tests.oracle.history import History, instant
from tests.oracle.reconciliation import reconciliation
from tests.oracle.retries import retries
from tests.oracle.routing import routing
from tests.oracle.rows import DatedVerdict, Finding, GateCheck, ReconciliationRow, Verdict, sort_rows
from tests.oracle.rulebook import Rulebook
from tests.oracle.runs import runs


@dataclass(frozen=True)
class Result:
    """What the rules say; every list is sorted by `sort_rows`.

    `findings` hold now and are open; `pending` ones would be open if nothing else came before the watermark passes.
    """

    gate_checks: list[GateCheck]
    reconciliation: list[ReconciliationRow]
    approvals: list[Verdict]
    retries: list[Verdict]
    agents: list[Verdict]
    routing: list[Verdict]
    contracts: list[DatedVerdict]
    runs: list[DatedVerdict]
    findings: set[Finding]
    pending: set[Finding]


def evaluate(events: list[dict[str, Any]], policy: dict[str, Any], watermark: datetime | None = None) -> Result:
    """Judge a set of accepted native events (JSON objects, in any order) by a policy (as `tomllib` reads it).

    `watermark` is an instant (aware, or naive UTC); None means that every source is finished, so nothing is pending.
    """
    history, rules = History(events), Rulebook(policy)
    at = None if watermark is None else instant(watermark)
    checks = gate_checks(history, rules, at)
    rows = reconciliation(history, rules, at)
    verdicts = [approvals(history, rules, at), retries(history, rules, at)]
    verdicts += [agents(history, rules, at), routing(history, rules)]
    dated = [contracts(history, rules), runs(history, rules, at)]

    found: list[tuple[Finding, bool]] = []
    for check in checks:
        if check.settled != "passed":
            finding = Finding(check.settled, check.tenant, check.correlation_id, check.subject)
            found.append((finding, check.status == "pending"))
    for row in rows:
        if row.settled != "matched":
            finding = Finding(row.settled, row.tenant, row.correlation_id, row.subject)
            found.append((finding, row.status == "pending"))
    judged: list[Verdict | DatedVerdict] = [*chain.from_iterable(verdicts), *chain.from_iterable(dated)]
    for verdict in judged:
        finding = Finding(verdict.rule, verdict.tenant, verdict.correlation_id, verdict.subject)
        found.append((finding, verdict.pending))
    findings = {finding for finding, pending in found if not pending}
    return Result(
        gate_checks=sort_rows(checks),
        reconciliation=sort_rows(rows),
        approvals=sort_rows(verdicts[0]),
        retries=sort_rows(verdicts[1]),
        agents=sort_rows(verdicts[2]),
        routing=sort_rows(verdicts[3]),
        contracts=sort_rows(dated[0]),
        runs=sort_rows(dated[1]),
        findings=findings,
        pending={finding for finding, pending in found if pending} - findings,
    )
