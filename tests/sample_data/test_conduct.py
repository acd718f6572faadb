"""The truth about calls, runs, routes and identities, worked out from the lines and the policy file by hand."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sample_data import lookalikes_runs, policy_path
from sample_data.generate import generate
from sample_data.plan import SCENARIOS, Scenario, make_plan, rules
from sample_data.scene import Scene
from sample_data.squad import Squad
from sample_data.workbench import Workbench
from tests.sample_data.reading import Event, Reading, truth_of

Found = Counter[tuple[str, str | None, str | None]]
"""Subject, correlation id, tenant."""

PERSONAL = re.compile(r"[\w.]+@[\w.]+|\+\d[\d ]{8,}")
HARM = ("none", "reversible", "irreversible")


class File:
    """A generated file, its policy, and what its truth says."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        path = folder / "events.jsonl"
        generate(12_000, 11, path, scenario=scenario, fault_rate=0.4)
        self.policy: dict[str, Any] = tomllib.loads(policy_path(scenario).read_text(encoding="utf-8"))
        self.contracts: dict[str, dict[str, Any]] = {tool["name"]: tool for tool in self.policy["tools"]}
        self.reading = Reading(path)
        self.events = list(self.reading.events.values())
        self.truth = truth_of(path)

    def told(self, rule: str) -> Found:
        rows = (row for row in self.truth if row["rule"] == rule)
        return Counter((row["subject"], row["correlation_id"], row["tenant"]) for row in rows)

    def calls(self, wrong: Callable[[Event, dict[str, Any]], bool]) -> Found:
        """The calls with an attempt that is wrong by its own fields and its tool's contract."""
        attempts = (event for event in self.events if event["kind"] == "tool.invocation")
        return Counter(
            {
                (event["call_id"], event["correlation_id"], event.get("tenant")): 1
                for event in attempts
                if wrong(event, self.contracts.get(event["tool"], {}))
            }
        )

    def name(self, spelt: str) -> str:
        known = {alias: agent for agent, table in self.policy["agents"].items() for alias in table.get("aliases", [])}
        return str(known.get(spelt.lower(), spelt.lower()))

    def writing(self, tools: list[str]) -> set[str]:
        return {self.contracts[tool]["privilege"] for tool in tools if tool in self.contracts} - {"read"}


