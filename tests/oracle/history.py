"""Native events as the oracle reads them: defaults filled in, slugs lower-cased, times as naive UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from schemas.fields import parse_rfc3339

Row = dict[str, Any]
"""An event of the contract, plus `order` = (ts, event_id), and `correlation_id` also for xenia records."""


def order_of(row: Row) -> tuple[datetime, bytes]:
    """03: "Order is (`ts`, `event_id`), never order of arrival"; event ids compare bytewise."""
    return (row["ts"], row["event_id"].encode())


def instant(value: str | datetime) -> datetime:
    """A timestamp as naive UTC."""
    if isinstance(value, str):
        value = parse_rfc3339(value)
    return value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)


def normalise(event: dict[str, Any]) -> Row:
    """One accepted event with 02's defaults: `call_id` "default: the event_id", `attempt` 1, `customer_facing` true."""
    row = dict(event)
    row["ts"] = instant(event["ts"])
    row["tenant"] = event.get("tenant")
    if event["kind"].startswith("xenia."):
        row["correlation_id"] = event.get("ticket_id")
    for slug in ("caller", "tool", "gate"):
        if isinstance(row.get(slug), str):
            row[slug] = row[slug].lower()
    if row.get("expires_at") is not None:
        row["expires_at"] = instant(row["expires_at"])
    if row["kind"] == "tool.invocation":
        if row.get("call_id") is None:
            row["call_id"] = row["event_id"]
        row.setdefault("attempt", 1)
    if row["kind"] == "artifact.shipment":
        row.setdefault("customer_facing", True)
    if row["kind"] == "action.decision":
        row.setdefault("single_use", True)
    return row


class History:
    """All events, in (`ts`, `event_id`) order, by kind."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.rows = sorted((normalise(event) for event in events), key=order_of)
        self.attempts = self.of_kind("tool.invocation")
        self.receipts = self.of_kind("action.receipt")
        self.records = self.of_kind("decision.record")
        self.newest_records = self._newest(self.records)

    def of_kind(self, kind: str) -> list[Row]:
        """The events of one kind, in order."""
        return [row for row in self.rows if row["kind"] == kind]

    @staticmethod
    def _newest(records: list[Row]) -> list[Row]:
        """02: "an edited record is a new event; the last one counts", per tenant and decision id."""
        last: dict[tuple[str | None, str], Row] = {}
        for record in records:  # in order, so the last one wins
            last[record["tenant"], record["decision_id"]] = record
        return sorted(last.values(), key=order_of)

    def calls(self) -> dict[tuple[str | None, str, str], list[Row]]:
        """Attempts per (tenant, correlation id, call id), ordered by (attempt, ts, event_id)."""
        found: dict[tuple[str | None, str, str], list[Row]] = {}
        for attempt in self.attempts:
            found.setdefault((attempt["tenant"], attempt["correlation_id"], attempt["call_id"]), []).append(attempt)
        return {key: in_call_order(attempts) for key, attempts in found.items()}

    def records_of(self, tenant: str | None, correlation_id: str) -> list[Row]:
        """The newest record of each decision id, as far as it belongs to this run."""
        return [r for r in self.newest_records if (r["tenant"], r["correlation_id"]) == (tenant, correlation_id)]

    def escalated(self, tenant: str | None, correlation_id: str) -> bool:
        """Handed to a human: `xenia.escalated`, a record ESCALATED_TO_HUMAN, or its `escalation.triggered`."""
        for row in self.of_kind("xenia.escalated"):
            if (row["tenant"], row["correlation_id"]) == (tenant, correlation_id):
                return True
        for record in self.records_of(tenant, correlation_id):
            if record["terminal_state"] == "ESCALATED_TO_HUMAN" or (record.get("escalation") or {}).get("triggered"):
                return True
        return False


def in_call_order(attempts: list[Row]) -> list[Row]:
    """Attempts of one call; "the last attempt decides the call" (03, Numbers)."""
    return sorted(attempts, key=lambda row: (row["attempt"], *order_of(row)))


def error_class_of(attempt: Row) -> str:
    """The attempt's error class; without one, what its outcome implies."""
    if attempt.get("error_class") is not None:
        return str(attempt["error_class"])
    implied = {
        "success": "none",
        "partial": "partial_success",
        "unavailable": "transient",
        "denied": "permission_denied",
    }
    return implied.get(attempt["outcome"], "other")


def is_mutating(attempt: Row) -> bool:
    """A call with side effects."""
    return attempt["side_effects"] in ("reversible", "irreversible")


def notes_degradation(record: Row, *, tool: str | None = None, call_id: str | None = None) -> bool:
    """Whether the record's `degradations` name this tool or this call."""
    for note in record.get("degradations") or []:
        if tool is not None and note.get("tool") is not None and note["tool"].lower() == tool:
            return True
        if call_id is not None and note.get("call_id") == call_id:
            return True
    return False


def still_running(watermark: datetime | None, ts: datetime, grace: timedelta) -> bool:
    """03: `pending` "until the watermark passes its time + `grace`". No watermark: everything is complete."""
    return watermark is not None and watermark <= ts + grace
