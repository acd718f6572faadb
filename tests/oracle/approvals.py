"""Approvals and confirmation: 03, "Approvals and confirmation"."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from tests.oracle.effects import Effect, duplicates_of, effects_of
from tests.oracle.history import History, Row, order_of, still_running
from tests.oracle.rows import Verdict
from tests.oracle.rulebook import Rulebook


def approvals(history: History, rules: Rulebook, watermark: datetime | None = None) -> list[Verdict]:
    """At most one approval rule per effect, and `execution_after_supersession` independently of it.

    A duplicate effect is reported as that, and needs no second approval.
    """
    effects = effects_of(history)
    duplicates = duplicates_of(effects)
    used: Counter[tuple[Any, Any]] = Counter()
    verdicts: list[Verdict] = []
    for effect in effects:
        broken = []
        if effect not in duplicates and needs_approval(effect, rules):
            rule = approval_status(effect, history, rules, used)
            if rule is not None:
                broken.append(rule)
        if _superseded(effect, history):
            broken.append("execution_after_supersession")
        first = effect.first
        for rule in broken:
            # Only what lacks evidence waits for it.
            pending = rule == "approval_missing" and still_running(watermark, first["ts"], rules.grace)
            verdicts.append(Verdict(rule, first["tenant"], first["correlation_id"], first["event_id"], pending))
    return verdicts


def needs_approval(effect: Effect, rules: Rulebook) -> bool:
    """03, `[approvals]`: "which side effects or actions need one"; the contract's count beside the call's own."""
    if effect.attempt is not None and effect.attempt["side_effects"] in rules.approval_side_effects:
        return True
    tools = [effect.attempt["tool"]] if effect.attempt is not None else sorted(rules.action_group(effect.action))
    if any(rules.tools.get(tool, {}).get("side_effects") in rules.approval_side_effects for tool in tools):
        return True
    return any(rules.same_action(effect.action, action) for action in rules.approval_actions)


def approval_status(effect: Effect, history: History, rules: Rulebook, used: Counter[tuple[Any, Any]]) -> str | None:
    """03: "`approval_missing`, `approval_expired`, `approval_mismatch` (action, target), `approval_exceeded` (amount),
    `approval_reused`, `approval_not_human`, `approval_declined_executed`, `confirmation_stale`": the first that fits.

    `used` collects the approvals that an effect relied on, whatever became of it.
    """
    candidates = answers_to(effect, history, rules)
    if not candidates:
        return "approval_missing"
    approval = candidates[-1]  # the last one in time counts
    granted = len({answer["approval_id"] for answer in candidates if answer["decision"] == "approved"})
    identity = (approval["tenant"], approval["approval_id"])
    used[identity] += 1
    if approval["decision"] == "declined":
        return "approval_declined_executed"
    if approval["decision"] in ("expired", "superseded"):
        return "approval_expired"
    expires_at = approval.get("expires_at")
    if expires_at is None and rules.approval_expires_after is not None:
        expires_at = approval["ts"] + rules.approval_expires_after
    if expires_at is not None and expires_at < effect.first["ts"]:
        return "approval_expired"
    if approval["by_kind"] not in rules.approval_by_kind:
        return "approval_not_human"
    target = effect.field("target")
    if approval.get("action") is not None and not rules.same_action(effect.action, approval["action"]):
        return "approval_mismatch"
    if approval.get("target") is not None and target is not None and approval["target"] != target:
        return "approval_mismatch"
    amount, limit = effect.field("amount"), approval.get("amount_limit")
    if amount is not None and limit is not None and amount > limit + rules.amount_tolerance + 1e-6:
        return "approval_exceeded"
    digest = effect.attempt.get("input_digest") if effect.attempt is not None else None
    if approval.get("digest") is not None and digest is not None and approval["digest"] != digest:
        return "confirmation_stale"
    # Two approvals for two alike actions are one each, even where neither action names its own.
    if approval["single_use"] and used[identity] > granted:
        return "approval_reused"
    return None


def answers_to(effect: Effect, history: History, rules: Rulebook) -> list[Row]:
    """The decisions in time among those that the effect names: by the attempt's `approval_id`, else by the
    receipt's `proposal_id`, else those of the same run and action, with an equal or no target. A name that nobody
    decided on is no approval: it does not fall through to the next way.
    """
    first = effect.first
    candidates: list[Row] = []
    for answer in history.of_kind("action.decision"):
        decision = _filled(answer, history)
        if decision["tenant"] != first["tenant"] or decision["ts"] > first["ts"] + rules.clock_skew:
            continue
        if effect.attempt is not None and effect.attempt.get("approval_id") is not None:
            fits = decision["approval_id"] == effect.attempt["approval_id"]
        elif effect.receipt is not None and effect.receipt.get("proposal_id") is not None:
            fits = decision.get("proposal_id") == effect.receipt["proposal_id"]
        else:
            target = effect.field("target")
            fits = (
                decision["correlation_id"] == first["correlation_id"]
                and decision.get("action") is not None
                and rules.same_action(effect.action, decision["action"])
                and (target is None or decision.get("target") is None or decision["target"] == target)
            )
        if fits:
            candidates.append(decision)
    return candidates


def _filled(decision: Row, history: History) -> Row:
    """The decision, with what it leaves out taken from the proposal that it answers (02: "answered it")."""
    for proposal in history.of_kind("action.proposal"):
        if (proposal["tenant"], proposal["proposal_id"]) == (decision["tenant"], decision.get("proposal_id")):
            said = {"action": "action", "target": "target", "digest": "digest", "amount_limit": "amount"}
            missing = {mine: proposal.get(theirs) for mine, theirs in said.items() if decision.get(mine) is None}
            return {**decision, **missing}
    return decision


def _superseded(effect: Effect, history: History) -> bool:
    """02: `safety.supersession`: "safety stopped ordinary execution": nothing may take effect after it in its run."""
    first = effect.first
    for stop in history.of_kind("safety.supersession"):
        same_run = (stop["tenant"], stop["correlation_id"]) == (first["tenant"], first["correlation_id"])
        if same_run and order_of(first) > order_of(stop):
            return True
    return False
