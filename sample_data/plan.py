"""Which stories a file tells, and how many runs of each, so that the events add up exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from random import Random
from typing import Any, Literal, TypeVar, get_args

from sample_data import (
    faults_agents,
    faults_approvals,
    faults_contracts,
    faults_effects,
    faults_retries,
    faults_routing,
    faults_runs,
    lookalikes,
    lookalikes_runs,
    squad,
    squad_gates,
    squad_lookalikes,
    workbench,
    workbench_gates,
)
from sample_data.noise import CONFLICT
from sample_data.scene import Scene
from sample_data.story import Step, Story, to_line

Scenario = Literal["support-squad", "workbench"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

COMPACT_BELOW = 2_000
"""Files of fewer events tell every story at its shortest, so that all of them find room."""

_SHARED = (
    faults_approvals.FAULTS
    | faults_effects.FAULTS
    | faults_retries.FAULTS
    | faults_contracts.FAULTS
    | faults_runs.FAULTS
    | faults_agents.FAULTS
    | faults_routing.FAULTS
)
_LOOKALIKES = (*lookalikes.CLEAN, *lookalikes_runs.CLEAN)
_MOST_VARIANTS = 300
_FAULT_VARIANTS = 6

S = TypeVar("S", bound=Scene)
Cue = tuple[Story, int]


def rules(scenario: Scenario) -> tuple[str, ...]:
    """The rules that a file of this scenario can break, gates first; the last one by forgeries and not by a story."""
    gates = squad_gates.FAULTS if scenario == "support-squad" else workbench_gates.FAULTS
    return (*gates, *_SHARED, CONFLICT)


def _length(story: Story) -> int:
    return len(story.steps)


def _tell(stage: Callable[..., S], write: Callable[[S], Any], rng: Random, compact: bool) -> Story:
    scene = stage(write.__name__, rng, compact=compact)
    write(scene)
    return scene.story


def _faulty(scenario: Scenario, rng: Random, compact: bool) -> Iterator[Story]:
    """Every fault once; first one story of each rule, then the second ones, and so on.

    In a compact file the shortest story of a rule comes first, so that as many rules as possible find room.
    """
    if scenario == "support-squad":
        gates: Sequence[Sequence[Callable[..., None]]] = list(squad_gates.FAULTS.values())
        stage: Callable[..., Scene] = squad.Squad
    else:
        gates, stage = list(workbench_gates.FAULTS.values()), workbench.Workbench
    told = [[_tell(stage, write, rng, compact) for write in writers] for writers in (*gates, *_SHARED.values())]
    if compact:
        told = [sorted(stories, key=_length) for stories in told]
    for round_ in zip_longest(*told):
        yield from (story for story in round_ if story is not None)


def _clean(scenario: Scenario, count: int, rng: Random, compact: bool) -> list[Story]:
    """``count`` stories without a fault, look-alikes among them; the ordinary ones take most of the places."""
    if scenario == "support-squad":
        ordinary: Sequence[Callable[..., None]] = squad.CLEAN
        special: Sequence[Callable[..., None]] = (*squad_lookalikes.CLEAN, *_LOOKALIKES)
        stage: Callable[..., Scene] = squad.Squad
    else:
        ordinary, special, stage = workbench.CLEAN, (*workbench_gates.CLEAN, *_LOOKALIKES), workbench.Workbench
    stories: list[Story] = []
    for number in range(count):
        turn, place = divmod(number, 4)
        write = special[turn % len(special)] if place == 3 else ordinary[(turn * 3 + place) % len(ordinary)]
        stories.append(_tell(stage, write, rng, compact))
    return stories


def _report() -> Story:
    """One event outside every run: a report that the output hook saw being written."""
    fields = {
        "event_id": "ev-«uid»-00",
        "ts": "«t:0:0»",
        "kind": "xenia.output_written",
        "agent": "metis",
        "phase": "kb-gaps",
        "severity": "unknown",
        "category": "general",
        "path": "hearth/output/kb-gaps/gap-«uid».md",
        "sla_state": "n/a",
    }
    return Story("report", [Step(0, 0, to_line(fields))])


def _fill(stories: Sequence[Story], events: int) -> list[Cue]:
    """Runs of the stories by turns while the next one still fits into ``events``; those that have runs."""
    total = sum(len(story.steps) for story in stories)
    rounds = events // total if total else 0
    left = events - rounds * total
    counts = [rounds] * len(stories)
    for index, story in enumerate(stories):
        if len(story.steps) <= left:
            counts[index] += 1
            left -= len(story.steps)
    return [(story, count) for story, count in zip(stories, counts, strict=True) if count]


def _size(cues: Sequence[Cue]) -> int:
    return sum(len(story.steps) * count for story, count in cues)


def make_plan(events: int, seed: int, scenario: Scenario, fault_rate: float) -> list[Cue]:
    """Stories and their numbers of runs with ``events`` events in all.

    About ``fault_rate`` of the events belong to runs with a fault; in a small file as many more as it takes to show
    each rule once, up to four fifths; where not all of them find room, those with the shortest stories do.
    """
    rng = Random(f"plan:{scenario}:{seed}")
    compact = events < COMPACT_BELOW
    faulty = list(_faulty(scenario, rng, compact))
    if not compact:
        for _ in range(min(_FAULT_VARIANTS, int(fault_rate * events) // sum(len(story.steps) for story in faulty)) - 1):
            faulty.extend(_faulty(scenario, rng, compact))
    first = faulty[: len(rules(scenario)) - 1]
    each_once = sum(len(story.steps) for story in first)
    share = max(fault_rate * events, min(0.8 * events, each_once)) if fault_rate > 0 else 0
    if share < each_once:
        faulty = sorted(first, key=_length)
    cues = _fill(faulty, int(share))
    left = events - _size(cues)
    cues += _fill(_clean(scenario, max(1, min(_MOST_VARIANTS, left // 12)), rng, compact), left)
    left = events - _size(cues)
    return [*cues, (_report(), left)] if left else cues
