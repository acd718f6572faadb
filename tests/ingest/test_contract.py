"""The verdict on one line: the reason and a sentence that somebody can act on."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from ingest.contract import Judged, Problem, judge
from ingest.sentences import short, where
from tests.ingest.builders import line

CASES = [
    (b'{"a":', "not_json", "EOF while parsing a value at column 5"),
    (b'{"a":NaN}', "not_json", "expected value at column 6"),
    (b'{"a":1,}', "not_json", "trailing comma at column 8"),
    (b"{'a':1}", "not_json", "key must be a string at column 2"),
    (b'{"a":"\\ud800"}', "not_json", "unexpected end of hex escape at column 13"),
    (b"[" * 1000, "not_json", "recursion limit exceeded at column 202"),
    (b'{"a":"\xc0\xaf"}', "encoding", "byte 7 of the line is not valid UTF-8"),
    (b"[]", "not_an_object", "is a JSON array, but an event is a JSON object"),
    (b'"x"', "not_an_object", "is a JSON string, but an event is a JSON object"),
    (b"null", "not_an_object", "is a JSON null, but an event is a JSON object"),
    (b"true", "not_an_object", "is a JSON boolean, but an event is a JSON object"),
    (b"-1.5", "not_an_object", "is a JSON number, but an event is a JSON object"),
    (b"{}", "schema", "kind: Field required"),
    (b'{"kind":7}', "schema", "kind: Input should be a valid string"),
    (line(kind="tool.teleport"), "unknown_kind", "kind tool.teleport is not one of the 19 kinds of the contract"),
    (line(ts=7), "schema", "ts: Input should be a valid datetime"),
    (
        line(ts="2026-06-03"),
        "schema",
        "ts: must be an RFC 3339 timestamp with an offset, like 2026-06-03T22:28:09.521Z",
    ),
    (line(ts="2026-02-30T00:00:00Z"), "schema", "ts: is not a time that exists: day is out of range for month"),
    (line("a\0b"), "schema", "event_id: must not contain control characters"),
    (line("x" * 201), "schema", "event_id: String should have at most 200 characters"),
    (line(caller="no spaces please"), "schema", "caller: String should match pattern '^[a-z0-9][a-z0-9._:/-]*$'"),
    (line(run_id=5, tool=5), "schema", "run_id: Input should be a valid string; tool: Input should be a valid string"),
    (b'{"resourceSpans":[]}', "dialect", "is written in the otlp dialect, which this version does not read yet"),
    (
        b'{"specversion":"1.0","id":"1","source":"s","type":"t"}',
        "dialect",
        "is written in the cloudevents dialect, which this version does not read yet",
    ),
    (
        b'{"type":"user","sessionId":"s","message":{}}',
        "dialect",
        "is written in the claude-code dialect, which this version does not read yet",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reason", "errors"), CASES)
def test_rejections_say_why(content: bytes, reason: str, errors: str) -> None:
    assert judge(content, "auto") == Problem(reason, errors)


@pytest.mark.parametrize("content", [b"", b" ", b"\t\r", b"\x0b\x0c"])
def test_blank_lines_are_no_lines(content: bytes) -> None:
    assert judge(content, "auto") is None


@pytest.mark.parametrize(
    ("field", "path"), [('"x":1e999', "x"), ('"x":{"y":[0,-1e999]}', "x.y[1]"), ('"x":1' + "0" * 400 + ".5", "x")]
)
def test_numbers_that_nothing_can_hold_are_refused(field: str, path: str) -> None:
    told = f"{path}: is a number that is too large to be represented"
    assert judge(line()[:-1] + b"," + field.encode() + b"}", "auto") == Problem("schema", told)


def test_numbers_of_the_contract_are_bounded() -> None:
    call = {"kind": "tool.invocation", "privilege": "read", "side_effects": "none", "outcome": "success"}
    for field, value in (("attempt", 2**63), ("amount", 10**400), ("attempt", 1.0), ("attempt", True), ("amount", "5")):
        found = judge(line(**{**call, field: value}), "auto")
        assert isinstance(found, Problem)
        assert found.reason == "schema"
        assert found.errors.startswith(f"{field}: ")
    assert isinstance(judge(line(**call, amount=10**30, attempt=2**63 - 1), "auto"), Judged)


def test_many_problems_are_cut_and_values_not_echoed() -> None:
    bad = {
        "event_id": "secret" * 50,
        **{key: [] for key in ("ts", "caller", "tool", "fallback", "correlation_id", "run_id")},
    }
    found = judge(json.dumps({"kind": "tool.degradation", **bad}).encode(), "auto")
    assert isinstance(found, Problem)
    assert found.errors.endswith("; and 2 more")
    assert found.errors.count(";") == 5
    assert "secret" not in found.errors
    assert "http" not in found.errors
    assert "\n" not in found.errors


def test_the_last_of_repeated_keys_counts() -> None:
    found = judge(line()[:-1] + b',"tool":"fax"}', "auto")
    assert isinstance(found, Judged)
    assert found.event.tool == "fax"


def test_the_dialect_is_told_by_shape_and_can_be_demanded() -> None:
    xenia = b'{"event_id":"e","ts":"2026-06-03T10:00:00+02:00","kind":"xenia.escalated","ticket_id":null}'
    for content, spoken, other in ((line(), "native", "xenia"), (xenia, "xenia", "native")):
        for dialect in ("auto", spoken):
            found = judge(content, dialect)
            assert isinstance(found, Judged)
            assert found.dialect == spoken
        assert judge(content, other) == Problem(
            "dialect", f"is written in the {spoken} dialect, but only {other} was asked for"
        )


def test_unknown_fields_are_kept_by_path() -> None:
    record = {
        "kind": "decision.record", "decision_id": "d", "terminal_state": "RESOLVED", "odd": 1,
        "actions_attempted": [{"action": "a", "executed": True}, {"action": "b", "executed": False, "why": "x"}],
        "sla": {"owner": {"a": 1}},
    }  # fmt: skip
    found = judge(
        json.dumps({"event_id": "e", "ts": "2026-06-03T10:00:00Z", "correlation_id": "c", **record}).encode(), "auto"
    )
    assert isinstance(found, Judged)
    assert found.extra == {"odd": 1, "actions_attempted[1].why": "x", "sla.owner": {"a": 1}}
    assert found.event.ts == datetime(2026, 6, 3, 10, tzinfo=UTC)


def test_sentences_stay_on_one_line() -> None:
    assert short("a\nb\x1b[31m\u202ec") == "a\\nb\\x1b[31m\\u202ec"
    assert short("x" * 100, 10) == "x" * 9 + "…"
    assert where(("actions_attempted", 0, "executed")) == "actions_attempted[0].executed"
