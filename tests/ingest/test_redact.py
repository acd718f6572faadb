"""Redaction of lines: only where people write, nothing else, and everything of a line that is refused."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ingest.contract import Judged, judge
from ingest.lines import OverLong
from ingest.redact import Redaction, redact_line, redact_lines
from ingest.shape import SHAPES
from tests.ingest.builders import Ingest, event, ledger_bytes, line, query, record

MAIL = "jane@example.com"
CARD = 4111111111111111


def _redacted(content: bytes, dialect: str = "auto") -> tuple[bytes, dict[str, int]]:
    found = redact_lines([content], dialect)
    (clean,) = found.lines
    assert isinstance(clean, bytes)
    return clean, found.redactions[0].counts if found.redactions else {}


def _object(content: bytes, dialect: str = "auto") -> Any:
    return json.loads(_redacted(content, dialect)[0])


def test_a_line_without_a_hit_keeps_its_exact_bytes() -> None:
    odd = b'{ "event_id" : "e\\u0031",  "ts":"2026-06-03T10:00:00Z", "kind":"tool.degradation" , "correlation_id":"c", '
    odd += b'"caller":"HERMES","tool":"mail","fallback":"caf\\u00e9 jane@example.com", "note2": 1.0e0 }\r'
    assert isinstance(judge(odd, "auto"), Judged)
    assert _redacted(odd) == (odd, {})


def test_free_text_is_found_by_walking_the_models() -> None:
    found = {f"{kind}.{name}" for kind, shapes in SHAPES.items() for name, shape in shapes.items() if shape.free_text}
    assert found == {
        "tool.invocation.undo",
        "tool.invocation.note",
        "tool.degradation.reason",
        "gate.decision.reason",
        "safety.supersession.reason",
        "decision.record.artifacts",
    }
    inner = SHAPES["decision.record"]
    assert {
        f"{name}.{sub}"
        for name, shape in inner.items()
        for sub, subshape in (shape.fields or {}).items()
        if subshape.free_text
    } == {"actions_attempted.result", "degradations.note", "escalation.trigger"}


def test_only_free_text_and_unknown_fields_are_touched() -> None:
    content = line(
        MAIL, correlation_id=MAIL, fallback=MAIL, reason=f"ask {MAIL}", x={MAIL: [MAIL, CARD, 7, None, True]}
    )
    clean, counts = _redacted(content)
    assert json.loads(clean) == event(
        MAIL,
        correlation_id=MAIL,
        fallback=MAIL,
        reason="ask [email]",
        x={"[email]": ["[email]", "[card]", 7, None, True]},
    )
    assert counts == {"card": 1, "email": 3}
    assert isinstance(judge(clean, "auto"), Judged)


def test_nested_free_text_of_a_native_record() -> None:
    content = {
        "event_id": "e", "ts": "2026-06-03T10:00:00Z", "kind": "decision.record", "correlation_id": "c",
        "decision_id": "d", "terminal_state": "RESOLVED", "artifacts": [f"to {MAIL}", "x"],
        "actions_attempted": [{"action": "a", "executed": True, "by": MAIL, "result": MAIL, "odd": MAIL}],
        "escalation": {"trigger": MAIL, "packet_ref": MAIL},
        "rubric_verdicts": [{"rubric_id": MAIL, "dims": {MAIL: 3}}],
    }  # fmt: skip
    clean = _object(json.dumps(content).encode())
    assert clean["artifacts"] == ["to [email]", "x"]
    assert clean["actions_attempted"] == [
        {"action": "a", "executed": True, "by": MAIL, "result": "[email]", "odd": "[email]"}
    ]
    assert clean["escalation"] == {"trigger": "[email]", "packet_ref": MAIL}
    assert clean["rubric_verdicts"] == content["rubric_verdicts"]


@pytest.mark.parametrize(
    ("content", "clean"),
    [
        (b'{"event_id":"jane@example.com"}', b'{"event_id":"[email]"}'),
        (line(kind="nope", fallback=MAIL, n=CARD), line(kind="nope", fallback="[email]", n="[card]")),
        (b'["jane@example.com",4111111111111111]', b'["[email]","[card]"]'),
        (b"oops jane@example.com \xff \\n555-123-4567", b"oops [email] \xff \\n[phone]"),
        (b'{"a":1e400,"b":"jane@example.com","c":[-1e999]}', b'{"a":1e999,"b":"[email]","c":[-1e999]}'),
        (b'{"a":1e999,"customer_ref":"Jane Doe"}', b'{"a":1e999,"customer_ref":"customer:01332c876518a793"}'),
        (b'{"customer_ref": "Jane Doe",,}', b'{"customer_ref": "customer:01332c876518a793",,}'),
        (b'{"customer_ref":"Jane Doe', b'{"customer_ref":"customer:01332c876518a793'),
        (b'{"a":"\\ud800 jane@example.com"}', b'{"a":"\\ud800 [email]"}'),
    ],
)
def test_a_rejected_line_is_redacted_as_a_whole(content: bytes, clean: bytes) -> None:
    assert _redacted(content)[0] == clean
    assert not isinstance(judge(clean, "auto"), Judged)


def test_what_a_repeated_key_hides_does_not_stay_in_the_line() -> None:
    hidden = line()[:-1] + b',"reason":"jane@example.com","reason":"fine"}'
    clean, counts = _redacted(hidden)
    assert (b"jane" in clean, counts) == (False, {"email": 1})
    assert json.loads(clean) == event(reason="fine")
    hidden = line()[:-1] + b',"customer_ref":"Jane Doe","customer_ref":"customer:7f3a9c21"}'
    assert _object(hidden) == event(customer_ref="customer:7f3a9c21")


@pytest.mark.parametrize("escaped", [b"jane\\u0040example.com", b"\\u006aane@example.com", b"555\\u00a0123\\u00a04567"])
def test_escapes_hide_nothing(escaped: bytes) -> None:
    content = line()[:-1] + b',"reason":"' + escaped + b'"}'
    assert _object(content)["reason"] in ("[email]", "[phone]")


@pytest.mark.parametrize(
    ("content", "clean"),
    [
        (rb"not json alice7\u0040example.com \xff", rb"not json [email] \xff"),
        (rb'{"m":"\u003calice.m\u00fcller@example.com\u003e', rb'{"m":"<[email]>'),
        (rb"not json \"alice7\\u0040example.com\"", rb"not json \"[email]\""),
        (rb"not json alice7\u005c\u00750040example.com", rb"not json [email]"),
        (rb"a line\u000a555-123-4567", rb"a line [phone]"),
        (rb"a line \ud83d\ude00555-123-4567 \ud83d", "a line \U0001f600[phone] ".encode() + rb"\ud83d"),
        (rb"bearer ab1\/cd2\/ef3\/gh4\/ij5,", rb"bearer [secret],"),
        (rb'{"customer_ref"\u003a4711}', rb'{"customer_ref":"customer:de650d61f5bd166a"}'),
        (rb"jane@example.com " + b"\\" * 9 + rb"\u\u\u\u\u\u\u\u\u\u" + b"0075" * 10, None),
    ],
)
def test_escapes_in_a_broken_line_hide_nothing(content: bytes, clean: bytes | None) -> None:
    found, counts = _redacted(content)
    assert counts
    assert clean in (found, None)
    assert _redacted(found) == (found, {})


@pytest.mark.parametrize("content", [rb"not json caf\u00e9 \u0040 a\/b \ud83d\ude00", rb"git\u0040github.com: \u000a"])
def test_escapes_that_hide_nothing_keep_their_bytes(content: bytes) -> None:
    assert _redacted(content) == (content, {})


@pytest.mark.parametrize("free", ["customer:7f3a9c21", "customer:" + "0" * 64, None])
def test_hashed_references_stay(free: str | None) -> None:
    content = line(kind="xenia.escalated", customer_ref=free)
    assert _redacted(content) == (content, {})


@pytest.mark.parametrize(
    ("reference", "hashed"),
    # printf %s 'Jane Doe' | sha256sum | cut -c1-16, and so on
    [
        ("Jane Doe", "01332c876518a793"),
        ("customer:XYZ", "152ed8e0c6a0c68b"),
        (4711, "de650d61f5bd166a"),
        ("", "e3b0c44298fc1c14"),
    ],
)
def test_other_references_become_their_hash(reference: Any, hashed: str) -> None:
    clean, counts = _redacted(line(kind="xenia.escalated", customer_ref=reference))
    assert json.loads(clean)["customer_ref"] == f"customer:{hashed}"
    assert counts == {"customer_ref": 1}
    assert isinstance(judge(clean, "auto"), Judged)


def test_a_placeholder_never_makes_a_text_too_long() -> None:
    content = line(reason="a@b.co" + "," * 1994)
    assert isinstance(judge(content, "auto"), Judged)
    clean = _redacted(content)[0]
    assert json.loads(clean)["reason"] == "[email]" + "," * 1993
    assert isinstance(judge(clean, "auto"), Judged)


def test_redacting_a_redacted_line_changes_nothing() -> None:
    for content in (line(reason=MAIL), line(kind="nope", n=CARD), b"oops jane@example.com"):
        clean = _redacted(content)[0]
        assert _redacted(clean) == (clean, {})


def test_big_and_odd_numbers_survive_beside_a_hit() -> None:
    content = line()[:-1] + b',"reason":"jane@example.com","n":123456789012345678901234567890,"f":1.5}'
    assert _object(content) == event(reason="[email]", n=123456789012345678901234567890, f=1.5)


def test_original_hash_and_counts_are_given_by_index() -> None:
    dirty = line("b", reason=f"{MAIL} {MAIL} +491701234567")
    found = redact_lines([line("a"), dirty, OverLong(9, "00")], "auto")
    assert found.redactions == {1: Redaction(hashlib.sha256(dirty).hexdigest(), {"email": 2, "phone": 1})}
    assert found.lines[0] == line("a")
    assert found.lines[2] == OverLong(9, "00")


RECORD = """# DecisionRecord
ask jane@example.com
```yaml
decision_id: 555-123-4567
terminal_state: RESOLVED # by jane@example.com
customer_ref: Jane Doe
actions_attempted:
  - {action: refund, executed: yes, by: jane@example.com, result: mail jane@example.com}
notes: >
  call 555
  123-4567 now
rubric_verdicts:
  - {rubric_id: jane@example.com, pass: true, dims: {jane@example.com: 3}}
phone: +4917012345678
sla: {resolved_at: 2026-06-03T10:00:00Z}
broken jane@example.com
```
"""
CLEAN = """# DecisionRecord
ask [email]
```yaml
decision_id: 555-123-4567
terminal_state: RESOLVED # by [email]
customer_ref: "customer:01332c876518a793"
actions_attempted:
  - {action: refund, executed: yes, by: jane@example.com, result: "mail [email]"}
notes: "call [phone] now\\n"
rubric_verdicts:
  - {rubric_id: jane@example.com, pass: true, dims: {jane@example.com: 3}}
phone: "[phone]"
sla: {resolved_at: 2026-06-03T10:00:00Z}
broken [email]
```
"""


def _entry(text: str) -> bytes:
    return json.dumps({"path": "r.md", "mtime": "2026-01-01T00:00:00Z", "text": text}).encode()


def test_a_record_stays_a_record() -> None:
    clean, counts = _redacted(_entry(RECORD), "decision_record")
    assert json.loads(clean)["text"] == CLEAN
    assert counts == {"customer_ref": 1, "email": 4, "phone": 2}
    assert isinstance(judge(clean, "decision_record"), Judged)
    assert _redacted(clean, "decision_record") == (clean, {})


def test_a_text_that_is_no_record_is_redacted_as_a_whole() -> None:
    clean = _object(_entry("# DecisionRecord\ndecision_id: 555-123-4567\n"), "decision_record")
    assert clean["text"] == "# DecisionRecord\ndecision_id: [phone]\n"


def test_nothing_of_it_reaches_the_disk(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    dirty = line("a", reason=f"{MAIL}, {CARD}")
    (tmp_path / "e.jsonl").write_bytes(dirty + b"\nnot json " + MAIL.encode() + b"\n" + line("b") + b"\n")
    (tmp_path / "r.md").write_text(record().replace("ticket_id", f"notes: {MAIL}\nticket_id"))
    found = ingest(tmp_path / "e.jsonl", tmp_path / "r.md")
    assert (found.accepted, found.quarantined, found.redacted) == (3, 1, 3)
    everything = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert MAIL.encode() not in everything
    assert str(CARD).encode() not in everything
    assert b"[email], [card]" in ledger_bytes(data)
    assert query(data, "SELECT line, line_sha256 FROM quarantine") == [
        ("not json [email]", hashlib.sha256(b"not json " + MAIL.encode()).hexdigest())
    ]
    assert hashlib.sha256(dirty).hexdigest().encode() in ledger_bytes(data)


def test_the_real_files_hold_nothing_to_redact(shared_data: Path) -> None:
    content = (shared_data / "xenia-support" / "events.jsonl").read_bytes().splitlines()
    assert redact_lines(content, "auto").redactions == {}


def test_a_line_is_returned_as_it_is_when_nothing_is_counted() -> None:
    counts: Counter[str] = Counter()
    assert redact_line(line(), "auto", counts) == line()
    assert not counts


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_in_another_encoding_does_not_smuggle_personal_data_in(encoding: str) -> None:
    """Some shells write UTF-16 unasked. Such a line is refused, but kept: so it is looked at like any other."""
    text = json.dumps({"kind": "tool.degradation", "reason": "ask jane.doe@example.com or 078-05-1120"})
    content = text.encode(encoding)
    found = redact_lines([content, "nothing here".encode(encoding)], "auto")
    (clean, same) = found.lines
    assert isinstance(clean, bytes)
    assert b"jane" not in clean.replace(b"\0", b"")
    assert b"1120" not in clean.replace(b"\0", b"")
    assert found.redactions[0].counts == {"email": 1, "ssn": 1}
    assert found.redactions[0].sha256 == hashlib.sha256(content).hexdigest()
    assert same == "nothing here".encode(encoding)
    assert not isinstance(judge(clean, "auto"), Judged)  # what was no event does not become one


def test_a_nul_inside_hides_nothing() -> None:
    content = line("e1", reason="jane\0@example.com")
    (clean,) = redact_lines([content], "auto").lines
    assert isinstance(clean, bytes)
    assert b"example.com" not in clean
    assert json.loads(clean)["reason"] == "[email]"
