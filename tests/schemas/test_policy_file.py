"""A policy file: what is right loads, what is wrong gets one line that names the place and the fix."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from sample_data import POLICIES, policy_path
from schemas.errors import PolicyError
from schemas.policy_file import check_rule_names, parse_policy, policy_digest
from schemas.records import DecisionRecord, Sla
from schemas.ticket_events import XeniaTicketCreated

HEAD = 'name = "p"\nversion = 1\n'
TOOL = '[[tools]]\nname = "issue_refund"\nprivilege = "write"\nside_effects = "irreversible"\n'
GATE = '[[gates]]\nname = "quality"\n'
PIPELINE = (
    GATE + '[[pipelines]]\nname = "reply"\ngates = ["quality"]\n[pipelines.applies_to]\nkind = "artifact.shipment"\n'
)
WHEN = PIPELINE + "[pipelines.when]\n"
REPLY = '[[pipelines]] "reply"'


def complaint(text: str, *, yaml_syntax: bool = False) -> str:
    """The error that a policy text gets."""
    with pytest.raises(PolicyError) as raised:
        parse_policy(text, name="x.toml", yaml_syntax=yaml_syntax)
    assert "\n" not in str(raised.value)
    assert str(raised.value).startswith("policy x.toml: ")
    return str(raised.value).removeprefix("policy x.toml: ")


@pytest.mark.parametrize(
    ("text", "place", "key", "right"),
    [
        ("vershun = 2\n", "the top level", "vershun", "version"),
        ('[tim]\nclock_skew = "2s"\n', "the top level", "tim", "time"),
        ('[time]\nclok_skew = "2s"\n', "[time]", "clok_skew", "clock_skew"),
        ('[time]\nfcr_windw = "7d"\n', "[time]", "fcr_windw", "fcr_window"),
        (TOOL + 'allowed_caller = ["a"]\n', '[[tools]] "issue_refund"', "allowed_caller", "allowed_callers"),
        (TOOL + 'recipt = "none"\n', '[[tools]] "issue_refund"', "recipt", "receipt"),
        (GATE + 'reviewer = ["a"]\n', '[[gates]] "quality"', "reviewer", "reviewers"),
        (GATE + 'maxage = "1h"\n', '[[gates]] "quality"', "maxage", "max_age"),
        (PIPELINE.replace('"reply"', '"reply"\nseperate_author = true'), REPLY, "seperate_author", "separate_author"),
        ("[retry.transient]\nmax_retrys = 1\n", "[retry.transient]", "max_retrys", "max_retries"),
        ('[approvals]\nside_efects = ["irreversible"]\n', "[approvals]", "side_efects", "side_effects"),
        ("[budgets.default]\ndispatch = 8\n", "[budgets.default]", "dispatch", "dispatches"),
        ('[sla.P1]\nfirst_respons = "60m"\n', "[sla.P1]", "first_respons", "first_response"),
        ('[agents.themis]\nalias = ["q"]\n', "[agents.themis]", "alias", "aliases"),
    ],
)
def test_a_misspelt_key_is_named_with_its_table_and_the_right_spelling(
    text: str, place: str, key: str, right: str
) -> None:
    """A typo would switch a rule off without anybody noticing, so it is an error that says what was meant."""
    said = complaint(HEAD + text)
    assert said.startswith(f'{place} has no key "{key}"; did you mean "{right}"?')


def test_a_misspelt_table_in_a_list_of_tables_names_its_number() -> None:
    """Where an element has no name yet, it is found by its number."""
    said = complaint(HEAD + GATE + '[[gates]]\nnme = "clearance"\n')
    assert said.startswith('[[gates]] "number 2" has no key "nme"; did you mean "name"?')


def test_a_key_that_resembles_nothing_gets_the_list_of_keys() -> None:
    """Without a near one the reader is told what there is."""
    said = complaint(HEAD + '[time]\nzzz = "2s"\n')
    assert said.startswith('[time] has no key "zzz"; known keys: ')
    for key in ("allowed_lateness", "clock_skew", "idle_after", "fcr_window"):
        assert key in said


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("version = 1\n", ['needs the key "name"']),
        ('name = "p"\n', ['needs the key "version"']),
        (HEAD + '[[tools]]\nname = "t"\nprivilege = "read"\n', ['[[tools]] "t"', 'needs the key "side_effects"']),
        (HEAD + TOOL.replace('"write"', '"wrte"'), ['[[tools]] "issue_refund"', "privilege", "'write'", "'wrte'"]),
        (HEAD + TOOL + 'receipt = "maybe"\n', ['[[tools]] "issue_refund"', "receipt", "'required'", "'maybe'"]),
        (HEAD + "[retry.transent]\nmax_retries = 1\n", ['[retry] has no table "transent"', '"transient"']),
        (HEAD + "[retry.transient]\nmax_retries = -1\n", ["[retry.transient]", "max_retries"]),
        (HEAD + "[retry.transient]\nmax_retries = 1\nthen = 'retreat'\n", ["[retry.transient]", "then", "'degrade'"]),
        (HEAD + '[sla.P5]\nwarn = "5m"\n', ['[sla] has no table "P5"', "P1"]),
        (HEAD + "[time]\nclock_skew = 2\n", ["[time]", "clock_skew", "duration", '"30s"']),
        (HEAD + '[time]\nclock_skew = "2 seconds"\n', ["[time]", "clock_skew", '"2 seconds" is no duration', '"30s"']),
        (HEAD + '[time]\nclock_skew = "-2s"\n', ["[time]", "clock_skew", '"-2s" is no duration']),
        (HEAD + "[severity]\ngate_missing = 'fatal'\n", ["[severity]", "gate_missing", "'critical'", "'fatal'"]),
        (HEAD + "[approvals]\nby_kind = ['robot']\n", ["[approvals]", "by_kind", "'human'", "'robot'"]),
        (HEAD + "[approvals]\namount_tolerance = -1\n", ["[approvals]", "amount_tolerance"]),
        (HEAD + "[approvals]\namount_tolerance = nan\n", ["[approvals]", "amount_tolerance"]),
        (HEAD + GATE + GATE, ['[[gates]] has "quality" more than once']),
        (HEAD + TOOL + TOOL, ['[[tools]] has "issue_refund" more than once']),
        (
            HEAD + PIPELINE.replace('gates = ["quality"]', 'gates = ["qualty"]'),
            ['pipeline "reply" needs gate "qualty", which no [[gates]] declares; did you mean "quality"?'],
        ),
        (HEAD + PIPELINE.replace('gates = ["quality"]', "gates = []"), [REPLY, "gates"]),
        (HEAD + PIPELINE.replace('["quality"]', '["quality", "quality"]'), [REPLY, "gates", "twice"]),
        (HEAD + PIPELINE.replace("shipment", "shipmnt"), [REPLY, "applies_to", '"artifact.shipmnt" is no subject']),
        (HEAD + PIPELINE + 'colour = "red"\n', [REPLY, '"colour" is no field of artifact.shipment']),
        (HEAD + PIPELINE + 'artifact_id = "a"\n', [REPLY, '"artifact_id" cannot be matched', "phase"]),
        (HEAD + WHEN + 'prioritee = "P1"\n', ['when: "prioritee" is not known of a run; did you mean "priority"?']),
        (HEAD + WHEN + 'zzz = "P1"\n', ['"zzz" is not known of a run; one of: agent, category', "terminal_state"]),
        (HEAD + '[agents.a]\naliases = ["x"]\n[agents.b]\naliases = ["X"]\n', ['agents "a" and "b" both go by "X"']),
        (HEAD + PIPELINE + "phase = []\n", ["applies_to phase: an empty list matches nothing; leave the key out or"]),
        (HEAD + WHEN + "priority = []\n", ['[[pipelines]] "reply" when priority: an empty list matches nothing']),
        (HEAD + "[approvals]\nby_kind = []\n", ["[approvals] by_kind: an empty list matches nothing"]),
        (HEAD + '[sla.P1]\nfirst_response = "60m"\nwarn = "61m"\n', ["[sla.P1] warn: is later than first_response"]),
        (HEAD + PIPELINE + "customer_facin = true\n", ['"customer_facin" is no', 'did you mean "customer_facing"?']),
        (HEAD + "[time\n", ["not valid TOML"]),
        ("just words", ["not valid TOML"]),
    ],
)
def test_a_wrong_value_is_named_with_its_place_and_what_is_allowed(text: str, parts: list[str]) -> None:
    """One line, first the place, then what is wrong with it and what would be right."""
    said = complaint(text)
    for part in parts:
        assert part in said


@pytest.mark.parametrize(
    ("kind", "matcher", "allowed"),
    [
        ("tool.invocation", 'side_effects = "ireversible"', '"none", "reversible", "irreversible", not "ireversible"'),
        ("tool.invocation", 'outcome = ["success", "ok"]', '"denied", "failed", not "ok"'),
        ("tool.invocation", 'privilege = "admin"', '"read", "write", "execute", not "admin"'),
        ("tool.invocation", 'layer = "kitchen"', '"studio", "agent", not "kitchen"'),
        ("tool.invocation", 'error_class = "timeout"', '"tool_instructions", "other", not "timeout"'),
        ("tool.invocation", 'verified = "yes"', 'true, false, not "yes"'),
        ("artifact.shipment", "customer_facing = 1", "true, false, not 1"),
        ("artifact.shipment", 'customer_facing = "true"', 'true, false, not "true"'),
        ("agent.report", 'claim = "done"', '"completed", "partial", "failed", not "done"'),
    ],
)
def test_applies_to_takes_only_values_that_the_field_can_have(kind: str, matcher: str, allowed: str) -> None:
    """A pipeline that waits for a value that no event can carry would guard nothing."""
    said = complaint(HEAD + PIPELINE.replace("artifact.shipment", kind) + matcher + "\n")
    assert said.startswith(f'[[pipelines]] "reply" applies_to: {matcher.split()[0]} must be one of ')
    assert said.endswith(allowed)


@pytest.mark.parametrize(
    ("model", "field"),
    [(DecisionRecord, field) for field in ("priority", "terminal_state", "clearance")]
    + [(XeniaTicketCreated, field) for field in ("severity", "phase", "sla_state")]
    + [(Sla, "state")],
)
def test_when_takes_only_values_that_a_run_can_have(model: type[BaseModel], field: str) -> None:
    """Every value that the event models list, and no other."""
    name = "sla_state" if model is Sla else field
    annotation = model.model_fields[field].annotation
    values = list(get_args(annotation if get_origin(annotation) is Literal else get_args(annotation)[0]))
    text = HEAD + WHEN + f"{name} = "
    assert parse_policy(text + json.dumps(values)).pipelines[0].when == {name: values}
    said = complaint(text + '"zzz"')
    assert said.startswith(f'[[pipelines]] "reply" when: {name} must be one of ')
    assert said.endswith(', not "zzz"')
    assert all(f'"{value}"' in said for value in values)


def test_a_field_without_a_list_of_values_takes_any() -> None:
    """A shipment's phase and a record's outcome are the producer's own words."""
    text = HEAD + PIPELINE + 'phase = "notes"\n[pipelines.when]\noutcome = "refunded"\nintent = "billing"\n'
    assert parse_policy(text).pipelines[0].when == {"outcome": ["refunded"], "intent": ["billing"]}


