"""Each trap once, by name: what must come out of the columnar validator when it knows the producer's shape.

Here what is accepted, and with which values: worked out by hand, not asked of the row validator.
"""

from __future__ import annotations

import json
from datetime import datetime

import pytest

from ingest.columnar import ColumnarValidator
from ingest.lines import OverLong
from ingest.validate import Batch
from tests.ingest.columnar.taught import DIALECT, GATE, RECORD, judged, line, reason, value


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-06-03T10:00:00.1234567Z", "2026-06-03T10:00:00.123456"),  # cut, not rounded
        ("2026-06-03T10:00:00.9999999Z", "2026-06-03T10:00:00.999999"),
        ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999"),
        ("2026-06-03T10:00:00.5+05:30", "2026-06-03T04:30:00.500000"),
        ("2026-01-01T00:00:00-23:59", "2026-01-01T23:59:00"),
        ("2026-01-01T00:00:00-00:00", "2026-01-01T00:00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00"),  # a leap second
        ("2016-12-31T23:59:60.9Z", "2017-01-01T00:00:00"),
        ("2024-02-29T12:00:00Z", "2024-02-29T12:00:00"),
        ("2000-02-29T12:00:00Z", "2000-02-29T12:00:00"),
        ("2026-06-03t10:00:00z", "2026-06-03T10:00:00"),
        ("2026-06-03 10:00:00Z", "2026-06-03T10:00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999"),
        ("2262-04-12T00:00:00Z", "2262-04-12T00:00:00"),  # beyond 64 bits of nanoseconds
        ("1582-10-10T00:00:00Z", "1582-10-10T00:00:00"),  # a day that the Julian calendar left out
    ],
)
def test_a_time(text: str, utc: str) -> None:
    assert value(line(ts=f'"{text}"'), "ts") == datetime.fromisoformat(utc)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1", "1.0"),
        ("1.50", "1.5"),
        ("1e-05", "1e-05"),
        ("1E+2", "100.0"),
        ("0", "0.0"),
        ("0.30000000000000004", "0.30000000000000004"),
        ("9007199254740993", "9007199254740992.0"),
        ("1e23", "1e+23"),
        ("8.41e21", "8.41e+21"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("2.2250738585072011e-308", "2.225073858507201e-308"),
        ("1e-400", "0.0"),
        ("-0.0", "-0.0"),  # it is not less than 0
        ("123456789012345678901234567890", "1.2345678901234568e+29"),
    ],
)
def test_a_float(text: str, told: str) -> None:
    assert repr(value(line(amount=text), "amount")) == told


@pytest.mark.parametrize("number", [1, 2**53, 2**53 + 1, 10**18 - 1, 10**18, 2**63 - 1])
def test_an_integer(number: int) -> None:
    assert value(line(attempt=str(number)), "attempt") == number
    assert value(line(tokens=f'{{"in":{number}}}'), "tokens") == {"in": number, "out": None}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"a\\/b"', "a/b"),
        ('"\\u0041\\ud83d\\ude00"', "A😀"),
        ('"\\"\\\\"', '"\\'),
        ('"\u00a0\u2028\uffff"', "\u00a0\u2028\uffff"),
        ('"' + "x" * 1_000 + '"', "x" * 1_000),
        ('"' + "é" * 1_000 + '"', "é" * 1_000),
        ('"' + "漢" * 1_000 + '"', "漢" * 1_000),
        ('"' + "😀" * 1_000 + '"', "😀" * 1_000),
        ('"' + "\\ud83d\\ude00" * 1_000 + '"', "😀" * 1_000),
    ],
)
def test_a_name(text: str, told: str) -> None:
    assert value(line(target=text), "target") == told


def test_free_text_may_hold_control_characters_and_nothing() -> None:
    assert value(line(note='"a\\u0000\\n\\u007f"'), "note") == "a\x00\n\x7f"
    assert value(line(note='""'), "note") == ""
    assert value(line(note='"' + "\\n" * 2_000 + '"'), "note") == "\n" * 2_000


