"""The corpus: every positive goes, every look-alike stays byte for byte, wherever in a line it stands.

`redaction/positives.jsonl` and `redaction/lookalikes.jsonl` hold a `text` (a secret in two pieces, so that no scanner
takes the made-up one for a real one) or a whole `event`, its `type`, why it is there, and what it becomes: `clean`.
Card numbers, IBANs and AWS keys are published examples; all other secrets are made up.
"""

from __future__ import annotations

import hashlib
import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from ingest.contract import Judged, judge
from ingest.forms import SUSPECT
from ingest.redact import redact_lines
from ingest.shape import SHAPES
from schemas.events import DecisionRecordEvent
from tests.ingest.builders import Ingest, event, ledger_bytes, line, query, record

RECORD = "decision_record"
FOLDER = Path(__file__).with_name("redaction")


def _entries(name: str) -> list[dict[str, Any]]:
    found = [json.loads(row) for row in (FOLDER / name).read_text(encoding="utf-8").splitlines()]
    return [{**entry, "text": "".join(entry["text"])} if "text" in entry else entry for entry in found]


ALL_POSITIVES, ALL_LOOKALIKES = _entries("positives.jsonl"), _entries("lookalikes.jsonl")
POSITIVES = [entry for entry in ALL_POSITIVES if "text" in entry]
LOOKALIKES = [entry for entry in ALL_LOOKALIKES if "text" in entry]
EVENTS = [entry for entry in ALL_POSITIVES if "event" in entry]
UNTOUCHED = [entry for entry in ALL_LOOKALIKES if "event" in entry]


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _free_text(text: str) -> bytes:
    return _json(event(reason=text))


def _extra(text: str) -> bytes:
    return _json(event(odd={"inner": [text]}))


def _refused(text: str) -> bytes:
    return _json({"kind": "nope", "what": text})


def _broken(text: str) -> bytes:
    return b"oops " + text.replace("\r", " ").replace("\n", " ").encode()


def _escaped(text: str) -> bytes:
    return json.dumps(event(reason=text)).encode("ascii")


PLACES: dict[str, Callable[[str], bytes]] = {
    "free text": _free_text,
    "unknown field": _extra,
    "refused line": _refused,
    "no JSON": _broken,
    "escaped": _escaped,
}


def _entry(text: str) -> bytes:
    return _json({"path": "r.md", "mtime": "2026-01-01T00:00:00Z", "text": text})


def _record(texts: list[str]) -> str:
    """A record with the texts in its prose and, as quoted scalars, in free-text fields and an unknown one."""
    quoted = [json.dumps(text) for text in texts]
    claims = "".join(f"  - {{action: a, executed: true, result: {text}}}\n" for text in quoted)
    notes = "".join(f"  - {text}\n" for text in quoted)
    prose = "\n\n".join(map(_one_line, texts))
    fields = f"actions_attempted:\n{claims}notes:\n{notes}"
    return record().replace("```yaml\n", f"{prose}\n\n```yaml\n{fields}", 1)


