"""YAML that people and agents write: what is valid is read, a line that is not costs only itself."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ingest.dialects.lenient_yaml import read
from ingest.dialects.yaml_values import mapping_of
from schemas.columns import fields_of
from schemas.events import DecisionRecordEvent

KNOWN = {name: info.annotation for name, info in fields_of(DecisionRecordEvent).items()}


def _values(text: str, known: dict[str, Any] | None = None) -> tuple[dict[str, Any], list[int]]:
    document = read(text)
    pairs = [(entry.key, entry.value) for entry in document.entries]
    return mapping_of(pairs, known or {}, "", lambda told: None), [number for number, *_ in document.dropped]


@pytest.mark.parametrize(
    ("text", "values", "dropped"),
    [
        ("", {}, []),
        ("a: 1\nb: [x, {c: d}]\n", {"a": 1, "b": ["x", {"c": "d"}]}, []),
        ("{a: 1,\nb: 2}\n", {"a": 1, "b": 2}, []),
        ("---\na: 1\n", {"a": 1}, []),
        ("just text\n", {}, [0]),
        ("a: 1\ncustomer:7f3a\nb: 2\n", {"a": 1, "b": 2}, [1]),
        ("a: 1\n[AI-assisted response]\n", {"a": 1}, [1]),
        ("a: b: c\nd: 1\n", {"d": 1}, [0]),
        ("a: @x\nd: 1\n", {"d": 1}, [0]),
        ('a: "open\nd: 1\n', {"d": 1}, [0]),
        ('s:\n  x: "open\n  y: 2\nd: 1\n', {"s": {"y": 2}, "d": 1}, [1]),
        ("s:\n  a: 1\n  broken here\n  b: 2\n", {"s": {"a": 1, "b": 2}}, [2]),
        ("s:\n\ta: 1\nd: 1\n", {"s": None, "d": 1}, [1]),
        ("l:\n  - {x: 1, y: [2}\n  - {x: 2}\n", {"l": [{"x": 2}]}, [1]),
        ("l:\n- 1\n- 2\nbroken\nm: 3\n", {"l": [1, 2], "m": 3}, [3]),
        ("k: [a,\n b\nz: 1\n", {"z": 1}, [0, 1]),
        ("k: @x\n  under: 1\nz: 1\n", {"z": 1}, [0, 1]),
        ("a: x\x01y\nb: 2\n", {"b": 2}, [0]),
        ("a: &x [1]\nb: *x\nc: 3\n", {"a": [1], "c": 3}, [1]),
        ("s:\n  - &x 1\n  - &x 2\n", {"s": [1]}, [2]),
        ("a:\tb\nc\t:\t1\t# d\n-x:\t[1,\t2]\t\n", {"a": "b", "c": 1, "-x": [1, 2]}, []),
        (
            "l:\n-\tx\ty\t\n  z\n\t\n  \t# c\nd: 'p\tq'\ne: |\n  r\ts\n",
            {"l": ["x y z"], "d": "p\tq", "e": "r\ts\n"},
            [],
        ),
        ("s:\n  \ta: 1\nt: x\n \tb: 1\n", {"s": None, "t": "x"}, [1, 3]),
        ("a: 1\r\nbroken\r\nb: 2\r\n", {"a": 1, "b": 2}, [1]),
        ("a: 1\n---\nb: 2\n", {"a": 1, "b": 2}, [1]),
        ("t: >\n  folded\n  text: [not, yaml\n\nb: |\n  x\n", {"t": "folded text: [not, yaml\n", "b": "x\n"}, []),
        ("? [a]\n: 1\nb: 2\n", {"b": 2}, []),
        ("!!python/object/apply:os.system ['id']\n", {}, [0]),
        ("a: !!python/name:os.system x\n", {"a": "x"}, []),
    ],
)
def test_what_can_be_read_is_read(text: str, values: dict[str, Any], dropped: list[int]) -> None:
    assert _values(text) == (values, dropped)


SCALARS = [
    ("no", "no"), ("yes", "yes"), ("on", "on"), ("true", True), ("False", False), ("~", None), ("null", None),
    ("", None),
    ("012", "012"), ("0x1F", "0x1F"), ("12:30", "12:30"), ("1_000", "1_000"), ("-7", -7), ("+7", 7), ("1.50", 1.5),
    ("1e3", 1000.0), (".5", 0.5), ("1e999", "1e999"), (".inf", ".inf"), (".nan", ".nan"), ("2026-06-03", "2026-06-03"),
    ("2026-06-03T10:00:00Z", "2026-06-03T10:00:00Z"), ("'5'", "5"), ('"true"', "true"), ("9" * 30, int("9" * 30)),
    ("9" * 50, "9" * 50), ("=", "="), ("<<", "<<"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_unknown_fields_are_taken_at_their_looks(text: str, value: Any) -> None:
    assert _values(f"x: {text}\n") == ({"x": value}, [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("outcome: 007", {"outcome": "007"}),
        ("outcome: no", {"outcome": "no"}),
        ("outcome: null", {"outcome": None}),
        ('outcome: "null"', {"outcome": "null"}),
        ("outcome: >\n  folded\n", {"outcome": "folded"}),
        ("priority: 1", {"priority": "1"}),
        ("follow_up_of: 1.50", {"follow_up_of": "1.50"}),
        ("heads_dispatched: [1, no, ~]", {"heads_dispatched": ["1", "no", None]}),
        ("judge_cycles: 2", {"judge_cycles": 2}),
        ('judge_cycles: "2"', {"judge_cycles": "2"}),
        ("cost_usd: 1", {"cost_usd": 1}),
        ("sla: {breached: off, received_at: 2026-06-03T10:00:00Z, owner: 7}",
         {"sla": {"breached": False, "received_at": "2026-06-03T10:00:00Z", "owner": 7}}),
        ("actions_attempted: [{action: 1, executed: Yes, amount: 1.5}]",
         {"actions_attempted": [{"action": "1", "executed": True, "amount": 1.5}]}),
        ("rubric_verdicts: [{rubric_id: 1, pass: maybe, dims: {1: 2, no: 3}}]",
         {"rubric_verdicts": [{"rubric_id": "1", "pass": "maybe", "dims": {"1": 2, "no": 3}}]}),
        ("tokens: {in: 5, out: ~}", {"tokens": {"in": 5, "out": None}}),
    ],
)  # fmt: skip
def test_a_field_knows_its_type_better_than_yaml(text: str, value: dict[str, Any]) -> None:
    assert _values(text, KNOWN) == (value, [])


def test_the_last_of_repeated_keys_counts_and_is_warned_of() -> None:
    told: list[str] = []
    document = read("a: 1\nb: {c: 1, c: 1}\na: 2\n")
    pairs = [(entry.key, entry.value) for entry in document.entries]
    assert mapping_of(pairs, {}, "", told.append) == {"a": 2, "b": {"c": 1}}
    assert told == ["a: is given twice with different values"]


def test_what_is_refused_is_not_called_invalid() -> None:
    alias = "uses a YAML anchor or alias, which is not read,"
    document = read("a: &b {x: 1}\nc: [*b, *b]\nd:\n  - *b\n  - broken: [\ne: [{x: 1,\n  y: *b}]\nbroken\n")
    assert [(number, reason) for number, reason, _ in document.dropped] == [
        (1, alias),
        (3, alias),
        (4, "is not valid YAML"),
        (5, f"belongs to an entry that {alias}"),
        (6, alias),
        (7, "is not valid YAML"),
    ]
    assert [reason for _, reason, _ in read("a: " + "[" * 50 + "]" * 50).dropped] == ["is nested too deeply"]


def test_nodes_keep_their_place() -> None:
    text = "a: 1\nbroken\nb: {c: 'x y'}\nd: |\n  block\n"
    places = {}
    for entry in read(text).entries:
        places[entry.key.value] = text[
            entry.value.start_mark.index + entry.offset : entry.value.end_mark.index + entry.offset
        ]
    assert places == {"a": "1", "b": "{c: 'x y'}", "d": "|\n  block\n"}


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 100_000,
        "a: " + "{b: " * 5_000,
        "a: &a [x, x]\n"
        + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
        "x: [\n" * 500,
        "- a\n" * 2_000 + "b",
        '"' * 20_000,
        "a: '\n" * 2_000,
        "? " * 2_000,
        "\u2028a: [\u2029" * 500,
    ],
)
def test_hostile_text_ends_soon(hostile: str) -> None:
    begun = time.monotonic()
    read(hostile)
    assert time.monotonic() - begun < 60


PIECES = st.sampled_from(
    [
        "a: 1\n",
        "b:\n",
        "  c: x\n",
        "  - d\n",
        "- e\n",
        "broken\n",
        'q: "\n',
        "f: [1, 2\n",
        "# c\n",
        "\n",
        "  \n",
        "t: |\n",
        "\t",
        "g: *x\n",
        "---\n",
        "\r",
        "\x85",
        "é: ü\n",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_valid_yaml_loses_nothing_and_the_rest_never_raises(text: str) -> None:
    document = read(text)
    try:
        valid = isinstance(yaml.compose(text, Loader=yaml.SafeLoader), yaml.MappingNode) and "*" not in text
    except yaml.YAMLError:
        valid = False
    if valid:
        assert document.dropped == []
    numbers = [number for number, *_ in document.dropped]
    assert numbers == sorted(set(numbers))
