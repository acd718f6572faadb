"""The agent workbench: how an operation is routed, leased, executed, verified and closed, and its clean runs.

Something irreversible passes identity, routing, arguments and confirmation (subject: the call) before it is executed;
a task that is reported as completed has passed its verification (subject: the task).
"""

from __future__ import annotations

from random import Random
from typing import Any

from sample_data.casts import WORKBENCH, WORKBENCH_CHECKS, Tool
from sample_data.scene import Scene

REVIEWERS = {
    "identity": "identity-service",
    "routing": "router",
    "arguments": "argument-checker",
    "verification": "verifier",
}
EXECUTION_GATES = ("identity", "routing", "arguments", "confirmation")
LONG_RUN = 14


class Workbench(Scene):
    """An operation of the workbench."""

    def __init__(self, name: str, rng: Random, *, compact: bool) -> None:
        super().__init__(WORKBENCH, name, rng, compact=compact)
        self.task, self.lease = self.new("task"), self.new("lease")
        self.implementer = "builder"
        self._authorised: set[str] = set()

    def open(self, *, write: bool = False) -> None:
        """The request is routed, an agent starts and takes the task."""
        self.route(write=write, pause=0, method=self.pick(("deterministic", "model")))
        self.implementer = "operator" if write else "builder"
        self.dispatch(self.implementer, caller="planner")
        self.emit(
            "agent.lease",
            lease_id=self.lease,
            task_id=self.task,
            holder=self.implementer,
            state="granted",
            expires_at=self.clock.at(48 * 3600),
        )
        if not self.compact:
            self.look_around()

    def look_around(self) -> None:
        """Reads before the work, as long as the run is not long already."""
        room = LONG_RUN - len(self.story.steps)
        for _ in range(min(room, int(self.rng.random() ** 2 * 9))):
            self.clock.wait(self.pick((2.0, 8.0, 30.0)))
            self.read(self.pick((self.cast.search, self.cast.lookup)))

    def decide(self, gate: str, subject: str, decision: str = "passed", **fields: Any) -> str:
        """A gate decides about a call or a task, by default through its own reviewer; the event id."""
        pause = fields.pop("pause", 6.0)
        body = {"by": self.also_called(REVIEWERS[gate]) if gate in REVIEWERS else self.cast.approver}
        return self.emit(
            "gate.decision", pause=pause, gate=gate, subject=subject, decision=decision, **{**body, **fields}
        )

    def authorise(self, tool: Tool, call_id: str, input_digest: str | None) -> None:
        """The four gates before anything irreversible, once per call."""
        if tool.side_effects != "irreversible" or call_id in self._authorised:
            return
        for gate in EXECUTION_GATES:
            self.decide(gate, call_id, digest=input_digest if gate == "confirmation" else None)
        self.leave_gates(call_id)

    def leave_gates(self, call_id: str) -> None:
        """This call's gates are decided by the story itself, not by `authorise`."""
        self._authorised.add(call_id)

    def verify(self) -> None:
        """Somebody else looks at the task's result."""
        if self.chance(0.5):
            self.dispatch("verifier", caller="planner")
            self.read(WORKBENCH_CHECKS)
        self.decide("verification", self.task)

    def report(self, claim: str = "completed", **fields: Any) -> str:
        """The holder reports on the task; the event id."""
        pause = fields.pop("pause", 8.0)
        body = {"task_id": self.task, "by": self.implementer, "claim": claim, "lease_id": self.lease}
        return self.emit("agent.report", pause=pause, **{**body, **fields})

    def release(self) -> None:
        """The holder gives the task back."""
        self.emit("agent.lease", lease_id=self.lease, task_id=self.task, holder=self.implementer, state="released")

    def close(self, terminal: str = "RESOLVED", **record: Any) -> str | None:
        """A verified report if the task is done, else a partial one; then the record."""
        if terminal == "RESOLVED":
            self.verify()
            self.report()
        else:
            self.report("partial")
        return self.finish(terminal, **record)

    def finish(self, terminal: str = "RESOLVED", **record: Any) -> str:
        """The end without a report of its own: the lease back, and the record; its decision id."""
        self.release()
        return self.record(terminal, **record)


def looked_up(scene: Workbench) -> None:
    """A task that only reads."""
    scene.open()
    for _ in range(1 if scene.compact else 3):
        scene.read()
    scene.close()


def edited(scene: Workbench) -> None:
    """A task with reversible changes."""
    scene.open(write=True)
    for _ in range(1 if scene.compact else 1 + int(scene.rng.random() * 4)):
        scene.claim(scene.act(scene.cast.edit), by=scene.pick(("call_id", "idempotency_key", "target")))
    scene.close()


def executed(scene: Workbench) -> None:
    """A task with one or two mutations behind all gates."""
    scene.open(write=True)
    cast = scene.cast
    tools = scene.pick(((cast.hard,), (cast.soft,), (cast.guarded, cast.hard), (cast.edit, cast.soft)))
    for tool in tools:
        deed = scene.act(tool, link=scene.pick(("approval_id", "proposal_id", "target")))
        scene.claim(deed, by="receipt_id" if deed.receipt_id else scene.pick(("call_id", "idempotency_key", "action")))
    scene.close()


def given_up(scene: Workbench) -> None:
    """A task that ends with a person, only partly done."""
    scene.open()
    scene.read(scene.cast.lookup)
    scene.close("ESCALATED_TO_HUMAN")


CLEAN = (looked_up, edited, executed, executed, given_up)
