"""What took effect: 03, "The two decisions, exactly": receipts and attempts become effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from tests.oracle.history import History, Row, is_mutating, order_of

_LeftT = TypeVar("_LeftT")
_RightT = TypeVar("_RightT")


@dataclass(eq=False)
class Effect:
    """A receipt, an attempt, or both: "the receipt has the say", so its fields come first."""

    attempt: Row | None
    receipt: Row | None

    @property
    def main(self) -> Row:
        """The event whose id names the effect: the receipt's, if there is one."""
        row = self.receipt or self.attempt
        assert row is not None
        return row

    @property
    def first(self) -> Row:
        """The event that says when and where it happened: the attempt, if there is one."""
        row = self.attempt or self.receipt
        assert row is not None
        return row

    def field(self, name: str) -> Any:
        """A field of the receipt, else of the attempt."""
        if self.receipt is not None and self.receipt.get(name) is not None:
            return self.receipt[name]
        return self.attempt.get(name) if self.attempt is not None else None

    @property
    def action(self) -> str:
        """The attempt's `tool`, whose contract names the actions; else the receipt's `action`."""
        return str(self.attempt["tool"] if self.attempt is not None else self.main["action"])

    @property
    def partial(self) -> bool:
        """Whether it took effect in part only, by the receipt, else by the attempt."""
        if self.receipt is not None:
            return bool(self.receipt["effect"] == "partial")
        return bool(self.main["outcome"] == "partial")

    @property
    def verified(self) -> bool:
        """02: `verified`: "a partial result was checked and is safe"."""
        return self.attempt is not None and self.attempt.get("verified") is True

    @property
    def event_ids(self) -> tuple[str, ...]:
        """The events that it consists of."""
        return tuple(sorted(row["event_id"] for row in (self.attempt, self.receipt) if row is not None))

    @property
    def order(self) -> tuple[datetime, bytes]:
        """Where it stands among the effects: by the time of the attempt, then the id of the effect."""
        return (self.first["ts"], self.main["event_id"].encode())


def match_in_order(
    left: list[_LeftT],
    right: list[_RightT],
    left_key: Callable[[_LeftT], Any],
    right_key: Callable[[_RightT], Any],
) -> list[tuple[_LeftT, _RightT]]:
    """Pair what has the same key, "earliest with earliest" (both lists are in order), and take the pairs out of both.

    A key of None matches nothing.
    """
    pairs: list[tuple[_LeftT, _RightT]] = []
    for one in list(left):
        key = left_key(one)
        if key is None:
            continue
        for other in right:
            if right_key(other) == key:
                pairs.append((one, other))
                left.remove(one)
                right.remove(other)
                break
    return pairs


def key_of(name: str) -> Callable[[Row], tuple[Any, Any] | None]:
    """A key within its tenant; None where the event does not carry it. 03: "every join ... is also on `tenant`"."""
    return lambda row: None if row.get(name) is None else (row["tenant"], row[name])


def effect_key_of(name: str) -> Callable[[Effect], tuple[Any, Any] | None]:
    """The same for an effect."""
    return lambda effect: None if effect.field(name) is None else (effect.first["tenant"], effect.field(name))


def collapsed_receipts(history: History) -> list[Row]:
    """What the system of record says: its last word under each receipt id, and every `exists` as a slip of its own,
    since that "is the proof that it did not" happen again, and may carry the receipt id of the first time.

    Keys that the last word leaves out are taken from the other events of the receipt id.
    """
    by_id: dict[tuple[Any, Any], list[Row]] = {}
    for receipt in history.receipts:
        by_id.setdefault((receipt["tenant"], receipt["receipt_id"]), []).append(receipt)
    kept = []
    for events in by_id.values():
        known = {
            name: max((event[name] for event in events if event.get(name) is not None), default=None)
            for name in ("idempotency_key", "call_id", "proposal_id")
        }
        full = [{**event, **{n: event.get(n) or v for n, v in known.items()}} for event in events]
        words = [event for event in full if event["effect"] != "exists"]
        slips = [event for event in full if event["effect"] == "exists"]
        took_effect = any(event["effect"] in ("committed", "partial") for event in words)
        kept += [{**event, "took_effect": took_effect} for event in words[-1:]]
        for number, slip in enumerate(slips):
            named = not words and number == 0
            kept.append({**slip, "took_effect": took_effect, "receipt_id": slip["receipt_id"] if named else None})
    return sorted(kept, key=order_of)