@pytest.mark.parametrize("value", ["true", '"1"', "1.0"])
@pytest.mark.parametrize(
    ("head", "table", "key"),
    [("", "the top level", "version"), (HEAD, "[retry.transient]", "max_retries")]
    + [(HEAD, "[budgets.default]", key) for key in ("dispatches", "judge_cycles", "retries_per_caller")],
)
def test_a_whole_number_is_written_as_one(head: str, table: str, key: str, value: str) -> None:
    """`max_retries = true` is not one retry."""
    text = f"{head}{table}\n{key} = {value}" if head else f'name = "p"\n{key} = {value}'
    assert complaint(text).startswith(f"{table} {key}: Input should be a valid integer")


def test_a_warning_may_come_with_the_target() -> None:
    """Only a later one is a mistake, and each may stand alone."""
    text = '[sla.P1]\nfirst_response = "60m"\nwarn = "1h"\n[sla.P2]\nwarn = "2h"\n'
    assert parse_policy(HEAD + text).sla["P1"].warn == timedelta(hours=1)


def test_several_mistakes_are_counted_and_the_typo_comes_first() -> None:
    """A misspelt required key is unknown and missing at once; the unknown one is the one to mend."""
    said = complaint('nme = "p"\nversion = 1\n')
    assert said == 'the top level has no key "nme"; did you mean "name"? (and 1 more)'


