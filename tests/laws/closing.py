"""Histories of how runs end: records with all that the KPIs count, follow-ups of other runs, feedback, a week later."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.laws.strategies import RUNS, SHIPMENTS, Event, around, maybe, one_of_each, parts, xenia
from tests.laws.usual import at, usual

DAY = 86_400
DAYS = tuple(at(seconds) for seconds in (0, 5, 61, 3600, DAY, 7 * DAY - 1, 7 * DAY, 8 * DAY, 8 * DAY + 43_199, 9 * DAY))

SLA = parts(
    received_at=maybe(*DAYS[:5]),
    first_response_at=maybe(*DAYS[1:5], rarely=True),
    resolved_at=maybe(*DAYS[1:6], rarely=True),
    state=maybe("ok", "warn", "breach", rarely=True),
    breached=maybe(True, False, rarely=True),
)
SCORES = ("no-false-deflection", "grounded-in-kb", "tone")


@st.composite
def endings(draw: st.DrawFn) -> Event:
    """A record with what the KPIs read; often the follow-up of another run or decision."""
    event = draw(
        one_of_each(
            "decision.record",
            decision_id=("D1", "D1", "D2", "D3"),
            terminal_state=("RESOLVED",) * 4 + ("ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET", "NO_ANSWER_SAFE_FALLBACK"),
            priority=maybe("P1", "P1", "P2"),
            intent=maybe("billing", "other"),
            cost_usd=maybe(0.1, 0.2, 0.7),
            model_tier=maybe("small", "large"),
            dispatch_count=maybe(1, 9),
            judge_cycles=maybe(1, 3),
            follow_up_of=maybe("D1", "D2", "D3", *(f"{run}-{n}" for run in set(RUNS) for n in range(4)), rarely=True),
        )
    )
    event["ts"] = draw(st.sampled_from(DAYS))
    if draw(st.booleans()):
        event["sla"] = draw(SLA)
    if draw(st.booleans()):
        event["rubric_verdicts"] = [
            {"rubric_id": "r1", "pass": True, "dims": {name: draw(st.integers(0, 3)) for name in SCORES}}
        ]
    return event


@st.composite
def feedback(draw: st.DrawFn) -> Event:
    """What people say afterwards."""
    signals = (
        "escalation_warranted", "escalation_unwarranted", "missed_escalation", "reopened", "complaint", "csat",
        "resolution_confirmed", "resolution_rejected",
    )  # fmt: skip
    event = draw(one_of_each("human.feedback", signal=signals, value=maybe(0.3, 1, 4.9)))
    return {**event, "ts": draw(st.sampled_from(DAYS))}


DISPATCHES = one_of_each("agent.dispatch", command=("reply", "triage"), caller=("hermes",), agent=("themis", "dora"))

KINDS = {"decision.record": endings(), "human.feedback": feedback()}

USUAL: list[list[Event]] = [
    [],
    [usual("decision.record", 5, decision_id="D1", terminal_state="RESOLVED", priority="P1", intent="billing")],
    [
        usual("decision.record", 5, decision_id="D1", terminal_state="RESOLVED", cost_usd=0.1),
        usual("human.feedback", 61, signal="reopened"),
    ],
]


def closing_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Records, feedback, ticket files and dispatches."""
    return around([*[endings()] * 4, *[feedback()] * 3, xenia(), DISPATCHES, SHIPMENTS], USUAL, max_size, KINDS)