def effective_attempts(history: History) -> list[Row]:
    """03: "an attempt of a call with side effects whose outcome is success or partial"; "attempts that carry the same
    receipt_id are one effect" (the earliest stands for them).
    """
    kept: list[Row] = []
    seen: set[tuple[Any, Any]] = set()
    for attempt in history.attempts:
        if not is_mutating(attempt) or attempt["outcome"] not in ("success", "partial"):
            continue
        key = key_of("receipt_id")(attempt)
        if key is not None and key in seen:
            continue
        if key is not None:
            seen.add(key)
        kept.append(attempt)
    return kept


def effects_of(history: History) -> list[Effect]:
    """03: "a receipt and the attempt that it belongs to (same receipt_id, else idempotency_key, else call_id) are one
    effect"; "A receipt `rolled_back` or `rejected` cancels the effect it belongs to; `exists` makes none."

    A rejection or rollback takes an attempt only when no receipt that stands is left for it. One that found no attempt
    undoes an earlier effect under its key, unless it is a rejection of a try that took no effect anyway.
    """
    cancelling = ("rolled_back", "rejected")
    receipts = sorted(collapsed_receipts(history), key=lambda r: (r["effect"] in cancelling, *order_of(r)))
    attempts = effective_attempts(history)
    effects: list[Effect] = []
    for name in ("receipt_id", "idempotency_key", "call_id"):
        for receipt, attempt in match_in_order(receipts, attempts, key_of(name), key_of(name)):
            if receipt["effect"] in ("committed", "partial"):
                effects.append(Effect(attempt, receipt))
    effects += [Effect(attempt, None) for attempt in attempts]
    effects += [Effect(None, receipt) for receipt in receipts if receipt["effect"] in ("committed", "partial")]
    effects.sort(key=lambda effect: effect.order)

    lone = [r for r in receipts if r["effect"] in cancelling and not r["took_effect"]]
    by_key = [r for r in lone if r.get("idempotency_key") is not None]
    by_call = [r for r in lone if r.get("idempotency_key") is None]
    undone: list[Effect] = []
    for name, slips in (("idempotency_key", by_key), ("call_id", by_call)):
        rejections = [slip for slip in slips if slip["effect"] == "rejected"]
        for slip, _ in match_in_order(rejections, _tries_without_effect(history), key_of(name), key_of(name)):
            slips.remove(slip)
    for name, slips in (("idempotency_key", by_key), ("call_id", by_call)):
        for slip, effect in match_in_order(slips, list(effects), key_of(name), effect_key_of(name)):
            if slip["ts"] >= effect.first["ts"]:
                undone.append(effect)
    return [effect for effect in effects if effect not in undone]


def _tries_without_effect(history: History) -> list[Row]:
    """Mutating attempts that were refused, failed or got no answer."""
    return [a for a in history.attempts if is_mutating(a) and a["outcome"] not in ("success", "partial")]


def duplicates_of(effects: list[Effect]) -> list[Effect]:
    """03: "two effects with one idempotency key -> the later one is `duplicate_execution`"."""
    seen: set[tuple[Any, Any]] = set()
    later: list[Effect] = []
    for effect in effects:
        key = effect_key_of("idempotency_key")(effect)
        if key is None:
            continue
        if key in seen:
            later.append(effect)
        seen.add(key)
    return later
