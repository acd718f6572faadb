"""What a value may look like: times, names, numbers. Nothing is guessed or silently turned into another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.columns import extra_of, row_of
from schemas.common import Event
from schemas.events import KINDS
from schemas.fields import parse_rfc3339

CALL: dict[str, Any] = {
    "event_id": "e1",
    "ts": "2026-06-03T10:00:00Z",
    "kind": "tool.invocation",
    "correlation_id": "c1",
    "caller": "hermes",
    "tool": "issue_refund",
    "privilege": "write",
    "side_effects": "irreversible",
    "outcome": "success",
}


def read(**changes: Any) -> Event:
    """The valid call with some fields changed."""
    return KINDS["tool.invocation"].model_validate({**CALL, **changes})


def refused(**changes: Any) -> list[str]:
    """The fields that the contract complains about."""
    with pytest.raises(ValidationError) as raised:
        read(**changes)
    return [".".join(str(part) for part in problem["loc"]) for problem in raised.value.errors()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-06-03T22:28:09.521Z", (2026, 6, 3, 22, 28, 9, 521_000)),
        ("2026-06-03t22:28:09z", (2026, 6, 3, 22, 28, 9, 0)),
        ("2026-06-03 22:28:09Z", (2026, 6, 3, 22, 28, 9, 0)),
        ("2026-06-03T22:28:09+02:00", (2026, 6, 3, 20, 28, 9, 0)),
        ("2026-06-03T22:28:09-05:30", (2026, 6, 4, 3, 58, 9, 0)),
        ("2026-06-03T22:28:09+00:00", (2026, 6, 3, 22, 28, 9, 0)),
        ("2026-06-03T22:28:09-00:00", (2026, 6, 3, 22, 28, 9, 0)),
        ("2026-06-03T00:30:00+23:59", (2026, 6, 2, 0, 31, 0, 0)),
        ("2024-02-29T12:00:00Z", (2024, 2, 29, 12, 0, 0, 0)),
        ("2026-06-03T22:28:09.123456789Z", (2026, 6, 3, 22, 28, 9, 123_456)),
        ("2026-06-03T22:28:09.9999999Z", (2026, 6, 3, 22, 28, 9, 999_999)),
        ("2026-06-03T22:28:09.000000999Z", (2026, 6, 3, 22, 28, 9, 0)),
        ("2016-12-31T23:59:60Z", (2017, 1, 1, 0, 0, 0, 0)),
        ("2016-12-31T23:59:60.75Z", (2017, 1, 1, 0, 0, 0, 0)),
        ("2017-01-01T00:59:60+01:00", (2017, 1, 1, 0, 0, 0, 0)),
        ("0001-01-01T00:00:00Z", (1, 1, 1, 0, 0, 0, 0)),
        ("9999-12-31T23:59:59.999999Z", (9999, 12, 31, 23, 59, 59, 999_999)),
    ],
)
def test_a_timestamp_is_an_instant_in_utc_to_the_microsecond(text: str, expected: tuple[int, ...]) -> None:
    """Offsets move it to UTC, digits past the microsecond are cut, a leap second is the next minute's first instant."""
    found = parse_rfc3339(text)
    assert found == datetime(*expected, tzinfo=UTC)  # type: ignore[misc,arg-type]
    assert found.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-06-03",
        "2026-06-03T22:28:09",
        "2026-06-03T22:28Z",
        "2026-06-03T22:28:09.Z",
        "2026-06-03T22:28:09,5Z",
        "20260603T222809Z",
        "2026-06-03T22:28:09+0200",
        "2026-06-03T22:28:09+02",
        "2026-06-03T22:28:09+24:00",
        "2026-06-03T22:28:09-23:60",
        "2026-06-03T24:00:00Z",
        "2026-06-03T22:60:09Z",
        "2026-06-03T22:28:61Z",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "9999-12-31T23:59:59-00:01",
        "9999-12-31T23:59:60Z",
        "0001-01-01T00:00:00+00:01",
        "infinity",
        "-infinity",
        "epoch",
        "now",
        "1780525689",
        " 2026-06-03T22:28:09Z",
        "2026-06-03T22:28:09Z\n",
        "\uff12026-06-03T22:28:09Z",
    ],
)
def test_what_is_no_timestamp_with_an_offset_is_refused(text: str) -> None:
    """DuckDB would take `infinity`, Python a date alone or non-ASCII digits: the contract takes none of them."""
    with pytest.raises(ValueError, match=r"timestamp|time that exists|out of range"):
        parse_rfc3339(text)
    assert refused(ts=text) == ["ts"]


@pytest.mark.parametrize("value", [1780525689, 1780525689.5, None, True, [], {}])
def test_a_number_is_no_timestamp(value: Any) -> None:
    """Seconds and milliseconds since 1970 look alike, so neither is guessed."""
    assert refused(ts=value) == ["ts"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("event_id", 5),
        ("correlation_id", 5),
        ("target", 12.5),
        ("target", True),
        ("attempt", "5"),
        ("attempt", 5.0),
        ("attempt", 1.5),
        ("attempt", True),
        ("attempt", 0),
        ("attempt", 2**63),
        ("amount", "12"),
        ("amount", True),
        ("amount", -0.01),
        ("amount", float("nan")),
        ("amount", float("inf")),
        ("duration_ms", -1),
        ("cost_usd", float("-inf")),
        ("verified", 1),
        ("verified", "true"),
        ("tokens", {"in": -1}),
        ("tokens", {"in": 1.0}),
        ("tokens", 5),
        ("outcome", "Success"),
        ("outcome", "ok"),
        ("privilege", "admin"),
        ("layer", "kitchen"),
        ("input_digest", "sha256:" + "a" * 63),
        ("input_digest", "sha256:" + "A" * 64),
        ("input_digest", "md5:" + "a" * 64),
        ("trace_id", "A" * 32),
        ("trace_id", "a" * 31),
        ("span_id", "0" * 17),
        ("kind", "tool.degradation"),
    ],
)
def test_a_value_of_another_type_or_out_of_range_is_refused(field: str, value: Any) -> None:
    """Strict: a number for a string, "5" or 5.0 for 5, true for 1 and NaN are mistakes that are not ours to mend."""
    assert {place.split(".")[0] for place in refused(**{field: value})} == {field}


