"""What a pipeline guards: the shipments (and calls, reports, proposals) that its `applies_to` and `when` select."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.oracle.history import History, Row, order_of
from tests.oracle.rulebook import Rulebook


@dataclass
class Shipment:
    """Something that a pipeline guards, at the moment when it leaves."""

    row: Row
    subject: str
    author: str | None
    digest: str | None

    @property
    def ts(self) -> datetime:
        """When it left."""
        ts: datetime = self.row["ts"]
        return ts


def shipments_of(history: History, pipeline: dict[str, Any], rules: Rulebook) -> list[Shipment]:
    """What `applies_to` (and `when`) select, in (`ts`, `event_id`) order."""
    found: list[Shipment] = []
    matchers = pipeline["applies_to"]
    for row in history.rows:
        shipment = as_shipment(row)
        if shipment is not None and matches(shipment.row, matchers, rules):
            found.append(shipment)
    for attempts in history.calls().values():
        for attempt in attempts:  # one check per call, at its first attempt that matches
            if matches(attempt, matchers, rules):
                found.append(Shipment(attempt, attempt["call_id"], attempt["caller"], attempt.get("input_digest")))
                break
    found = [shipment for shipment in found if _when(history, shipment, pipeline.get("when", {}), rules)]
    return sorted(found, key=lambda shipment: order_of(shipment.row))


def as_shipment(row: Row) -> Shipment | None:
    """02: a xenia "record with a `path` in phase tickets or escalations is also a shipment of that path by that agent".

    Author: 03, line 4: "the shipment's `author` (without one: its `by`)".
    """
    kind = row["kind"]
    if kind == "artifact.shipment":
        author = row["author"] if row.get("author") is not None else row["by"]
        return Shipment(row, row["artifact_id"], author, row.get("digest"))
    if kind == "agent.report":
        return Shipment(row, row["task_id"], row["by"], None)
    if kind == "action.proposal":
        return Shipment(row, row["proposal_id"], row["actor"], row.get("digest"))
    if kind.startswith("xenia.") and row.get("path") is not None and row.get("phase") in ("tickets", "escalations"):
        seen_as = {
            "kind": "artifact.shipment",
            "artifact_id": row["path"],
            "by": row.get("agent"),
            "customer_facing": True,
        }
        return Shipment({**row, **seen_as}, row["path"], row.get("agent"), None)
    return None


def matches(row: Row, matchers: dict[str, Any], rules: Rulebook) -> bool:
    """03, `applies_to`: "kind plus equality/in matchers on fields"; every one must match, values compare as text."""
    for name, wanted in matchers.items():
        if row.get(name) is None:
            return False
        allowed = wanted if isinstance(wanted, list) else [wanted]
        if not any(_same(name, row[name], value, rules) for value in allowed):
            return False
    return True


def _same(name: str, one: Any, other: Any, rules: Rulebook) -> bool:
    """People by any of their names; what is written by hand in any letters (docs/policy.md); the rest exactly."""
    if name in ("caller", "by", "author", "actor", "agent"):
        return rules.person(str(one)) == rules.person(str(other))
    if name in ("tool", "action", "intent", "category", "model_tier") or isinstance(one, bool):
        return str(one).lower() == str(other).lower()
    return str(one) == str(other)


def _when(history: History, shipment: Shipment, matchers: dict[str, Any], rules: Rulebook) -> bool:
    """03, `when`: "same matchers, for conditional gates": one record or ticket event of the run satisfies them all."""
    if not matchers:
        return True
    if shipment.row["correlation_id"] is None:  # no run, so nothing that is known of it
        return False
    for row in history.rows:
        if (row["tenant"], row["correlation_id"]) != (shipment.row["tenant"], shipment.row["correlation_id"]):
            continue
        if row["kind"] == "decision.record" and matches(row, matchers, rules):
            return True
        if row["kind"].startswith("xenia."):
            as_run = {**row, "priority": row.get("severity"), "intent": row.get("category")}
            if matches(as_run, matchers, rules):
                return True
    return False
