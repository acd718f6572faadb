"""Faults of the workbench's gates, and the runs that look like one and are none.

Each function writes one run. The subject of an execution's gates is the call, that of the verification is the task.
Every mutation is approved, receipted and claimed, so that only the gate is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sample_data.casts import WORKBENCH_ARGUMENTS
from sample_data.workbench import EXECUTION_GATES, Workbench

Decision = Mapping[str, Any]


def _execute(scene: Workbench, call: str) -> None:
    """The approved, receipted and claimed mutation whose gates the story itself has decided."""
    scene.leave_gates(call)
    scene.claim(scene.act(scene.cast.hard, call=call, link="target"))


def _gates(scene: Workbench, call: str, changes: Mapping[str, Decision | None]) -> None:
    """The gates of an execution in order; ``changes`` replaces fields of one, or leaves it out when None."""
    for gate in EXECUTION_GATES:
        change = changes.get(gate, {})
        if change is not None:
            scene.decide(gate, call, **change)


def _execution(scene: Workbench, rule: str, changes: Mapping[str, Decision | None], times: int = 1) -> None:
    """A run whose execution shows ``rule`` because of the changes to its gates."""
    scene.open(write=True)
    call = scene.new("call")
    _gates(scene, call, changes)
    _execute(scene, call)
    scene.expect(rule, call, times=times)
    scene.close()


def unconfirmed(scene: Workbench) -> None:
    """Executed without confirmation (an approval on file is another thing)."""
    _execution(scene, "gate_missing", {"confirmation": None})


def ungated(scene: Workbench) -> None:
    """Executed without any gate."""
    _execution(scene, "gate_missing", dict.fromkeys(EXECUTION_GATES), times=4)


def unverified(scene: Workbench) -> None:
    """Reported as completed, and nobody verified it."""
    scene.open()
    scene.report()
    scene.expect("gate_missing", scene.task)
    scene.finish()


def check_errored(scene: Workbench) -> None:
    """The argument check could not decide."""
    _execution(scene, "gate_errored_open", {"arguments": {"decision": "errored", "reason": "schema not found"}})


def checker_down(scene: Workbench) -> None:
    """The argument checker's own tool failed, and nobody decided."""
    scene.open(write=True)
    call, check = scene.new("call"), scene.new("call")
    scene.attempt(WORKBENCH_ARGUMENTS, "unavailable", call=check)
    scene.degrade(WORKBENCH_ARGUMENTS, check)
    _gates(scene, call, {"arguments": None})
    _execute(scene, call)
    scene.expect("gate_errored_open", call)
    scene.close()


def refused(scene: Workbench) -> None:
    """Blocked by the routing, executed anyway."""
    _execution(scene, "gate_blocked_shipped", {"routing": {"decision": "blocked", "reason": "tool not granted"}})


def confirmed_later(scene: Workbench) -> None:
    """Confirmed only after the execution, beyond the clock skew."""
    scene.open(write=True)
    call = scene.new("call")
    _gates(scene, call, {"confirmation": None})
    _execute(scene, call)
    scene.clock.exactly(2.001)
    scene.decide("confirmation", call, pause=0.0)
    scene.expect("gate_late", call)
    scene.close()


def verified_later(scene: Workbench) -> None:
    """Reported as completed, verified afterwards."""
    scene.open()
    scene.report()
    scene.clock.exactly(300)
    scene.decide("verification", scene.task)
    scene.expect("gate_late", scene.task)
    scene.finish()


def arguments_changed(scene: Workbench) -> None:
    """What was executed has another digest than what was confirmed."""
    _execution(scene, "gate_stale", {"confirmation": {"digest": scene.digest("as confirmed")}})


def identity_too_old(scene: Workbench) -> None:
    """The identity had been established more than an hour before."""
    scene.open(write=True)
    call = scene.new("call")
    scene.decide("identity", call)
    scene.clock.exactly(3601)
    _gates(scene, call, {"identity": None})
    _execute(scene, call)
    scene.expect("gate_stale", call)
    scene.close()


def wrong_order(scene: Workbench) -> None:
    """The arguments were checked after the confirmation."""
    scene.open(write=True)
    call = scene.new("call")
    _gates(scene, call, {"arguments": None})
    scene.decide("arguments", call)
    _execute(scene, call)
    scene.expect("gate_out_of_order", call)
    scene.close()


def own_task(scene: Workbench) -> None:
    """The implementer verified the task, under another name."""
    scene.open(write=True)
    scene.decide("verification", scene.task, by=scene.pick(("operator", "action-runner", "Operator")))
    scene.report()
    scene.expect("gate_self_passed", scene.task)
    scene.expect("self_verified", scene.task)
    scene.finish()


def own_confirmation(scene: Workbench) -> None:
    """The caller confirmed its own call."""
    _execution(scene, "gate_self_passed", {"confirmation": {"by": "action-runner"}})


def stranger(scene: Workbench) -> None:
    """The arguments were passed by somebody who does not check arguments."""
    _execution(scene, "gate_foreign_reviewer", {"arguments": {"by": scene.pick(("planner", "router"))}})


def reported_twice(scene: Workbench) -> None:
    """One verification for two reports."""
    scene.open()
    scene.verify()
    scene.report()
    scene.report(pause=60.0)
    scene.expect("gate_reused", scene.task)
    scene.finish()


def skipped(scene: Workbench) -> None:
    """The argument check was skipped, and said so."""
    _execution(scene, "gate_skipped", {"arguments": {"decision": "skipped", "reason": "no schema for it"}})


def waived(scene: Workbench) -> None:
    """A person waived the confirmation."""
    _execution(scene, "gate_waived", {"confirmation": {"decision": "waived", "reason": "standing order"}})


def held_back(scene: Workbench) -> None:
    """The confirmation was refused and the call never made: the gate did its work."""
    scene.open(write=True)
    call = scene.new("call")
    _gates(scene, call, {"confirmation": {"decision": "blocked"}})
    scene.close("ESCALATED_TO_HUMAN")


def confirmed_within_skew(scene: Workbench) -> None:
    """By its own clock the confirmation came 1.5 seconds after the execution: within the allowed skew."""
    scene.open(write=True)
    call = scene.new("call")
    _gates(scene, call, {"confirmation": None})
    scene.leave_gates(call)
    deed = scene.act(scene.cast.soft, call=call, link="target")
    scene.clock.exactly(1.5)
    scene.decide("confirmation", call, pause=0.0)
    scene.claim(deed)
    scene.close()


def verified_again(scene: Workbench) -> None:
    """Two reports, each with a verification of its own."""
    scene.open()
    scene.verify()
    scene.report()
    scene.close()


FAULTS: dict[str, tuple[Callable[[Workbench], None], ...]] = {
    "gate_missing": (unconfirmed, ungated, unverified),
    "gate_errored_open": (check_errored, checker_down),
    "gate_blocked_shipped": (refused,),
    "gate_late": (confirmed_later, verified_later),
    "gate_stale": (arguments_changed, identity_too_old),
    "gate_out_of_order": (wrong_order,),
    "gate_self_passed": (own_task, own_confirmation),
    "gate_foreign_reviewer": (stranger,),
    "gate_reused": (reported_twice,),
    "gate_skipped": (skipped,),
    "gate_waived": (waived,),
}

CLEAN: tuple[Callable[[Workbench], None], ...] = (held_back, confirmed_within_skew, verified_again)