def test_a_policy_may_be_yaml() -> None:
    """The same model, the same digest, the same errors."""
    text = "name: p\nversion: 1\ntime:\n  clock_skew: 5s\n"
    found = parse_policy(text, yaml_syntax=True)
    assert found.time.clock_skew == timedelta(seconds=5)
    assert policy_digest(found) == policy_digest(parse_policy(HEAD + '[time]\nclock_skew = "5s"\n'))
    assert 'did you mean "clock_skew"?' in complaint("name: p\nversion: 1\ntime:\n  clock_skw: 5s\n", yaml_syntax=True)
    assert complaint("- a\n- b\n", yaml_syntax=True) == "must be a table of settings that starts with name and version"
    assert complaint("a: [\n", yaml_syntax=True).startswith("not valid YAML: ")


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("1.5m", 90), ("2h", 7_200), ("7d", 604_800), ("0s", 0)]
)
def test_durations(text: str, seconds: float) -> None:
    """Quoted, with one unit."""
    found = parse_policy(HEAD + f'[time]\nclock_skew = "{text}"\n')
    assert found.time.clock_skew == timedelta(seconds=seconds)


def test_what_is_left_out_has_the_documented_default() -> None:
    """An empty policy is a policy: nothing is demanded, and time is judged by the documented tolerances."""
    found = parse_policy(HEAD)
    assert (found.time.allowed_lateness, found.time.clock_skew) == (timedelta(seconds=30), timedelta(seconds=2))
    assert (found.time.idle_after, found.time.fcr_window) == (timedelta(minutes=5), timedelta(days=7))
    assert found.time.grace == timedelta(seconds=60)
    assert (found.approvals.by_kind, found.approvals.side_effects, found.approvals.amount_tolerance) == (
        ["human"],
        [],
        0,
    )
    assert (found.tools, found.gates, found.pipelines, found.retry) == ([], [], [], {})
    pipeline = parse_policy(HEAD + PIPELINE).pipelines[0]
    assert (pipeline.separate_author, pipeline.binding, pipeline.when) == (False, "per_digest", {})


