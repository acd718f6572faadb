"""Faults of approvals and confirmation, written once for both scenarios.

Each function writes one run whose mutation was executed without the approval that it needed. The record claims every
mutation correctly, so that nothing but the approval is wrong.
"""

from __future__ import annotations

from collections.abc import Callable

from sample_data.deeds import Deed
from sample_data.scene import Scene
from sample_data.story import AMOUNT, AMOUNT_OVER


def _conclude(scene: Scene, rule: str, *deeds: Deed, wrong: Deed) -> None:
    """Claim the deeds as they were, close, and expect the finding about the ``wrong`` one."""
    for deed in deeds:
        scene.claim(deed)
    scene.expect(rule, wrong.approval_subject)
    scene.close()


def never_asked(scene: Scene) -> None:
    """Irreversible, and nobody was asked."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.hard, scene.cast.soft)), approved=False)
    _conclude(scene, "approval_missing", deed, wrong=deed)


def listed_action(scene: Scene) -> None:
    """Reversible, but on the policy's list of actions that need approval."""
    scene.open(write=True)
    deed = scene.act(scene.cast.guarded, approved=False)
    _conclude(scene, "approval_missing", deed, wrong=deed)


def receipt_alone(scene: Scene) -> None:
    """Only the system of record tells of it, and nobody had been asked; the contract knows the side effects."""
    scene.open(write=True)
    tool, key, receipt = scene.cast.hard, scene.new("idem"), scene.new("rcpt")
    target = f"{tool.action}:«run»"
    event = scene.receipt(tool, receipt_id=receipt, idempotency_key=key, target=target, amount=AMOUNT)
    deed = Deed(tool, None, key, target, AMOUNT, None, receipt, event)
    scene.claim(deed, by="receipt_id")
    scene.expect("approval_missing", event)
    scene.close()


def other_action_approved(scene: Scene) -> None:
    """What was approved in this run is another action; no key points to it."""
    scene.open(write=True)
    scene.approve(scene.cast.guarded, f"{scene.cast.hard.action}:«run»")
    deed = scene.act(scene.cast.hard, approved=False)
    _conclude(scene, "approval_missing", deed, wrong=deed)


def lapsed(scene: Scene) -> None:
    """The approval's own expiry had passed; that the amount is too high as well comes second."""
    scene.open(write=True)
    target = f"{scene.cast.soft.action}:«run»"
    approval = scene.approve(scene.cast.soft, target, expires_at=scene.clock.at(300), amount_limit=AMOUNT)
    scene.clock.exactly(600)
    deed = scene.act(scene.cast.soft, approved=False, approval_id=approval, target=target, amount=AMOUNT_OVER)
    _conclude(scene, "approval_expired", deed, wrong=deed)


def lapsed_by_default(scene: Scene) -> None:
    """Without an expiry of its own an approval holds 24 hours; this one was used after 25."""
    scene.open(write=True)
    target = f"{scene.cast.hard.action}:«run»"
    scene.approve(scene.cast.hard, target)
    scene.clock.exactly(25 * 3600)
    deed = scene.act(scene.cast.hard, approved=False, target=target)
    _conclude(scene, "approval_expired", deed, wrong=deed)


def withdrawn(scene: Scene) -> None:
    """Approved, then superseded or expired by the approver, then executed."""
    scene.open(write=True)
    target = f"{scene.cast.soft.action}:«run»"
    approval = scene.approve(scene.cast.soft, target)
    scene.approve(scene.cast.soft, target, decision=scene.pick(("superseded", "expired")), approval_id=approval)
    deed = scene.act(scene.cast.soft, approved=False, approval_id=approval, target=target)
    _conclude(scene, "approval_expired", deed, wrong=deed)


def other_target(scene: Scene) -> None:
    """Approved for one target, executed on another."""
    scene.open(write=True)
    approval = scene.approve(scene.cast.hard, f"{scene.cast.hard.action}:«run»-other")
    deed = scene.act(scene.cast.hard, approved=False, approval_id=approval)
    _conclude(scene, "approval_mismatch", deed, wrong=deed)


def other_action(scene: Scene) -> None:
    """The approval that the call names was given for another action."""
    scene.open(write=True)
    target = f"{scene.cast.soft.action}:«run»"
    approval = scene.approve(scene.cast.hard, target)
    deed = scene.act(scene.cast.soft, approved=False, approval_id=approval, target=target)
    _conclude(scene, "approval_mismatch", deed, wrong=deed)


