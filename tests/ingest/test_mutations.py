"""Broken lines and records of every kind: no crash, every line accounted for, nothing personal left behind."""

from __future__ import annotations

import json
import random
import re

import duckdb

from ingest.contract import Judged, Problem, judge
from ingest.ledger.chunks import decode, encode
from ingest.redact import redact_lines
from ingest.validate import Batch, RowValidator
from schemas.columns import create_table
from tests.ingest.builders import line, record
from tests.ingest.test_ledger import chunk

TOKENS = [
    b"null", b"true", b"1e999", b"-0.0", b"1E5", b"99999999999999999999", b'"\\ud800"', b'"\\u0000"', b"[]", b"{}",
    b'"a@b.co"', b'"555-123-4567"', b"[[[[[", '"😀"'.encode(), b"NaN", b'"2026-06-03T10:00:00Z"', b"0.1e-7",
    b'"customer:Jane"', b"4111111111111111", b'"+49 170 1234567"',
]  # fmt: skip
NAMES = [b"reason", b"kind", b"event_id", b"customer_ref", b"x y", b"ts", b"tokens", b"sla"]
BASE = [
    line("a", reason="to a@b.co"),
    line("b", customer_ref="customer:7f3a9c21", x={"y": [1, None]}),
    b'{"event_id":"x","ts":"2026-06-03T10:00:00.5+02:00","kind":"xenia.escalated","ticket_id":null,"tokens":{"in":1}}',
]
PERSONAL = re.compile(rb'"(?:a@b\.co|\+49 170 1234567)"')


def _mutated(content: bytes, chance: random.Random) -> bytes:
    broken = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(broken) + 1)
        how = chance.randrange(7)
        if how == 0 and at < len(broken):
            broken[at] ^= 1 << chance.randrange(8)
        elif how == 1:
            del broken[at : at + chance.randrange(1, 20)]
        elif how == 2:
            broken[at:at] = chance.choice(TOKENS)
        elif how == 3:
            del broken[at:]
        elif how in (4, 5):
            pattern = rb':("(?:[^"\\]|\\.)*"|[-0-9.]+|null)' if how == 4 else rb'"([a-z_]+)":'
            places = list(re.finditer(pattern, broken))
            if places:
                place = chance.choice(places)
                broken[place.start(1) : place.end(1)] = chance.choice(TOKENS if how == 4 else NAMES)
        else:
            broken[1:1] = b'"reason":' + chance.choice(TOKENS) + b","
    return bytes(broken).replace(b"\n", b"")


def test_mutated_lines() -> None:
    chance = random.Random(20260603)
    contents = [_mutated(chance.choice(BASE), chance) for _ in range(6_000)]
    redacted = redact_lines(contents, "auto")
    assert redact_lines(redacted.lines, "auto").redactions == {}
    found = RowValidator().validate_all([Batch(redacted.lines, 1, "auto")])[0]
    assert found.accepted.height + len(found.rejects) + found.blank == len(contents)
    assert found.accepted.height > 500
    reasons = {reject.reason for reject in found.rejects}
    assert reasons == {"not_json", "not_an_object", "unknown_kind", "schema", "encoding"}
    assert all(reject.errors.isprintable() for reject in found.rejects)
    # A contract field of an accepted event may hold an address; a rejected line may not.
    assert not [reject for reject in found.rejects if PERSONAL.search(reject.line or b"")]
    with duckdb.connect() as connection:
        connection.execute(create_table("events"))
        connection.register("found", found.accepted)
        connection.execute("INSERT INTO events SELECT * FROM found")
        assert connection.execute("SELECT count(*) FROM events").fetchall() == [(found.accepted.height,)]
    whole = chunk(1, redacted.lines)
    assert decode(encode(whole)) == whole


def test_mutated_records() -> None:
    chance = random.Random(7)
    text = record().replace(
        "sla:", "notes: >\n  call +49 170 1234567\nactions_attempted:\n- {action: a, executed: yes}\nsla:"
    )
    pieces = [
        "\t",
        "  ",
        ": ",
        "- ",
        '"',
        "'",
        "[",
        "}",
        "&a ",
        "*a",
        "# ",
        "\n",
        "|\n",
        "a@b.co",
        "\x01",
        "\u2028",
        "? ",
        "!!x ",
    ]
    accepted = 0
    for _ in range(600):
        broken = text
        for _ in range(chance.choice((1, 1, 2, 4))):
            at = chance.randrange(len(broken) + 1)
            broken = broken[:at] + chance.choice([*pieces, ""]) + broken[at + chance.choice((0, 0, 1, 8)) :]
        content = json.dumps({"path": "r.md", "mtime": "2026-01-01T00:00:00Z", "text": broken}).encode()
        before = judge(content, "decision_record")
        assert isinstance(before, Judged | Problem)
        (clean,) = redact_lines([content], "decision_record").lines
        assert isinstance(clean, bytes)
        after = judge(clean, "decision_record")
        assert isinstance(after, type(before))
        assert redact_lines([clean], "decision_record").redactions == {}
        if isinstance(after, Judged):
            accepted += 1
            assert all(warning.isprintable() for warning in after.warnings)
            assert "+49 170 1234567" not in json.dumps(after.extra)
    assert accepted > 300


def test_an_overflow_in_a_field_without_a_name_is_refused() -> None:
    # Its path is empty, but found all the same: no canonical form could be made of the event later on.
    for odd in (b'{"":1e400', b'{"":[{"":-1e400}]', b'{"x":{"":1e999}'):
        found = RowValidator().validate_all([Batch([odd + b"," + line()[1:]], 1, "auto")])[0]
        (reject,) = found.rejects
        assert reject.reason == "schema"
        assert reject.errors.endswith("is a number that is too large to be represented")
