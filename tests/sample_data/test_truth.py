"""The truth beside generated files, against the rules' second implementation: no finding more, none less."""

from __future__ import annotations

import json
import tomllib
from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from sample_data import policy_path
from sample_data.generate import generate
from sample_data.plan import SCENARIOS, Scenario
from schemas.events import KINDS
from tests.oracle.engine import evaluate
from tests.sample_data.reading import truth_of

OF_TRANSPORT = ("event_conflict", "pii_redacted")
"""Rules about what the ingest met: `test_conduct` works their truth out of the lines."""

Row = tuple[str, str | None, str | None, str | None]
"""Rule, subject, correlation id, tenant."""


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_truth_is_what_the_oracle_finds(scenario: Scenario, seed: int, tmp_path: Path) -> None:
    generate(2_000, seed, tmp_path / "events.jsonl", scenario=scenario, fault_rate=0.5)
    policy = tomllib.loads(policy_path(scenario).read_text(encoding="utf-8"))
    found: Counter[Row] = Counter()
    for events in accepted_by_tenant(tmp_path / "events.jsonl").values():
        result = evaluate(events, policy)
        for check in result.gate_checks:
            found[check.settled, check.subject, check.correlation_id, check.tenant] += 1
        for row in result.reconciliation:
            found[row.settled, row.subject, row.correlation_id, row.tenant] += 1
        for verdict in chain(
            result.approvals, result.retries, result.contracts, result.runs, result.agents, result.routing
        ):
            found[verdict.rule, verdict.subject, verdict.correlation_id, verdict.tenant] += 1
    told = Counter(
        (row["rule"], row["subject"], row["correlation_id"], row["tenant"])
        for row in truth_of(tmp_path / "events.jsonl")
        if row["rule"] not in OF_TRANSPORT
    )
    assert {key: count for key, count in found.items() if key[0] not in ("passed", "matched")} == told


def accepted_by_tenant(path: Path) -> dict[str | None, list[dict[str, Any]]]:
    """The events that an ingest accepts. No rule looks across tenants, and the oracle is quick only with few events."""
    seen: set[str] = set()
    events: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
    for line in path.read_bytes().split(b"\n"):
        try:
            event = json.loads(line.decode())
            KINDS[event["kind"]].model_validate(event)
        except (ValueError, TypeError, KeyError):
            continue
        if event["event_id"] not in seen:
            seen.add(event["event_id"])
            events[event.get("tenant")].append(event)
    return events
