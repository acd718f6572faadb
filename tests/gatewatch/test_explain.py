"""`explain`: the story of a finding of every kind, told whole, in order, and harmless to the reader's terminal."""

from __future__ import annotations

import json
import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gatewatch.story import LOOK_ELSEWHERE, WHOLE
from schemas.policy import Policy
from schemas.policy_file import policy_digest
from tests.gatewatch.terminal import gatewatch
from tests.gatewatch.test_terminal import harmless
from tests.oracle.cases import NOON, at, attempt, claim, decide, event, policy, record, ship
from tests.support.engine import NOW
from tests.support.stored import Stored
from transforms.catalogue import relations, rules

TOOLS = [
    *policy()["tools"],
    {"name": "look_up", "privilege": "read", "side_effects": "none"},
]
POLICY = Policy.model_validate(policy(tools=TOOLS, budgets={"default": {"dispatches": 1}}))
TURN = "\u202e"
DIGESTS = [f"sha256:{letter * 64}" for letter in "ab"]

LATE = timedelta(days=1)
"""When the second delivery comes."""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of many kinds in one data directory, delivered in two pieces. Read only.

    c1: a reply without decisions, whose quality decision arrives later. c2 and c3: one idempotency key for two inputs.
    c4: a read tool that was called as a writing one. c5: 300 events and a claim that nothing shows. c6 of acme: texts
    that try to steer the terminal. `reused` is an id that came three times.
    """
    many = [
        attempt(f"n{n:03}", 1000 + n, tool="look_up", privilege="read", side_effects="none", correlation_id="c5")
        for n in range(300)
    ]
    first = [
        ship("s1", 0),
        attempt("k2", 100, idempotency_key="KEY", input_digest=DIGESTS[0], correlation_id="c2"),
        attempt("k3", 103.25, idempotency_key="KEY", input_digest=DIGESTS[1], correlation_id="c3"),
        attempt("p4", 200, tool="look_up", privilege="write", side_effects="none", correlation_id="c4"),
        *many,
        record("r5", 1150.5, claim(), correlation_id="c5", decision_id="D5"),
        ship(f"s6{TURN}", 2000, correlation_id="c6", tenant="acme", artifact_id=f"pay{TURN}fdp", by=f"x{TURN}"),
        event(
            "human.feedback",
            "reused",
            3000,
            correlation_id="c7",
            signal="csat",
            value=3,
            by="dora",
            _redacted=True,
            source="desk",
        ),
    ]
    fields = {
        "ts": at(3000),
        "kind": "human.feedback",
        "correlation_id": "c7",
        "signal": "csat",
        "by": "dora",
        "source": "desk",
    }
    said = [
        json.dumps({"event_id": "reused", **fields, "value": 1}),
        json.dumps({"event_id": "reused", **fields, "value": 3, "by": f"eve{TURN}"}),
        f"no json {TURN}",
    ]
    refused = [
        {
            "quarantine_id": f"q{200 + n}", "seq": 200 + n, "source": f"copy{n}{TURN}.jsonl",
            "position": f"line {n + 7}", "received_at": NOON, "reason": "event_conflict", "event_id": "reused",
            "line": line,
        }
        for n, line in enumerate(said)
    ]  # fmt: skip
    batch = {"batch_id": 1, "source": "first.jsonl", "first_seq": 1, "lines": 399, "received_at": NOON}
    failed = {"verified_at": NOON, "ok": False, "problems": [f"events: {TURN} 1 row is changed"]}
    with Stored(tmp_path_factory.mktemp("house") / "data") as stored:
        stored.judge(POLICY, first, facts={"quarantine": refused, "batches": [batch], "verifications": [failed]})
        stored.judge(POLICY, [decide("d1", -5, "quality")], now=NOW + LATE)
    return stored.data


def ids(data: Path, **where: str) -> list[str]:
    """The finding ids with these values, from findings and history alike."""
    sql = "SELECT DISTINCT finding_id FROM {0} WHERE " + " AND ".join(f"{name} = ${name}" for name in where)
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve()), read_only=True) as con:
        found = (
            con.execute(sql.format("findings"), where).fetchall()
            or con.execute(sql.format("finding_history"), where).fetchall()
        )
    return [finding for (finding,) in found]


def told(data: Path, *options: str, **where: str) -> tuple[str, dict[str, Any]]:
    """What `explain` prints of the one finding with these values, and its document."""
    (wanted,) = ids(data, **where)
    text = gatewatch("--data", data, "explain", wanted, *options)
    document = gatewatch("--data", data, "explain", wanted, "--json", *options)
    assert (text.code, document.code, text.err, document.err) == (0, 0, "", "")
    assert harmless(text)
    return text.out, document.json


def lines(text: str) -> list[str]:
    """The lines of an output, without the space that aligns columns."""
    return [re.sub(r" {2,}", "  ", line) for line in text.splitlines()]


def test_a_finding_with_its_rule_its_judge_its_events_and_its_history(house: Path) -> None:
    """The reply of c1 went out at noon without clearance; the quality decision came 5 s before."""
    text, document = told(house, rule="gate_missing", correlation_id="c1", status="open")
    said = lines(text)
    assert said[0].startswith("CRITICAL gate_missing (open) ")
    assert said[1] == "a went out without any decision of the gate clearance."
    assert said[2] == "2026-06-03 12:00:00 UTC; run c1; gate clearance; subject a"
    assert f"Judged by:  policy cases version 1, {policy_digest(POLICY)}" in said
    assert "Means:  The work was shipped and the gate never decided about it: a silent drop." in said
    assert "Satisfied by:  a decision `passed` of the gate, by one of its reviewers, before the shipment." in said
    table = said[said.index("Timeline (* is evidence):") + 1 :]
    assert table[0] == "  ts  offset  event_id  kind  who  what"
    assert table[2] == "  2026-06-03 11:59:55  -5 s  d1  gate.decision  themis  a passed at the gate quality"
    assert table[3] == "*  2026-06-03 12:00:00  0 s  s1  artifact.shipment  hestia  a went out"
    assert said[-1] == "2026-01-01 00:00:00  opened  the events show it"

    assert document["rule"]["family"] == "gates"
    assert set(document["rule"]) == {"family", "means", "do", "satisfied_by"}
    assert document["policy"] == {"name": "cases", "version": 1, "digest": policy_digest(POLICY)}
    assert document["finding"]["policy_digest"] == policy_digest(POLICY)
    assert [(e["place"], e["event_id"], e["offset_seconds"], e["evidence"]) for e in document["timeline"]] == [
        (1, "d1", -5, False), (2, "s1", 0, True),
    ]  # fmt: skip
    assert (document["events"], document["left_out"], document["look"], document["pending"]) == (2, 0, None, None)
    assert document["history"] == [{"at": "2026-01-01T00:00:00.000000Z", "change": "opened", "reason": "evidence"}]
    listed = gatewatch("--data", house, "findings", "--correlation", "c1", "--json").json["findings"]
    assert document["finding"] in listed


def test_a_cleared_finding_says_when_it_was_opened_and_cleared_and_why(house: Path) -> None:
    """The quality decision of c1 had been made in time and arrived a day later. Its evidence is not kept."""
    with duckdb.connect(str((house / "gatewatch.duckdb").resolve()), read_only=True) as con:
        ((wanted,),) = con.execute("SELECT finding_id FROM finding_history WHERE change = 'cleared'").fetchall()
    result = gatewatch("--data", house, "explain", wanted[:12])
    assert result.code == 0
    said = lines(result.out)
    assert said[0] == f"CRITICAL gate_missing (cleared) {wanted}"
    assert said[1] == "a went out without any decision of the gate quality."
    assert said[2] == "run c1; subject a"
    assert f"Judges now:  policy cases version 1, {policy_digest(POLICY)}" in said
    why = "what was missing had happened in time and arrived late"
    assert f"Cleared:  2026-01-02 00:00:00 UTC: {why}." in said
    assert said[-2:] == ["2026-01-01 00:00:00  opened  the events show it", f"2026-01-02 00:00:00  cleared  {why}"]
    assert "Timeline (which events were its evidence is not kept):" in said
    # Offsets count from the first event, since the finding's own time is not kept.
    assert "  2026-06-03 11:59:55  0 s  d1  gate.decision  themis  a passed at the gate quality" in said
    assert "  2026-06-03 12:00:00  +5 s  s1  artifact.shipment  hestia  a went out" in said

    document = gatewatch("--data", house, "explain", wanted, "--json").json
    kept = {name: value for name, value in document["finding"].items() if value is not None}
    assert kept == {
        "finding_id": wanted, "rule": "gate_missing", "severity": "critical", "status": "cleared", "subject": "a",
        "correlation_id": "c1", "message": said[1], "evidence": [],
    }  # fmt: skip
    assert [entry["reason"] for entry in document["history"]] == ["evidence", "late_evidence"]


def test_evidence_of_another_run_is_shown_with_its_run(house: Path) -> None:
    """One key in c2 and c3: both attempts are evidence, and every row says whose it is; digests can be told apart."""
    text, document = told(house, rule="key_conflict")
    said = lines(text)
    assert "  ts  offset  event_id  kind  run  who  what" in said
    start = "issue_refund: success · irreversible side effects · key KEY · input digest: sha256:"
    assert f"*  2026-06-03 12:01:40  0 s  k2  tool.invocation  c2  hermes  {start}{'a' * 12}…" in said
    assert f"*  2026-06-03 12:01:43  +3.25 s  k3  tool.invocation  c3  hermes  {start}{'b' * 12}…" in said
    assert [event["correlation_id"] for event in document["timeline"]] == ["c2", "c3"]


def test_what_the_rule_is_about_is_in_the_words_of_the_event(house: Path) -> None:
    """A read tool called with the right to write: the privilege is what counts, and it is shown."""
    text, _ = told(house, rule="privilege_mismatch")
    assert "hermes  look_up: success · privilege: write" in "\n".join(lines(text))


def test_of_a_long_run_the_neighbourhood_of_the_evidence_is_shown(house: Path) -> None:
    """301 events, the claim is number 152 of them: 1, 149 to 155 and 301 stay; 147 and 145 are left out."""
    text, document = told(house, rule="phantom_execution")
    said = lines(text)
    shown = [1, *range(149, 156), 301]
    assert [event["place"] for event in document["timeline"]] == shown
    assert [event["place"] for event in document["timeline"] if event["evidence"]] == [152]
    assert (document["events"], document["left_out"]) == (301, 301 - len(shown))
    gaps = [line.strip() for line in said if "--all" in line]
    assert gaps == ["…  147 more events; --all shows them", "…  145 more events; --all shows them"]
    assert len(shown) < WHOLE

    everything, whole = told(house, "--all", rule="phantom_execution")
    assert [event["place"] for event in whole["timeline"]] == list(range(1, 302))
    assert (whole["left_out"], "--all" in everything) == (0, False)


def test_a_reused_id_shows_what_is_stored_and_every_refused_line(house: Path) -> None:
    """Which fields differ, where each line came from, and a line that is no event as it is."""
    text, document = told(house, rule="event_conflict")
    said = lines(text)
    start = said.index("Stored:  line 307 of the ledger, from first.jsonl")
    assert said[start + 1 : start + 7] == [
        "Refused:  copy0\\u202e.jsonl, line 7, read 2026-06-03 12:00:00 UTC (q200)",
        "  value: 3.0 is stored, 1.0 was refused",
        "Refused:  copy1\\u202e.jsonl, line 8, read 2026-06-03 12:00:00 UTC (q201)",
        "  by: dora is stored, eve\\u202e was refused",
        "Refused:  copy2\\u202e.jsonl, line 9, read 2026-06-03 12:00:00 UTC (q202)",
        "  no json \\u202e",
    ]
    found = document["conflict"]
    assert (found["seq"], found["source"], found["count"]) == (307, "first.jsonl", 3)
    assert found["stored"]["value"] == 3.0
    assert [line["position"] for line in found["refused"]] == ["line 7", "line 8", "line 9"]
    assert [line["differs"] for line in found["refused"]] == [
        {"value": {"stored": 3.0, "refused": 1.0}},
        {"by": {"stored": "dora", "refused": f"eve{TURN}"}},
        None,
    ]


@pytest.mark.parametrize(("rule", "look"), [("pii_redacted", "gatewatch sql"), ("ledger_tampered", "gatewatch verify")])
def test_a_finding_about_the_whole_says_where_to_look(rule: str, look: str, house: Path) -> None:
    """No run and no event belongs to it, so there is no timeline, and the reader is not left with an empty one."""
    text, document = told(house, rule=rule)
    assert f"`{look}" in text
    assert "Timeline" not in text
    assert look in document["look"]
    assert (document["timeline"], document["events"]) == ([], 0)


def test_every_rule_about_the_whole_has_words_for_where_to_look() -> None:
    """Its findings never have a timeline of their own."""
    families = {relation.name.removeprefix("rule_") for relation in relations() if relation.unit == "all"}
    assert {name for name, rule in rules().items() if rule.family in families} == set(LOOK_ELSEWHERE)


def test_the_queries_that_a_finding_points_to_can_be_run(house: Path) -> None:
    """And what they point to is there: one redacted event of one source."""
    text, _ = told(house, rule="pii_redacted")
    (query,) = re.findall(r'`gatewatch sql "([^"]+)"`', text)
    assert gatewatch("--data", house, "sql", query, "--json").json["rows"] == [
        {"tenant": None, "source": "desk", "kind": "human.feedback", "events": 1}
    ]


def test_text_of_events_cannot_steer_the_terminal(house: Path) -> None:
    """`told` looks at every line; here the signs are there, made visible."""
    with duckdb.connect(str((house / "gatewatch.duckdb").resolve()), read_only=True) as con:
        found = con.execute(
            "SELECT finding_id FROM findings WHERE correlation_id = 'c6' AND gate = 'quality'"
        ).fetchall()
    result = gatewatch("--data", house, "explain", found[0][0])
    assert harmless(result)
    assert "pay\\u202efdp went out" in result.out
    assert "tenant acme" in result.out


def test_words_and_rules_that_this_version_does_not_know_are_told_all_the_same(house: Path, tmp_path: Path) -> None:
    """A reason of another version, a rule whose file is gone, and a finding whose run is empty."""
    (tmp_path / "data").mkdir()
    file = shutil.copyfile((house / "gatewatch.duckdb").resolve(), tmp_path / "data" / "gatewatch.duckdb")
    (wanted,) = ids(house, rule="key_conflict")
    with duckdb.connect(str(file)) as con:
        con.execute("UPDATE finding_history SET reason = 'expired_by_law' WHERE finding_id = $id", {"id": wanted})
        con.execute("DELETE FROM findings WHERE finding_id = $id", {"id": wanted})
        con.execute(
            "INSERT INTO finding_history SELECT finding_id, TIMESTAMP '2026-02-01', 'cleared', 'expired', 'old_rule', "
            f"severity, subject, 'gone', 'nobody{TURN}', message FROM finding_history WHERE finding_id = $id",
            {"id": wanted},
        )
    result = gatewatch("--data", tmp_path / "data", "explain", wanted)
    assert result.code == 0
    assert harmless(result)
    said = lines(result.out)
    assert said[0].startswith("HIGH old_rule (cleared) ")
    assert "The rule is no longer among those that judge, so its words are not known any more." in said
    assert "Cleared:  2026-02-01 00:00:00 UTC: expired." in said
    assert "2026-01-01 00:00:00  opened  expired by law" in said
    assert gatewatch("--data", tmp_path / "data", "explain", wanted, "--json").json["rule"] is None