def test_the_digest_is_of_the_meaning() -> None:
    """Comments, order of tables and spelling of a duration do not change what decided; a number does."""
    one = parse_policy(HEAD + '[time]\nclock_skew = "60s"\n' + TOOL)
    two = parse_policy("# said otherwise\n" + HEAD + TOOL + '[time]\nclock_skew = "1m"\n')
    other = parse_policy(HEAD + '[time]\nclock_skew = "61s"\n' + TOOL)
    assert policy_digest(one) == policy_digest(two) != policy_digest(other)
    assert policy_digest(one).startswith("sha256:")
    assert len(policy_digest(one)) == len("sha256:") + 64


def test_a_severity_for_a_rule_that_does_not_exist_is_named() -> None:
    """`[severity]` with a typo would silently keep the old severity."""
    policy = parse_policy(HEAD + '[severity]\ngate_mising = "low"\n')
    with pytest.raises(
        PolicyError, match=r'^policy p: \[severity\] knows no rule "gate_mising"; did you mean "gate_missing"\?$'
    ):
        check_rule_names(policy, ["gate_late", "gate_missing"], name="p")
    check_rule_names(policy, ["gate_mising"])


@pytest.mark.parametrize("name", POLICIES)
def test_the_shipped_policies_load(name: str) -> None:
    """Each names itself and is complete: tools, gates, pipelines, retries, approvals, budgets."""
    policy = parse_policy(policy_path(name).read_text(encoding="utf-8"), name=name)
    assert policy.name == name
    assert policy.tools
    assert policy.gates
    assert policy.pipelines
    assert policy.retry
    assert policy.approvals.side_effects
    assert policy.budgets


def test_the_support_squad_policy_says_what_the_design_says() -> None:
    """Quality review, then compliance clearance; a human for money; one retry; 8 dispatches and 2 judge cycles."""
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"))
    assert ["quality", "clearance"] in [pipeline.gates for pipeline in policy.pipelines]
    assert (policy.approvals.side_effects, policy.approvals.by_kind) == (["irreversible"], ["human"])
    assert (policy.retry["transient"].max_retries, policy.retry["transient"].then) == (1, "degrade")
    assert (policy.budgets["default"].dispatches, policy.budgets["default"].judge_cycles) == (8, 2)


def test_the_example_of_the_design_loads() -> None:
    """The exact spelling that others were given."""
    file = Path(__file__).parents[3] / "shared" / "design" / "policy-example.toml"
    if not file.exists():
        pytest.skip("platform: the design is not beside this checkout")
    policy = parse_policy(file.read_text(encoding="utf-8"), name="example")
    assert [tool.name for tool in policy.tools] == ["issue_refund", "kb_search"]
    assert policy.tools[0].receipt == "required"
    assert policy.gates[0].max_age == timedelta(hours=1)
    assert policy.pipelines[0].applies_to["phase"] == ["tickets", "escalations"]
    assert policy.pipelines[0].applies_to["customer_facing"] == [True]
    assert policy.pipelines[1].when == {"priority": ["P1"]}
    assert policy.retry["validation"].same_input == "forbidden"
    assert policy.approvals.expires_after == timedelta(hours=24)
    assert policy.sla["P1"].warn == timedelta(minutes=45)
    assert policy.agents["themis"].aliases == ["quality-review"]
    assert policy.severity == {"gate_missing": "critical"}
