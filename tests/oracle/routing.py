"""Routing: 03, "`over_scoped` (write or execute tools granted to a request that needed read, or an unknown intent given
many), `under_scoped` (a needed write denied or withheld)".
"""

from __future__ import annotations

from tests.oracle.history import History, Row
from tests.oracle.rows import Verdict
from tests.oracle.rulebook import Rulebook

_CHANGING = ("write", "execute")


def routing(history: History, rules: Rulebook) -> list[Verdict]:
    """At most one verdict per route decision and rule; the decision itself is the evidence, so nothing waits."""
    verdicts: list[Verdict] = []
    for route in history.of_kind("route.decision"):
        about = (route["tenant"], route["correlation_id"], route["event_id"], False)
        if _over_scoped(route, rules):
            verdicts.append(Verdict("over_scoped", *about))
        if _under_scoped(route, history, rules):
            verdicts.append(Verdict("under_scoped", *about))
    return verdicts


def _privileges(route: Row, rules: Rulebook) -> set[str]:
    """What the granted tools may do by their contracts; a tool without one may do nothing that counts."""
    names = [name.lower() for name in route["granted_tools"]]
    return {rules.tools[name]["privilege"] for name in names if name in rules.tools}


def _over_scoped(route: Row, rules: Rulebook) -> bool:
    if route.get("needed_privilege") == "read" and _privileges(route, rules) & set(_CHANGING):
        return True
    unknown = route["task_family"].lower() in rules.unknown_families
    return unknown and len({name.lower() for name in route["granted_tools"]}) > rules.unknown_tools


def _under_scoped(route: Row, history: History, rules: Rulebook) -> bool:
    needed = route.get("needed_privilege")
    if needed not in _CHANGING:
        return False
    enough = _CHANGING if needed == "write" else ("execute",)
    if not _privileges(route, rules) & set(enough):
        return True
    for (tenant, run, _), attempts in history.calls().items():
        since = [attempt for attempt in attempts if attempt["ts"] >= route["ts"]]
        tried = (tenant, run) == (route["tenant"], route["correlation_id"]) and any(
            attempt["privilege"] in _CHANGING for attempt in since
        )
        if tried and attempts[-1]["outcome"] == "denied":
            return True
    return False