def test_slugs_are_lower_case() -> None:
    assert value(line(caller='"HERMES.A/b:C"'), "caller") == "hermes.a/b:c"


def test_the_last_of_equal_keys_counts() -> None:
    assert value(line(amount='2,"amount":3'), "amount") == 3.0
    assert value(line(target='"first","target":"last"'), "target") == "last"
    assert value(line(tokens='{"in":1,"in":7}'), "tokens") == {"in": 7, "out": None}
    assert value(line(x='1,"x":2'), "extra") == '{"x":2}'
    assert value(line(t='1,"\\u0074arget":"escaped"'), "target") == "escaped"
    assert reason(line(attempt='1,"attempt":"x"')) == ("schema", "attempt")
    assert reason(line(amount='"x","amount":1,"kind":"no.kind"'))[0] == "unknown_kind"


def test_the_last_of_equal_names_in_a_dictionary_counts() -> None:
    twice = line(GATE, scores='{"tone":1,"facts":3,"tone":0}')
    assert value(twice, "scores", GATE) == [{"name": "facts", "value": 3}, {"name": "tone", "value": 0}]
    escaped = line(GATE, scores='{"tone":1,"\\u0074one":2}')
    assert value(escaped, "scores", GATE) == [{"name": "tone", "value": 2}]


def test_dictionaries_in_the_order_of_their_names() -> None:
    text = '{"b":1,"\U0001f600":3,"\uffff":2,"B":0}'
    names = ["B", "b", "\uffff", "\U0001f600"]  # by code point, as Python sorts and bytes do
    assert [entry["name"] for entry in value(line(GATE, scores=text), "scores", GATE)] == names
    assert value(line(GATE, scores="{}"), "scores", GATE) == []
    assert value(line(GATE, scores="null"), "scores", GATE) is None


def test_what_is_missing_is_null_and_so_is_null() -> None:
    assert value(line(tokens=None), "tokens") is None
    assert value(line(tokens="null"), "tokens") is None
    assert value(line(tokens="{}"), "tokens") == {"in": None, "out": None}
    assert value(line(attempt=None), "attempt") == 1


def test_nested_values() -> None:
    text = '[{"action":"a","executed":false,"amount":-0.0},{"action":"b","executed":true,"target":"t"}]'
    first, second = value(line(RECORD, actions_attempted=text), "actions_attempted", RECORD)
    assert (first["action"], first["executed"], repr(first["amount"]), first["target"]) == ("a", False, "-0.0", None)
    assert (second["action"], second["executed"], second["amount"], second["target"]) == ("b", True, None, "t")
    assert value(line(RECORD, actions_attempted="[]"), "actions_attempted", RECORD) == []
    sla = value(line(RECORD, sla='{"resolved_at":"2026-06-03T10:00:00.9999999+01:00","state":"ok"}'), "sla", RECORD)
    assert sla["resolved_at"] == datetime(2026, 6, 3, 9, 0, 0, 999_999)  # noqa: DTZ001 - columns hold naive UTC
    refused = ('["h",null]', '[""]', '"h"', "[1]", '{"a":"h"}')
    assert {reason(line(RECORD, heads_dispatched=text), RECORD) for text in refused} <= {
        ("schema", f"heads_dispatched{place}") for place in ("", "[0]", "[1]")
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1.0", "1.0"),
        ("1.50", "1.5"),
        ("1e2", "100.0"),
        ("-0", "0"),
        ("-0.0", "-0.0"),
        ("null", "null"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ('"a\\/\\u0041"', '"a/A"'),
        ('{"b":1,"a":[1,{"c":null}]}', '{"b":1,"a":[1,{"c":null}]}'),
        ('{"b":1,"b":2}', '{"b":2}'),
        ("[ ]", "[]"),
        ('""', '""'),
    ],
)
def test_an_unknown_field_is_kept(text: str, told: str) -> None:
    assert value(line(x=text), "extra") == f'{{"x":{told}}}'


