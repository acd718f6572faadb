"""Runs whose calls, budgets, tasks or routes look like a fault and are none, written once for both scenarios."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sample_data.faults_runs import DISPATCHES, JUDGE_CYCLES
from sample_data.scene import Scene
from sample_data.tasks import change_lease, check, lend, report, ship


def allowed_and_denied(scene: Scene) -> None:
    """The right caller, under another name, was denied, and the record says so."""
    scene.open()
    tool, call = scene.cast.lookup, scene.new("call")
    scene.attempt(tool, "denied", call=call, caller=scene.cast.aliases[tool.caller].title())
    scene.note(tool, call)
    scene.close()


def more_careful_than_needed(scene: Scene) -> None:
    """A change that calls itself irreversible, though its contract says less, and waited for its approval."""
    scene.open(write=True)
    tool, call = scene.cast.guarded, scene.new("call")
    scene.authorise(replace(tool, side_effects="irreversible"), call, None)
    scene.claim(scene.act(tool, call=call, side_effects="irreversible"))
    scene.close()


def failed_without_undo(scene: Scene) -> None:
    """What failed needs no way back; its error is one that the contract lists."""
    scene.open(write=True)
    deed = scene.act(scene.cast.edit, outcome="failed", undo=None, error_type="conflict")
    scene.claim(deed, executed=False)
    scene.close()


def injection_on_record(scene: Scene) -> None:
    """A tool's answer carried instructions, and the record flags it: by call, event, tool, or in its own words."""
    scene.open()
    tool, call = scene.cast.search, scene.new("call")
    event = scene.attempt(tool, "failed", call=call, error_class="tool_instructions")
    scene.degrade(tool, call)
    ref = scene.pick((call, event, tool.name, None, "security:injection-finding/«run»"))
    scene.close(injection_findings=[{"ref": ref, "disposition": "NOT_OBEYED"}])


def as_many_as_allowed(scene: Scene) -> None:
    """Exactly as many agents, judge cycles and retries of each caller as the policy allows."""
    scene.open()
    while len(scene.agents) < DISPATCHES - 1:
        scene.dispatch(scene.pick((scene.cast.worker, scene.cast.colleague)), caller=scene.cast.lead)
    for tool in (scene.cast.search, scene.cast.lookup):
        call = scene.new("call")
        scene.attempt(tool, "unavailable", call=call)
        scene.attempt(tool, call=call, number=2)
    draft = scene.new("draft")
    check(scene, draft, decision="blocked", cycle=JUDGE_CYCLES - 1)
    check(scene, draft, cycle=JUDGE_CYCLES)
    scene.close(judge_cycles=JUDGE_CYCLES)


def larger_budget(scene: Scene) -> None:
    """More agents than an ordinary run may start, in a run of a command that may."""
    scene.command = scene.cast.bulk_command
    scene.open()
    while len(scene.agents) <= DISPATCHES + 2:
        scene.dispatch(scene.pick((scene.cast.worker, scene.cast.colleague)), caller=scene.cast.lead)
    scene.close()


def never_started(scene: Scene) -> None:
    """A request that was routed and looked at, and for which no agent was ever started, owes no record."""
    scene.route(write=False, pause=0.0, method="deterministic")
    for _ in range(5):
        scene.read(scene.pick((scene.cast.search, scene.cast.lookup)))


def followed_up(scene: Scene) -> None:
    """Two records end differently, and the second says that it follows up the first, or its run."""
    scene.open()
    first = scene.record("FOLLOW_UP_TICKET", decision_id=f"DR-{scene.correlation}-0")
    scene.close(follow_up_of=scene.pick((first, scene.correlation)))


def reopened_and_closed(scene: Scene) -> None:
    """Closed, reopened by the customer, worked on, and closed in another way."""
    scene.open()
    scene.record("NO_ANSWER_SAFE_FALLBACK", decision_id=f"DR-{scene.correlation}-0")
    scene.clock.exactly(1800)
    scene.emit("human.feedback", signal=scene.pick(("reopened", "complaint", "resolution_rejected")), by="customer")
    scene.read()
    scene.close()


def other_run(scene: Scene) -> None:
    """Another run about the same thing ended in another way: each run has an ending of its own."""
    scene.open()
    scene.record("ESCALATED_TO_HUMAN", decision_id=f"DR-{scene.correlation}-0")
    scene.run_id = f"{scene.run_id}-again"
    scene.dispatch(scene.cast.worker, caller=scene.cast.lead)
    scene.close()


def worked_after_reopening(scene: Scene) -> None:
    """The customer reopened the closed run, and agents and tools went on."""
    scene.open()
    scene.silent = True
    scene.close()
    scene.clock.exactly(3600)
    scene.emit("human.feedback", signal=scene.pick(("reopened", "resolution_rejected")), by="customer")
    scene.dispatch(scene.cast.worker, caller=scene.cast.lead)
    scene.read()


