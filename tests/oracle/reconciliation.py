"""Executed-flag reconciliation: 03, "The two decisions, exactly", second part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.oracle.effects import (
    Effect,
    collapsed_receipts,
    duplicates_of,
    effect_key_of,
    effects_of,
    key_of,
    match_in_order,
)
from tests.oracle.history import History, Row, error_class_of, is_mutating, order_of, still_running
from tests.oracle.rows import ReconciliationRow
from tests.oracle.rulebook import Rulebook

KEYS = ("receipt_id", "idempotency_key", "call_id")


@dataclass(eq=False)
class Claim:
    """One element of a record's `actions_attempted`."""

    record: Row
    position: int
    said: Row
    effect: Effect | None = None
    match_key: str | None = None

    @property
    def executed(self) -> bool:
        """What the record claims."""
        return bool(self.said["executed"])

    @property
    def target(self) -> str | None:
        """What it was done to, if the record says so."""
        target: str | None = self.said.get("target")
        return target

    def key(self, name: str) -> tuple[Any, Any] | None:
        """A match key within the tenant, None without one."""
        return None if self.said.get(name) is None else (self.record["tenant"], self.said[name])


def reconciliation(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[ReconciliationRow]:
    """03: "One row per claim or unclaimed effect", and one per duplicate effect and per conflicting key."""
    effects = effects_of(history)
    duplicates = duplicates_of(effects)
    claims = claims_of(history)
    match(claims, effects, rules)
    rows = []
    for claim in claims:
        status = claim_status(claim, claims, history, rules)
        evidence = claim.effect.event_ids if claim.effect else ()
        if status == "unverifiable":  # the call that got no answer is what there is to look at
            evidence = (min(_unanswered(claim, history, rules)),)
        subject = f"{claim.record['decision_id']}#{claim.position}"
        rows.append(_row(claim.record, status, subject, claim.match_key, evidence, rules, watermark, claim))
    claimed = [claim.effect for claim in claims if claim.effect is not None]
    for effect in effects:
        tenant, run = effect.first["tenant"], effect.first["correlation_id"]
        if effect in duplicates:
            status, name = "duplicate_execution", "idempotency_key"
            rows.append(_row(effect.first, status, effect.main["event_id"], name, effect.event_ids, rules, watermark))
        elif effect not in claimed and history.records_of(tenant, run):
            status = "unclaimed_execution"
            rows.append(_row(effect.first, status, effect.main["event_id"], None, effect.event_ids, rules, watermark))
    for key, events in conflicting_keys(history).items():
        ids = tuple(sorted(event["event_id"] for event in events))
        row = _row(events[-1], "key_conflict", key[1], "idempotency_key", ids, rules, watermark)
        rows.append(row._replace(correlation_id=events[0]["correlation_id"]))
    return rows


def _row(
    at: Row,
    status: str,
    subject: str,
    match_key: str | None,
    evidence: tuple[str, ...],
    rules: Rulebook,
    watermark: datetime | None,
    claim: Claim | None = None,
) -> ReconciliationRow:
    """03: "Rows whose grace still runs are `pending`", counted from the event `at`."""
    return ReconciliationRow(
        tenant=at["tenant"],
        correlation_id=at["correlation_id"],
        status="pending" if still_running(watermark, at["ts"], rules.grace) else status,
        match_key=match_key,
        claim_event_id=claim.record["event_id"] if claim else None,
        claim_position=claim.position if claim else None,
        evidence=evidence,
        subject=subject,
        settled=status,
    )


def claims_of(history: History) -> list[Claim]:
    """03: "A *claim* is one element of `actions_attempted` of the newest record of each decision id".

    In the order in which they choose: those that claim execution first, then by (record ts, event_id, position).
    """
    claims = [
        Claim(record, position, said)
        for record in history.newest_records
        for position, said in enumerate(record.get("actions_attempted") or [])
    ]
    return sorted(claims, key=lambda claim: (not claim.executed, *order_of(claim.record), claim.position))


def match(claims: list[Claim], effects: list[Effect], rules: Rulebook) -> None:
    """03: "Match keys, in order: receipt_id, idempotency_key, call_id, then correlation_id + action (through the tool
    contract's `actions`) + target; each claim takes at most one piece of evidence".

    The last pass (target null on either side) has two halves, so that it finds as many pairs as there can be: first
    claims with a target take effects without one, then claims without a target take what is left.
    """
    free_claims, free_effects = list(claims), list(effects)

    def run(name: str, claim_key: Callable[[Claim], Any], effect_key: Callable[[Effect], Any]) -> None:
        for claim, effect in match_in_order(free_claims, free_effects, claim_key, effect_key):
            claim.effect, claim.match_key = effect, name

    def of_claim(claim: Claim) -> tuple[Any, ...]:
        return (claim.record["tenant"], claim.record["correlation_id"], rules.action_group(claim.said["action"]))

    def of_effect(effect: Effect) -> tuple[Any, ...]:
        return (effect.first["tenant"], effect.first["correlation_id"], rules.action_group(effect.action))

    for key in KEYS:
        run(key, lambda claim, key=key: claim.key(key), effect_key_of(key))  # type: ignore[misc]
    run(
        "action",
        lambda claim: None if claim.target is None else (*of_claim(claim), claim.target),
        lambda effect: (*of_effect(effect), effect.field("target")),
    )
    run(
        "action",
        lambda claim: None if claim.target is None else of_claim(claim),
        lambda effect: of_effect(effect) if effect.field("target") is None else None,
    )
    run("action", lambda claim: of_claim(claim) if claim.target is None else None, of_effect)


def claim_status(claim: Claim, claims: list[Claim], history: History, rules: Rulebook) -> str:
    """03: "Then: claim true ...; claim false ...; two records that give one key different flags"."""
    if any(_contradict(claim, other) for other in claims):
        return "conflicting_claims"
    effect = claim.effect
    if not claim.executed:
        if effect is not None:
            return "hidden_execution"
        return "unverifiable" if _unanswered(claim, history, rules) else "matched"
    if effect is None:
        return "phantom_execution"
    if not effect.partial and effect.receipt is None and rules.receipt_required(effect.main["tool"]):
        return "unreceipted_execution"
    if effect.partial and not effect.verified:
        return "partial_as_executed"
    claimed, evidenced = claim.said.get("amount"), effect.field("amount")
    if claimed is not None and evidenced is not None and abs(claimed - evidenced) > rules.amount_tolerance + 1e-6:
        return "amount_break"
    return "matched"


def _contradict(claim: Claim, other: Claim) -> bool:
    """03: "two records that give one key different flags"."""
    if claim.record["decision_id"] == other.record["decision_id"] or claim.executed == other.executed:
        return False
    return any(claim.key(name) is not None and claim.key(name) == other.key(name) for name in KEYS)


def _unanswered(claim: Claim, history: History, rules: Rulebook) -> list[str]:
    """03: "an attempt ended without an answer (unavailable, or failed with a transient error) and no receipt feed can
    tell": the tool's contract requires no receipt, and no receipt carries a key of the attempt or of the claim.
    """
    silent = []
    for attempt in history.attempts:
        if not is_mutating(attempt) or attempt["tenant"] != claim.record["tenant"]:
            continue
        timed_out = attempt["outcome"] == "failed" and error_class_of(attempt) == "transient"
        if attempt["outcome"] != "unavailable" and not timed_out:
            continue
        by_key = any(claim.key(name) is not None and claim.key(name) == key_of(name)(attempt) for name in KEYS)
        by_action = (
            attempt["correlation_id"] == claim.record["correlation_id"]
            and rules.same_action(claim.said["action"], attempt["tool"])
            and (claim.target is None or attempt.get("target") is None or claim.target == attempt["target"])
        )
        if not (by_key or by_action) or rules.receipt_required(attempt["tool"]):
            continue
        known = {(name, key_of(name)(attempt)) for name in KEYS} | {(name, claim.key(name)) for name in KEYS}
        told = [(name, key_of(name)(r)) for r in history.receipts for name in KEYS if r.get(name) is not None]
        if not any(carried in known for carried in told):
            silent.append(attempt["event_id"])
    return silent


def conflicting_keys(history: History) -> dict[tuple[Any, Any], list[Row]]:
    """03: "one key with different digest, target or amount": per (tenant, key) the events that carry it.

    Mutating attempts (whatever came of them) are compared with each other, committed receipts with each other.
    """
    attempts: dict[tuple[Any, Any], list[Row]] = {}
    receipts: dict[tuple[Any, Any], list[Row]] = {}
    for attempt in history.attempts:
        key = key_of("idempotency_key")(attempt)
        if key is not None and is_mutating(attempt):
            attempts.setdefault(key, []).append(attempt)
    for receipt in collapsed_receipts(history):
        key = key_of("idempotency_key")(receipt)
        if key is not None and receipt["effect"] == "committed":
            receipts.setdefault(key, []).append(receipt)
    found = {}
    for key in {**attempts, **receipts}:
        tried, booked = attempts.get(key, []), receipts.get(key, [])
        if _differ(tried, ("input_digest", "target", "amount")) or _differ(booked, ("target", "amount")):
            found[key] = sorted(tried + booked, key=order_of)
    return found


def _differ(events: list[Row], names: tuple[str, ...]) -> bool:
    return any(len({event[name] for event in events if event.get(name) is not None}) > 1 for name in names)
