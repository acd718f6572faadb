"""Each trap once, by name: what must come out of the columnar validator when it knows the producer's shape.

Here what is refused. The expected reasons are worked out by hand, not asked of the row validator.
"""

from __future__ import annotations

import pytest

from ingest.columnar import ColumnarValidator
from ingest.validate import Batch
from tests.ingest.columnar.taught import DIALECT, GATE, RECORD, line, reason

LONG_NAME = '{"' + "x" * 1_001 + '":1}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("target", "5"),  # numbers are no strings
        ("target", "true"),
        ("target", "[]"),
        ("attempt", '"5"'),  # nor strings numbers
        ("attempt", "5.5"),
        ("attempt", "1.0"),
        ("attempt", "0"),
        ("attempt", "-1"),
        ("attempt", "true"),
        ("attempt", "null"),  # it has a default, but null is none
        ("attempt", "9223372036854775808"),
        ("attempt", "18446744073709551617"),
        ("amount", '"1.5"'),
        ("amount", "-0.01"),
        ("amount", "true"),
        ("amount", "1e400"),
        ("verified", '"yes"'),
        ("verified", '"true"'),
        ("verified", "1"),
        ("ts", '"2026-06-03"'),
        ("ts", '"2026-06-03T10:00:00"'),
        ("ts", '"infinity"'),
        ("ts", '"epoch"'),
        ("ts", "1780480800"),
        ("ts", '"2026-02-29T10:00:00Z"'),
        ("ts", '"1900-02-29T10:00:00Z"'),
        ("ts", '"2026-06-31T10:00:00Z"'),
        ("ts", '"2026-13-01T10:00:00Z"'),
        ("ts", '"2026-06-03T24:00:00Z"'),
        ("ts", '"2026-06-03T10:00:61Z"'),
        ("ts", '"2026-06-03T10:00:00+24:00"'),
        ("ts", '"2026-06-03T10:00:00+0530"'),
        ("ts", '"2026-06-03T10:00:00.Z"'),
        ("ts", '"2026-06-03T10:00:00Z\\n"'),
        ("ts", '"0000-01-01T00:00:00Z"'),
        ("outcome", '"success\\n"'),  # Python's $ would let it through
        ("outcome", '"successful"'),
        ("outcome", '"Success"'),
        ("outcome", '""'),
        ("outcome", "null"),
        ("caller", '"hermes\\n"'),
        ("caller", '""'),
        ("caller", '"-a"'),
        ("caller", '"\u212aelvin"'),  # the Kelvin sign is no k
        ("caller", '"h\u0130"'),
        ("target", '""'),
        ("target", '"a\\u0000"'),
        ("target", '"a\\u007f"'),
        ("target", '"a\u0085"'),
        ("target", '"a\x7f"'),
        ("target", '"' + "x" * 1_001 + '"'),
        ("target", '"' + "\\u00e9" * 1_001 + '"'),
        ("correlation_id", '"' + "x" * 201 + '"'),
        ("correlation_id", '"' + "é" * 201 + '"'),
        ("correlation_id", '"' + "😀" * 201 + '"'),
        ("note", '"' + "x" * 2_001 + '"'),
        ("tokens", '{"in":-1}'),
        ("tokens", '{"in":"1"}'),
        ("tokens", "[]"),
        ("tokens", '"{}"'),
    ],
)
def test_a_value_that_the_contract_refuses(name: str, text: str) -> None:
    why, field = reason(line(**{name: text}))
    assert why == "schema"
    assert field.split(".")[0] == name


@pytest.mark.parametrize(
    "content",
    [
        line(note="NaN"),
        line(amount="Infinity"),
        line(amount="01"),
        line(amount="+1"),
        line(amount="1."),
        line(amount=".5"),
        line()[:-1] + b",}",
        line().replace(b'"t"', b"'t'"),
        line()[:-1],
        line() + line(),
        line() + b" x",
        b"/**/" + line(),
        line(note='"a\tb"'),
        line(note='"a\x00b"'),
        line(note='"\\x41"'),
        line(note='"\\ud800"'),  # half a pair
        line(note='"\\udc00\\ud800"'),
        b"\xef\xbb\xbf" + line(),
        line() + b"\x0c",
    ],
)
def test_what_is_no_json(content: bytes) -> None:
    assert reason(content)[0] == "not_json"


@pytest.mark.parametrize("odd", [b"\xff", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc3"])
def test_what_is_no_utf8(odd: bytes) -> None:
    # The byte at fault: counted from 1, behind {"event_id":"
    content = line().replace(b'"event_id":"e', b'"event_id":"' + odd)
    assert reason(content) == ("encoding", "byte 14 of the line is not valid UTF-8")


@pytest.mark.parametrize(
    "text",
    ['{"":1}', '{"a\\n":1}', '{"a":4}', '{"a":-1}', '{"a":1.0}', '{"a":null}', '{"a":"1"}', "[]", LONG_NAME],
)
def test_scores_that_are_refused(text: str) -> None:
    assert reason(line(GATE, scores=text), GATE)[0] == "schema"


@pytest.mark.parametrize(
    "name", ["event_id", "ts", "correlation_id", "caller", "tool", "privilege", "side_effects", "outcome"]
)
def test_what_has_to_be_there(name: str) -> None:
    assert reason(line(**{name: None})) == ("schema", name)
    assert reason(line(**{name: "null"})) == ("schema", name)


def test_a_refused_line_teaches_nothing() -> None:
    without = line(outcome=None)
    validator = ColumnarValidator(least=1)
    for _ in range(3):
        (found,) = validator.validate_all([Batch([without] * 30, 1, DIALECT)])
        assert [reject.errors for reject in found.rejects] == ["outcome: Field required"] * 30


@pytest.mark.parametrize("empty", ["null", "[]", '[{"action":"a"}]', '[{"action":"a","executed":true}]'])
def test_an_action_needs_all_of_its_fields_whatever_was_learnt(empty: str) -> None:
    for text in ("[{}]", '[{"action":"a"}]', '[{"executed":true}]', "[null]"):
        validator = ColumnarValidator(least=1)
        for taught in (empty, empty, text, text):
            (found,) = validator.validate_all([Batch([line(RECORD, actions_attempted=taught)] * 30, 1, DIALECT)])
        assert found.accepted.height == 0
        assert {reject.reason for reject in found.rejects} == {"schema"}


def test_an_unknown_number_that_is_too_large_is_refused() -> None:
    assert reason(line(x="1e999")) == ("schema", "x")
