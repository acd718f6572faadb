"""Faults of the executed-flag reconciliation, written once for both scenarios.

Each function writes one run in which what the record claims, what the calls say and what the system of record says do
not fit together. Every mutation is approved, so that nothing else is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sample_data.casts import Tool
from sample_data.deeds import Deed
from sample_data.scene import Scene
from sample_data.story import AMOUNT, AMOUNT_OVER, AMOUNT_PART


def _break(scene: Scene, rule: str, position: int, decision: str | None) -> None:
    scene.expect(rule, f"{decision}#{position}")


def _timed_out(scene: Scene, tool: Tool, *, failed: bool = False) -> Deed:
    """An approved mutation whose answer never came; its fallback was taken, and the record will say so."""
    error: dict[str, Any] = {"outcome": "failed", "error_class": "transient"} if failed else {"outcome": "unavailable"}
    deed = scene.act(tool, receipt=False, error_type="timeout", **error)
    scene.degrade(tool, deed.call_id)
    return deed


def nothing_there(scene: Scene) -> None:
    """Claimed, and nothing ever happened."""
    scene.open(write=True)
    tool = scene.cast.hard
    if scene.chance(0.5):
        scene.approve(tool, f"{tool.action}:«run»")
    position = scene.claim(Deed(tool, None, None, f"{tool.action}:«run»", AMOUNT), by="target")
    _break(scene, "phantom_execution", position, scene.close())


def timeout_as_done(scene: Scene) -> None:
    """A timeout is no effect, but the record says executed."""
    scene.open(write=True)
    position = scene.claim(_timed_out(scene, scene.pick((scene.cast.hard, scene.cast.soft))))
    _break(scene, "phantom_execution", position, scene.close())


def rolled_back(scene: Scene) -> None:
    """The call said success, the system of record rolled it back, the record still says executed."""
    scene.open(write=True)
    tool = scene.cast.soft
    deed = scene.act(tool, receipt=False)
    keys = {"idempotency_key": deed.key} if scene.chance(0.5) else {"call_id": deed.call_id}
    effect = scene.pick(("rolled_back", "rejected"))
    scene.receipt(tool, effect, target=deed.target, amount=deed.amount, **keys)
    _break(scene, "phantom_execution", scene.claim(deed), scene.close())


def reversed_later(scene: Scene) -> None:
    """Committed, then rolled back under the same receipt: the last word is that nothing holds."""
    scene.open(write=True)
    deed = scene.act(scene.cast.hard)
    scene.receipt(
        scene.cast.hard,
        "rolled_back",
        receipt_id=deed.receipt_id,
        idempotency_key=deed.key,
        call_id=deed.call_id,
        target=deed.target,
        amount=deed.amount,
    )
    _break(scene, "phantom_execution", scene.claim(deed, by="idempotency_key"), scene.close())


def done_but_denied(scene: Scene) -> None:
    """It happened, and the record says that it did not."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.hard, scene.cast.soft)))
    position = scene.claim(deed, executed=False, by=scene.pick(("call_id", "idempotency_key", "target", "action")))
    _break(scene, "hidden_execution", position, scene.close())


def done_after_timeout(scene: Scene) -> None:
    """The call timed out, the system of record committed, and the record says not executed."""
    scene.open(write=True)
    deed = _timed_out(scene, scene.cast.hard)
    scene.receipt(scene.cast.hard, idempotency_key=deed.key, target=deed.target, amount=deed.amount)
    position = scene.claim(deed, executed=False, by="idempotency_key")
    _break(scene, "hidden_execution", position, scene.close())


def not_mentioned(scene: Scene) -> None:
    """A mutation that the record does not mention, beside one that it does."""
    scene.open(write=True)
    scene.claim(scene.act(scene.cast.edit))
    deed = scene.act(scene.pick((scene.cast.hard, scene.cast.soft, scene.cast.guarded)))
    scene.expect("unclaimed_execution", deed.effect_event)
    scene.close()


def one_claim_for_two(scene: Scene) -> None:
    """Two edits of one target, one claim: it takes the earlier one."""
    scene.open(write=True)
    deed, second = scene.act(scene.cast.edit), scene.act(scene.cast.edit)
    scene.claim(deed, by=scene.pick(("target", "action")))
    scene.expect("unclaimed_execution", second.effect_event)
    scene.close()


def partly_done(scene: Scene) -> None:
    """Done in part, unverified, claimed as done."""
    scene.open(write=True)
    deed = scene.act(scene.cast.soft, outcome="partial", verified=scene.pick((None, False)))
    _break(scene, "partial_as_executed", scene.claim(deed), scene.close())


