"""Faults of the support squad's gates.

Each function writes one run. In the policy a reply needs `quality`, then `clearance`; a P1 also the `duty-lead`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sample_data.casts import SQUAD_SCANNING, SQUAD_SCORING
from sample_data.squad import PASSED_VERDICTS, Squad


def silent_drop(scene: Squad) -> None:
    """Shipped without anybody looking: both gates are missing."""
    scene.open()
    artifact = scene.new("reply")
    scene.ship(artifact, digest=scene.digest(artifact))
    scene.expect("gate_missing", artifact, times=2)
    scene.close()


def scored_but_undecided(scene: Squad) -> None:
    """The reviewer's tool failed once, worked on the retry, and no decision followed: missing, not errored."""
    scene.open()
    artifact, call = scene.new("reply"), scene.new("call")
    scene.attempt(SQUAD_SCORING, "unavailable", call=call)
    scene.attempt(SQUAD_SCORING, call=call, number=2)
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_missing", artifact)
    scene.close()


def other_subject(scene: Squad) -> None:
    """The clearance speaks of another artifact than the one that shipped."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.decide("clearance", scene.new("reply"))
    scene.ship(artifact)
    scene.expect("gate_missing", artifact)
    scene.close()


def no_duty_lead(scene: Squad) -> None:
    """A P1 reply without the duty lead."""
    scene.priority = "P1"
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact, duty_lead=False)
    scene.ship(artifact)
    scene.expect("gate_missing", artifact)
    scene.close()


def silent_stamp(scene: Squad) -> None:
    """The output hook's line is the shipment, and no gate knows the file; the record has no verdicts either."""
    scene.open()
    scene.expect("gate_missing", scene.path(), times=2)
    scene.close()


def gate_errored(scene: Squad) -> None:
    """The quality gate decided that it could not decide; it shipped all the same."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact, "errored", reason="model gave no verdict")
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_errored_open", artifact)
    scene.close()


def reviewer_down(scene: Squad) -> None:
    """The reviewer's own tool failed, nobody decided, and it shipped."""
    scene.open()
    artifact, call = scene.new("reply"), scene.new("call")
    scene.decide("quality", artifact)
    caller = scene.pick(("eunomia", "compliance-redaction"))
    scene.attempt(SQUAD_SCANNING, "unavailable", call=call, caller=caller)
    scene.degrade(SQUAD_SCANNING, call)
    scene.ship(artifact)
    scene.expect("gate_errored_open", artifact)
    scene.close()


def blocked(scene: Squad) -> None:
    """Blocked last, shipped anyway; the record's own verdicts do not undo that."""
    scene.open()
    artifact = scene.new("reply")
    if scene.chance(0.5):
        scene.decide("quality", artifact)
    scene.decide("quality", artifact, "blocked", reason="no source for the claim")
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_blocked_shipped", artifact)
    verdicts: dict[str, Any] = {"rubric_verdicts": PASSED_VERDICTS} if scene.chance(0.5) else {}
    scene.close(**verdicts)


def blocked_by_record(scene: Squad) -> None:
    """Only the record speaks, and one of its verdicts failed."""
    scene.open()
    path = scene.path()
    scene.expect("gate_blocked_shipped", path)
    failed = {"rubric_id": "kb-citation-grounding", "pass": False}
    scene.close(rubric_verdicts=[*PASSED_VERDICTS, failed], clearance="cleared")


def late(scene: Squad) -> None:
    """The clearance came after the shipment, beyond the clock skew."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.ship(artifact)
    scene.clock.exactly(2.001)
    scene.decide("clearance", artifact, pause=scene.pick((0.0, 30.0, 600.0)))
    scene.expect("gate_late", artifact)
    scene.close()


def other_digest(scene: Squad) -> None:
    """The reply was edited after both gates had passed it."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact, digest=scene.digest("draft"))
    scene.ship(artifact, digest=scene.digest("edited"))
    scene.expect("gate_stale", artifact, times=2)
    scene.close()


