"""What there is to compute: a rule or a table is one file, and a file that breaks the conventions is named."""

from __future__ import annotations

import re
from importlib.resources import files

import duckdb
import pytest

from schemas.policy import MATCH_FIELDS, SUBJECT_FIELDS
from transforms.catalogue import RULE_COLUMNS, in_order, parse_relation, parse_rules, relations, rules
from transforms.errors import CatalogueError

RULE = (
    "-- One row is x.\n-- @rule late_reply high\n--   means: It was late.\n--   do: Hurry.\n"
    "--   satisfied by: an early one.\nSELECT 1\n"
)

# The families of the rule book that this version judges, by hand.
FAMILIES = {
    "gates": "gate_missing gate_errored_open gate_blocked_shipped gate_late gate_stale gate_out_of_order "
    "gate_self_passed gate_foreign_reviewer gate_reused gate_skipped gate_waived",
    "approvals": "approval_missing approval_expired approval_mismatch approval_exceeded approval_reused "
    "approval_not_human approval_declined_executed confirmation_stale execution_after_supersession",
    "reconciliation": "phantom_execution hidden_execution unclaimed_execution partial_as_executed amount_break "
    "duplicate_execution key_conflict conflicting_claims unreceipted_execution unverifiable",
    "retries": "retry_over_limit retry_forbidden blind_retry unsafe_replay degrade_missing degrade_unnoted "
    "permission_unsurfaced",
    "contracts": "tool_undeclared caller_not_allowed privilege_mismatch side_effects_understated undo_missing "
    "digest_missing error_undeclared injection_unflagged",
    "runs": "budget_exceeded judge_cycles_exceeded terminal_state_missing terminal_state_conflict "
    "activity_after_terminal model_tier_mismatch",
    "agents": "foreign_report lease_expired_report self_verified shipped_unverified",
    "routing": "over_scoped under_scoped",
    "integrity": "event_conflict backdated",
    "integrity_global": "pii_redacted producer_silent source_gap ledger_tampered",
}


def test_every_rule_is_there_and_in_the_file_of_its_family() -> None:
    """The rule book is what people are told; a rule that no file declares never fires."""
    found: dict[str, set[str]] = {}
    for rule in rules().values():
        found.setdefault(rule.family, set()).add(rule.name)
    for family, names in FAMILIES.items():
        assert set(names.split()) <= found.get(family, set())


def test_a_declared_gate_counts_less_than_a_silent_one() -> None:
    """Skipped and waived are reported at lower severity than any silent drop."""
    order = ["critical", "high", "medium", "low", "info"]
    weight = {name: order.index(rule.severity) for name, rule in rules().items()}
    assert min(weight["gate_skipped"], weight["gate_waived"]) > weight["gate_missing"]


def test_what_explain_says_is_a_sentence() -> None:
    """Each rule says what it means, what to do and what would have satisfied it."""
    for rule in rules().values():
        for text in (rule.means, rule.do, rule.satisfied_by):
            assert len(text) > 15
            assert text.endswith(".")


