"""The policy as the oracle reads it: straight from the TOML tables, with the defaults that the schema gives."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

_UNITS = {"ms": "milliseconds", "s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def duration(text: str) -> timedelta:
    """``"30s"``, ``"5m"``, ``"2h"``, ``"7d"`` as a length of time."""
    match = re.fullmatch(r"([0-9.]+)(ms|s|m|h|d)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no duration")
    return timedelta(**{_UNITS[match[2]]: float(match[1])})


class Rulebook:
    """What the rules ask of a policy."""

    def __init__(self, policy: dict[str, Any]) -> None:
        time = policy.get("time", {})
        self.clock_skew = duration(time.get("clock_skew", "2s"))
        self.grace = duration(time.get("grace", "60s"))
        self.run_timeout = duration(time.get("run_timeout", "24h"))
        self.pipelines: list[dict[str, Any]] = policy.get("pipelines", [])
        self.gates: dict[str, dict[str, Any]] = {gate["name"].lower(): gate for gate in policy.get("gates", [])}
        self.tools: dict[str, dict[str, Any]] = {tool["name"].lower(): tool for tool in policy.get("tools", [])}
        self.retry: dict[str, dict[str, Any]] = policy.get("retry", {})
        self._budgets: dict[str, dict[str, int]] = policy.get("budgets", {})
        self._agents: dict[str, dict[str, Any]] = policy.get("agents", {})
        approvals = policy.get("approvals", {})
        self.approval_side_effects: list[str] = approvals.get("side_effects", [])
        self.approval_actions: list[str] = approvals.get("actions", [])
        self.approval_by_kind: list[str] = approvals.get("by_kind", ["human"])
        self.approval_expires_after = (
            duration(approvals["expires_after"]) if approvals.get("expires_after") is not None else None
        )
        routing = policy.get("routing", {})
        self.unknown_families = [name.lower() for name in routing.get("unknown_families", ["unknown"])]
        self.unknown_tools: int = routing.get("unknown_tools", 3)
        self.amount_tolerance = float(approvals.get("amount_tolerance", 0.0))

    def person(self, name: str | None) -> str | None:
        """03, `[agents.<name>]`: "a head has a mythic name and a slug": lower-cased, an alias as the canonical name."""
        if name is None:
            return None
        for canonical, agent in self._agents.items():
            if name.lower() in [alias.lower() for alias in agent.get("aliases", [])]:
                return canonical.lower()
        return name.lower()

    def expected_tier(self, person: str | None) -> str | None:
        """03, `[agents.<name>]`: "expected `model_tier`", by canonical name."""
        agents = {name.lower(): agent for name, agent in self._agents.items()}
        return None if person is None else agents.get(person, {}).get("model_tier")

    def ceiling(self, command: str | None, key: str) -> int | None:
        """03, `[budgets.<command>]`; `default` is for commands without a table. None: no limit."""
        named = self._budgets.get(command) if command is not None else None
        return (self._budgets.get("default", {}) if named is None else named).get(key)

    def action_group(self, action: str) -> frozenset[str]:
        """Every name of an action: a tool's name and all its `actions` are one group, transitively (03, `actions`)."""
        group = {action}
        grown = True
        while grown:
            grown = False
            for name, tool in self.tools.items():
                names = {name, *tool.get("actions", [])}
                if names & group and not names <= group:
                    group |= names
                    grown = True
        return frozenset(group)

    def same_action(self, one: str, other: str) -> bool:
        """Whether two names mean the same action."""
        return other in self.action_group(one)

    def receipt_required(self, tool: str) -> bool:
        """03, `[[tools]]`: `receipt` required/optional/none. A tool without a contract requires nothing."""
        return bool(self.tools.get(tool, {}).get("receipt", "optional") == "required")

    def reviewers(self, gate: str) -> list[str | None]:
        """03, `[[gates]]`: `reviewers` (who may decide). Empty: anybody."""
        return [self.person(name) for name in self.gates[gate].get("reviewers", [])]
