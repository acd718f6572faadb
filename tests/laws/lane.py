"""Histories of the agent lane and of routing: few tasks, leases and people, so that tasks change hands often."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.laws import strategies
from tests.laws.strategies import CALLERS, PEOPLE, TIMES, Event, maybe, one_of_each
from tests.laws.usual import at, usual

TASKS = ("s1",) * 5 + ("s2",)
ARTIFACTS = ("a1",) * 4 + ("s1", "a2")
LEASES = ("L1", "L1", "L1", "L2", "L2", "L3")
# "Deploy" and "deploy" are one tool, and nobody has a contract for "fetch".
TOOLS = ("pay", "pay", "Mail", "deploy", "deploy", "Deploy", "look", "look", "fetch")

LEASE_EVENTS = one_of_each(
    "agent.lease",
    lease_id=LEASES,
    task_id=TASKS,
    holder=PEOPLE,
    state=("granted",) * 4 + ("renewed", "renewed", "released", "expired", "revoked"),
    expires_at=maybe(*TIMES[2:12], *TIMES[-4:], rarely=True),
)
REPORTS = one_of_each(
    "agent.report",
    task_id=TASKS,
    by=PEOPLE,
    claim=("completed", "completed", "partial", "failed"),
    lease_id=maybe("L1", "L2", "L9", None, None),
    artifact_id=maybe(*ARTIFACTS, None),
)
PASSES = one_of_each(
    "gate.decision",
    gate=("quality", "Clearance"),
    subject=("s1", "s1", "s1", "s2", "a1", "a1", "a2"),
    decision=("passed",) * 4 + ("blocked", "waived"),
    by=PEOPLE,
)
SHIPMENTS = one_of_each("artifact.shipment", artifact_id=ARTIFACTS, by=PEOPLE)
ROUTES = st.tuples(
    one_of_each(
        "route.decision",
        task_family=("billing", "billing", "unknown", "Misc"),
        needed_privilege=maybe("read", "write", "write", "write", "execute"),
    ),
    st.lists(st.sampled_from(TOOLS), max_size=4),
).map(lambda drawn: {**drawn[0], "granted_tools": drawn[1]})
CALLS = one_of_each(
    "tool.invocation",
    caller=CALLERS,
    tool=("search", "pay"),
    privilege=("read", "read", "write", "execute"),
    side_effects=("none",),
    outcome=("denied", "denied", "denied", "success", "failed"),
    call_id=("k1", "k1", "k2"),
    attempt=(1, 1, 2, 3),
)

KIND: dict[str, st.SearchStrategy[Event]] = {
    "agent.lease": LEASE_EVENTS,
    "agent.report": REPORTS,
    "gate.decision": PASSES,
    "artifact.shipment": SHIPMENTS,
    "route.decision": ROUTES,
    "tool.invocation": CALLS,
}


def _lease(seconds: float, state: str = "granted", **fields: Any) -> Event:
    facts = {"lease_id": "L1", "task_id": "s1", "holder": "hermes", "state": state, **fields}
    return usual("agent.lease", seconds, **facts)


def _report(seconds: float, **fields: Any) -> Event:
    facts = {"task_id": "s1", "by": "hermes", "claim": "completed", "lease_id": "L1", "artifact_id": "a1", **fields}
    return usual("agent.report", seconds, **facts)


def _pass(seconds: float, by: str, **fields: Any) -> Event:
    return usual(
        "gate.decision", seconds, **{"gate": "quality", "subject": "s1", "decision": "passed", "by": by, **fields}
    )


def _call(seconds: float, outcome: str, **fields: Any) -> Event:
    call = {"caller": "hermes", "tool": "pay", "privilege": "write", "side_effects": "none", "call_id": "k1"}
    return usual("tool.invocation", seconds, **{**call, "outcome": outcome, **fields})


LANES: list[list[Event]] = [
    [  # held, renewed, verified by another, shipped, given back
        _lease(0, expires_at=at(3)),
        _lease(2, "renewed", expires_at=at(6)),
        _report(5),
        _pass(5, "themis"),
        usual("artifact.shipment", 6, artifact_id="a1", by="hermes"),
        _lease(10, "released"),
    ],
    [  # taken over
        _lease(0),
        _lease(3, lease_id="L2", holder="dora"),
        _report(4),
        _report(5, by="dora", lease_id="L2"),
        _lease(5, "renewed"),
        _report(6, lease_id=None),
    ],
    [  # ended, and passed by oneself
        _lease(0, expires_at=at(4)),
        _report(3, claim="partial"),
        _pass(4, "hermes", gate="Clearance"),
        usual("artifact.shipment", 5, artifact_id="a1", by="dora"),
        _lease(5, "expired"),
        _report(10, artifact_id=None),
    ],
    [  # all at once, after a lease that had ended; and shipped as it was
        _lease(0, lease_id="L3"),
        _lease(1, "released", lease_id="L3"),
        _lease(3),
        _lease(3, lease_id="L2", holder="dora"),
        _report(3, lease_id=None),
        usual("artifact.shipment", 6, artifact_id="a1", by="hermes"),
    ],
    [  # at the very end of the lease, and the artifact passed instead of the task
        _lease(0, expires_at=at(5)),
        _report(5, lease_id=None),
        _pass(6, "themis", subject="a1"),
        usual("artifact.shipment", 6, artifact_id="a1", by="hermes"),
    ],
]
ROUTINGS: list[list[Event]] = [
    [  # granted, and denied only to read
        usual("route.decision", 1, task_family="billing", granted_tools=["pay"], needed_privilege="write"),
        _call(2, "denied", privilege="read"),
    ],
    [
        usual("route.decision", 1, task_family="billing", granted_tools=["pay", "look"], needed_privilege="write"),
        _call(1, "denied", attempt=1),
        _call(2, "success", attempt=2),
        usual("route.decision", 2, task_family="unknown", granted_tools=["look", "fetch", "search"]),
        usual("route.decision", 3, task_family="billing", granted_tools=["deploy"], needed_privilege="execute"),
    ],
]


def lane_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Leases, reports, passes and shipments."""
    bodies = [LEASE_EVENTS, LEASE_EVENTS, REPORTS, REPORTS, PASSES, SHIPMENTS]
    return strategies.around(bodies, LANES, max_size, KIND)


def routing_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Route decisions, and calls that may be denied."""
    return strategies.around([ROUTES, CALLS], ROUTINGS, max_size, KIND)