def test_a_path_of_two_unknown_fields() -> None:
    # A nested field and one whose name looks like its path: the nested one is found last.
    both = line(tokens='{"in":1,"owner":"inside"}', x='1,"tokens.owner":"outside"')
    assert json.loads(value(both, "extra")) == {"x": 1, "tokens.owner": "inside"}


def test_names_that_differ_in_case_are_two_fields() -> None:
    assert value(line(x='1,"Target":"no"'), "target") == "t"
    assert json.loads(value(line(x='1,"Target":"no"'), "extra")) == {"x": 1, "Target": "no"}


def test_blank_and_over_long_lines() -> None:
    found = judged(b"", b" \t", b"\r", b"\x0b", b"\n", OverLong(2_000_000, "0" * 64), line(), b"null", b"[]")
    assert found.blank == 4
    reasons = [(reject.seq, reject.reason) for reject in found.rejects]
    assert reasons == [(5, "not_json"), (6, "line_too_long"), (8, "not_an_object"), (9, "not_an_object")]
    assert found.accepted["seq"].to_list() == [7]


def test_what_may_stand_behind_an_object() -> None:
    for tail in (b"\r", b" ", b"\t\n", b"\n"):
        assert value(line() + tail, "event_id") == "e"


def test_the_dialect_that_was_asked_for() -> None:
    validator = ColumnarValidator(least=1)
    validator.validate_all([Batch([line()] * 40, 1, "auto")])
    asked = ("native", "xenia", "auto")
    batches = [Batch([line()], number, dialect) for number, dialect in enumerate(asked)]
    native, xenia, both = validator.validate_all(batches)
    assert native.accepted["dialect"].to_list() == both.accepted["dialect"].to_list() == ["native"]
    assert [reject.reason for reject in xenia.rejects] == ["dialect"]


def test_the_ticket_is_the_correlation() -> None:
    head = {"event_id": '"e"', "ts": '"2026-06-03T10:00:00Z"', "kind": '"xenia.escalated"'}
    xenia = {**head, "ticket_id": '"T"', "path": '"p"'}
    assert value(line(xenia), "correlation_id", xenia) == "T"
    assert value(line(xenia, ticket_id="null"), "correlation_id", xenia) is None
    assert value(line(xenia, ticket_id=None), "correlation_id", xenia) is None


def test_a_stream_of_decision_records_is_not_taken_for_events() -> None:
    validator = ColumnarValidator(least=1)
    lines = [line(RECORD)] * 30
    events, files = validator.validate_all([Batch(lines, 1, "auto"), Batch(lines, 31, "decision_record")])
    assert events.accepted.height == 30
    assert {reject.reason for reject in files.rejects} == {"dialect"}


def test_personal_data_is_taken_out_before_the_verdict() -> None:
    validator = ColumnarValidator(least=1)
    plain = [line()] * 40
    validator.receive_all([Batch(plain, 0, DIALECT)])
    escaped, refused = line(x='"\\u006aane@example.com"'), line(attempt='"jane@example.com"')
    sent = [line(note='"to jane@example.com"'), escaped, line(), refused]
    ((redacted, found),) = validator.receive_all([Batch(sent, 0, DIALECT)])
    assert [redaction.counts for redaction in redacted.redactions.values()] == [{"email": 1}] * 3
    assert list(redacted.redactions) == [0, 1, 3]
    assert redacted.lines[2] == sent[2]
    assert found.accepted["note"].to_list() == ["to [email]", "n", "n"]
    assert found.accepted["extra"].to_list() == ['{"x":1}', '{"x":"[email]"}', '{"x":1}']
    assert [reject.line for reject in found.rejects] == [redacted.lines[3]]