def too_much(scene: Scene) -> None:
    """More money than the approval allows."""
    scene.open(write=True)
    tool = scene.pick((scene.cast.hard, scene.cast.soft))
    approval = scene.approve(tool, f"{tool.action}:«run»", amount_limit=AMOUNT)
    deed = scene.act(tool, approved=False, approval_id=approval, amount=AMOUNT_OVER)
    _conclude(scene, "approval_exceeded", deed, wrong=deed)


def used_twice(scene: Scene) -> None:
    """One single-use approval, two executions under different keys."""
    scene.open(write=True)
    tool = scene.cast.soft
    approval = scene.approve(tool, f"{tool.action}:«run»", single_use=scene.pick((True, None)))
    first = scene.act(tool, approved=False, approval_id=approval)
    second = scene.act(tool, approved=False, approval_id=approval)
    _conclude(scene, "approval_reused", first, second, wrong=second)


def used_twice_unnamed(scene: Scene) -> None:
    """As before, but the calls name no approval: action and target lead both of them to it."""
    scene.open(write=True)
    tool = scene.cast.hard
    scene.approve(tool, f"{tool.action}:«run»")
    first, second = scene.act(tool, approved=False), scene.act(tool, approved=False)
    _conclude(scene, "approval_reused", first, second, wrong=second)


def not_a_person(scene: Scene) -> None:
    """An agent or a policy approved what a person has to approve."""
    scene.open(write=True)
    tool, kind = scene.cast.hard, scene.pick(("agent", "policy"))
    approval = scene.approve(tool, f"{tool.action}:«run»", by_kind=kind, by="auto-approver", amount_limit=AMOUNT)
    deed = scene.act(tool, approved=False, approval_id=approval, amount=scene.pick((AMOUNT, AMOUNT_OVER)))
    _conclude(scene, "approval_not_human", deed, wrong=deed)


def declined(scene: Scene) -> None:
    """The person said no."""
    scene.open(write=True)
    tool = scene.cast.hard
    approval = scene.approve(tool, f"{tool.action}:«run»", decision="declined")
    deed = scene.act(tool, approved=False, approval_id=approval)
    _conclude(scene, "approval_declined_executed", deed, wrong=deed)


def declined_in_the_end(scene: Scene) -> None:
    """The person said yes and then no, before the execution; the last word counts."""
    scene.open(write=True)
    tool = scene.cast.guarded
    scene.approve(tool, f"{tool.action}:«run»")
    scene.approve(tool, f"{tool.action}:«run»", decision="declined")
    deed = scene.act(tool, approved=False)
    _conclude(scene, "approval_declined_executed", deed, wrong=deed)


def changed_after_confirmation(scene: Scene) -> None:
    """What was executed is not what the person saw."""
    scene.open(write=True)
    tool = scene.pick((scene.cast.hard, scene.cast.soft))
    approval = scene.approve(tool, f"{tool.action}:«run»", digest=scene.digest("as shown"))
    deed = scene.act(tool, approved=False, approval_id=approval, input_digest=scene.digest("as executed"))
    _conclude(scene, "confirmation_stale", deed, wrong=deed)


def after_supersession(scene: Scene) -> None:
    """Safety had stopped the run, and the approved mutation was executed all the same."""
    scene.open(write=True)
    tool = scene.cast.soft
    approval = scene.approve(tool, f"{tool.action}:«run»")
    scene.emit("safety.supersession", policy="self-harm", reason="customer at risk")
    deed = scene.act(tool, approved=False, approval_id=approval)
    _conclude(scene, "execution_after_supersession", deed, wrong=deed)


def edited_after_supersession(scene: Scene) -> None:
    """Something that needs no approval was executed after safety had stopped the run."""
    scene.open(write=True)
    scene.emit("safety.supersession", policy="fraud-hold")
    deed = scene.act(scene.cast.edit)
    _conclude(scene, "execution_after_supersession", deed, wrong=deed)


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "approval_missing": (never_asked, listed_action, receipt_alone, other_action_approved),
    "approval_expired": (lapsed, lapsed_by_default, withdrawn),
    "approval_mismatch": (other_target, other_action),
    "approval_exceeded": (too_much,),
    "approval_reused": (used_twice, used_twice_unnamed),
    "approval_not_human": (not_a_person,),
    "approval_declined_executed": (declined, declined_in_the_end),
    "confirmation_stale": (changed_after_confirmation,),
    "execution_after_supersession": (after_supersession, edited_after_supersession),
}