def partly_receipted(scene: Scene) -> None:
    """The call said success, the system of record says partial and has the say."""
    scene.open(write=True)
    tool = scene.cast.hard
    deed = scene.act(tool, receipt=False)
    scene.receipt(tool, "partial", call_id=deed.call_id, target=deed.target, amount=AMOUNT_PART)
    _break(scene, "partial_as_executed", scene.claim(deed), scene.close())


def other_amount(scene: Scene) -> None:
    """The record claims another amount than the one that moved."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.hard, scene.cast.soft)))
    position = scene.claim(deed, amount=scene.pick((AMOUNT_OVER, AMOUNT_PART)))
    _break(scene, "amount_break", position, scene.close())


def called_twice(scene: Scene) -> None:
    """Two calls with one idempotency key, and both took effect."""
    scene.open(write=True)
    tool, shown = scene.cast.soft, scene.digest("same input")
    first = scene.act(tool, input_digest=shown)
    second = scene.act(tool, approved=False, idempotency_key=first.key, input_digest=shown)
    scene.claim(first, by="idempotency_key")
    scene.expect("duplicate_execution", second.effect_event)
    scene.close()


def repeated_after_success(scene: Scene) -> None:
    """A call that had worked was attempted again with its key and worked again."""
    scene.open(write=True)
    tool = scene.cast.soft
    first = scene.act(tool)
    second = scene.act(tool, approved=False, call=first.call_id, number=2, idempotency_key=first.key)
    scene.claim(first)
    scene.expect("duplicate_execution", second.effect_event)
    scene.close()


def two_receipts(scene: Scene) -> None:
    """One call, two receipts of different identity for its key."""
    scene.open(write=True)
    tool = scene.cast.hard
    deed = scene.act(tool)
    extra = scene.receipt(tool, idempotency_key=deed.key, target=deed.target, amount=deed.amount)
    scene.claim(deed, by="idempotency_key")
    scene.expect("duplicate_execution", extra)
    scene.close()


def other_input_later(scene: Scene) -> None:
    """One key, two inputs; only the second call took effect."""
    scene.open(write=True)
    tool, key = scene.cast.soft, scene.new("idem")
    scene.act(tool, approved=False, outcome="failed", idempotency_key=key, input_digest=scene.digest("first input"))
    deed = scene.act(tool, idempotency_key=key, input_digest=scene.digest("second input"))
    scene.claim(deed)
    scene.expect("key_conflict", key)
    scene.close()


def two_amounts(scene: Scene) -> None:
    """One key for two amounts, and both took effect: a conflict and a duplicate."""
    scene.open(write=True)
    tool, shown = scene.cast.soft, scene.digest("same input")
    first = scene.act(tool, input_digest=shown)
    second = scene.act(tool, approved=False, idempotency_key=first.key, input_digest=shown, amount=AMOUNT_PART)
    scene.claim(first)
    scene.expect("key_conflict", first.key or "")
    scene.expect("duplicate_execution", second.effect_event)
    scene.close()


def two_records(scene: Scene) -> None:
    """Two records of one run give the same call different flags."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.hard, scene.cast.guarded)))
    by = scene.pick(("call_id", "idempotency_key"))
    scene.claim(deed, executed=False, by=by)  # type: ignore[arg-type]
    first = scene.record("FOLLOW_UP_TICKET", decision_id=f"DR-{scene.correlation}-0")
    scene.claims = []
    scene.claim(deed, by=by)  # type: ignore[arg-type]
    second = scene.close(follow_up_of=first)
    for decision in (first, second):
        _break(scene, "conflicting_claims", 0, decision)


def no_receipt(scene: Scene) -> None:
    """The contract requires a receipt, and the tool's own word is all there is."""
    scene.open(write=True)
    deed = scene.act(scene.cast.hard, receipt=False)
    _break(scene, "unreceipted_execution", scene.claim(deed), scene.close())


def cannot_tell(scene: Scene) -> None:
    """A timeout after sending, claimed as not executed, and no receipt feed that could tell."""
    scene.open(write=True)
    deed = _timed_out(scene, scene.cast.soft, failed=scene.chance(0.5))
    position = scene.claim(deed, executed=False, by=scene.pick(("call_id", "idempotency_key", "target")))
    _break(scene, "unverifiable", position, scene.close())


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "phantom_execution": (nothing_there, timeout_as_done, rolled_back, reversed_later),
    "hidden_execution": (done_but_denied, done_after_timeout),
    "unclaimed_execution": (not_mentioned, one_claim_for_two),
    "partial_as_executed": (partly_done, partly_receipted),
    "amount_break": (other_amount,),
    "duplicate_execution": (called_twice, repeated_after_success, two_receipts),
    "key_conflict": (other_input_later, two_amounts),
    "conflicting_claims": (two_records,),
    "unreceipted_execution": (no_receipt,),
    "unverifiable": (cannot_tell,),
}
