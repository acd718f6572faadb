"""Runs that look like a fault and are none, written once for both scenarios: nothing may be found in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sample_data.deeds import Deed
from sample_data.scene import Scene
from sample_data.story import AMOUNT, AMOUNT_PART


def retried_with_key(scene: Scene) -> None:
    """A mutation timed out and was repeated with its key; the receipt of the second attempt settles it."""
    scene.open(write=True)
    tool = scene.cast.hard
    first = scene.act(tool, outcome="unavailable", receipt=False)
    again = scene.act(
        tool,
        approved=False,
        call=first.call_id,
        number=2,
        idempotency_key=first.key,
    )
    scene.claim(again, by=scene.pick(("receipt_id", "idempotency_key", "call_id")))
    scene.close()


def already_there(scene: Scene) -> None:
    """The repeated call was answered with the receipt of the first: `exists` proves that nothing happened twice."""
    scene.open(write=True)
    tool, receipt = scene.cast.hard, scene.new("rcpt-kept")
    first = scene.act(tool, outcome="unavailable", receipt=False)
    told: dict[str, Any] = {"receipt_id": receipt, "idempotency_key": first.key}
    told |= {"target": first.target, "amount": first.amount}
    scene.receipt(tool, **told)
    again = scene.act(
        tool,
        approved=False,
        receipt=False,
        call=first.call_id,
        number=2,
        idempotency_key=first.key,
        receipt_id=receipt,
    )
    scene.receipt(tool, "exists", **told)
    scene.claim(again)
    scene.close()


def answered_twice(scene: Scene) -> None:
    """Two calls report one receipt: one effect, told twice."""
    scene.open(write=True)
    tool, receipt, shown = scene.cast.soft, scene.new("rcpt-kept"), scene.digest("same input")
    first = scene.act(tool, input_digest=shown, receipt_id=receipt)
    scene.receipt(tool, receipt_id=receipt, idempotency_key=first.key, target=first.target, amount=first.amount)
    scene.act(tool, approved=False, idempotency_key=first.key, input_digest=shown, receipt_id=receipt)
    scene.receipt(
        tool, "exists", receipt_id=receipt, idempotency_key=first.key, target=first.target, amount=first.amount
    )
    scene.claim(first, by="idempotency_key")
    scene.close()


def honest_timeout(scene: Scene) -> None:
    """A timeout claimed as not executed, where the required receipt would have come if it had been."""
    scene.open(write=True)
    tool = scene.cast.hard
    deed = scene.act(tool, outcome="unavailable", receipt=False)
    scene.degrade(tool, deed.call_id, by_tool=scene.chance(0.5))
    scene.claim(deed, executed=False)
    scene.close()


def honest_rollback(scene: Scene) -> None:
    """Rolled back, and claimed as not executed."""
    scene.open(write=True)
    tool = scene.cast.soft
    deed = scene.act(tool, receipt=False)
    scene.receipt(tool, "rolled_back", idempotency_key=deed.key, target=deed.target, amount=deed.amount)
    scene.claim(deed, executed=False, by="idempotency_key")
    scene.close()


def verified_partial(scene: Scene) -> None:
    """Done in part, but somebody checked that this is safe."""
    scene.open(write=True)
    deed = scene.act(scene.cast.soft, outcome="partial", verified=True)
    scene.claim(deed)
    scene.close()


def corrected_record(scene: Scene) -> None:
    """A record claimed too much and was corrected: the newest one of a decision counts."""
    scene.open(write=True)
    tool = scene.cast.hard
    deed = Deed(tool, scene.new("call"), None, f"{tool.action}:«run»", AMOUNT)
    scene.claim(deed)
    scene.record("FOLLOW_UP_TICKET")
    scene.claims = []
    scene.claim(deed, executed=False)
    scene.close("FOLLOW_UP_TICKET")


def asked_again(scene: Scene) -> None:
    """Declined first, approved after a second look: the last word counts."""
    scene.open(write=True)
    tool = scene.cast.soft
    approval = scene.approve(tool, f"{tool.action}:«run»", decision="declined")
    scene.approve(tool, f"{tool.action}:«run»", approval_id=approval)
    scene.claim(scene.act(tool, approved=False, approval_id=approval))
    scene.close()


def approved_for_several(scene: Scene) -> None:
    """One approval that says that it may be used more than once."""
    scene.open(write=True)
    tool = scene.cast.soft
    approval = scene.approve(tool, f"{tool.action}:«run»", single_use=False, amount_limit=AMOUNT)
    for amount in (AMOUNT_PART, AMOUNT):
        scene.claim(scene.act(tool, approved=False, approval_id=approval, amount=amount))
    scene.close()


def approved_within_skew(scene: Scene) -> None:
    """By its own clock the approval came 1.5 seconds after the execution: within the allowed skew."""
    scene.open(write=True)
    tool = scene.cast.guarded
    deed = scene.act(tool, approved=False)
    scene.clock.exactly(1.5)
    scene.emit(
        "action.decision",
        pause=0.0,
        approval_id=scene.new("appr"),
        decision="approved",
        by=scene.cast.approver,
        by_kind="human",
        action=tool.action,
        target=deed.target,
    )
    scene.claim(deed)
    scene.close()


def corrected_input(scene: Scene) -> None:
    """A validation error, then other input under another key: nothing is repeated."""
    scene.open(write=True)
    tool = scene.cast.guarded
    first = scene.act(tool, outcome="failed", receipt=False, error_class="validation", error_type="bad_query")
    again = scene.act(
        tool,
        approved=False,
        call=first.call_id,
        number=2,
        input_digest=scene.digest("corrected"),
        approval_id=scene.approve(tool, first.target),
    )
    scene.claim(again)
    scene.close()


def recovered(scene: Scene) -> None:
    """One read worked on its retry, with a field that no schema knows; one failed in a way that no rule is about."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    scene.attempt(tool, "unavailable", call=call)
    scene.attempt(tool, call=call, number=2, served_by="replica-2")
    scene.attempt(scene.cast.lookup, scene.pick(("failed", "stale_target")), call=scene.new("call"))
    scene.close()


def degraded_properly(scene: Scene) -> None:
    """The fallback was taken, naming the call or only the tool, and the record says so."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    scene.attempt(tool, "unavailable", call=call)
    scene.attempt(tool, "failed", call=call, number=2, error_class="transient")
    scene.degrade(tool, scene.pick((call, None)), by_tool=True)
    scene.close()


def denied_and_told(scene: Scene) -> None:
    """Permission was denied; a person takes over, or the record says it."""
    scene.open()
    tool, call = scene.cast.lookup, scene.new("call")
    scene.attempt(tool, "denied", call=call)
    terminal = scene.pick(("ESCALATED_TO_HUMAN", "RESOLVED"))
    if terminal == "RESOLVED":
        scene.note(tool, call)
    scene.close(terminal)


def stopped_by_safety(scene: Scene) -> None:
    """A mutation before safety stopped the run, and none after it."""
    scene.open(write=True)
    scene.claim(scene.act(scene.cast.edit))
    scene.emit("safety.supersession", policy="self-harm")
    scene.close("ESCALATED_TO_HUMAN")


CLEAN: tuple[Callable[[Scene], None], ...] = (
    retried_with_key,
    already_there,
    answered_twice,
    honest_timeout,
    honest_rollback,
    verified_partial,
    corrected_record,
    asked_again,
    approved_for_several,
    approved_within_skew,
    corrected_input,
    recovered,
    degraded_properly,
    denied_and_told,
    stopped_by_safety,
)