def test_every_relation_says_what_a_row_is() -> None:
    """The grain sentence becomes the comment on the table."""
    for relation in relations():
        assert re.fullmatch(r"One row is .+[^\s]", relation.grain), relation.name
    names = [relation.name for relation in relations()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("sql", ["SELECT 1", "-- Rows of x.\nSELECT 1", "SELECT 1\n-- One row is late.", ""])
def test_a_file_without_its_grain_is_refused_by_name(sql: str) -> None:
    """The first comment has to say it, unless it is said after something else."""
    if sql.startswith("SELECT 1\n"):
        assert parse_relation("x", "mart", sql).grain == "One row is late."
        return
    with pytest.raises(CatalogueError, match=r'^x\.sql: must start with "-- One row is …"'):
        parse_relation("x", "mart", sql)


def test_a_rule_is_read_with_its_manual_page() -> None:
    """From the comment alone, in the order of the file."""
    second = RULE.replace("late_reply high", "lost_reply info").removeprefix("-- One row is x.\n")
    one, two = parse_rules("times", RULE.replace("SELECT 1\n", "") + second)
    assert (one.name, one.severity, one.family) == ("late_reply", "high", "times")
    assert (one.means, one.do, one.satisfied_by) == ("It was late.", "Hurry.", "an early one.")
    assert (two.name, two.severity) == ("lost_reply", "info")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("--   means: It was late.\n", "", r'late_reply lacks "means: …" in its comment'),
        ("--   do: Hurry.\n", "", r'late_reply lacks "do: …" in its comment'),
        ("--   satisfied by: an early one.\n", "", r'late_reply lacks "satisfied by: …" in its comment'),
        ("late_reply high", "late_reply fatal", r"late_reply has severity 'fatal'; one of \('critical', "),
        ("-- @rule late_reply high\n", "", r'declares no rule; write "-- @rule <name> <severity>"'),
    ],
)
def test_an_incomplete_declaration_is_refused_by_name(old: str, new: str, said: str) -> None:
    """The author of a new rule learns what is missing from which file."""
    with pytest.raises(CatalogueError, match=rf"^times\.sql: {said}"):
        parse_rules("times", RULE.replace(old, new))


def test_notes_of_one_rule_do_not_stand_for_the_one_above() -> None:
    """A rule without notes of its own is incomplete, also when the next rule has them."""
    with pytest.raises(CatalogueError, match='hollow lacks "means'):
        parse_rules("times", "-- One row is x.\n-- @rule hollow low\n" + RULE.removeprefix("-- One row is x.\n"))


def test_each_comes_after_what_it_reads_and_always_in_the_same_order() -> None:
    """The order is that of the references, and of the names where they leave a choice."""
    made = {
        name: parse_relation(name, "mart", f"-- One row is {name}.\nSELECT * FROM {source}")
        for name, source in (("b", "a"), ("a", "events"), ("d", "a JOIN c ON TRUE"), ("c", "events"))
    }
    orders = [in_order([made[name] for name in names], {}) for names in ("abcd", "dcba", "bdac")]
    assert orders[0] == orders[1] == orders[2]
    for before, after in (("a", "b"), ("a", "d"), ("c", "d")):
        assert orders[0].index(before) < orders[0].index(after)
    shipped = in_order(relations(), {"findings": [r.name for r in relations() if r.layer == "rule"]})
    assert shipped.index("findings") < shipped.index("runs")
    assert shipped == in_order(reversed(relations()), {"findings": [r.name for r in relations() if r.layer == "rule"]})


def test_a_circle_is_refused_with_its_members() -> None:
    """The names in the circle are what the author needs."""
    made = [
        parse_relation(name, "mart", f"-- One row is {name}.\nSELECT * FROM {source}")
        for name, source in (("aa", "bb"), ("bb", "cc"), ("cc", "aa"))
    ]
    with pytest.raises(CatalogueError, match="circle") as raised:
        in_order(made, {})
    assert all(name in str(raised.value) for name in ("aa", "bb", "cc"))


def test_a_pipeline_can_match_exactly_the_fields_that_the_policy_allows() -> None:
    """A field that the policy allows and the SQL does not spell would never match: a pipeline that guards nothing."""
    sql = files("transforms").joinpath("marts/int_pipeline_subjects.sql").read_text(encoding="utf-8")
    spelt = re.findall(r"WHEN '(\w+)' THEN s\.\"?(\w+)\"?", sql)
    assert all(column in (field, f"{field}_name") for field, column in spelt)
    assert sorted(field for field, _ in spelt) == sorted(MATCH_FIELDS | {"kind"})
    subjects = files("transforms").joinpath("staging/stg_subjects.sql").read_text(encoding="utf-8")
    assert all(f"'{kind}'" in subjects for kind in SUBJECT_FIELDS)


def test_every_rule_relation_returns_the_columns_of_a_finding(sample: duckdb.DuckDBPyConnection) -> None:
    """One shape for all rules, so that a new one is one file."""
    for relation in relations():
        if relation.layer == "rule":
            found = {name for name, *_ in sample.execute(f"DESCRIBE {relation.name}").fetchall()}
            assert found >= set(RULE_COLUMNS), relation.name
