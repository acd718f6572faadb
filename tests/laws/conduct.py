"""Histories of tool contracts and of runs: who called what and how, how much a run cost, and how it ended."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.laws import strategies
from tests.laws.strategies import CALLERS, PEOPLE, SUBJECTS, Choices, Event, maybe, one_of_each, parts
from tests.laws.usual import RED, at, usual

RUN_IDS = maybe("R1", "R1", "R2", rarely=True)
TIERS = maybe("small", "Large", "LARGE", rarely=True)
SIGNALS = ("reopened", "complaint", "resolution_rejected", "csat", "resolution_confirmed")
# Calls, tools and, as ids are made in `strategies.around`, events; what names none of them speaks of the whole run.
REFS = maybe("k1", "k2", "pay", "Look", "E1", "z2", "nowhere")


def _calls(tools: Choices, outcomes: Choices, **fields: Choices) -> st.SearchStrategy[Event]:
    common: dict[str, Choices] = {
        "caller": (*CALLERS, "dora"),
        "tool": tools,
        "privilege": ("write", "write", "read", "execute"),
        "side_effects": ("irreversible", "reversible", "reversible", "none"),
        "outcome": outcomes,
        "call_id": maybe("k1", "k1", "k2", "k3"),
        "attempt": (1, 1, 2, 2, 3),
    }
    return one_of_each("tool.invocation", **{**common, **fields})


CALLS = _calls(
    ("pay", "pay", "PAY", "Mail", "look", "look", "search"),
    ("success", "success", "partial", "denied", "failed", "unavailable"),
    error_class=maybe("tool_instructions", "tool_instructions", "tool_instructions", "transient"),
    error_type=maybe("timeout", "quota", "Timeout", rarely=True),
    input_digest=maybe(RED, RED),
    undo=maybe("recall it"),
    model_tier=TIERS,
)
WORK_CALLS = _calls(("pay", "look"), ("success", "unavailable"), model_tier=TIERS, run_id=RUN_IDS)
DISPATCHES = one_of_each(
    "agent.dispatch",
    command=("reply", "reply", "triage", "triage", "Triage", "default"),
    caller=CALLERS,
    agent=PEOPLE,
    run_id=RUN_IDS,
)
FEEDBACK = one_of_each("human.feedback", signal=SIGNALS)
JUDGED = one_of_each(
    "gate.decision",
    gate=("quality",),
    subject=SUBJECTS,
    decision=("blocked", "passed"),
    by=PEOPLE,
    cycle=maybe(1, 2, 2, 3),
)
SHIPMENTS = one_of_each("artifact.shipment", artifact_id=SUBJECTS, by=PEOPLE, run_id=RUN_IDS)
PROPOSALS = one_of_each("action.proposal", proposal_id=SUBJECTS, action=("refund",), actor=PEOPLE, run_id=RUN_IDS)


@st.composite
def records(draw: st.DrawFn) -> Event:
    """A run closes, often more than once: edited, decided again, followed up, or contradicted."""
    event = draw(
        one_of_each(
            "decision.record",
            decision_id=("D1", "D1", "D2", "D3"),
            terminal_state=("RESOLVED", "RESOLVED", "ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET"),
            run_id=RUN_IDS,
            follow_up_of=maybe("D1", "D2", "c1", "D9", rarely=True),
            judge_cycles=maybe(0, 1, 2, 3, rarely=True),
            dispatch_count=maybe(0, 1, 2, 3),
        )
    )
    size = draw(st.sampled_from([None, 0, 0, 1, 1, 2]))
    if size is not None:
        findings = parts(ref=REFS, disposition=maybe("ignored"))
        event["injection_findings"] = draw(st.lists(findings, min_size=size, max_size=size))
    return event


@st.composite
def ticket_files(draw: st.DrawFn) -> Event:
    """A file of the output-stamp hook that names its model; some belong to no ticket, and some end the run."""
    kinds = ["xenia.output_written", "xenia.output_written", "xenia.ticket_resolved", "xenia.escalated"]
    event = draw(one_of_each(draw(st.sampled_from(kinds)), agent=maybe(*PEOPLE), model_tier=TIERS))
    run = event.pop("correlation_id")
    return {**event, "ticket_id": draw(st.sampled_from([run] * 5 + [None]))}


KIND: dict[str, st.SearchStrategy[Event]] = {
    "tool.invocation": CALLS,
    "agent.dispatch": DISPATCHES,
    "human.feedback": FEEDBACK,
    "gate.decision": JUDGED,
    "artifact.shipment": SHIPMENTS,
    "action.proposal": PROPOSALS,
    "decision.record": records(),
    "xenia.output_written": ticket_files(),
}


def _call(seconds: float, **fields: Any) -> Event:
    call = {
        "caller": "hermes",
        "tool": "pay",
        "privilege": "write",
        "side_effects": "irreversible",
        "outcome": "success",
    }
    return usual("tool.invocation", seconds, **{**call, "call_id": "k1", "input_digest": RED, **fields})


def _orders(seconds: float, **fields: Any) -> Event:
    look = {"tool": "look", "caller": "themis", "privilege": "read", "side_effects": "none", "outcome": "failed"}
    return _call(seconds, **{**look, "error_class": "tool_instructions", **fields})


def _start(seconds: float, command: str = "reply", **fields: Any) -> Event:
    return usual("agent.dispatch", seconds, command=command, caller="themis", agent="hermes", **fields)


def _close(seconds: float, decision_id: str = "D1", **fields: Any) -> Event:
    closed = {"decision_id": decision_id, "terminal_state": "RESOLVED", "run_id": "R1"}
    return usual("decision.record", seconds, **{**closed, **fields})


CONTRACTS: list[list[Event]] = [
    [  # as agreed, a change away from every break
        _call(0, attempt=1, outcome="failed", error_type="timeout"),
        _call(1, attempt=2),
        _call(2, tool="Mail", side_effects="reversible", undo="recall it", call_id="k2"),
        _call(3, tool="look", privilege="read", side_effects="none", caller="themis", call_id="k3"),
    ],
    [  # two tools gave orders, and the records speak of one
        _orders(0),
        _orders(1, call_id="k2", tool="pay"),
        _orders(1, call_id="k2", attempt=2),
        _close(10, injection_findings=[{"ref": "k1"}]),
        _close(11, "D2", injection_findings=[{"ref": "pay", "disposition": "ignored"}]),
    ],
]
RUNS: list[list[Event]] = [
    [  # as many as allowed
        _start(0),
        _start(1, "triage"),
        _start(1, "triage"),
        _call(2, attempt=1, outcome="unavailable"),
        _call(3, attempt=2),
        usual("gate.decision", 3, gate="quality", subject="s1", decision="passed", by="themis", cycle=1),
        _close(4, dispatch_count=1, judge_cycles=1),
    ],
    [  # one command, and the record's own count
        _start(0, "triage"),
        _call(1, attempt=2, call_id="k1", run_id="R1"),
        _call(1, attempt=1, call_id="k1", caller="Reviewer"),
        _close(4, dispatch_count=2, judge_cycles=2),
    ],
    [_start(0), _call(1), usual("human.feedback", 2, signal="csat")],  # never closed
    [  # closed, reopened, closed again
        _close(0),
        usual("human.feedback", 2, signal="reopened"),
        _call(3, run_id="R1"),
        _close(5, "D2", terminal_state="ESCALATED_TO_HUMAN"),
        usual("artifact.shipment", 10, artifact_id="s1", by="hermes", run_id="R2"),
        _close(11, "D2", terminal_state="ESCALATED_TO_HUMAN"),
    ],
    [  # models
        _call(0, caller="themis", model_tier="small"),
        _call(1, caller="Reviewer", model_tier="LARGE", call_id="k2"),
        {"kind": "xenia.output_written", "ts": at(2), "ticket_id": "c1", "agent": "Reviewer", "model_tier": "Large"},
        _call(3, caller="dora", model_tier="large", call_id="k3"),
    ],
]


def contract_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Calls that break their contract, and records that flag injections or do not."""
    return strategies.around([CALLS, CALLS, CALLS, records()], CONTRACTS, max_size, KIND)


def run_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Dispatches, retries, rounds with the judge, ends, reopenings and what comes after."""
    often = [records(), records(), DISPATCHES, WORK_CALLS, FEEDBACK]
    return strategies.around([*often, *often, JUDGED, SHIPMENTS, PROPOSALS, ticket_files()], RUNS, max_size, KIND)
