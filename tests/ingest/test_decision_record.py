"""Decision records: what can be read is kept, what cannot is named, and only what has no identity is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from ingest.canonical import same_content
from ingest.contract import Judged, Problem, judge
from ingest.dialects.decision_record import looks_like_record, read
from ingest.validate import Batch, RowValidator
from tests.ingest.builders import record

MTIME = "2026-01-02T03:04:05+00:00"


def _entry(text: str, path: str = "r.md") -> dict[str, Any]:
    return {"path": path, "mtime": MTIME, "text": text}


def _judge(text: str, path: str = "r.md") -> Judged | Problem | None:
    return judge(json.dumps(_entry(text, path)).encode(), "decision_record")


def _fields(text: str, path: str = "r.md") -> dict[str, Any]:
    event = read(_entry(text, path)).event
    return event.model_dump(mode="json", by_alias=True, exclude_none=True)


def test_the_real_record(shared_data: Path) -> None:
    text = (shared_data / "xenia-support" / "TICKET-SMOKE-001-2026-06-03.md").read_text(encoding="utf-8")
    found = read(_entry(text))
    assert found.warnings == (
        "line 16 is not valid YAML and was left out: customer:7f3a9c21",
        "line 51 is not valid YAML and was left out: [AI-assisted response]",
    )
    event = found.event
    assert event.event_id == f"dr:DR-TICKET-SMOKE-001-1:{hashlib.sha256(text.encode()).hexdigest()}"
    assert (event.correlation_id, event.decision_id) == ("TICKET-SMOKE-001", "DR-TICKET-SMOKE-001-1")
    assert (event.terminal_state, event.priority, event.intent) == ("ESCALATED_TO_HUMAN", "P2", "defect")
    assert (event.judge_cycles, event.clearance, event.dispatch_count) == (1, "cleared", 4)
    assert event.ts.isoformat() == "2026-06-03T22:31:30+00:00"
    assert event.sla is not None
    assert (event.sla.state, event.sla.breached) == ("ok", False)
    verdicts = event.rubric_verdicts or []
    assert [(verdict.rubric_id, verdict.pass_) for verdict in verdicts] == [
        ("empathy-tone-required", True),
        ("support-deflection-quality@1", True),
        ("kb-citation-grounding", True),
        ("redaction-compliance", True),
    ]
    extra = event.__pydantic_extra__ or {}
    assert set(extra) == {"resolution_summary", "approval_artifacts", "dissenting_opinions", "notes", "ts_source"}
    assert extra["ts_source"] == "sla.first_response_at"
    findings = event.injection_findings or []
    assert (findings[0].__pydantic_extra__ or {}) == {"owasp": ["LLM01", "LLM08"]}


@pytest.mark.parametrize(
    ("sla", "path", "ts", "source"),
    [
        ("sla: {resolved_at: 2026-06-03T12:00:00Z, received_at: 2026-06-03T10:00:00Z}", "a-2026-05-05.md",
         "2026-06-03T12:00:00Z", "sla.resolved_at"),
        ("sla: {first_response_at: 2026-06-03T13:00:00+02:00, received_at: 2026-06-03T10:00:00Z}", "r.md",
         "2026-06-03T11:00:00Z", "sla.first_response_at"),
        ("sla: {received_at: 2026-06-03T10:00:00Z}", "r.md", "2026-06-03T10:00:00Z", "sla.received_at"),
        ("resolved_at: 2026-06-03T10:00:00Z", "r.md", "2026-06-03T10:00:00Z", "resolved_at"),
        ("sla: {resolved_at: soon}", "x/T-9-2026-05-05.md", "2026-05-05T00:00:00Z", "file name"),
        ("x: 1", "2026-13-40.md", "2026-01-02T03:04:05Z", "file modification time"),
        ("x: 1", "2026-05-05/r.md", "2026-01-02T03:04:05Z", "file modification time"),
    ],
)  # fmt: skip
def test_its_time_is_the_best_that_there_is(sla: str, path: str, ts: str, source: str) -> None:
    found = _fields(f"decision_id: d\nterminal_state: RESOLVED\n{sla}\n", path)
    assert (found["ts"], found["ts_source"]) == (ts, source)


def test_a_copy_of_a_file_is_the_same_record_whenever_it_was_made() -> None:
    text = "decision_id: d\nterminal_state: RESOLVED\n"
    entries = [_entry(text, "a.yaml"), {**_entry(text, "b.yaml"), "mtime": "2025-01-01T00:00:00Z"}]
    contents = [json.dumps(entry).encode() for entry in entries]
    found = RowValidator().validate_all([Batch(contents, 1, "decision_record")])[0].accepted
    assert found["ts"].n_unique() == 2
    assert found["event_id"].n_unique() == 1
    assert same_content(found[:1], found[1:]).to_list() == [True]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("themis_cycle: 2", {"judge_cycles": 2}),
        ("eunomia_seal: blocked", {"clearance": "blocked"}),
        ("seal: cleared", {"clearance": "cleared"}),
        ("sla: {sla_state: warn}", {"sla": {"state": "warn"}}),
        ("sla_state: warn", {"sla_state": "warn"}),
        ("injection_findings: [{ref: r, owasp: [LLM01]}]", {"injection_findings": [{"ref": "r", "owasp": ["LLM01"]}]}),
        ("ticket_id: T-1", {"correlation_id": "T-1"}),
        ("ticket_id: 4711", {"correlation_id": "4711"}),
        ("correlation_id: C-1", {"correlation_id": "C-1"}),
        ("x: 1", {"correlation_id": "d"}),
        ("tenant: acme\nrun_id: r1", {"tenant": "acme", "run_id": "r1"}),
    ],
)
def test_spellings_old_and_new(text: str, expected: dict[str, Any]) -> None:
    found = _fields(f"decision_id: d\nterminal_state: RESOLVED\n{text}\n")
    assert {name: found[name] for name in expected} == expected
    assert read(_entry(f"decision_id: d\nterminal_state: RESOLVED\n{text}\n")).warnings == ()


@pytest.mark.parametrize(
    ("text", "gone", "warnings"),
    [
        ("priority: urgent", ["priority"], ["priority: Input should be 'P1', 'P2', 'P3' or 'P4': left out"]),
        ("dispatch_count: -1", ["dispatch_count"],
         ["dispatch_count: Input should be greater than or equal to 0: left out"]),
        ("dispatch_count: many", ["dispatch_count"], ["dispatch_count: Input should be a valid integer: left out"]),
        ("rubric_verdicts: none", ["rubric_verdicts"], ["rubric_verdicts: Input should be a valid list: left out"]),
        ("clearance: cleared\nseal: blocked", [], ["clearance: is given twice with different values"]),
        ("event_id: x\nts: 2026-06-03T10:00:00Z", [],
         ["event_id: is set by the reader: left out", "ts: is set by the reader: left out"]),
        ("ticket_id: T\ncorrelation_id: C", [], ["correlation_id: differs from ticket_id, which counts"]),
    ],
)  # fmt: skip
def test_what_has_the_wrong_type_is_left_out_and_named(text: str, gone: list[str], warnings: list[str]) -> None:
    found = read(_entry(f"decision_id: d\nterminal_state: RESOLVED\n{text}\n"))
    assert list(found.warnings) == warnings
    assert all(getattr(found.event, name) is None for name in gone)


def test_faults_inside_lists_cost_only_their_element_or_field() -> None:
    found = read(
        _entry(
            "decision_id: d\nterminal_state: RESOLVED\nactions_attempted:\n- {action: a, executed: yes, amount: much}\n"
            "- {action: b}\n- {action: c, executed: no}\nrubric_verdicts:\n- {rubric_id: r, dims: {x: 9, y: 2}}\n"
        )
    )
    actions = found.event.actions_attempted or []
    assert [(action.action, action.executed, action.amount) for action in actions] == [
        ("a", True, None),
        ("c", False, None),
    ]
    verdicts = found.event.rubric_verdicts or []
    assert [verdict.dims for verdict in verdicts] == [{"y": 2}]
    assert sorted(found.warnings) == [
        "actions_attempted[0].amount: Input should be a valid number: left out",
        "actions_attempted[1].executed: Field required: left out",
        "rubric_verdicts[0].dims.x: Input should be less than or equal to 3: left out",
    ]


@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("# DecisionRecord\nnothing here\n", "has no decision_id: a decision record needs one"),
        ("# DecisionRecord\n```yaml\ndecision_id: d\n```\n", "has no terminal_state: a decision record needs one"),
        ("decision_id:\nterminal_state: RESOLVED\n", "has no decision_id: a decision record needs one"),
        ("decision_id: [1]\nterminal_state: RESOLVED\n", "has no decision_id: a decision record needs one"),
        (
            "decision_id: d\nterminal_state: DONE\n",
            "terminal_state: Input should be 'RESOLVED', 'ESCALATED_TO_HUMAN', 'FOLLOW_UP_TICKET' or "
            "'NO_ANSWER_SAFE_FALLBACK'",
        ),
    ],
)
def test_without_identity_it_is_refused(text: str, errors: str) -> None:
    assert _judge(text) == Problem("dialect", errors)


def test_a_file_that_is_no_text_is_refused_for_its_encoding() -> None:
    entry = {**_entry(record()), "invalid": "byte 3 of the file is not valid UTF-8"}
    found = judge(json.dumps(entry).encode(), "decision_record")
    assert found == Problem("encoding", "byte 3 of the file is not valid UTF-8")


def test_the_fenced_block_with_the_id_is_the_record() -> None:
    text = (
        "# DecisionRecord\n```yaml\nother: 1\n```\n"
        "~~~~ YAML\ndecision_id: d\nterminal_state: RESOLVED\nx: '```'\n~~~~\n"
        "```yaml\ndecision_id: z\n```\n"
    )
    assert _fields(text)["decision_id"] == "d"
    assert read(_entry(text)).warnings == (
        "line 2 begins another yaml block, which was not read",
        "line 10 begins another yaml block, which was not read",
    )
    unclosed = "```yaml\ndecision_id: e\nterminal_state: RESOLVED\n"
    assert _fields(unclosed)["decision_id"] == "e"
    crlf = record("f").replace("\n", "\r\n")
    assert _fields(crlf)["decision_id"] == "f"
    assert read(_entry(crlf)).warnings == ()


def test_tabs_separate_like_spaces() -> None:
    found = read(_entry("```yaml\ndecision_id:\tDR-A\nterminal_state: \tRESOLVED\t\n```\n"))
    assert (found.event.decision_id, found.event.terminal_state, found.warnings) == ("DR-A", "RESOLVED", ())


def test_an_alias_is_refused_as_one() -> None:
    found = read(
        _entry("decision_id: d\nterminal_state: RESOLVED\nbase: &b {rubric_id: r}\nrubric_verdicts: [*b, *b]\n")
    )
    assert found.event.rubric_verdicts is None
    assert found.warnings == (
        "line 4 uses a YAML anchor or alias, which is not read, and was left out: rubric_verdicts: [*b, *b]",
    )


def test_long_ids_stay_within_the_contract() -> None:
    found = _fields(f"decision_id: {'d' * 180}\nterminal_state: RESOLVED\n")
    assert found["event_id"].startswith(f"dr:{hashlib.sha256(b'd' * 180).hexdigest()}:")
    assert len(found["event_id"]) == 132


def test_warnings_are_bounded() -> None:
    text = "decision_id: d\nterminal_state: RESOLVED\n" + "broken line\n" * 200
    warnings = read(_entry(text)).warnings
    assert len(warnings) == 51
    assert warnings[-1] == "and 150 more"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        (record(), True),
        ("# DecisionRecord — T-1\n", True),
        ("#  decision record\n", True),
        ("decision_id: 1\n", True),
        ('  "decision_id" : 1\n', True),
        ("# Readme\nabout decision_id: fields\n", False),
        ("## DecisionRecord\n", False),
        ("", False),
    ],
)
def test_what_claims_to_be_a_record(text: str, claims: bool) -> None:
    assert looks_like_record(text) == claims
