"""Faults of the agent lane, written once for both scenarios: who holds a task, reports on it, and verifies it.

The tasks stand beside the run's main work (`sample_data.tasks`). Where a pipeline wants a verification before a task is
reported as completed, a missing or own one is a finding of its gate as well.
"""

from __future__ import annotations

from collections.abc import Callable

from sample_data.scene import Scene
from sample_data.tasks import change_lease, check, lend, report, ship


def never_theirs(scene: Scene) -> None:
    """One agent had the task, another one reported it as completed."""
    scene.open()
    task = scene.new("subtask")
    lend(scene, task, scene.cast.worker)
    check(scene, task)
    report(scene, task, scene.also_called(scene.cast.colleague))
    scene.expect("foreign_report", task)
    scene.close()


def under_another_lease(scene: Scene) -> None:
    """An agent reported twice under the lease of somebody else: a finding for each report."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    for claim in ("failed", "partial"):
        report(scene, task, scene.cast.colleague, claim, lease_id=lease)
    scene.expect("foreign_report", task, times=2)
    scene.close()


def taken_over(scene: Scene) -> None:
    """The task had been given to somebody else meanwhile; the first lease alone would still be good."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    scene.clock.exactly(60)
    lend(scene, task, scene.cast.colleague)
    report(scene, task, scene.cast.worker, "partial", lease_id=scene.pick((lease, None)))
    scene.expect("foreign_report", task)
    scene.close()


def ran_out(scene: Scene) -> None:
    """The lease had run out before the report."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker, seconds=300)
    scene.clock.exactly(300.001)
    check(scene, task)
    report(scene, task, scene.cast.worker, lease_id=scene.pick((lease, None)))
    scene.expect("lease_expired_report", task)
    scene.close()


def given_back(scene: Scene) -> None:
    """The task was given back, and reported on afterwards."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    change_lease(scene, task, lease, scene.cast.worker, scene.pick(("released", "expired")))
    report(scene, task, scene.cast.worker, "partial", lease_id=lease)
    scene.expect("lease_expired_report", task)
    scene.close()


def revoked_and_lent_again(scene: Scene) -> None:
    """The lease was revoked, and the task given to somebody else; that it had ended comes first."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    change_lease(scene, task, lease, scene.cast.worker, "revoked")
    lend(scene, task, scene.cast.colleague)
    report(scene, task, scene.cast.worker, "partial", lease_id=lease)
    scene.expect("lease_expired_report", task)
    scene.close()


def passed_own_work(scene: Scene) -> None:
    """The holder said that it was partly done, and then passed it, under another of their names."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    report(scene, task, scene.cast.worker, "partial", lease_id=lease)
    check(scene, task, by=scene.also_called(scene.cast.worker))
    scene.expect("self_verified", task)
    scene.close()


def passed_before_reporting(scene: Scene) -> None:
    """The holder passed the task first and reported it as completed then."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    check(scene, task, by=scene.cast.aliases[scene.cast.worker])
    report(scene, task, scene.cast.worker, lease_id=lease)
    scene.expect("self_verified", task)
    if scene.cast.gates_reports:
        scene.expect("gate_self_passed", task)
    scene.close()


def shipped_unseen(scene: Scene) -> None:
    """What the task made was sent back by the check, and left all the same."""
    scene.open()
    task, artifact = scene.new("subtask"), scene.new("memo")
    lend(scene, task, scene.cast.worker)
    report(scene, task, scene.cast.worker, "partial", artifact_id=artifact)
    check(scene, scene.pick((task, artifact)), decision="blocked")
    ship(scene, artifact)
    scene.expect("shipped_unverified", artifact)
    scene.close()


def seen_too_late(scene: Scene) -> None:
    """The check passed it, but only after it had left, beyond the clock skew."""
    scene.open()
    task, artifact = scene.new("subtask"), scene.new("memo")
    lend(scene, task, scene.cast.worker)
    report(scene, task, scene.cast.worker, "partial", artifact_id=artifact)
    ship(scene, artifact)
    scene.clock.exactly(2.001)
    check(scene, task, pause=0.0)
    scene.expect("shipped_unverified", artifact)
    scene.close()


def completed_unseen(scene: Scene) -> None:
    """Reported as completed and shipped twice, and nobody ever looked at it: a finding for each shipment."""
    scene.open()
    task, artifact = scene.new("subtask"), scene.new("memo")
    report(scene, task, scene.cast.worker, artifact_id=artifact)
    ship(scene, artifact)
    ship(scene, artifact)
    scene.expect("shipped_unverified", artifact, times=2)
    if scene.cast.gates_reports:
        scene.expect("gate_missing", task)
    scene.close()


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "foreign_report": (never_theirs, under_another_lease, taken_over),
    "lease_expired_report": (ran_out, given_back, revoked_and_lent_again),
    "self_verified": (passed_own_work, passed_before_reporting),
    "shipped_unverified": (shipped_unseen, seen_too_late, completed_unseen),
}
