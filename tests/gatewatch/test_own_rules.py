"""A folder of own rules from the settings to what people read, and away again."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.docs.pages import blocks
from tests.gatewatch.terminal import gatewatch
from tests.support.own_rules import ENDLESS, HEAD

REFUND = {
    "kind": "tool.invocation", "event_id": "refund-1", "ts": "2026-06-03T12:00:00Z", "correlation_id": "T-1",
    "tenant": "acme", "caller": "plutus", "tool": "issue_refund", "privilege": "write", "side_effects": "irreversible",
    "outcome": "success", "call_id": "call-1",
}  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with settings, one own rule (the manual's), a policy that speaks of it, and one refund."""
    made = tmp_path / "desk"
    (made / "rules").mkdir(parents=True)
    (example,) = blocks("docs/policy.md", "sql")
    (made / "rules" / "refunds.sql").write_text(example)
    (made / "gatewatch.toml").write_text('data = "data"\npolicy = "own.toml"\nrules = "rules"\n')
    (made / "own.toml").write_text('name = "own"\nversion = 1\n[severity]\nrefund_unseen = "critical"\n')
    (made / "events.jsonl").write_text(json.dumps(REFUND) + "\n")
    return made


def ours(desk: Path) -> list[dict[str, object]]:
    found = gatewatch("--config", desk / "gatewatch.toml", "findings", "--json")
    assert found.code == 0, found.err
    return [row for row in found.json["findings"] if row["rule"] == "refund_unseen"]


def test_an_own_rule_from_its_file_to_what_people_read(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found with the policy's severity, told in its own words without the folder, confirmed, and cleared without it."""
    config = ("--config", desk / "gatewatch.toml")
    assert gatewatch(*config, "ingest", desk / "events.jsonl").code == 0
    (finding,) = ours(desk)
    assert (finding["severity"], finding["status"], finding["subject"]) == ("critical", "open", "call-1")
    assert gatewatch(*config, "findings", "--rule", "refund_unseen").code == 0
    assert gatewatch(*config, "verify").code == 0

    # A reader has the data directory and nothing else.
    told = gatewatch("--data", desk / "data", "explain", finding["finding_id"])
    assert "Money was paid back, and nobody had looked at the order before." in told.out
    assert "Check the refund against the order" in told.out
    assert "a successful call of order_lookup in the same run" in told.out
    assert str(finding["policy_digest"]) in told.out

    shown = gatewatch(*config, "policy", "show", "--json").json
    assert shown["digest"] == finding["policy_digest"]
    assert [(rule["rule"], rule["severity"]) for rule in shown["own_rules"]] == [("refund_unseen", "critical")]
    assert "refund_unseen" in gatewatch(*config, "policy", "show").out
    assert gatewatch(*config, "policy", "validate", desk / "own.toml").out.endswith("1 own rule in 1 file\n")
    assert gatewatch(*config, "policy", "backtest", desk / "own.toml", "--rule", "refund_unseen").code == 0

    (desk / "rules" / "refunds.sql").unlink()
    complaint = gatewatch(*config, "ingest", desk / "events.jsonl").complaint
    assert 'own.toml: [severity] knows no rule "refund_unseen"' in complaint
    (desk / "own.toml").write_text('name = "own"\nversion = 1\n')
    assert gatewatch(*config, "ingest", desk / "events.jsonl").code == 0
    assert ours(desk) == []
    history = gatewatch(*config, "sql", "--json", "SELECT finding_id, change, reason FROM finding_history").json["rows"]
    changes = Counter((row["change"], row["reason"]) for row in history if row["finding_id"] == finding["finding_id"])
    assert changes == {("opened", "evidence"): 1, ("cleared", "policy"): 1}


def test_a_file_that_cannot_be_used_is_one_line_and_nothing_is_read(desk: Path) -> None:
    """The user's input is off: exit code 2, before anything gets into the ledger."""
    rule = desk / "rules" / "refunds.sql"
    rule.write_text(rule.read_text().replace("FROM tool_calls AS r", "FROM events AS r"))
    for command in (("ingest", desk / "events.jsonl"), ("policy", "validate", "support-squad"), ("policy", "show")):
        found = gatewatch("--config", desk / "gatewatch.toml", *command)
        assert found.code == 2
        assert found.complaint.startswith(f'own rule {rule}: reads "events", which holds more than is being judged;')
    assert not (desk / "data").exists()


def test_a_rule_that_does_not_end_stops_and_loses_nothing(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2 instead of a command that hangs; what was read is judged as soon as the rule is gone."""
    config = ("--config", desk / "gatewatch.toml")
    lines = [json.dumps(REFUND | {"event_id": f"refund-{n}", "call_id": f"call-{n}"}) for n in range(20)]
    (desk / "events.jsonl").write_text("\n".join(lines) + "\n")
    (desk / "rules" / "slow.sql").write_text(HEAD + ENDLESS)
    with monkeypatch.context() as patched:
        patched.setattr("transforms.own_rules.LIMIT_S", 0.2)
        found = gatewatch(*config, "ingest", desk / "events.jsonl")
    assert found.code == 2
    assert found.complaint.startswith("own rule slow.sql: took longer than 0.2 s; join its tables on correlation_id")
    (desk / "rules" / "slow.sql").unlink()
    assert gatewatch(*config, "ingest", desk / "events.jsonl").code == 0
    assert len(ours(desk)) == 20


def test_the_environment_goes_before_the_file(desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is relative to the current folder, as every path that a user types."""
    monkeypatch.setenv("GATEWATCH_RULES", "elsewhere")
    found = gatewatch("--config", desk / "gatewatch.toml", "policy", "validate", "support-squad")
    assert found.code == 2
    assert found.complaint == "rules elsewhere: no such folder; make it, or take `rules` out of the settings"
    (tmp_path / "elsewhere").mkdir()
    found = gatewatch("--config", desk / "gatewatch.toml", "policy", "validate", "support-squad")
    assert found.out.endswith("elsewhere is valid: 0 own rules in 0 files\n")


def test_verify_says_when_the_tables_were_judged_by_other_rules(desk: Path) -> None:
    """Somebody who forgot the setting must not read that the data was tampered with."""
    assert gatewatch("--config", desk / "gatewatch.toml", "ingest", desk / "events.jsonl").code == 0
    (desk / "data" / "policy.toml").write_text('name = "own"\nversion = 1\n')
    found = gatewatch("--data", desk / "data", "verify")
    assert "judged by another policy or own rules" in found.out
