"""Which road a line takes: what is learnt of producers, and what keeps a producer on the fast one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from ingest.columnar import ColumnarValidator
from ingest.columnar.grammar import members
from ingest.columnar.layouts import MAX_UNKNOWN, layout_of, learnt, merged
from ingest.columnar.nodes import Layout, Many, Object
from ingest.columnar.plan import Plan
from ingest.columnar.types import object_of
from ingest.validate import Batch, RowValidator, Validated
from schemas.events import KINDS

DISPATCH = {
    "event_id": "e1",
    "ts": "2026-03-02T10:00:00.5Z",
    "kind": "agent.dispatch",
    "correlation_id": "T-1",
    "command": "handle-ticket",
    "caller": "Iris",
    "agent": "metis",
}

RECORD = {
    "event_id": "e1",
    "ts": "2026-03-02T10:00:00.5Z",
    "kind": "decision.record",
    "correlation_id": "T-1",
    "decision_id": "DR-1",
    "terminal_state": "RESOLVED",
}


def dispatch(number: int, **fields: Any) -> dict[str, Any]:
    """An event of the smallest kind."""
    return {**DISPATCH, "event_id": f"e{number}", **fields}


def text(event: dict[str, Any]) -> bytes:
    """As most producers write it."""
    return json.dumps(event).encode()


def roads(lines: Sequence[bytes], validator: ColumnarValidator | None = None, dialect: str = "auto") -> tuple[int, int]:
    """How many lines took the fast road and how many the slow one, after checking that the verdicts are the models'."""
    validator = validator or ColumnarValidator(least=1)
    before = validator.fast, validator.slow
    batches = [Batch(lines, 1, dialect)]
    (found,), (wanted,) = validator.validate_all(batches), RowValidator().validate_all(batches)
    same(found, wanted)
    return validator.fast - before[0], validator.slow - before[1]


def same(found: Validated, wanted: Validated) -> None:
    """Fail unless both are the same verdicts."""
    assert_frame_equal(found.accepted, wanted.accepted)
    assert (found.rejects, found.blank) == (wanted.rejects, wanted.blank)


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("abc", "abc", "abc"),
        ("ac", "abc", "abc"),
        ("abc", "ac", "abc"),
        ("ab", "bc", "abc"),
        ("ab", "cd", "cdab"),
        ("", "ab", "ab"),
        ("abc", "cb", None),
        ("ab", "ba", None),
    ],
)
def test_layouts_merge_where_their_orders_agree(one: str, other: str, both: str | None) -> None:
    """Keys that are sometimes left out make no second layout, keys the other way round do."""
    found = merged({key: {} for key in one}, {key: {} for key in other})
    assert (None if found is None else "".join(found)) == both


def test_objects_inside_have_layouts_of_their_own() -> None:
    """Also those of a list, whose items leave out different keys."""
    found = layout_of(
        object_of(KINDS["decision.record"]),
        {
            **RECORD,
            "sla": {"state": "ok"},
            "degradations": [{"tool": "a"}, {"tool": "b", "note": "n"}],
            "artifacts": [],
        },
    )
    assert found is not None
    assert {name: found[name] for name in list(found)[6:]} == {
        "sla": {"state": {}},
        "degradations": {"tool": {}, "note": {}},
        "artifacts": {},
    }


def test_what_is_never_learnt() -> None:
    """Unknown fields inside a known one, names that need escapes, items that contradict each other, gaps."""
    node = object_of(KINDS["decision.record"])
    assert layout_of(node, RECORD) is not None
    assert layout_of(node, {**RECORD, "sla": {"owner": "me"}}) is None
    assert layout_of(node, {**RECORD, 'a"b': 1}) is None
    assert layout_of(node, {**RECORD, "degradations": [{"tool": "a", "note": "n"}, {"note": "n", "tool": "b"}]}) is None
    assert layout_of(node, {**RECORD, "actions_attempted": [{"action": "refund"}]}) is None
    assert layout_of(node, {name: value for name, value in RECORD.items() if name != "terminal_state"}) is None


