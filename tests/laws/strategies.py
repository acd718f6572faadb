"""Small adversarial histories: few ids, few instants, so that everything collides with everything; always valid.

`histories()` mixes all kinds; `gate_histories()`, `effect_histories()` and `retry_histories()` stay within what one
family looks at, which makes rare combinations frequent and failures short. Every event is a JSON object of the
contract with an `event_id` of its own, in an order of arrival that says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.laws import usual
from tests.laws.policies import POLICIES
from tests.laws.usual import START, at

Event = dict[str, Any]
Choices = tuple[Any, ...]

# Seconds after START. Around the skews (0 s, 2 s), the graces (1 s, 3 s, 10 s, 60 s) and the ages (5 s, 1 h).
MOMENTS = (0, 0, 1, 1, 2, 2.000001, 3, 4, 5, 5, 6, 10, 10, 11, 60, 61, 62, 70, 3600, 3602, 3605, 3610.5)

# Not in any order of their own: upper case sorts before lower case, "10" before "2", and "é" last, bytewise.
PREFIXES = ("e", "E", "z", "é")

_ABSENT = object()


def maybe(*values: Any, rarely: bool = False) -> Choices:
    """A value that is mostly given (or mostly not): else null, or left out altogether."""
    return values + (None, _ABSENT) * (2 * len(values) if rarely else 1)


TIMES = tuple(at(moment) for moment in MOMENTS)
RUNS = ("c1",) * 11 + ("c2",)
TENANTS = (None,) * 6 + (_ABSENT,) * 6 + ("t1",)
SUBJECTS = ("s1",) * 4 + ("s2",)
PEOPLE = ("hermes", "hermes", "themis", "Reviewer", "EUNOMIA", "dora")
CALLERS = ("themis", "reviewer", "Eunomia", "hermes")
TOOLS = ("pay",) * 4 + ("Mail", "post", "search")
ACTIONS = ("refund",) * 5 + ("pay", "reply", "notify", "mail", "close")
CALLS = ("k1",) * 4 + ("k2", "s1")
TARGETS = ("x",) * 4 + ("y",)
AMOUNTS = (10, 10, 10, 10.5, 11, 12.0, 0)
DIGESTS = tuple("sha256:" + letter * 64 for letter in "aaab")
KEYS = ("K1", "K1", "K2")
RECEIPTS = ("R1", "R1", "R2", "R3")


def one_of_each(kind: str, **fields: Choices) -> st.SearchStrategy[Event]:
    """Events of one kind without their `event_id`: one choice per field."""
    common = {"kind": (kind,), "ts": TIMES, "correlation_id": RUNS, "tenant": TENANTS}
    return parts(**common, **fields)


def parts(**fields: Choices) -> st.SearchStrategy[Event]:
    """Objects with one choice per field."""
    drawn = st.fixed_dictionaries({name: st.sampled_from(choices) for name, choices in fields.items()})
    return drawn.map(lambda found: {name: value for name, value in found.items() if value is not _ABSENT})


def invocations(outcomes: Choices, calls: Choices) -> st.SearchStrategy[Event]:
    """Attempts; `attempt` is never null, but may be left out."""
    classes = ("transient", "permission_denied", "validation", "validation", "partial_success")
    return one_of_each(
        "tool.invocation",
        caller=CALLERS,
        tool=TOOLS,
        privilege=("write",),
        side_effects=("irreversible", "irreversible", "reversible", "none"),
        outcome=outcomes,
        call_id=calls,
        attempt=(_ABSENT, 1, 1, 2, 2, 3),
        error_class=(None, _ABSENT) * 5 + (*classes, "tool_instructions", "other"),
        input_digest=maybe(*DIGESTS),
        idempotency_key=maybe("K1", "K1", "K2", None),
        approval_id=(*maybe("A1", "A2", rarely=True), "A9"),
        receipt_id=maybe(*RECEIPTS, rarely=True),
        target=maybe(*TARGETS),
        amount=maybe(*AMOUNTS),
        verified=maybe(True, False),
    )


EFFECTS = invocations(("success",) * 6 + ("partial", "unavailable", "failed"), maybe("k1", "k2", "s1", rarely=True))
ATTEMPTS = invocations(("success", "success", "partial", "unavailable", "stale_target", "denied", "failed"), CALLS)

CLAIMS = parts(
    action=ACTIONS,
    executed=(True, True, False),
    target=maybe(*TARGETS),
    call_id=maybe("k1", "k2", rarely=True),
    receipt_id=maybe("R1", "R2", rarely=True),
    idempotency_key=maybe("K1", "K2", rarely=True),
    amount=maybe(*AMOUNTS),
)
VERDICTS = parts(**{"rubric_id": ("r1", "r2"), "pass": (True,) * 8 + (False, None, _ABSENT)})
NOTES = parts(tool=maybe("Quality", "duty", "pay", "search", rarely=True), call_id=maybe("k1", "s1", rarely=True))


@st.composite
def records(draw: st.DrawFn) -> Event:
    """A run closes; often twice under one decision id, and sometimes under two."""
    event = draw(
        one_of_each(
            "decision.record",
            decision_id=("D1", "D1", "D2"),
            terminal_state=("RESOLVED",) * 3 + ("ESCALATED_TO_HUMAN", "FOLLOW_UP_TICKET"),
            clearance=maybe("cleared", "cleared", "blocked", rarely=True),
            escalation=(None, _ABSENT, {}, {"triggered": None}, {"triggered": False}, {"triggered": True}),
            priority=maybe("P1", "P1", "P2"),
            intent=maybe("billing", "billing", "other"),
        )
    )
    lists = {"actions_attempted": CLAIMS, "rubric_verdicts": VERDICTS, "degradations": NOTES}
    for name, elements in lists.items():
        size = draw(st.sampled_from([None, 0, 1, 1, 2, 3]))
        if size is not None:
            event[name] = draw(st.lists(elements, min_size=size, max_size=size))
    return event


REVIEWERS = {"quality": "Reviewer", "Clearance": "Eunomia", "clearance": "eunomia", "duty": "EUNOMIA"}


@st.composite
def decisions(draw: st.DrawFn) -> Event:
    """A gate decides: mostly a pass by one of its reviewers."""
    event = draw(
        one_of_each(
            "gate.decision",
            gate=("quality", "quality", "Clearance", "clearance", "duty"),
            subject=("s1",) * 5 + ("s2", "k1"),
            decision=("passed",) * 8 + ("blocked", "errored", "skipped", "waived"),
            digest=maybe(*DIGESTS),
            expires_at=maybe(*TIMES[-4:], *TIMES[:4], rarely=True),
        )
    )
    return {**event, "by": draw(st.sampled_from((REVIEWERS[event["gate"]],) * 12 + PEOPLE))}


SHIPMENTS = one_of_each(
    "artifact.shipment",
    artifact_id=SUBJECTS,
    by=PEOPLE,
    author=maybe("hermes", "hermes", "themis"),
    digest=maybe(*DIGESTS),
    phase=("tickets",) * 6 + ("escalations", "voc", None, _ABSENT),
    customer_facing=(_ABSENT, _ABSENT, True, True, False),
)


@st.composite
def xenia(draw: st.DrawFn) -> Event:
    """A line of the output-stamp hook: `ticket_id` takes the place of the correlation id, and may be null."""
    event = draw(
        one_of_each(
            draw(st.sampled_from(["xenia.ticket_created", "xenia.ticket_resolved", "xenia.escalated"])),
            agent=maybe(*PEOPLE),
            phase=("tickets", "tickets", "escalations", "quality", None),
            severity=maybe("P1", "P2", "unknown"),
            category=maybe("billing", "general"),
            path=maybe("s1", "s1", "s2"),
            outcome=maybe("delight", "resolved"),
        )
    )
    run = event.pop("correlation_id")
    return {**event, "ticket_id": draw(st.sampled_from([run] * 5 + [None]))}


REPORTS = one_of_each("agent.report", task_id=SUBJECTS, by=PEOPLE, claim=("completed", "partial", "failed"))
PROPOSALS = one_of_each("action.proposal", proposal_id=SUBJECTS, action=ACTIONS, actor=PEOPLE, digest=maybe(*DIGESTS))
RECEIPT_EVENTS = one_of_each(
    "action.receipt",
    receipt_id=RECEIPTS,
    action=ACTIONS,
    effect=("committed",) * 5 + ("partial", "rolled_back", "rejected", "exists"),
    target=maybe(*TARGETS),
    idempotency_key=maybe("K1", "K1", "K2", None),
    call_id=maybe("k1", "k2", rarely=True),
    proposal_id=maybe("s1", "s2", rarely=True),
    amount=maybe(*AMOUNTS),
)
APPROVALS = one_of_each(
    "action.decision",
    approval_id=("A1", "A1", "A2"),
    decision=("approved",) * 6 + ("declined", "expired", "superseded"),
    by=PEOPLE,
    by_kind=("human",) * 4 + ("agent", "policy"),
    proposal_id=maybe("s1", "s2", rarely=True),
    action=maybe(*ACTIONS),
    target=maybe(*TARGETS, None, None),
    digest=maybe(*DIGESTS, None, None),
    amount_limit=maybe(*AMOUNTS),
    single_use=(_ABSENT, True, False),
    expires_at=maybe(*TIMES[-4:], *TIMES[:4], rarely=True),
)
DEGRADATIONS = one_of_each(
    "tool.degradation", caller=CALLERS, tool=TOOLS, fallback=("cache",), call_id=maybe("k1", "k2", None)
)
SUPERSESSIONS = one_of_each("safety.supersession", policy=("harm",))


KIND: dict[str, st.SearchStrategy[Event]] = {
    "artifact.shipment": SHIPMENTS,
    "gate.decision": decisions(),
    "tool.invocation": ATTEMPTS,
    "action.receipt": RECEIPT_EVENTS,
    "action.decision": APPROVALS,
    "decision.record": records(),
    "tool.degradation": DEGRADATIONS,
    "safety.supersession": SUPERSESSIONS,
}


@st.composite
def around(
    draw: st.DrawFn,
    bodies: list[st.SearchStrategy[Event]],
    runs: list[list[Event]],
    max_size: int,
    kinds: Mapping[str, st.SearchStrategy[Event]] = KIND,
) -> list[Event]:
    """A usual run, each event of it with a field changed or left out altogether, among whatever else.

    Event ids are unique and in no order, so that ties between equal times go either way.
    """
    drawn: list[Event] = []
    for event in draw(st.sampled_from(runs)):
        copies = draw(st.sampled_from([0, 1, 1, 1, 1, 1, 2]))
        for _ in range(copies):
            other = draw(kinds[event["kind"]])
            changed = draw(st.lists(st.sampled_from(sorted(other)), max_size=1))
            drawn.append({**event, **{name: other[name] for name in changed}})
    size = draw(st.integers(0, max_size))  # evenly: left alone, hypothesis makes short lists, where little collides
    drawn += [draw(draw(st.sampled_from(bodies))) for _ in range(size)]
    numbers = draw(st.permutations(range(1, len(drawn) + 1)))
    return [
        {"event_id": f"{PREFIXES[number % len(PREFIXES)]}{number}", **body}
        for body, number in zip(drawn, numbers, strict=True)
    ]


def gate_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Shipments of all sorts, decisions, records that stand for gates, and reviewers' own calls."""
    shipped = [SHIPMENTS, SHIPMENTS, SHIPMENTS, xenia(), REPORTS, PROPOSALS]
    return around([*shipped, *[decisions()] * 7, records(), ATTEMPTS], usual.SHIPMENTS, max_size)