def test_the_limits_themselves_are_allowed() -> None:
    """A bound is inclusive, and a whole number is a number."""
    event = read(
        event_id="x" * 200,
        attempt=2**63 - 1,
        amount=0,
        duration_ms=0.0,
        tokens={"in": 0, "out": None},
        target="t" * 1_000,
        note="n" * 2_000,
        input_digest="sha256:" + "0" * 64,
    )
    row = event.model_dump()
    assert (row["attempt"], row["amount"], row["duration_ms"]) == (9_223_372_036_854_775_807, 0.0, 0.0)
    assert refused(event_id="x" * 201) == ["event_id"]
    assert refused(event_id="") == ["event_id"]
    assert refused(target="t" * 1_001) == ["target"]
    assert refused(note="n" * 2_001) == ["note"]


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("Hermes", "hermes"),
        ("KB.Search:v2/Fast_-x", "kb.search:v2/fast_-x"),
        ("9lives", "9lives"),
        ("A" * 200, "a" * 200),
    ],
)
def test_slugs_are_lower_cased(given: str, stored: str) -> None:
    """Callers, tools and gates join across producers that spell them differently."""
    event = read(caller=given, tool=given)
    assert (event.model_dump()["caller"], event.model_dump()["tool"]) == (stored, stored)


@pytest.mark.parametrize(
    "slug", ["", "a" * 201, "-a", ".a", "_a", "a b", "a\n", "\na", "é", "a\u0000", "a@b", "\u017f", "\u212a"]
)
def test_what_is_no_slug_is_refused(slug: str) -> None:
    """The bounds hold for what was sent, and no letter outside ASCII slips in by way of its lower case.

    The last two are LATIN SMALL LETTER LONG S and KELVIN SIGN, whose other cases are `S` and `k`.
    """
    assert refused(caller=slug) == ["caller"]


@pytest.mark.parametrize("control", ["\x00", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9f"])
@pytest.mark.parametrize("field", ["event_id", "correlation_id", "run_id", "target", "call_id"])
def test_an_id_has_no_control_characters(field: str, control: str) -> None:
    """An id is printed, joined and compared; one that ends in a line feed would look like another."""
    for value in (f"a{control}b", f"a{control}", f"{control}a"):
        assert refused(**{field: value}) == [field]


def test_an_id_may_be_anything_else() -> None:
    """Spaces, non-ASCII letters and quotes are somebody's real identifiers."""
    for value in ("C:/Xenia/übung 1.md", "票-1", 'O\'Neil "x"', "%_\\", " "):
        assert read(event_id=value).event_id == value


def test_unknown_fields_are_kept_with_their_path() -> None:
    """Drift never rejects an event, and what a producer added is still there, also deep inside."""
    record = {
        "event_id": "r1",
        "ts": "2026-06-03T10:00:00Z",
        "kind": "decision.record",
        "correlation_id": "c1",
        "decision_id": "DR-1",
        "terminal_state": "RESOLVED",
        "mood": "good",
        "sla": {"state": "ok", "owner": {"team": 7}},
        "actions_attempted": [
            {"action": "refund", "executed": True},
            {"action": "tag", "executed": False, "why": None},
        ],
        "rubric_verdicts": [{"rubric_id": "tone", "pass": True, "seal": "cleared"}],
        "tokens": {"in": 1, "out": 2, "cached": 3},
    }
    event = KINDS["decision.record"].model_validate(record)
    assert extra_of(event) == {
        "mood": "good",
        "sla.owner": {"team": 7},
        "actions_attempted[1].why": None,
        "rubric_verdicts[0].seal": "cleared",
        "tokens.cached": 3,
    }
    assert extra_of(read()) == {}


def test_an_attribute_name_is_not_a_field_name() -> None:
    """`in` and `pass` are the names on the wire; our own spelling of them is just another unknown field."""
    event = read(tokens={"in_": 5, "out": 1})
    assert row_of(event)["tokens"] == {"in": None, "out": 1}
    assert extra_of(event) == {"tokens.in_": 5}


def test_an_event_cannot_be_changed() -> None:
    """What was validated stays what it was."""
    with pytest.raises(ValidationError):
        read().event_id = "other"


@pytest.mark.parametrize("reference", ["customer:jane.doe", "Jane", "customer:", "customer:ABCDEF", "customer:abcde"])
def test_a_customer_is_a_hash(reference: str) -> None:
    """`customer:<hash>` and nothing that could be a name."""
    line = {"event_id": "x1", "ts": "2026-06-03T10:00:00Z", "kind": "xenia.escalated", "customer_ref": reference}
    with pytest.raises(ValidationError):
        KINDS["xenia.escalated"].model_validate(line)
    assert KINDS["xenia.escalated"].model_validate({**line, "customer_ref": "customer:7f3a9c21"})