def test_too_much_that_is_unknown_is_not_learnt() -> None:
    """A producer whose field names are data; and names that only differ by case, which the reader takes for one."""
    node = object_of(KINDS["agent.dispatch"])
    many: Layout = {f"x{number}": {} for number in range(MAX_UNKNOWN)}
    assert learnt([], many, node) == [many]
    assert learnt([many], many, node) is None
    assert learnt([many], {"one_more": {}}, node) is None
    assert learnt([], {"Agent": {}}, node) is None
    assert learnt([{"x": {}}], {"X": {}}, node) is None


def test_commas_where_the_first_key_may_be_absent() -> None:
    """Worked out by hand: what may come before the required key ends with a comma, what may follow begins with one."""
    assert members([("A", False), ("B", True), ("C", False)]) == "(?:A, ?)?B(?:, ?C)?"
    assert members([("A", False), ("B", False)]) == "(?:A(?:, ?B)?|B)?"
    assert members([]) == ""


def test_every_field_of_every_kind_has_an_expression() -> None:
    """Down to the last object inside; a type without one would be an error when the package is loaded."""

    def count(node: object) -> int:
        if isinstance(node, Many):
            return count(node.item)
        return sum(1 + count(member.node) for member in node.members.values()) if isinstance(node, Object) else 0

    assert count(object_of(KINDS["agent.dispatch"])) == 13
    assert all(count(object_of(model)) >= 12 for model in KINDS.values())


def test_a_style_is_learnt_within_its_first_lines() -> None:
    """Optional keys that come and go, nulls, spaces or none: one batch is enough, and all of it takes the fast road."""
    events = [dispatch(n, **({"tenant": "acme"} if n % 3 else {"run_id": None})) for n in range(500)]
    assert roads([text(event) for event in events]) == (500, 0)
    assert roads([json.dumps(event, separators=(",", ":")).encode() for event in events]) == (500, 0)


def test_producers_with_other_orders_share_a_validator() -> None:
    """Each order is learnt when it comes."""
    validator = ColumnarValidator(least=1)
    back = [text(dict(reversed(dispatch(n).items()))) for n in range(100)]
    assert roads([text(dispatch(n)) for n in range(100)], validator) == (100, 0)
    assert roads(back, validator) == (100, 0)
    assert roads([text(dispatch(n)) for n in range(100)] + back, validator) == (200, 0)


@pytest.mark.parametrize(
    "value",
    ["eu", 3, -2.5, True, None, {"a": [1, "b", None], "n": {}}, [], 'é \u2028 \\ " \n', 1.50, "x" * 3000],
    ids=repr,
)
def test_a_producer_that_always_sends_an_unknown_field_stays_on_the_fast_road(value: Any) -> None:
    """Whatever is in it: it is kept in `extra` as the models keep it."""
    assert roads([text(dispatch(n, region=value, zone="z")) for n in range(100)]) == (100, 0)


@pytest.mark.parametrize("first", [None, []])
def test_what_is_empty_at_first_may_be_filled_later(first: Any) -> None:
    """A list or an object of which nothing is known yet keeps no line from the fast road."""
    claims = [{"action": "refund", "executed": True}]
    records = [
        {**RECORD, "event_id": f"r{n}", "actions_attempted": first, "sla": {}, "tokens": None} for n in range(60)
    ]
    validator = ColumnarValidator(least=1)
    assert roads([text(record) for record in records], validator) == (60, 0)
    assert roads([text({**record, "actions_attempted": claims}) for record in records], validator) == (60, 0)
    assert roads([text({**record, "actions_attempted": [{}]}) for record in records], validator) == (0, 60)


def test_rare_orders_are_not_learnt() -> None:
    """One line in fifty with its keys turned round goes the slow road; the gate of all others gets no longer for it."""
    rare = text(dict(reversed(dispatch(99).items())))
    assert roads([text(dispatch(n)) for n in range(49)] + [rare]) == (49, 1)
    assert roads([text(dispatch(n)) for n in range(47)] + [rare] * 3) == (50, 0)


