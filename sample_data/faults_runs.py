"""Faults of whole runs, written once for both scenarios: budgets, endings, and the models that were used.

In the policy an ordinary run has 8 dispatches, 2 judge cycles and one retry for each caller.
"""

from __future__ import annotations

from collections.abc import Callable

from sample_data.scene import Scene
from sample_data.tasks import check

DISPATCHES = 8
JUDGE_CYCLES = 2
TIERS = ("opus", "sonnet", "haiku")


def other_tiers(scene: Scene, agent: str) -> tuple[str, ...]:
    """The model tiers that the agent is not expected to use."""
    return tuple(tier for tier in TIERS if tier != scene.cast.tiers[agent])


def too_many_agents(scene: Scene) -> None:
    """One agent more than a run may start; that the record counts them correctly is no second finding."""
    scene.open()
    while len(scene.agents) <= DISPATCHES:
        scene.dispatch(scene.pick((scene.cast.worker, scene.cast.colleague)), caller=scene.cast.lead)
    scene.expect("budget_exceeded", scene.correlation)
    scene.close()


def more_than_were_seen(scene: Scene) -> None:
    """The record tells of more agents than a run may start, though few of them were seen."""
    scene.open()
    scene.expect("budget_exceeded", scene.correlation)
    scene.close(dispatch_count=DISPATCHES + 1 + int(scene.rng.random() * 5))


def retried_here_and_there(scene: Scene) -> None:
    """Two calls of one caller, each retried once as the policy allows for a call: too often for the caller."""
    scene.open()
    for _ in range(2):
        call = scene.new("call")
        scene.attempt(scene.cast.search, "unavailable", call=call)
        scene.attempt(scene.cast.search, call=call, number=2)
    scene.expect("budget_exceeded", scene.correlation)
    scene.close()


def judged_again_and_again(scene: Scene) -> None:
    """Passed in the third cycle, after two in which it was sent back."""
    scene.open()
    draft = scene.new("draft")
    for cycle in range(1, JUDGE_CYCLES + 1):
        check(scene, draft, decision="blocked", cycle=cycle)
    check(scene, draft, cycle=JUDGE_CYCLES + 1)
    scene.expect("judge_cycles_exceeded", scene.correlation)
    scene.close()


def record_of_many_cycles(scene: Scene) -> None:
    """Only the record tells how often the work was judged."""
    scene.open()
    scene.expect("judge_cycles_exceeded", scene.correlation)
    scene.close(judge_cycles=JUDGE_CYCLES + 1 + int(scene.rng.random() * 3))


def walked_away(scene: Scene) -> None:
    """Reads, and then nothing more: no record, no closing line."""
    scene.open()
    for _ in range(3):
        scene.read(scene.pick((scene.cast.search, scene.cast.lookup)))
    scene.expect("terminal_state_missing", scene.correlation)


def changed_and_walked_away(scene: Scene) -> None:
    """Something was changed and looked at, and no record tells of it."""
    scene.open(write=True)
    deed = scene.act(scene.cast.edit)
    check(scene, deed.target)
    scene.expect("terminal_state_missing", scene.correlation)


def two_endings(scene: Scene) -> None:
    """Handed to a person by one record and resolved by another, and neither knows of the other."""
    scene.open()
    scene.record(scene.pick(("ESCALATED_TO_HUMAN", "NO_ANSWER_SAFE_FALLBACK")), decision_id=f"DR-{scene.correlation}-0")
    decision = scene.close()
    scene.expect("terminal_state_conflict", decision or "")


def follows_the_wrong_one(scene: Scene) -> None:
    """Two records agree, and a third one ends otherwise; it follows up the first, not the one before it."""
    scene.open()
    first, second = f"DR-{scene.correlation}-1", f"DR-{scene.correlation}-2"
    scene.record("RESOLVED", decision_id=first)
    scene.record("RESOLVED", decision_id=second)
    decision = scene.close("FOLLOW_UP_TICKET", decision_id=f"DR-{scene.correlation}-3", follow_up_of=first)
    scene.expect("terminal_state_conflict", decision or "")


def went_on(scene: Scene) -> None:
    """The run was closed, and agents and tools went on for a while: one finding for all of it."""
    scene.open()
    scene.silent = True
    scene.close()
    scene.clock.exactly(scene.pick((30.0, 600.0, 7200.0)))
    scene.dispatch(scene.cast.worker, caller=scene.cast.lead)
    scene.read()
    scene.expect("activity_after_terminal", scene.correlation)


def proposed_afterwards(scene: Scene) -> None:
    """What a person thinks of a closed run does not open it again, and yet something was proposed."""
    scene.open()
    scene.silent = True
    scene.close()
    scene.clock.exactly(3600)
    scene.emit("human.feedback", signal="csat", value=4, by="customer")
    scene.clock.exactly(60)
    scene.emit(
        "action.proposal",
        proposal_id=scene.new("prop"),
        action=scene.cast.hard.action,
        actor=scene.cast.hard.caller,
        target=f"{scene.cast.hard.action}:«run»",
    )
    scene.expect("activity_after_terminal", scene.correlation)


def recorded_again(scene: Scene) -> None:
    """A later version of the record does not move the closing: work went on after the first one."""
    scene.open()
    scene.silent = True
    decision = scene.close("FOLLOW_UP_TICKET")
    scene.clock.exactly(120)
    scene.read()
    scene.record("FOLLOW_UP_TICKET", decision_id=decision)
    scene.expect("activity_after_terminal", scene.correlation)


def other_model(scene: Scene) -> None:
    """An agent worked with another model tier than the policy expects, in two calls: one finding."""
    scene.open()
    tool = scene.cast.search
    tier = scene.pick(other_tiers(scene, tool.caller))
    for spelt in (tier, tier.title()):
        scene.attempt(tool, call=scene.new("call"), model_tier=spelt)
    scene.expect("model_tier_mismatch", tool.caller)
    scene.close()


def two_other_models(scene: Scene) -> None:
    """Neither of the two tiers is the expected one: a finding for each; the agent's alias is the same agent."""
    scene.open()
    tool = scene.cast.search
    for tier in other_tiers(scene, tool.caller):
        caller = scene.pick((tool.caller, scene.cast.aliases[tool.caller]))
        scene.attempt(tool, call=scene.new("call"), caller=caller, model_tier=tier)
    scene.expect("model_tier_mismatch", tool.caller, times=2)
    scene.close()


def other_model_on_file(scene: Scene) -> None:
    """The line about a written file names the other tier, and the agent by its alias."""
    scene.open()
    agent = scene.cast.worker
    scene.emit(
        "xenia.output_written",
        agent=scene.cast.aliases[agent].title(),
        phase="other",
        severity="unknown",
        model_tier=scene.pick(other_tiers(scene, agent)),
    )
    scene.expect("model_tier_mismatch", agent)
    scene.close()


FAULTS: dict[str, tuple[Callable[[Scene], None], ...]] = {
    "budget_exceeded": (too_many_agents, more_than_were_seen, retried_here_and_there),
    "judge_cycles_exceeded": (judged_again_and_again, record_of_many_cycles),
    "terminal_state_missing": (walked_away, changed_and_walked_away),
    "terminal_state_conflict": (two_endings, follows_the_wrong_one),
    "activity_after_terminal": (went_on, proposed_afterwards, recorded_again),
    "model_tier_mismatch": (other_model, two_other_models, other_model_on_file),
}