def _packs(entries: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """A dozen entries for each record: YAML is slow to read."""
    return [entries[first : first + 12] for first in range(0, len(entries), 12)]


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def _redacted(contents: list[bytes], dialect: str = "auto") -> tuple[list[bytes], dict[int, Any]]:
    found = redact_lines(contents, dialect)
    return [content for content in found.lines if isinstance(content, bytes)], found.redactions


def test_the_corpus_is_large_and_says_why() -> None:
    assert (len(ALL_POSITIVES), len(ALL_LOOKALIKES)) == (len(POSITIVES) + len(EVENTS), len(LOOKALIKES) + len(UNTOUCHED))
    assert len(ALL_POSITIVES) >= 800
    assert len(ALL_LOOKALIKES) >= 500
    for entries in (ALL_POSITIVES, ALL_LOOKALIKES):
        assert len({json.dumps(entry.get("text", entry.get("event"))) for entry in entries}) == len(entries)
        assert all(entry["type"] and entry["why"] for entry in entries)
    kinds = Counter(entry["type"] for entry in ALL_POSITIVES)
    assert {kind for kind, count in kinds.items() if count >= 10} == {
        "email", "phone", "ssn", "card", "iban", "secret", "customer_ref",
    }  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_every_positive_goes_wherever_it_stands(place: str) -> None:
    put = PLACES[place]
    dirty = [put(entry["text"]) for entry in POSITIVES]
    clean, redactions = _redacted(dirty)
    wrong = []
    for index, entry in enumerate(POSITIVES):
        expected = put(entry["clean"])
        # A rewritten line is written anew, without needless escapes.
        same = clean[index] == expected or (place == "escaped" and json.loads(clean[index]) == json.loads(expected))
        counted = index in redactions and set(redactions[index].counts) == {entry["type"]}
        hashed = index in redactions and redactions[index].sha256 == hashlib.sha256(dirty[index]).hexdigest()
        if not (same and counted and hashed):
            wrong.append((entry["text"], clean[index].decode(), redactions.get(index)))
    assert wrong == []
    assert _redacted(clean)[1] == {}


@pytest.mark.parametrize("place", PLACES)
def test_every_look_alike_keeps_its_bytes(place: str) -> None:
    contents = [PLACES[place](entry["text"]) for entry in LOOKALIKES]
    clean, redactions = _redacted(contents)
    assert [(LOOKALIKES[index]["text"], found.counts) for index, found in redactions.items()] == []
    assert clean == contents


def test_positives_in_a_record() -> None:
    packs = _packs(POSITIVES)
    clean, redactions = _redacted([_entry(_record([entry["text"] for entry in pack])) for pack in packs], RECORD)
    assert sorted(redactions) == list(range(len(packs)))
    for content, pack in zip(clean, packs, strict=True):
        verdict = judge(content, RECORD)
        assert isinstance(verdict, Judged), pack
        assert verdict.warnings == ()
        assert isinstance(verdict.event, DecisionRecordEvent)
        expected = [entry["clean"].rstrip("\n") for entry in pack]
        assert [action.result for action in verdict.event.actions_attempted or []] == expected
        assert [note.rstrip("\n") for note in verdict.extra["notes"]] == expected
        prose = json.loads(content)["text"].split("```")[0]
        assert [entry["clean"] for entry in pack if _one_line(entry["clean"]) not in prose] == []


def test_look_alikes_in_a_record() -> None:
    contents = [_entry(_record([entry["text"] for entry in pack])) for pack in _packs(LOOKALIKES)]
    clean, redactions = _redacted(contents, RECORD)
    assert [found.counts for found in redactions.values()] == []
    assert clean == contents


@pytest.mark.parametrize("entry", EVENTS, ids=lambda entry: entry["why"])
def test_whole_events(entry: dict[str, Any]) -> None:
    (clean,), redactions = _redacted([_json(entry["event"])])
    assert json.loads(clean) == entry["clean"]
    assert redactions[0].counts == {entry["type"]: 1}


def test_whole_events_that_stay() -> None:
    contents = [_json(entry["event"]) for entry in UNTOUCHED]
    assert _redacted(contents) == (contents, {})
    assert all(isinstance(judge(content, "auto"), Judged) for content in contents)


def test_the_first_glance_finds_every_positive() -> None:
    texts = [entry["text"] for entry in POSITIVES]
    for put in (_free_text, _extra, _broken, _escaped):
        found = pl.Series([put(text).decode() for text in texts]).str.contains(SUSPECT)
        assert [text for text, seen in zip(texts, found, strict=True) if not seen] == []


def test_every_contract_field_stays_whatever_it_holds() -> None:
    personal = ["jane@example.com", "+49 170 1234567", "4111111111111111", "DE89370400440532013000", "123-45-6789"]
    checked = 0
    for kind, shapes in SHAPES.items():
        # An event needs every text field of its kind: those of the contract that are no free text get the value.
        for text in personal:
            for name, shape in shapes.items():
                if shape.free_text or name in ("kind", "ts", "customer_ref"):
                    continue
                content = _accepted_with(kind, name, text)
                if content is not None:
                    checked += 1
                    assert _redacted([content]) == ([content], {}), (kind, name)
    assert checked > 500


REQUIRED: dict[str, dict[str, Any]] = {
    "tool.invocation": {
        "caller": "a", "tool": "b", "privilege": "read", "side_effects": "none", "outcome": "success",
    },
    "tool.degradation": {"caller": "a", "tool": "b", "fallback": "c"},
    "gate.decision": {"gate": "a", "subject": "b", "decision": "passed", "by": "c"},
    "artifact.shipment": {"artifact_id": "a", "by": "b"},
    "action.proposal": {"proposal_id": "a", "action": "b", "actor": "c"},
    "action.decision": {"approval_id": "a", "decision": "approved", "by": "b", "by_kind": "human"},
    "action.receipt": {"receipt_id": "a", "action": "b", "effect": "committed"},
    "agent.dispatch": {"command": "a", "caller": "b", "agent": "c"},
    "agent.lease": {"lease_id": "a", "task_id": "b", "holder": "c", "state": "granted"},
    "agent.report": {"task_id": "a", "by": "b", "claim": "completed"},
    "route.decision": {"task_family": "a", "granted_tools": ["b"]},
    "safety.supersession": {"policy": "a"},
    "decision.record": {"decision_id": "a", "terminal_state": "RESOLVED"},
    "human.feedback": {"signal": "reopened"},
}  # fmt: skip


def _accepted_with(kind: str, name: str, text: str) -> bytes | None:
    """A line of this kind with the text in one field; None when the contract would not accept it there."""
    fields = {"event_id": "e", "ts": "2026-06-03T10:00:00Z", "kind": kind, "correlation_id": "c", "ticket_id": "t"}
    if kind.startswith("xenia."):
        del fields["correlation_id"]
    else:
        del fields["ticket_id"]
    content = _json({**fields, **REQUIRED.get(kind, {}), name: text})
    return content if isinstance(judge(content, "auto"), Judged) else None


def _made_up(chance: random.Random) -> dict[str, Callable[[], str]]:
    base32 = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

    def digits(count: int, first: str = "123456789") -> str:
        return chance.choice(first) + "".join(chance.choices("0123456789", k=count - 1))

    def hexadecimal(count: int) -> str:
        return f"{chance.getrandbits(4 * count):0{count}x}"

    return {
        "uuid": lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4)),
        "ulid": lambda: "01" + "".join(chance.choices(base32, k=24)),
        "md5": lambda: hexadecimal(32),
        "sha1": lambda: hexadecimal(40),
        "sha256": lambda: "sha256:" + hexadecimal(64),
        "trace": lambda: f"00-{hexadecimal(32)}-{hexadecimal(16)}-01",
        "span": lambda: hexadecimal(16),
        "seconds": lambda: str(chance.randrange(1_000_000_000, 2_000_000_000)),
        "milliseconds": lambda: str(chance.randrange(10**12, 2 * 10**12)),
        "microseconds": lambda: str(chance.randrange(10**15, 2 * 10**15)),
        "nanoseconds": lambda: str(chance.randrange(10**18, 2 * 10**18)),
        "offset": lambda: digits(chance.randrange(1, 13)),
        "prefixed number": lambda: f"ORD-{digits(16)}",
        "base64": lambda: __import__("base64").b64encode(chance.randbytes(24)).decode(),
        "version": lambda: ".".join(str(chance.randrange(1000)) for _ in range(chance.randrange(3, 5))),
        "13 digits": lambda: digits(13),
        "16 digits": lambda: digits(16),
        "19 digits": lambda: digits(19),
    }