@pytest.fixture(scope="module", params=SCENARIOS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> File:
    return File(request.param, tmp_path_factory.mktemp("conduct"))


def test_the_contract_rules_name_the_calls_that_break_a_contract(made: File) -> None:
    expected = {
        "tool_undeclared": made.calls(lambda event, contract: not contract),
        "caller_not_allowed": made.calls(
            lambda event, contract: bool(contract) and made.name(event["caller"]) not in contract["allowed_callers"]
        ),
        "privilege_mismatch": made.calls(
            lambda event, contract: bool(contract) and event["privilege"] != contract["privilege"]
        ),
        "side_effects_understated": made.calls(
            lambda event, contract: (
                bool(contract) and HARM.index(event["side_effects"]) < HARM.index(contract["side_effects"])
            )
        ),
        "undo_missing": made.calls(
            lambda event, contract: (
                event["side_effects"] == "reversible"
                and event["outcome"] in ("success", "partial")
                and "undo" not in event
            )
        ),
        "digest_missing": made.calls(
            lambda event, contract: event["side_effects"] != "none" and "input_digest" not in event
        ),
        "error_undeclared": made.calls(
            lambda event, contract: "error_type" in event and event["error_type"] not in contract["error_types"]
        ),
    }
    for rule, found in expected.items():
        assert len(found) >= 2, rule
        assert found == made.told(rule), rule


def test_the_budget_names_the_runs_that_started_retried_or_judged_too_much(made: File) -> None:
    """The 25 dispatches of the larger budget are never reached, so only runs of the usual command count."""
    usual = made.policy["budgets"]["default"]
    bulk = next(command for command in made.policy["budgets"] if command != "default")
    found: Found = Counter()
    cycles: Found = Counter()
    for (tenant, correlation), events in made.reading.runs().items():
        started = [event for event in events if event["kind"] == "agent.dispatch"]
        records = [event for event in events if event["kind"] == "decision.record"]
        counted = max((record["dispatch_count"] for record in records), default=0)
        if bulk not in {event["command"] for event in started}:
            found[correlation, correlation, tenant] += max(len(started), counted) > usual["dispatches"]
        attempts = Counter(
            (made.name(event["caller"]), event["call_id"]) for event in events if event["kind"] == "tool.invocation"
        )
        retries: Counter[str] = Counter()
        for (caller, _), times in attempts.items():
            retries[caller] += times - 1
        found[correlation, correlation, tenant] += sum(n > usual["retries_per_caller"] for n in retries.values())
        judged = [record.get("judge_cycles", 0) for record in records]
        judged += [event.get("cycle", 0) for event in events if event["kind"] == "gate.decision"]
        cycles[correlation, correlation, tenant] += max(judged, default=0) > usual["judge_cycles"]
    assert +found == made.told("budget_exceeded")
    assert +cycles == made.told("judge_cycles_exceeded")


def test_a_run_that_was_started_and_never_closed_is_named(made: File) -> None:
    closing = {"decision.record", "xenia.ticket_resolved", "xenia.escalated"}
    open_runs = Counter(
        (correlation, correlation, tenant)
        for (tenant, correlation), events in made.reading.runs().items()
        if "agent.dispatch" in {event["kind"] for event in events} and not closing & {event["kind"] for event in events}
    )
    assert open_runs == made.told("terminal_state_missing")


def test_an_agent_with_another_model_is_named_once_for_each_tier(made: File) -> None:
    seen = set()
    for event in made.events:
        agent = made.name(event.get("caller") or event.get("agent") or "")
        tier = made.policy["agents"].get(agent, {}).get("model_tier")
        if event["kind"] != "decision.record" and tier and event.get("model_tier", tier).lower() != tier:
            correlation = event.get("correlation_id") or event.get("ticket_id")
            seen.add((agent, correlation, event.get("tenant"), event["model_tier"].lower()))
    assert Counter(row[:3] for row in seen) == made.told("model_tier_mismatch")


def test_the_routes_that_granted_too_much_or_too_little_are_named(made: File) -> None:
    over: Found = Counter()
    under: Found = Counter()
    runs = made.reading.runs()
    for event in made.events:
        if event["kind"] != "route.decision":
            continue
        subject = event["event_id"], event["correlation_id"], event.get("tenant")
        granted, needed = event["granted_tools"], event.get("needed_privilege")
        over[subject] += bool(needed == "read" and made.writing(granted)) or (
            event["task_family"] == "unknown" and len(set(granted)) > 3
        )
        short = {"write": not made.writing(granted), "execute": "execute" not in made.writing(granted)}
        denied = any(
            each["outcome"] == "denied" and each["privilege"] != "read" and each["ts"] > event["ts"]
            for each in runs[event.get("tenant"), event["correlation_id"]]
            if each["kind"] == "tool.invocation"
        )
        under[subject] += short.get(needed, False) or (needed in short and denied)
    assert +over == made.told("over_scoped")
    assert +under == made.told("under_scoped")


def test_each_reused_identity_is_a_finding_about_the_event_that_has_it(made: File) -> None:
    forged: set[tuple[str, str | None, str | None]] = set()
    for line in made.reading.lines:
        try:
            event = json.loads(line.decode())
            known = made.reading.events[event["event_id"]]
        except (ValueError, TypeError, KeyError):
            continue
        if event != known:
            correlation = known.get("correlation_id") or known.get("ticket_id")
            forged.add((event["event_id"], correlation, known.get("tenant")))
    assert len(forged) == made.reading.conflicts > 0
    assert made.told("event_conflict") == Counter(forged)


def test_personal_data_is_named_once_for_each_tenant_and_source(made: File) -> None:
    noted = [event for event in made.events if PERSONAL.search(event.get("note", ""))]
    sources = {(event.get("source", "unknown"), None, event.get("tenant")) for event in noted}
    assert len(noted) >= len(sources) > 1
    assert made.told("pii_redacted") == Counter(sources)


def _stages() -> Iterator[tuple[Callable[..., Scene], bool]]:
    for stage in (Squad, Workbench):
        for compact in (False, True):
            yield stage, compact


@pytest.mark.parametrize("write", lookalikes_runs.CLEAN, ids=lambda write: str(write.__name__))
def test_a_lookalike_implies_nothing(write: Callable[[Scene], None]) -> None:
    for stage, compact in _stages():
        scene = stage(write.__name__, Random(5), compact=compact)
        write(scene)
        assert len(scene.story.steps) >= 5
        assert scene.story.truth == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_file_of_some_size_tells_every_lookalike_and_every_fault(scenario: Scenario) -> None:
    """Without the look-alikes a rule that finds too much would go unnoticed."""
    plan = make_plan(20_000, 3, scenario, 0.3)
    names = {story.name for story, _ in plan}
    assert {write.__name__ for write in lookalikes_runs.CLEAN} <= names
    faults: dict[str, set[str]] = defaultdict(set)
    for story, _ in plan:
        for truth in story.truth:
            faults[truth.rule].add(story.name)
    assert faults.keys() == set(rules(scenario)) - {"event_conflict"}
    for rule in ("caller_not_allowed", "budget_exceeded", "foreign_report", "under_scoped"):
        assert len(faults[rule]) >= 3, rule
