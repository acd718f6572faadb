"""The policy as tables: a rule is a join on these, so each value has to be where the join looks for it."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from schemas.policy import Policy
from schemas.policy_file import parse_policy, policy_digest
from schemas.policy_tables import action_groups, policy_tables

TEXT = """
name = "p"
version = 3
[time]
clock_skew = "1500ms"
[[tools]]
name = "issue_refund"
privilege = "write"
side_effects = "irreversible"
allowed_callers = ["Hermes"]
actions = ["Refund", "money-back"]
receipt = "required"
[[tools]]
name = "credit_note"
privilege = "write"
side_effects = "irreversible"
actions = ["money-back"]
[[tools]]
name = "kb_search"
privilege = "read"
side_effects = "none"
[[gates]]
name = "quality"
reviewers = ["Quality-Review", "nike"]
stands_for = ["rubric_verdicts"]
max_age = "1h"
[[gates]]
name = "clearance"
[[pipelines]]
name = "reply"
gates = ["quality", "clearance"]
separate_author = true
[pipelines.applies_to]
kind = "artifact.shipment"
customer_facing = true
phase = ["tickets", "escalations", "tickets"]
[pipelines.when]
priority = ["P1", "P2"]
[retry.transient]
max_retries = 1
then = "degrade"
[approvals]
side_effects = ["irreversible"]
actions = ["REFUND", "wire"]
expires_after = "24h"
[sla.P1]
first_response = "60m"
[agents.Themis]
aliases = ["quality-review", "QR"]
model_tier = "opus"
"""


def rows(table: str, text: str = TEXT) -> list[tuple[Any, ...]]:
    """The rows of one table of a policy."""
    return policy_tables(parse_policy(text))[table].rows


def test_actions_that_overlap_are_one_group_however_far_apart() -> None:
    """Transitive: two tools that share one name of an action speak of the same thing, and so do their other names."""
    tools = parse_policy(TEXT).tools
    assert action_groups(tools) == {
        "issue_refund": "credit_note",
        "refund": "credit_note",
        "money-back": "credit_note",
        "credit_note": "credit_note",
        "kb_search": "kb_search",
    }
    # A chain whose ends meet only through the middle, in an order that joins two groups that are already large.
    chain = "name = 'p'\nversion = 1\n" + "".join(
        f'[[tools]]\nname = "{name}"\nprivilege = "write"\nside_effects = "none"\nactions = {actions}\n'
        for name, actions in (("d", '["x"]'), ("c", '["y"]'), ("b", '["z"]'), ("e", '["x", "y", "Z"]'), ("f", '["g"]'))
    )
    groups = action_groups(parse_policy(chain).tools)
    assert {name for name, group in groups.items() if group == groups["d"]} == {"b", "c", "d", "e", "x", "y", "z"}
    assert groups["f"] == groups["g"] == "f"


def test_people_are_known_by_their_canonical_name() -> None:
    """Aliases and capitals are gone before a rule compares a reviewer with the `by` of a decision."""
    assert rows("policy_gate_reviewers") == [("quality", "nike"), ("quality", "themis")]
    assert rows("policy_gates")[0] == ("quality", ["themis", "nike"], 3_600_000_000, ["rubric_verdicts"])
    assert set(rows("policy_agents")) == {
        ("themis", "themis", "opus", None),
        ("quality-review", "themis", "opus", None),
        ("qr", "themis", "opus", None),
    }


def test_a_matcher_is_one_row_for_each_value() -> None:
    """Booleans are spelt as SQL casts them, and a value that stands twice counts once."""
    assert set(rows("policy_matchers")) == {
        ("reply", "applies_to", "kind", "artifact.shipment"),
        ("reply", "applies_to", "customer_facing", "true"),
        ("reply", "applies_to", "phase", "tickets"),
        ("reply", "applies_to", "phase", "escalations"),
        ("reply", "when", "priority", "P1"),
        ("reply", "when", "priority", "P2"),
    }
    assert len(rows("policy_matchers")) == 6
    assert rows("policy_pipelines") == [("reply", True, "per_digest", 60_000_000, 3, 1)]


def test_a_matcher_is_spelt_as_it_is_compared() -> None:
    """People by canonical name, tools, actions, intents and tiers in lower case; two spellings of one are one row."""
    text = (
        "name = 'p'\nversion = 1\n[[gates]]\nname = 'q'\n[agents.Hermes]\naliases = ['Account-Actions']\n"
        "[[pipelines]]\nname = 'Calls'\ngates = ['Q']\n[pipelines.applies_to]\nkind = 'tool.invocation'\n"
        "tool = ['Issue_Refund', 'issue_refund']\ncaller = ['account-actions', 'HERMES', 'Dora']\n"
        "model_tier = 'Opus'\nmodel = 'Big-1'\ntarget = 'O-1'\n"
        "[[pipelines]]\nname = 'Ships'\ngates = ['q']\n[pipelines.applies_to]\nkind = 'artifact.shipment'\n"
        "by = 'ACCOUNT-ACTIONS'\nauthor = 'Zoë ΣΑΣ'\nphase = 'Notes'\nchannel = 'Mail'\n"
        "[pipelines.when]\nintent = 'Outage'\ncategory = 'Outage'\nagent = 'Hermes'\noutcome = 'Fine'\n"
        "[[pipelines]]\nname = 'Proposals'\ngates = ['q']\n[pipelines.applies_to]\nkind = 'action.proposal'\n"
        "action = 'Refund'\nactor = 'Hermes'\nsource = 'Desk'\ntenant = 'ACME'\ncurrency = 'EUR'\n"
    )
    assert sorted(row[2:] for row in rows("policy_matchers", text) if row[0] == "Calls") == [
        ("caller", "dora"),
        ("caller", "hermes"),
        ("kind", "tool.invocation"),
        ("model", "Big-1"),
        ("model_tier", "opus"),
        ("target", "O-1"),
        ("tool", "issue_refund"),
    ]
    assert sorted(row[1:] for row in rows("policy_matchers", text) if row[0] == "Ships") == [
        ("applies_to", "author", "zoë σασ"),
        ("applies_to", "by", "hermes"),
        ("applies_to", "channel", "Mail"),
        ("applies_to", "kind", "artifact.shipment"),
        ("applies_to", "phase", "Notes"),
        ("when", "agent", "hermes"),
        ("when", "category", "outage"),
        ("when", "intent", "outage"),
        ("when", "outcome", "Fine"),
    ]
    assert sorted(row[2:] for row in rows("policy_matchers", text) if row[0] == "Proposals") == [
        ("action", "refund"),
        ("actor", "hermes"),
        ("currency", "EUR"),
        ("kind", "action.proposal"),
        ("source", "Desk"),
        ("tenant", "ACME"),
    ]


@pytest.mark.parametrize("name", ["Hermes", "ÉMILE", "ΘΕΜΙΣ", "İris", "STRAẞE"])
def test_a_name_is_lowered_as_the_events_are(name: str) -> None:
    """The policy is lowered here and the events by DuckDB; where the two differ, a reviewer would be a stranger."""
    text = f"name = 'p'\nversion = 1\n[agents.'{name}']\nrole = 'x'\n"
    ((alias, agent, _, _),) = rows("policy_agents", text)
    with duckdb.connect() as con:
        assert con.execute("SELECT lower(?)", [name]).fetchone() == (alias,)
    assert agent == alias


def test_durations_are_microseconds_and_gates_keep_their_order() -> None:
    """1500 ms is 1,500,000 µs; the order of the gates is the order in which they must pass."""
    assert rows("policy_time") == [(30_000_000, 1_500_000, 300_000_000, 604_800_000_000, 60_000_000, 86_400_000_000)]
    assert rows("policy_pipeline_gates") == [("reply", 1, "quality"), ("reply", 2, "clearance")]
    assert rows("policy_sla") == [("P1", 3_600_000_000, None)]
    assert rows("policy_approvals") == [(86_400_000_000, 0.0)]
    assert rows("policy_retry") == [("transient", 1, "degrade", "allowed", False)]


def test_an_action_that_needs_approval_stands_for_its_group() -> None:
    """`REFUND` needs one, so `issue_refund` and `credit_note` do; a name without a tool stands for itself."""
    assert set(rows("policy_approval_scope")) == {
        ("side_effects", "irreversible"),
        ("action_group", "credit_note"),
        ("action_group", "wire"),
        ("by_kind", "human"),
    }


def test_the_policy_that_judged_is_named_with_its_digest() -> None:
    """What decided can be found again."""
    assert rows("policy_about") == [("p", 3, policy_digest(parse_policy(TEXT)))]


def test_every_table_is_there_and_takes_its_rows() -> None:
    """Also for a policy that says nothing: a rule joins an empty table instead of failing."""
    empty = policy_tables(Policy(name="none", version=1))
    full = policy_tables(parse_policy(TEXT))
    assert set(empty) == set(full)
    with duckdb.connect() as con:
        for name, table in full.items():
            con.execute(f"CREATE TABLE {name} ({', '.join(f'{column} {kind}' for column, kind in table.columns)})")
            for row in table.rows:
                con.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", list(row))
            assert con.execute(f"SELECT count(*) FROM {name}").fetchall() == [(len(table.rows),)]
            assert table.grain
