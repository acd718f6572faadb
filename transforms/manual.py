"""The manual page of the rules, written from what the rule files say about themselves: `docs/rules.md`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from transforms.catalogue import Rule, rules

_INTRO = """\
# Rules

<!-- Generated from the comments of `transforms/rules/*.sql` by `transforms/manual.py`; a test compares. -->

A rule looks at the events and at the policy, and returns one finding for each subject that breaks it. The severity
below is the rule's own; a policy can change it in `[severity]` (see [the policy file](policy.md)). `gatewatch explain`
prints the same words beside the evidence of one finding.
"""

_FAMILIES = {
    "gates": "Did everything that left the house pass the gates in front of it, in time and in order?",
    "approvals": "Did somebody who may say yes say yes to exactly this, before it was done?",
    "reconciliation": "Does what the records claim agree with what receipts and tool calls show?",
    "retries": "Was a failing call repeated, or given up, as the policy allows?",
    "contracts": "Does every call keep to what its tool may do, who may call it, and what it has to report?",
    "runs": "Did every run stay within its budget, end once, and stop there?",
    "agents": "Did whoever worked on a task hold it, and did somebody else verify the work before it left?",
    "routing": "Was every request given the tools that it needed, and no more?",
    "integrity": "Can an event be trusted to be what it says, and to have come when it should?",
    "integrity_global": "Can the sources and the ledger be trusted?",
}
"""The question that each shipped rule file answers, in the order of the page; other files follow by name."""

_TITLES = {"integrity_global": "Sources and ledger"}
"""Titles of the page that are not the name of the file."""


def rules_page(known: Iterable[Rule] | None = None) -> str:
    """The page as Markdown: a section for each rule file, and in it every rule in the order of the file."""
    found = list(rules().values() if known is None else known)
    order = {family: place for place, family in enumerate(_FAMILIES)}
    found.sort(key=lambda rule: (order.get(rule.family, len(order)), rule.family))  # stable: a file's own order stays
    lines = [_INTRO]
    for family, members in groupby(found, key=lambda rule: rule.family):
        lines += [f"## {_TITLES.get(family, family.capitalize())}", ""]
        if family in _FAMILIES:
            lines += [_FAMILIES[family], ""]
        for rule in members:
            lines += _section(rule)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(rule: Rule) -> list[str]:
    return [
        f"### `{rule.name}`",
        "",
        f"Severity: {rule.severity}.",
        "",
        f"- **Means:** {rule.means}",
        f"- **Do:** {rule.do}",
        f"- **Satisfied by:** {rule.satisfied_by}",
        "",
    ]
