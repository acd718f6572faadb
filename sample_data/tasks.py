"""Tasks beside a run's main work: who holds one, who says that it is done, who looks at it, what ships from it."""

from __future__ import annotations

from typing import Any

from sample_data.scene import Scene

LEASE_SECONDS = 2 * 3600.0
"""How long a task is lent when a story does not say otherwise."""


def lend(scene: Scene, task: str, holder: str, *, seconds: float = LEASE_SECONDS) -> str:
    """The holder gets the task for so many (exact) seconds; the lease id."""
    lease = scene.new("lent")
    change_lease(scene, task, lease, holder, "granted", expires_at=scene.clock.at(seconds), pause=0.0)
    return lease


def change_lease(scene: Scene, task: str, lease: str, holder: str, state: str, **fields: Any) -> None:
    """Something happens to a lease."""
    scene.emit("agent.lease", lease_id=lease, task_id=task, holder=holder, state=state, **fields)


def report(scene: Scene, task: str, by: str, claim: str = "completed", **fields: Any) -> str:
    """Somebody says what became of the task; the event id."""
    return scene.emit("agent.report", task_id=task, by=by, claim=claim, **fields)


def check(scene: Scene, task: str, **fields: Any) -> str:
    """The gate that looks at tasks decides, by default that this one is well done and by its own reviewer."""
    return scene.decide(scene.cast.check[0], task, **fields)


def ship(scene: Scene, artifact: str, **fields: Any) -> str:
    """What a task has made leaves for a colleague, not for a customer; the event id."""
    body: dict[str, Any] = {"by": scene.cast.worker, "channel": "intranet", "customer_facing": False}
    return scene.emit("artifact.shipment", artifact_id=artifact, **{**body, **fields})