def test_learning_in_vain_pauses() -> None:
    """A producer whose orders never repeat costs a look now and then, not a new gate with every commit."""
    plan = Plan("agent.dispatch", KINDS["agent.dispatch"])
    for pause in (1, 3, 7):
        plan.weigh(left=100, gained=9)
        assert [plan.may_learn() for _ in range(pause + 1)] == [False] * pause + [True]
    plan.weigh(left=100, gained=10)
    assert plan.may_learn()


def test_null_and_absent_differ_for_an_unknown_field() -> None:
    """The one is in `extra`, the other not, also where an object inside has a field of that name."""
    events = [
        dispatch(1, region=None),
        dispatch(2),
        dispatch(3, meta={"region": None}),
        dispatch(4, meta={"region": None}, region=None),
    ]
    assert roads([text(event) for event in events]) == (4, 0)


def test_lines_that_are_wrong_or_odd_take_the_slow_road() -> None:
    """And what is fine among them does not."""
    odd = [
        b"",
        b"{",
        text(dispatch(1, ts="2026-02-30T00:00:00Z")),
        text(dispatch(2, command="x" * 1001)),
        text(dispatch(3, correlation_id="")),
        text(dispatch(4, caller="-")),
        text({**DISPATCH, "agent": None}),
        b"\xff" + text(DISPATCH),
        text(dispatch(5, sub={"a": {"b": {"c": {"d": 1}}}})),
    ]
    assert roads([text(dispatch(n)) for n in range(100)] + odd) == (100, len(odd))


def test_a_dialect_that_was_asked_for() -> None:
    """Lines of another one are refused by the models, never taken by the fast road."""
    lines = [text(dispatch(n)) for n in range(20)]
    assert roads(lines, dialect="native") == (20, 0)
    assert roads(lines, dialect="xenia") == (0, 20)
    assert roads(lines, dialect="decision_record") == (0, 20)


def test_orders_that_nobody_sends_any_more_give_way() -> None:
    """Somebody who sends every order there is does not keep an honest producer on the slow road for ever."""
    validator = ColumnarValidator(least=1)
    keys = list(DISPATCH)
    turned = [text({key: dispatch(n)[key] for key in keys[n:] + keys[:n]}) for n in range(len(keys))]
    more = [text({key: dispatch(n)[key] for key in (keys[n:] + keys[:n])[::-1]}) for n in range(len(keys))]
    roads(turned * 10 + more * 10, validator)
    assert roads([text(dispatch(n, tenant="t", trace_id="0" * 32)) for n in range(50)], validator)[1] == 0


def test_what_was_learnt_changes_no_verdict() -> None:
    """The same lines after other lines, and by a validator that knows nothing."""
    lines = [text(dispatch(n, x=n)) for n in range(50)] + [text({**DISPATCH, "ts": "2026-13-01T00:00:00Z"})]
    busy = ColumnarValidator(least=1)
    roads([text(dict(reversed(dispatch(n, y="1").items()))) for n in range(50)], busy)
    (fresh,), (used,) = (
        ColumnarValidator(least=1).validate_all([Batch(lines, 9, "auto")]),
        busy.validate_all([Batch(lines, 9, "auto")]),
    )
    same(used, fresh)
    assert used.accepted["seq"].to_list() == list(range(9, 59))


def test_verdicts_come_batch_by_batch() -> None:
    """Each with its own numbers, dialects and rejects, also an empty one."""
    batches = [
        Batch([text(dispatch(1)), b"{"], 5, "auto"),
        Batch([], 7, "auto"),
        Batch([b" ", text(dispatch(2)), text(dispatch(3))], 7, "native"),
    ]
    first, empty, last = ColumnarValidator(least=1).validate_all(batches)
    assert (first.accepted["seq"].to_list(), [r.seq for r in first.rejects], first.blank) == ([5], [6], 0)
    assert (empty.accepted.height, empty.rejects, empty.blank) == (0, [], 0)
    assert (last.accepted["seq"].to_list(), last.rejects, last.blank) == ([8, 9], [], 1)


