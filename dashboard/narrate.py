"""Say in words what one event is: its kind, who did it, and what.

The words still hold what outsiders wrote: `text.plain` them before they are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Row = Mapping[str, Any]
"""One row of `events`, by column."""


class Told(NamedTuple):
    """One event in words."""

    kind: str
    who: str | None
    what: str


def _also(row: Row, *parts: tuple[str, str]) -> str:
    """`` · <label> <value>`` for every column that has a value."""
    return "".join(f" · {label} {row[column]}".replace("  ", " ") for label, column in parts if row[column] is not None)


def _money(row: Row, column: str = "amount") -> str:
    if row[column] is None:
        return ""
    return f" · amount {row[column]:,.2f}" + (f" {row['currency']}" if row["currency"] else "")


def _call(row: Row) -> Told:
    target = f" on {row['target']}" if row["target"] else ""
    attempt = f", attempt {row['attempt']}" if (row["attempt"] or 1) > 1 else ""
    error = " / ".join(row[column] for column in ("error_class", "error_type") if row[column])
    what = f"{row['tool']}{target}: {row['outcome']}{attempt}" + (f" ({error})" if error else "")
    effects = "" if row["side_effects"] in (None, "none") else f" · {row['side_effects']} side effects"
    more = _also(row, ("approval", "approval_id"), ("receipt", "receipt_id"), ("key", "idempotency_key"), ("", "note"))
    return Told("Tool call", row["caller"], what + effects + _money(row) + more)


def _degradation(row: Row) -> Told:
    what = f"{row['tool']} gave up, fallback {row['fallback']}"
    return Told("Fallback taken", row["caller"], what + _also(row, ("", "error_class"), ("", "reason")))


def _gate(row: Row) -> Told:
    what = f"{row['subject']} {row['decision']} at the gate {row['gate']}"
    more = _also(row, ("rubric", "rubric"), ("cycle", "cycle"), ("expires", "expires_at"), ("", "reason"))
    return Told("Gate decision", row["by"], what + more)


def _shipment(row: Row) -> Told:
    more = _also(row, ("by", "channel"), ("written by", "author"), ("phase", "phase"), ("", "path"))
    return Told("Shipment", row["by"], f"{row['artifact_id']} went out" + more)


def _proposal(row: Row) -> Told:
    target = f" on {row['target']}" if row["target"] else ""
    more = _also(row, ("proposal", "proposal_id"), ("expires", "expires_at"))
    return Told("Proposal", row["actor"], f"{row['action']}{target} waits for an answer" + _money(row) + more)


def _answer(row: Row) -> Told:
    what = f"{row['decision']} {row['action'] or 'the proposal'}" + (f" on {row['target']}" if row["target"] else "")
    limit = "" if row["amount_limit"] is None else f" · up to {row['amount_limit']:,.2f}"
    more = _also(row, ("a", "by_kind"), ("approval", "approval_id"), ("expires", "expires_at"))
    return Told("Approval", row["by"], what + limit + more)


def _receipt(row: Row) -> Told:
    what = f"{row['action']}" + (f" on {row['target']}" if row["target"] else "") + f": {row['effect']}"
    more = _also(row, ("receipt", "receipt_id"), ("key", "idempotency_key"))
    return Told("Receipt", row["system"], what + _money(row) + more)


def _dispatch(row: Row) -> Told:
    return Told("Dispatch", row["caller"], f"{row['agent']} started by {row['command']}")


def _lease(row: Row) -> Told:
    return Told("Lease", row["holder"], f"{row['task_id']}: {row['state']}" + _also(row, ("expires", "expires_at")))


def _report(row: Row) -> Told:
    return Told("Report", row["by"], f"{row['task_id']}: {row['claim']}" + _also(row, ("artifact", "artifact_id")))


def _route(row: Row) -> Told:
    tools = ", ".join(row["granted_tools"] or ()) or "no tools"
    return Told("Routing", None, f"{row['task_family']}: {tools}" + _also(row, ("needs", "needed_privilege")))


def _stop(row: Row) -> Told:
    return Told("Safety stop", None, f"{row['policy']} stopped ordinary execution" + _also(row, ("", "reason")))


def _claims(row: Row) -> str:
    said = [
        f"{claim['action']} {'executed' if claim['executed'] else 'not executed'}"
        for claim in row["actions_attempted"] or ()
    ]
    return f" · claims: {', '.join(said)}" if said else " · claims no action"


def _record(row: Row) -> Told:
    what = f"{row['decision_id']} closes as {row['terminal_state']}{_claims(row)}"
    noted = [part["tool"] or part["call_id"] or "" for part in row["degradations"] or ()]
    more = _also(row, ("judge rounds", "judge_cycles"), ("dispatches", "dispatch_count"))
    return Told("Decision record", None, what + (f" · degraded: {', '.join(noted)}" if noted else "") + more)


def _feedback(row: Row) -> Told:
    value = "" if row["value"] is None else f" {row['value']:g}"
    return Told("Feedback", row["by"], f"{row['signal']}{value}")


_TICKET_KINDS = {
    "xenia.ticket_created": "Ticket opened",
    "xenia.ticket_resolved": "Ticket resolved",
    "xenia.escalated": "Ticket escalated",
    "xenia.voc_report": "Customer report",
    "xenia.output_written": "File written",
}


def _ticket(row: Row) -> Told:
    what = row["path"] or row["ticket_id"] or row["event_id"]
    more = _also(row, ("priority", "severity"), ("", "category"), ("SLA", "sla_state"), ("outcome", "outcome"))
    return Told(_TICKET_KINDS[row["kind"]], row["agent"], what + more)


_TELLERS: dict[str, Callable[[Row], Told]] = {
    "tool.invocation": _call,
    "tool.degradation": _degradation,
    "gate.decision": _gate,
    "artifact.shipment": _shipment,
    "action.proposal": _proposal,
    "action.decision": _answer,
    "action.receipt": _receipt,
    "agent.dispatch": _dispatch,
    "agent.lease": _lease,
    "agent.report": _report,
    "route.decision": _route,
    "safety.supersession": _stop,
    "decision.record": _record,
    "human.feedback": _feedback,
    **dict.fromkeys(_TICKET_KINDS, _ticket),
}


def tell(row: Row) -> Told:
    """The event in words; a kind that this version does not know is told by its name and id."""
    teller = _TELLERS.get(row["kind"])
    return teller(row) if teller else Told("Event", None, f"{row['kind']} {row['event_id']}")