def last_call_within_skew(scene: Scene) -> None:
    """By its own clock a read came two seconds after the record: within the allowed skew."""
    scene.open()
    scene.silent = True
    scene.close()
    scene.clock.exactly(2.0)
    scene.attempt(scene.cast.search, call=scene.new("call"), pause=0.0)


def expected_model(scene: Scene) -> None:
    """The expected tier in another spelling, and any tier of somebody of whom the policy expects none."""
    scene.open()
    tool = scene.cast.search
    scene.attempt(tool, call=scene.new("call"), model_tier=scene.cast.tiers[tool.caller].upper())
    scene.emit("xenia.output_written", agent="archivist", phase="other", severity="unknown", model_tier="opus")
    scene.close()


def renewed(scene: Scene) -> None:
    """The lease would have run out, but was renewed in time; the renewed one ends at the moment of the report."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker, seconds=300)
    check(scene, task)
    until = scene.clock.at(600)
    change_lease(scene, task, lease, scene.cast.worker, "renewed", expires_at=until, pause=0.0)
    scene.clock.exactly(600)
    report(scene, task, scene.cast.worker, pause=0.0, lease_id=scene.pick((lease, None)))
    scene.close()


def handed_on(scene: Scene) -> None:
    """The first holder gave the task back, the second one reported on it, under another name."""
    scene.open()
    task = scene.new("subtask")
    lease = lend(scene, task, scene.cast.worker)
    change_lease(scene, task, lease, scene.cast.worker, "released")
    lease = lend(scene, task, scene.cast.colleague)
    check(scene, task)
    report(scene, task, scene.also_called(scene.cast.colleague), lease_id=scene.pick((lease, None)))
    scene.close()


def each_passes_the_other(scene: Scene) -> None:
    """Two agents hold a task each, and pass the task of the other."""
    scene.open()
    for holder, other in (
        (scene.cast.worker, scene.cast.colleague),
        (scene.cast.colleague, scene.cast.worker),
    ):
        task = scene.new("subtask")
        lend(scene, task, holder)
        report(scene, task, holder, "partial")
        check(scene, task, by=other)
    scene.close()


def shipped_after_check(scene: Scene) -> None:
    """What a task made passed its check, of the task or of the artifact itself, at the latest within the skew."""
    scene.open()
    task, artifact = scene.new("subtask"), scene.new("memo")
    lend(scene, task, scene.cast.worker)
    report(scene, task, scene.cast.worker, "partial", artifact_id=artifact)
    if scene.pick((True, False)):
        check(scene, scene.pick((task, artifact)))
        ship(scene, artifact)
    else:
        ship(scene, artifact)
        scene.clock.exactly(2.0)
        check(scene, scene.pick((task, artifact)), pause=0.0)
    scene.close()


def failed_and_shipped_by_hand(scene: Scene) -> None:
    """The task failed by its own report; what left under the artifact's name is not its work."""
    scene.open()
    task, artifact = scene.new("subtask"), scene.new("memo")
    lend(scene, task, scene.cast.worker)
    report(scene, task, scene.cast.worker, "failed", artifact_id=artifact)
    ship(scene, artifact, by=scene.cast.approver)
    scene.close()


def unknown_given_few(scene: Scene) -> None:
    """Nobody could tell what the request was about; one of its three tools is named twice."""
    granted = [*scene.cast.reads, *scene.cast.others][:3]
    scene.routed = {"task_family": "unknown", "granted_tools": [*granted, granted[0]], "needed_privilege": None}
    scene.open()
    scene.read()
    scene.close()


def given_a_stranger(scene: Scene) -> None:
    """A request that needed to read got a tool without a contract, of which nobody knows what it does."""
    scene.routed = {"granted_tools": [*scene.cast.reads, "calendar"]}
    scene.open()
    scene.read()
    scene.close()


def routed_again(scene: Scene) -> None:
    """A write was denied to a request that only needed to read; routed anew, it got what it needed then."""
    scene.open()
    denied = scene.act(scene.cast.edit, outcome="denied")
    scene.note(scene.cast.edit, denied.call_id)
    scene.claim(denied, executed=False)
    scene.route(write=True, pause=30.0, method="model")
    scene.claim(scene.act(scene.cast.edit, target=f"{scene.cast.edit.action}:«run»-again"))
    scene.close()


CLEAN: tuple[Callable[[Scene], None], ...] = (
    allowed_and_denied,
    more_careful_than_needed,
    failed_without_undo,
    injection_on_record,
    as_many_as_allowed,
    larger_budget,
    never_started,
    followed_up,
    reopened_and_closed,
    other_run,
    worked_after_reopening,
    last_call_within_skew,
    expected_model,
    renewed,
    handed_on,
    each_passes_the_other,
    shipped_after_check,
    failed_and_shipped_by_hand,
    unknown_given_few,
    given_a_stranger,
    routed_again,
)