def effect_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Attempts, receipts, claims and approvals."""
    often = [EFFECTS, EFFECTS, RECEIPT_EVENTS, RECEIPT_EVENTS, records(), APPROVALS, APPROVALS]
    return around([*often, *often, SUPERSESSIONS], usual.EFFECTS, max_size)


def retry_histories(max_size: int = 8) -> st.SearchStrategy[list[Event]]:
    """Attempts of few calls, fallbacks, escalations and records."""
    return around([*[ATTEMPTS] * 6, DEGRADATIONS, records(), xenia()], usual.CALLS, max_size)


def histories(max_size: int = 12) -> st.SearchStrategy[list[Event]]:
    """Everything at once, or what one family looks at."""
    often = [SHIPMENTS, decisions(), EFFECTS, ATTEMPTS, RECEIPT_EVENTS, records(), APPROVALS]
    rarely = [xenia(), REPORTS, PROPOSALS, DEGRADATIONS, SUPERSESSIONS]
    mixed = around([*often, *often, *rarely], [[]], max_size)
    return st.one_of(mixed, gate_histories(), effect_histories(), retry_histories())


def policy_names() -> st.SearchStrategy[str]:
    """The name of a policy in `POLICIES` and `POLICIES_TOML`; mostly one with something to say."""
    return st.sampled_from([*sorted(POLICIES), "squad", "squad", "bench"])


def watermarks() -> st.SearchStrategy[datetime | None]:
    """Complete (None), or an instant at or around the end of somebody's grace."""
    moments = [START + timedelta(seconds=moment + grace) for moment in MOMENTS for grace in (-1, 0, 1, 3, 10, 60)]
    return st.sampled_from([*[None] * len(moments), *moments])
