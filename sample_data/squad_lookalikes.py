"""Runs of the support squad whose gates look like a fault and are none: nothing may be found in them."""

from __future__ import annotations

from collections.abc import Callable

from sample_data.casts import SQUAD_SCORING
from sample_data.squad import PASSED_VERDICTS, Squad


def held_back(scene: Squad) -> None:
    """The gate could not run, so nothing shipped and a person took over: the gate did its work."""
    scene.open()
    artifact, call = scene.new("reply"), scene.new("call")
    scene.attempt(SQUAD_SCORING, "unavailable", call=call)
    scene.degrade(SQUAD_SCORING, call)
    scene.decide("quality", artifact, "errored", reason="no scores")
    scene.close("ESCALATED_TO_HUMAN")


def blocked_and_held(scene: Squad) -> None:
    """Blocked, and it stayed in the house."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.decide("clearance", artifact, "blocked", reason="account number in the text")
    scene.close("ESCALATED_TO_HUMAN")


def passed_after_rework(scene: Squad) -> None:
    """Blocked or errored first, passed on the second look, then cleared and shipped."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact, scene.pick(("blocked", "errored")), digest=scene.digest("draft"), cycle=1)
    scene.review(artifact, digest=scene.digest("rework"))
    scene.ship(artifact, digest=scene.digest("rework"))
    scene.close(judge_cycles=2, rubric_verdicts=PASSED_VERDICTS)


def sent_again(scene: Squad) -> None:
    """The same digest shipped twice: its passes cover both."""
    scene.open()
    artifact = scene.reply()
    scene.ship(artifact, digest=scene.digest(artifact), pause=90)
    scene.close()


def sent_again_after_review(scene: Squad) -> None:
    """Shipped twice without a digest, and reviewed before each shipment."""
    scene.open()
    artifact = scene.new("reply")
    for _ in range(2):
        scene.review(artifact)
        scene.ship(artifact)
    scene.close()


def within_skew(scene: Squad) -> None:
    """By its own clock the clearance came up to two seconds after the shipment: the allowed skew."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.ship(artifact)
    scene.clock.exactly(scene.pick((0.4, 1.5, 2.0)))
    scene.decide("clearance", artifact, pause=0.0)
    scene.close()


def at_once(scene: Squad) -> None:
    """Both gates and the shipment bear one timestamp: the event id orders them."""
    scene.open()
    artifact = scene.new("reply")
    scene.decide("quality", artifact)
    scene.decide("clearance", artifact, pause=0.0)
    scene.ship(artifact, pause=0.0)
    scene.close()


def not_for_customers(scene: Squad) -> None:
    """What stays in the house, or is no reply, needs no gate."""
    scene.open()
    scene.ship(scene.new("fragment"), customer_facing=False)
    scene.ship(scene.new("report"), phase="voc")
    scene.ship(scene.new("memo"), phase=None, channel=None)
    scene.close()


def passed_by_record(scene: Squad) -> None:
    """Only the record speaks for the file that the closing line shipped."""
    scene.open()
    scene.path()
    scene.close(rubric_verdicts=PASSED_VERDICTS, clearance="cleared", judge_cycles=1)


def other_writer(scene: Squad) -> None:
    """Somebody else wrote what hestia ships; neither of them reviewed it."""
    scene.open()
    artifact = scene.new("reply")
    scene.review(artifact)
    scene.ship(artifact, author=scene.pick(("asclepius", "tech-diagnosis", "metis")))
    scene.close()


CLEAN: tuple[Callable[[Squad], None], ...] = (
    held_back,
    blocked_and_held,
    passed_after_rework,
    sent_again,
    sent_again_after_review,
    within_skew,
    at_once,
    not_for_customers,
    passed_by_record,
    other_writer,
)
