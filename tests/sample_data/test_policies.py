"""The shipped policies are complete, and say what the generator's cast believes about them."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from sample_data import POLICIES, policy_path
from sample_data.casts import (
    SLA_MINUTES,
    SQUAD,
    SQUAD_DIAGNOSIS,
    SQUAD_SCANNING,
    SQUAD_SCORING,
    WORKBENCH,
    WORKBENCH_ARGUMENTS,
    WORKBENCH_CHECKS,
    Cast,
    Tool,
)
from sample_data.faults_runs import DISPATCHES, JUDGE_CYCLES
from schemas.policy_file import parse_policy

CASTS: dict[str, tuple[Cast, tuple[Tool, ...]]] = {
    "support-squad": (SQUAD, (SQUAD_DIAGNOSIS, SQUAD_SCORING, SQUAD_SCANNING)),
    "workbench": (WORKBENCH, (WORKBENCH_ARGUMENTS, WORKBENCH_CHECKS)),
}


def read(name: str) -> dict[str, Any]:
    return tomllib.loads(policy_path(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", POLICIES)
def test_the_policy_loads_under_its_own_name(name: str) -> None:
    assert parse_policy(policy_path(name).read_text(encoding="utf-8")).name == name


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_plays_by_the_tool_contracts(name: str) -> None:
    """A tool that stories call differently from its contract would make clean runs look guilty."""
    cast, others = CASTS[name]
    contracts = {tool["name"]: tool for tool in read(name)["tools"]}
    played = {tool.name: tool for tool in (*cast.tools, *others)}
    assert played.keys() == contracts.keys()
    for tool in played.values():
        contract = contracts[tool.name]
        assert tool.caller in contract["allowed_callers"]
        assert contract["fallback"] == tool.fallback
        assert (contract["privilege"], contract["side_effects"], contract["receipt"]) == (
            tool.privilege,
            tool.side_effects,
            tool.receipt,
        )
        assert contract.get("actions", []) == ([tool.action] if tool.action else [])
        assert tool.side_effects != "reversible" or tool.undo


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_uses_the_aliases_and_the_approvals_of_the_policy(name: str) -> None:
    cast, policy = CASTS[name][0], read(name)
    assert {agent: table["aliases"] for agent, table in policy["agents"].items() if "aliases" in table} == {
        agent: [alias] for agent, alias in cast.aliases.items()
    }
    assert policy["approvals"]["actions"] == [cast.guarded.action]
    assert policy["approvals"]["side_effects"] == ["irreversible"]


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_works_within_the_budgets_and_the_tiers_of_the_policy(name: str) -> None:
    cast, policy = CASTS[name][0], read(name)
    usual = policy["budgets"]["default"]
    assert cast.command not in policy["budgets"]
    assert usual == {"dispatches": DISPATCHES, "judge_cycles": JUDGE_CYCLES, "retries_per_caller": 1}
    assert policy["budgets"][cast.bulk_command]["dispatches"] > DISPATCHES + 3
    assert {agent: table["model_tier"] for agent, table in policy["agents"].items() if "model_tier" in table} == (
        cast.tiers
    )
    assert {tool.caller for tool in cast.tools} <= cast.tiers.keys()


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_lends_tasks_to_agents_that_the_policy_knows(name: str) -> None:
    """Whether a task needs a verification, and who may give it, follows from the policy."""
    cast, policy = CASTS[name][0], read(name)
    gate, reviewer = cast.check
    assert {cast.lead, cast.worker, cast.colleague, cast.outsider, reviewer} <= policy["agents"].keys()
    assert len({cast.lead, cast.worker, cast.colleague, reviewer}) == 4
    assert reviewer in {each["name"]: each for each in policy["gates"]}[gate]["reviewers"]
    guarded = [pipe["gates"] for pipe in policy["pipelines"] if pipe["applies_to"]["kind"] == "agent.report"]
    assert guarded == ([[gate]] if cast.gates_reports else [])
    callers = {tool["name"]: tool["allowed_callers"] for tool in policy["tools"]}
    assert cast.outsider not in callers[cast.lookup.name] + callers[cast.hard.name]


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_grants_the_tools_of_the_policy(name: str) -> None:
    cast, policy = CASTS[name][0], read(name)
    privileges = {tool["name"]: tool["privilege"] for tool in policy["tools"]}
    assert {*cast.reads, *cast.others, *cast.changes} == privileges.keys()
    assert {privileges[tool] for tool in cast.reads} == {"read"}
    assert "read" not in {privileges[tool] for tool in cast.changes}
    assert policy["routing"] == {"unknown_families": ["unknown"], "unknown_tools": 3}
    assert len(cast.reads) <= 3 < len({*cast.reads, *cast.others})


@pytest.mark.parametrize("name", POLICIES)
def test_the_cast_waits_by_the_targets_of_the_policy(name: str) -> None:
    policy = parse_policy(policy_path(name).read_text(encoding="utf-8"))
    targets = {
        priority: (sla.warn.total_seconds() / 60, sla.first_response.total_seconds() / 60)
        for priority, sla in policy.sla.items()
    }
    assert targets == SLA_MINUTES


def test_real_data_meets_two_gates_and_nothing_that_it_cannot_satisfy() -> None:
    """The real files name no digest and no author that a policy may insist on."""
    policy = read("support-squad")
    always = [pipeline for pipeline in policy["pipelines"] if "when" not in pipeline]
    assert [pipeline["gates"] for pipeline in always] == [["quality", "clearance"]]
    assert {gate["name"]: gate.get("stands_for") for gate in policy["gates"]} == {
        "quality": ["rubric_verdicts"],
        "clearance": ["clearance"],
        "duty-lead": None,
    }


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="support-squad, workbench"):
        policy_path("suport-squad")