CHECKED_ONLY_BY_LUHN = {"13 digits": 0.02, "16 digits": 0.04, "19 digits": 0.02}
"""Bare digits with an issuer's beginning that pass Luhn cannot be told from a card: at most this share of them goes."""


def test_random_ids_survive(capsys: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(20260603)
    kinds = _made_up(chance)
    hits: dict[str, tuple[int, int]] = {}
    for kind, make in kinds.items():
        ids = [make() for _ in range(200_000 // len(kinds) + 1)]
        contents = [_json(event(reason=text)) for text in ids]
        _, redactions = _redacted(contents)
        hits[kind] = (len(redactions), len(ids))
    with capsys.disabled():
        told = ", ".join(f"{kind} {found}/{count}" for kind, (found, count) in hits.items())
        print(f"\nfalse positives among {sum(count for _, count in hits.values()):,} random ids: {told}")  # noqa: T201
    for kind, (found, count) in hits.items():
        assert found <= CHECKED_ONLY_BY_LUHN.get(kind, 0) * count, kind


def test_what_was_taken_is_counted_and_its_hash_kept(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    dirty = [line(f"p{index}", reason=entry["text"]) for index, entry in enumerate(POSITIVES[:40])]
    refused = _refused(POSITIVES[0]["text"])
    fine = [line(f"l{index}", reason=entry["text"][:100]) for index, entry in enumerate(LOOKALIKES)]
    (tmp_path / "e.jsonl").write_bytes(b"\n".join([*dirty, refused, *fine]))
    found = ingest(tmp_path / "e.jsonl")
    assert (found.accepted, found.quarantined, found.redacted) == (len(dirty) + len(fine), 1, len(dirty) + 1)
    ledger = ledger_bytes(data)
    assert all(hashlib.sha256(content).hexdigest().encode() in ledger for content in [*dirty, refused])
    assert all(content in ledger for content in fine)
    assert query(data, "SELECT line_sha256 FROM quarantine") == [(hashlib.sha256(refused).hexdigest(),)]
    assert query(data, "SELECT event_id[1:1], count(*) FROM events WHERE redacted GROUP BY ALL") == [("p", len(dirty))]