def test_personal_data_in_a_fast_line_is_taken_out() -> None:
    """In free text and in unknown fields, where a name tells what a value is, and behind a later equal name."""
    lines = [
        text(dispatch(1, contact="mail jo@example.com")),
        text(dispatch(2, contact="nobody")),
        text(dispatch(3, password="hunter22hunter22")),
        text(dispatch(6, meta={"a": "hidden"})).replace(b'"hidden"', b'"jo@example.com", "a": "hides"'),
        text({**DISPATCH, "kind": "safety.supersession", "policy": "p@example.com", "reason": "call +1 212 555 0187"}),
        text({**DISPATCH, "kind": "safety.supersession", "policy": "p@example.com", "reason": "fire"}),
    ]
    batches = [Batch(lines, 1, "auto")]
    ((redacted, found),) = ColumnarValidator(least=1).receive_all(batches)
    ((wanted, judged),) = RowValidator().receive_all(batches)
    assert (redacted.lines, redacted.redactions) == (wanted.lines, wanted.redactions)
    assert sorted(redacted.redactions) == [0, 2, 3, 4]
    same(found, judged)


def test_the_usual_kind_is_not_asked_for() -> None:
    """A commit of nearly one kind tries its gate first; what another commit is made of has the same verdicts."""
    usual = [text(dispatch(number)) for number in range(100)]
    other = [text(RECORD | {"event_id": f"r{number}"}) for number in range(100)]
    bad = [b"{", b"", text(dispatch(1, agent=7)), text(dispatch(2)).replace(b"dispatch", b"nothing")]
    validator = ColumnarValidator(least=1)
    assert roads(usual, validator) == (100, 0)
    assert validator._usual is not None
    assert roads([*usual[:50], *bad, *usual[50:], b"\xff"], validator) == (100, 5)
    assert roads([*usual[:95], *other[:5]], validator) == (100, 0)
    assert validator._usual is not None
    assert roads([*usual[:50], *other[:50]], validator) == (100, 0)
    assert validator._usual is None
    assert roads(other, validator) == (100, 0)
    assert validator._usual is not None
    assert roads(usual, validator) == (100, 0)
    assert roads([], validator) == (0, 0)
    assert roads([b"{", b"\xff"] * 40, validator) == (0, 80)


def test_the_usual_kind_is_only_tried_where_its_dialect_was_asked_for() -> None:
    usual = [text(dispatch(number)) for number in range(100)]
    validator = ColumnarValidator(least=1)
    assert roads(usual, validator) == (100, 0)
    assert roads(usual, validator, "xenia") == (0, 100)


def test_the_usual_kind_learns_another_order_of_keys() -> None:
    usual = [text(dispatch(number)) for number in range(100)]
    turned = [json.dumps(dict(reversed(dispatch(number).items()))).encode() for number in range(100, 110)]
    validator = ColumnarValidator(least=1)
    assert roads(usual, validator) == (100, 0)
    assert roads([*usual[10:], *turned], validator) == (100, 0)
    assert roads(usual, validator) == (100, 0)
    assert roads(turned, validator) == (10, 0)


@pytest.mark.parametrize(
    ("field", "before", "digits"), [("input_digest", "sha256:", 64), ("trace_id", "", 32), ("span_id", "", 16)]
)
def test_the_digits_of_digests_and_trace_ids_are_counted(field: str, before: str, digits: int) -> None:
    call = DISPATCH | {
        "kind": "tool.invocation",
        "tool": "mail",
        "privilege": "write",
        "side_effects": "none",
        "outcome": "success",
        field: before + "a" * digits,
    }
    del call["command"], call["agent"]
    good = [text(call | {"event_id": f"g{number}"}) for number in range(20)]
    validator = ColumnarValidator(least=1)
    assert roads(good, validator) == (20, 0)
    for size in (0, 1, digits - 1, digits + 1):
        odd = text(call | {"event_id": "odd", field: before + "a" * size})
        assert roads([*good, odd], validator) == (20, 1)
    assert roads([*good, text(call | {"event_id": "odd", field: before + "0" * digits})], validator) == (21, 0)
    assert roads([*good, text(call | {"event_id": "odd", field: None})], validator) == (21, 0)
