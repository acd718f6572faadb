"""Who plays in a scenario: its tools, agents and names, as the policy file of the same name spells them.

`tests/sample_data/test_policies.py` holds these constants against the TOML files, so that the two cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass

SLA_MINUTES = {"P1": (45, 60), "P2": (180, 240), "P3": (1080, 1440), "P4": (2880, 4320)}
"""When a first response gets late (warn) and is too late (breach), by priority; equal in both policies."""


@dataclass(frozen=True)
class Tool:
    """One tool contract, as far as stories need it.

    ``caller`` is the allowed caller that stories use, ``action`` the name under which decision records claim the
    tool (the tool's own name for tools without one), ``receipt`` one of required/optional/none.
    """

    name: str
    caller: str
    fallback: str
    privilege: str = "read"
    side_effects: str = "none"
    action: str = ""
    receipt: str = "none"
    undo: str | None = None
    takes_amount: bool = False


@dataclass(frozen=True)
class Cast:
    """The roles that the stories which both scenarios share are written for.

    ``search`` and ``lookup`` read; ``edit`` is reversible and free; ``guarded`` is reversible but on the policy's list
    of approved actions; ``soft`` is irreversible with an optional receipt; ``hard`` irreversible, receipt required.

    ``command`` is what starts an ordinary run and has the default budget, ``bulk_command`` one with a larger budget.
    ``lead`` starts the others; ``worker`` and ``colleague`` hold tasks; ``outsider`` may call neither ``lookup`` nor
    ``hard``; ``check`` is the gate that looks at tasks and its reviewer, and ``gates_reports`` tells whether a pipeline
    wants it before a task is reported as completed. ``tiers`` are the model tiers that agents are expected to use.
    ``reads`` is granted to every request, ``others`` belongs to the reviewers.
    """

    policy: str
    prefix: str
    search: Tool
    lookup: Tool
    edit: Tool
    guarded: Tool
    soft: Tool
    hard: Tool
    approver: str
    intents: tuple[str, ...]
    aliases: dict[str, str]
    tiers: dict[str, str]
    command: str
    bulk_command: str
    lead: str
    worker: str
    colleague: str
    outsider: str
    check: tuple[str, str]
    gates_reports: bool
    reads: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def changes(self) -> tuple[str, ...]:
        """The names of the tools that change something."""
        return tuple(tool.name for tool in self.tools if tool.side_effects != "none")

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Every tool that a shared story may call."""
        return (self.search, self.lookup, self.edit, self.guarded, self.soft, self.hard)


SQUAD = Cast(
    policy="support-squad",
    prefix="TICKET",
    search=Tool("kb_search", "metis", "answer_without_kb"),
    lookup=Tool("order_lookup", "hermes", "ask_customer"),
    edit=Tool(
        "update_ticket", "hestia", "leave_internal_note", "write", "reversible", "ticket-update", undo="old revision"
    ),
    guarded=Tool(
        "change_plan", "hermes", "hand_to_human", "write", "reversible", "plan-change", "optional", "switch back"
    ),
    soft=Tool(
        "issue_credit", "hermes", "hand_to_human", "write", "irreversible", "credit", "optional", takes_amount=True
    ),
    hard=Tool(
        "issue_refund", "hermes", "hand_to_human", "write", "irreversible", "refund", "required", takes_amount=True
    ),
    approver="lead:maria",
    intents=("billing", "billing", "billing", "how-to", "how-to", "defect", "defect", "account", "shipping"),
    aliases={
        "iris": "intake-router",
        "asclepius": "tech-diagnosis",
        "metis": "knowledge-search",
        "hermes": "account-actions",
        "hestia": "customer-voice",
        "themis": "quality-review",
        "eunomia": "compliance-redaction",
    },
    tiers={
        "iris": "haiku",
        "asclepius": "opus",
        "metis": "haiku",
        "hermes": "sonnet",
        "hestia": "sonnet",
        "themis": "opus",
        "eunomia": "sonnet",
    },
    command="handle-ticket",
    bulk_command="triage-queue",
    lead="iris",
    worker="asclepius",
    colleague="metis",
    outsider="hestia",
    check=("quality", "themis"),
    gates_reports=False,
    reads=("telemetry_lookup", "kb_search", "order_lookup"),
    others=("rubric_score", "pii_scan"),
)

WORKBENCH = Cast(
    policy="workbench",
    prefix="OP",
    search=Tool("code_search", "builder", "read_files_by_hand"),
    lookup=Tool("log_query", "operator", "proceed_without_logs"),
    edit=Tool("edit_file", "builder", "leave_patch", "write", "reversible", "file-edit", undo="git revert"),
    guarded=Tool(
        "change_quota", "operator", "hand_to_human", "write", "reversible", "quota-change", "optional", "set old quota"
    ),
    soft=Tool(
        "purchase_credits",
        "operator",
        "hand_to_human",
        "execute",
        "irreversible",
        "credit-purchase",
        "optional",
        takes_amount=True,
    ),
    hard=Tool(
        "settle_invoice",
        "operator",
        "hand_to_human",
        "execute",
        "irreversible",
        "settlement",
        "required",
        takes_amount=True,
    ),
    approver="owner:noor",
    intents=("maintenance", "release", "capacity", "incident"),
    aliases={
        "planner": "task-planner",
        "builder": "implementer",
        "operator": "action-runner",
        "verifier": "acceptance-check",
    },
    tiers={
        "planner": "opus",
        "builder": "sonnet",
        "operator": "sonnet",
        "verifier": "opus",
        "router": "haiku",
        "argument-checker": "haiku",
    },
    command="run-task",
    bulk_command="run-batch",
    lead="planner",
    worker="operator",
    colleague="builder",
    outsider="planner",
    check=("verification", "verifier"),
    gates_reports=True,
    reads=("code_search", "log_query"),
    others=("check_arguments", "run_checks"),
)

SQUAD_DIAGNOSIS = Tool("telemetry_lookup", "asclepius", "answer_without_telemetry")
SQUAD_SCORING = Tool("rubric_score", "themis", "hold_for_human")
SQUAD_SCANNING = Tool("pii_scan", "eunomia", "hold_for_human")
WORKBENCH_ARGUMENTS = Tool("check_arguments", "argument-checker", "hold_for_human")
WORKBENCH_CHECKS = Tool("run_checks", "verifier", "hold_for_human", privilege="execute")