def too_old(scene: Squad) -> None:
    """The quality pass was older than the gate's maximum age of an hour; the clearance was fresh."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.clock.exactly(3601)
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_stale", artifact)
    scene.close()


def lapsed(scene: Squad) -> None:
    """The clearance had an expiry of its own, which had passed."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.decide("clearance", artifact, expires_at=scene.clock.at(200))
    scene.clock.exactly(400)
    scene.ship(artifact)
    scene.expect("gate_stale", artifact)
    scene.close()


def wrong_order(scene: Squad) -> None:
    """Cleared before the quality review had passed."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("clearance", artifact)
    scene.decide("quality", artifact)
    scene.ship(artifact)
    scene.expect("gate_out_of_order", artifact)
    scene.close()


def reviewed_again_after_clearance(scene: Squad) -> None:
    """The quality pass that counts is the last one, and it came after the clearance."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.decide("quality", artifact, "blocked", cycle=1)
    scene.decide("quality", artifact, cycle=2)
    scene.ship(artifact)
    scene.expect("gate_out_of_order", artifact)
    scene.close()


def own_work(scene: Squad) -> None:
    """The quality reviewer wrote the reply, under another of their names."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.ship(artifact, author=scene.pick(("themis", "quality-review", "Quality-Review")))
    scene.expect("gate_self_passed", artifact)
    scene.close()


def own_shipment(scene: Squad) -> None:
    """No author is named, so the sender counts as one, and the sender cleared it."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.ship(artifact, by="compliance-redaction", author=None)
    scene.expect("gate_self_passed", artifact)
    scene.close()


def stranger(scene: Squad) -> None:
    """Somebody passed the gate who is no reviewer of it (being the author as well changes nothing)."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact, by=scene.pick(("hestia", "asclepius", "Tech-Diagnosis")))
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_foreign_reviewer", artifact)
    scene.close()


def shipped_twice(scene: Squad) -> None:
    """One pass each, two shipments, and no digest that would show that they are the same."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.ship(artifact)
    scene.ship(artifact, pause=120)
    scene.expect("gate_reused", artifact, times=2)
    scene.close()


def half_reviewed_again(scene: Squad) -> None:
    """Before the second shipment only the quality review was repeated."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.ship(artifact)
    scene.decide("quality", artifact)
    scene.ship(artifact)
    scene.expect("gate_reused", artifact)
    scene.close()


def record_for_two(scene: Squad) -> None:
    """The record's verdicts stand for one shipment of the file; it was written twice."""
    scene.open()
    scene.expect("gate_reused", scene.path(), times=2)
    scene.stamp()
    scene.close(rubric_verdicts=PASSED_VERDICTS, clearance="cleared")


def skipped(scene: Squad) -> None:
    """The quality review was skipped, and said so."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact, "skipped", reason="template reply")
    scene.decide("clearance", artifact)
    scene.ship(artifact)
    scene.expect("gate_skipped", artifact)
    scene.close()


def waived(scene: Squad) -> None:
    """A person waived the clearance."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.decide("clearance", artifact, "waived", by="lead:maria", reason="status page text")
    scene.ship(artifact)
    scene.expect("gate_waived", artifact)
    scene.close()


FAULTS: dict[str, tuple[Callable[[Squad], None], ...]] = {
    "gate_missing": (silent_drop, scored_but_undecided, other_subject, no_duty_lead, silent_stamp),
    "gate_errored_open": (gate_errored, reviewer_down),
    "gate_blocked_shipped": (blocked, blocked_by_record),
    "gate_late": (late,),
    "gate_stale": (other_digest, too_old, lapsed),
    "gate_out_of_order": (wrong_order, reviewed_again_after_clearance),
    "gate_self_passed": (own_work, own_shipment),
    "gate_foreign_reviewer": (stranger,),
    "gate_reused": (shipped_twice, half_reviewed_again, record_for_two),
    "gate_skipped": (skipped,),
    "gate_waived": (waived,),
}
