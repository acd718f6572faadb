"""Faults of routing, written once for both scenarios: a request got more tools than it needed, or fewer."""

from __future__ import annotations

from collections.abc import Callable

from sample_data.scene import Scene


def too_much(scene: Scene) -> None:
    """A request that needed to read was given everything that writes as well."""
    scene.routed = {"granted_tools": [*scene.cast.reads, *scene.cast.changes]}
    scene.open()
    scene.read()
    scene.expect("over_scoped", scene.route_event)
    scene.close()


def one_too_many(scene: Scene) -> None:
    """Among the reads that it needed was one tool that changes something; nobody used it."""
    scene.routed = {"granted_tools": [*scene.cast.reads, scene.pick(scene.cast.changes)]}
    scene.open()
    scene.expect("over_scoped", scene.route_event)
    scene.close()


def unknown_given_many(scene: Scene) -> None:
    """Nobody could tell what the request was about, and it was given one tool more than such a request may have."""
    granted = [*scene.cast.reads, *scene.cast.others][:4]
    scene.routed = {"task_family": "unknown", "granted_tools": granted, "needed_privilege": None}
    scene.open()
    scene.read()
    scene.expect("over_scoped", scene.route_event)
    scene.close()


def withheld(scene: Scene) -> None:
    """The request needed to write and got only what reads, so a person had to do it."""
    scene.routed = {"needed_privilege": "write"}
    scene.open()
    scene.read()
    scene.expect("under_scoped", scene.route_event)
    scene.close(scene.pick(("ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET")))


def execution_withheld(scene: Scene) -> None:
    """The request needed to execute and got only what writes."""
    scene.routed = {"needed_privilege": "execute", "granted_tools": [*scene.cast.reads, scene.cast.edit.name]}
    scene.open(write=True)
    scene.claim(scene.act(scene.cast.edit))
    scene.expect("under_scoped", scene.route_event)
    scene.close(scene.pick(("ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET")))


def granted_and_denied(scene: Scene) -> None:
    """The request got the tool that it needed, and the tool then denied the call; a person takes over."""
    scene.open(write=True)
    deed = scene.act(scene.pick((scene.cast.edit, scene.cast.soft)), outcome="denied")
    scene.claim(deed, executed=False)
    scene.expect("under_scoped", scene.route_event)
    scene.close("ESCALATED_TO_HUMAN")


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "over_scoped": (too_much, one_too_many, unknown_given_many),
    "under_scoped": (withheld, execution_withheld, granted_and_denied),
}
