"""Small policies for generated histories. Between them they use every key that the rules read."""

from __future__ import annotations

import tomllib
from typing import Any

SQUAD = """
name = "squad"
version = 1

[time]
clock_skew = "2s"
grace = "60s"
run_timeout = "10s"

[[tools]]
name = "pay"
privilege = "write"
side_effects = "irreversible"
actions = ["refund"]
receipt = "required"
allowed_callers = ["hermes", "Reviewer"]
error_types = ["timeout"]

[[tools]]
name = "mail"
privilege = "write"
side_effects = "reversible"
actions = ["notify", "reply"]

[[tools]]
name = "post"
privilege = "write"
side_effects = "reversible"
actions = ["reply"]

[[tools]]
name = "deploy"
privilege = "execute"
side_effects = "none"

[[tools]]
name = "look"
privilege = "read"
side_effects = "none"
allowed_callers = ["themis"]

[[gates]]
name = "quality"
reviewers = ["Themis"]
stands_for = ["rubric_verdicts"]
max_age = "1h"

[[gates]]
name = "clearance"
reviewers = ["eunomia"]
stands_for = ["clearance"]

[[gates]]
name = "duty"

[[pipelines]]
name = "reply"
gates = ["quality", "clearance"]
separate_author = true
binding = "per_digest"
grace = "60s"
[pipelines.applies_to]
kind = "artifact.shipment"
customer_facing = true
phase = ["tickets", "escalations"]

[[pipelines]]
name = "urgent"
gates = ["duty"]
binding = "single_use"
grace = "10s"
[pipelines.applies_to]
kind = "artifact.shipment"
[pipelines.when]
priority = "P1"

[[pipelines]]
name = "money"
gates = ["duty", "quality"]
binding = "single_use"
[pipelines.applies_to]
kind = "tool.invocation"
side_effects = "irreversible"

[[pipelines]]
name = "Spelling of calls"
gates = ["duty"]
[pipelines.applies_to]
kind = "tool.invocation"
tool = ["Pay", "MAIL"]
caller = ["REVIEWER", "Eunomia"]

[retry.transient]
max_retries = 1
then = "degrade"
[retry.permission_denied]
max_retries = 0
then = "escalate"
must_surface = true
[retry.validation]
max_retries = 1
then = "escalate"
same_input = "forbidden"
[retry.partial_success]
max_retries = 0
then = "fail"
[retry.tool_instructions]
max_retries = 0
then = "escalate"
must_surface = true

[approvals]
side_effects = ["irreversible"]
by_kind = ["human"]
expires_after = "1h"
amount_tolerance = 0.5

[budgets.default]
dispatches = 1
judge_cycles = 1
retries_per_caller = 1
[budgets.triage]
dispatches = 2
retries_per_caller = 0

[agents.themis]
aliases = ["Reviewer"]
model_tier = "Small"
[agents.dora]
model_tier = "large"
"""

BENCH = """
name = "bench"
version = 1

[time]
clock_skew = "0s"
grace = "3s"
run_timeout = "3s"

[[tools]]
name = "pay"
privilege = "write"
side_effects = "irreversible"
actions = ["refund"]
receipt = "optional"
allowed_callers = ["reviewer"]
error_types = ["timeout", "Timeout"]

[[tools]]
name = "look"
privilege = "read"
side_effects = "none"

[routing]
unknown_families = ["Misc", "unknown"]
unknown_tools = 1

[[gates]]
name = "quality"
reviewers = ["themis", "dora"]

[[gates]]
name = "clearance"
max_age = "5s"

[[gates]]
name = "duty"
reviewers = ["eunomia"]
stands_for = ["rubric_verdicts"]

[[pipelines]]
name = "report"
gates = ["quality"]
separate_author = true
binding = "single_use"
[pipelines.applies_to]
kind = "agent.report"
claim = ["completed", "partial"]

[[pipelines]]
name = "proposal"
gates = ["clearance", "quality", "duty"]
separate_author = true
[pipelines.applies_to]
kind = "action.proposal"

[[pipelines]]
name = "any"
gates = ["duty", "clearance"]
separate_author = true
binding = "single_use"
grace = "1s"
[pipelines.applies_to]
kind = ["artifact.shipment", "agent.report", "tool.invocation"]
[pipelines.when]
intent = ["Billing", "defect"]

[[pipelines]]
name = "Spelling of proposals"
gates = ["Quality"]
[pipelines.applies_to]
kind = "action.proposal"
action = ["Refund", "PAY"]
actor = ["hermes", "Dora"]

[[pipelines]]
name = "Spelling of runs"
gates = ["duty"]
[pipelines.applies_to]
kind = "artifact.shipment"
by = ["Reviewer", "Themis", "eunomia"]
[pipelines.when]
agent = ["Hermes", "Eunomia"]
category = "BILLING"

[retry.transient]
max_retries = 0
then = "escalate"
[retry.permission_denied]
max_retries = 1
then = "degrade"
[retry.other]
max_retries = 0
then = "degrade"
same_input = "forbidden"
must_surface = true

[approvals]
side_effects = ["reversible"]
actions = ["refund"]
by_kind = ["human", "policy"]
amount_tolerance = 1.0

[budgets.reply]
dispatches = 0
judge_cycles = 2

[agents.themis]
aliases = ["reviewer", "HERMES"]
model_tier = "large"
[agents.dora]
role = "lead"
"""

BARE = """
name = "bare"
version = 1

[[gates]]
name = "quality"

[[pipelines]]
name = "all"
gates = ["quality"]
[pipelines.applies_to]
kind = "artifact.shipment"
"""

POLICIES_TOML: dict[str, str] = {"squad": SQUAD, "bench": BENCH, "bare": BARE}
"""The policies as files, for the program under test."""

POLICIES: dict[str, dict[str, Any]] = {name: tomllib.loads(text) for name, text in POLICIES_TOML.items()}
"""The same as `tomllib` reads them, for the oracle."""
