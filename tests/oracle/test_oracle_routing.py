"""Routing, worked out by hand from 03: both rules and the nearest cases that must not fire."""

from __future__ import annotations

from typing import Any

import pytest

from tests.oracle import evaluate
from tests.oracle.cases import POLICY, attempt, event, policy

TOOLS = [*POLICY["tools"], {"name": "deploy", "privilege": "execute"}, {"name": "look", "privilege": "read"}]


def route(event_id: str, seconds: float, *tools: str, needed: str | None = None, **fields: Any) -> dict[str, Any]:
    """A request of the family `billing` gets these tools."""
    facts = {"task_family": "billing", "granted_tools": list(tools), "needed_privilege": needed, **fields}
    return event("route.decision", event_id, seconds, **facts)


def broken(*events: dict[str, Any], **tables: Any) -> list[tuple[str, str]]:
    """(rule, subject) of each verdict of the routing family."""
    verdicts = evaluate(list(events), policy(tools=TOOLS, **tables)).routing
    return [(verdict.rule, verdict.subject) for verdict in verdicts]


OVER, UNDER = [("over_scoped", "d")], [("under_scoped", "d")]


@pytest.mark.parametrize(
    ("needed", "granted", "expected"),
    [
        ("read", ["look"], []),
        ("read", ["look", "issue_refund"], OVER),
        ("read", ["deploy"], OVER),
        ("read", ["Issue_Refund"], OVER),
        ("read", ["nobody-knows"], []),
        ("read", [], []),
        ("write", ["issue_refund"], []),
        ("write", ["deploy"], []),
        ("write", ["look", "nobody-knows"], UNDER),
        ("write", [], UNDER),
        ("execute", ["deploy"], []),
        ("execute", ["issue_refund"], UNDER),
        (None, ["deploy"], []),
        (None, [], []),
    ],
)
def test_the_tools_fit_what_was_needed(needed: str | None, granted: list[str], expected: list[tuple[str, str]]) -> None:
    assert broken(route("d", 0, *granted, needed=needed)) == expected


def test_an_unknown_request_gets_few_tools() -> None:
    assert broken(route("d", 0, "a", "b", "c", task_family="unknown")) == []
    assert broken(route("d", 0, "a", "b", "c", "d", task_family="Unknown")) == OVER
    assert broken(route("d", 0, "a", "b", "c", "A", task_family="unknown")) == []
    assert broken(route("d", 0, "a", "b", "c", "d")) == []
    narrow = {"unknown_families": ["Misc"], "unknown_tools": 0}
    assert broken(route("d", 0, "a", task_family="misc"), routing=narrow) == OVER
    assert broken(route("d", 0, "a", "b", "c", "d", task_family="unknown"), routing=narrow) == []


def test_a_needed_call_that_was_denied() -> None:
    granted, denied = route("d", 5, "issue_refund", needed="write"), attempt("t", 6, "denied", call_id="k")
    assert broken(granted, denied) == UNDER
    assert broken(granted, {**denied, "ts": granted["ts"], "event_id": "a"}) == UNDER
    assert broken(granted, attempt("t", 4.999999, "denied")) == []
    assert broken(granted, {**denied, "privilege": "read"}) == []
    assert broken(granted, {**denied, "tenant": "t2"}) == []
    assert broken(granted, denied, attempt("u", 7, call_id="k", attempt=2)) == []
    assert broken(granted, attempt("u", 7, call_id="k"), {**denied, "attempt": 2}) == UNDER
    assert broken({**granted, "needed_privilege": "read"}, denied) == OVER
    assert broken({**granted, "needed_privilege": None}, denied) == []
