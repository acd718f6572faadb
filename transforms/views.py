"""One view per kind over the wide `events` table, so that an analyst sees only the columns that a kind has."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.columns import SYSTEM_COLUMNS, fields_of
from schemas.events import KINDS

VIEW_OF_KIND: dict[str, str] = {
    "tool.invocation": "tool_invocations",
    "tool.degradation": "tool_degradations",
    "gate.decision": "gate_decisions",
    "action.proposal": "action_proposals",
    "action.decision": "action_decisions",
    "action.receipt": "action_receipts",
    "agent.dispatch": "agent_dispatches",
    "agent.lease": "agent_leases",
    "agent.report": "agent_reports",
    "route.decision": "route_decisions",
    "safety.supersession": "safety_supersessions",
    "decision.record": "decision_records",
    "human.feedback": "human_feedback",
}


@dataclass(frozen=True, slots=True)
class View:
    """One view: its name, its SELECT, and what a row is."""

    name: str
    sql: str
    grain: str


def _columns(kind: str) -> str:
    first, *last = (column.name for column in SYSTEM_COLUMNS)
    names = [first, *(name for name in fields_of(KINDS[kind]) if name != "kind"), *last]
    # The contract's default: a call without an id of its own is its only attempt.
    return ", ".join(
        "coalesce(call_id, event_id) AS call_id" if kind == "tool.invocation" and name == "call_id" else f'"{name}"'
        for name in names
    )


def views() -> tuple[View, ...]:
    """All views of the published database.

    `shipments` also holds the ticket files that an output-stamp hook reported.
    """
    # Names of kinds and columns come from the models.
    found = [
        View(
            name,
            f"SELECT {_columns(kind)} FROM events WHERE kind = '{kind}'",  # noqa: S608
            f"One row is one {kind} event.",
        )
        for kind, name in VIEW_OF_KIND.items()
    ]
    xenia = next(kind for kind in KINDS if kind.startswith("xenia."))
    found.append(
        View(
            "ticket_events",
            f"SELECT kind, {_columns(xenia)}, correlation_id FROM events WHERE kind LIKE 'xenia.%'",  # noqa: S608
            "One row is one file that an output-stamp hook reported.",
        )
    )
    found.append(
        View(
            "shipments",
            "SELECT seq, event_id, ts, kind, correlation_id, run_id, tenant, "
            'coalesce(artifact_id, path) AS artifact_id, coalesce("by", agent) AS "by", '
            "author, digest, phase, channel, path, "
            "coalesce(customer_facing, TRUE) AS customer_facing FROM events WHERE kind = 'artifact.shipment' "
            "OR (kind LIKE 'xenia.%' AND path IS NOT NULL AND phase IN ('tickets', 'escalations'))",
            "One row is one thing that left the house.",
        )
    )
    return tuple(found)
