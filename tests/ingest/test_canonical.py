"""Content is compared by canonical JSON: another spelling is no conflict, another content is no duplicate."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from ingest.contract import Judged, judge
from tests.ingest.builders import line
from tests.ingest.canonical_event import content_of


def _canonical(content: bytes) -> bytes:
    judged = judge(content, "auto")
    assert isinstance(judged, Judged), judged
    return content_of(judged)


def test_the_canonical_form_by_hand() -> None:
    content = b"""{"ts":"2026-06-03T12:00:00.5+02:00","event_id":"e","kind":"tool.invocation","correlation_id":"c",
        "caller":"HERMES","tool":"Mail","privilege":"read","side_effects":"none","outcome":"success","note":null,
        "tokens":{"out":2,"in":null},"amount":10.0,"zz":[1e21,1e-7,0.5,true,null],"A":"\\u20ac\\n"}"""
    expected = (
        '{"A":"€\\n","amount":10,"attempt":1,"caller":"hermes","correlation_id":"c","event_id":"e","kind":"tool.invocation",'
        '"outcome":"success","privilege":"read","side_effects":"none","tokens":{"out":2},"tool":"mail",'
        '"ts":"2026-06-03T10:00:00.500000Z","zz":[1e+21,1e-7,0.5,true,null]}'
    )
    assert _canonical(content.replace(b"\n", b" ")).decode() == expected


@pytest.mark.parametrize(
    "other",
    [
        line(ts="2026-06-03T12:00:00+02:00"),
        line(ts="2026-06-03t10:00:00.000Z"),
        line(caller="Hermes"),
        line(reason=None),
        b" " + line().replace(b":", b" : ", 2),
        b'{"fallback":"by hand",' + line()[1 : -len(b',"fallback":"by hand"}')] + b"}",
    ],
)
def test_spelling_is_no_content(other: bytes) -> None:
    assert _canonical(other) == _canonical(line())


@pytest.mark.parametrize(
    "other",
    [
        line(ts="2026-06-03T10:00:00.000001Z"),
        line(reason=""),
        line(new=0),
        line(tool="fax"),
        line(correlation_id="C1"),
    ],
)
def test_everything_else_is(other: bytes) -> None:
    assert _canonical(other) != _canonical(line())


@pytest.mark.parametrize("number", ["123456789012345678901234567890", "9007199254740992", "-9007199254740993"])
def test_integers_beyond_the_canonical_domain_are_told_apart(number: str) -> None:
    content = line()[:-1] + b',"n":' + number.encode() + b"}"
    assert f'"n":"int:{number}"'.encode() in _canonical(content)


NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        [0.0, -0.0, 1e21, 1e20, 1e16, 1e15, 123456789012345680.0, 1e-4, 9.9e-5, 1e-6, 1e-7, 5e-324, 333333333.3]
    ),
)
NAMES = st.one_of(st.sampled_from(["a", "A", "é", "\ue000", "\U0001f600", "", "\n", "\x7f", "€"]), st.text(max_size=4))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


@given(st.dictionaries(NAMES.map(lambda name: "x" + name), VALUES, max_size=4))
def test_it_is_what_the_reference_implementation_says(extra: dict[str, Any]) -> None:
    judged = judge(line(**extra), "auto")
    assert isinstance(judged, Judged)
    expected = _without_nulls(from_json(line(**extra))) | {"ts": "2026-06-03T10:00:00.000000Z"}
    assert content_of(judged) == rfc8785.dumps(expected)
