"""`policy backtest` at the terminal: a table with examples, one document for programs, one line for a mistake."""

from __future__ import annotations

import io
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gatewatch.commands.backtest import patience
from ingest.lock import holding
from schemas.policy import Policy
from schemas.policy_file import policy_digest
from tests.gatewatch.terminal import gatewatch
from tests.gatewatch.test_terminal import harmless
from tests.oracle.cases import at, policy, ship
from tests.support.stored import Stored

POLICY = Policy.model_validate(policy())

QUALITY_ONLY = """\
name = "quality-only"
version = 2
[[gates]]
name = "quality"
reviewers = ["themis"]
[[pipelines]]
name = "reply"
gates = ["quality"]
[pipelines.applies_to]
kind = "artifact.shipment"
[severity]
gate_missing = "low"
"""

TURN = "\u202e"


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two replies without any decision, judged by a policy with two gates: four findings. Read only."""
    events = [ship("s1", 0), ship("s2", 3600, correlation_id="c2", artifact_id=f"b{TURN}")]
    with Stored(tmp_path_factory.mktemp("replies") / "data", software="0.0.9") as stored:
        stored.judge(POLICY, events)
    return stored.data


@pytest.fixture(autouse=True)
def changed(elsewhere: None) -> Path:
    """The changed policy, beside the user."""
    Path("changed.toml").write_text(QUALITY_ONLY)
    return Path("changed.toml")


def lines(text: str) -> list[str]:
    """The lines of an output, without the space that aligns columns."""
    return [re.sub(r" {2,}", "  ", line) for line in text.splitlines()]


def test_the_table_says_what_would_open_and_clear_and_shows_it(replies: Path) -> None:
    result = gatewatch("--data", replies, "policy", "backtest", "changed.toml", "--examples", "1")
    assert result.code == 0
    said = lines(result.out)
    assert said[0] == f"Judged by:  cases version 1, {policy_digest(POLICY)}"
    assert said[1].startswith("Would be:  quality-only version 2, sha256:")
    assert said[1].endswith(" (changed.toml)")
    assert said[2] == "Over:  2 events, 2026-06-03 12:00:00 to 2026-06-03 13:00:00 UTC, snapshot 1"
    assert "Would open 0 and clear 2; 2 open findings would stay." in said
    assert "rule  severity  before  after  opened  cleared  regraded" in said
    assert "gate_missing  critical → low  4  2  0  2  2" in said
    examples = said[said.index("Examples, the newest first:") + 3 :]
    assert [line.split("  ")[:2] for line in examples] == [["cleared", "gate_missing"], ["regraded", "gate_missing"]]
    assert examples[0].endswith("b\\u202e went out without any decision of the gate clearance.")
    assert harmless(result)


def test_the_document_holds_the_same_and_more(replies: Path) -> None:
    result = gatewatch("--data", replies, "policy", "backtest", "changed.toml", "--json")
    assert result.code == 0
    document = result.json
    assert document["policy_before"] == {"name": "cases", "version": 1, "digest": policy_digest(POLICY)}
    assert (document["policy_after"]["name"], document["policy_after"]["version"]) == ("quality-only", 2)
    assert document["snapshot"] == {
        "number": 1,
        "published_at": "2026-01-01T00:00:00.000000Z",
        "events": 2,
        "first_event_ts": at(0).replace("Z", ".000000Z"),
        "last_event_ts": at(3600).replace("Z", ".000000Z"),
    }
    (rule,) = document["rules"]
    examples = rule.pop("examples")
    counts = {
        "before": 4, "after": 2, "pending_before": 0, "pending_after": 0, "opened": 0, "cleared": 2, "settled": 0,
        "unsettled": 0, "awaited": 0, "dropped": 0, "regraded": 2,
    }  # fmt: skip
    assert rule == {"rule": "gate_missing", "severity_before": "critical", "severity_after": "low", **counts}
    assert (document["totals"], document["count"]) == (counts, 1)
    assert {change: len(shown) for change, shown in examples.items()} == {"cleared": 2, "regraded": 2}
    newest = examples["cleared"][0]
    assert len(newest.pop("finding_id")) == 32
    assert newest == {
        "event_ts": at(3600).replace("Z", ".000000Z"),
        "tenant": None,
        "correlation_id": "c2",
        "subject": f"b{TURN}",
        "message": f"b{TURN} went out without any decision of the gate clearance.",
    }


def test_the_policy_that_judges_already_says_so(sample: Path) -> None:
    """On generated data, with the policy that `ingest` kept: nothing opens, nothing clears."""
    checked = gatewatch("--data", sample, "check", "--json").json
    result = gatewatch("--data", sample, "policy", "backtest", "support-squad")
    assert (result.code, result.err) == (0, "")
    assert "the same policy" in result.out
    assert result.out.splitlines()[-1] == (f"Would open 0 and clear 0; {checked['count']} open findings would stay.")


def test_own_rules_of_the_settings_are_judged_as_well(tmp_path: Path, replies: Path) -> None:
    """A rule in the folder that the configuration names opens what it finds; its name is known to --rule."""
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "any.sql").write_text(
        "-- One row is one shipment.\n-- @rule anything info\n--   means: It went out.\n--   do: Nothing.\n"
        "--   satisfied by: nothing.\n"
        "SELECT 'anything' AS rule, 'open' AS status, e.event_id AS subject, '' AS occurrence, e.correlation_id, "
        "e.run_id, e.tenant, NULL AS caller, NULL AS tool, NULL AS gate, e.ts AS event_ts, "
        "ARRAY[e.event_id] AS evidence, 'It went out.' AS message FROM scope_events AS e "
        "WHERE e.kind = 'artifact.shipment'\n"
    )
    Path("gatewatch.toml").write_text('rules = "rules"\n')
    found = gatewatch("--data", replies, "policy", "backtest", "changed.toml", "--rule", "anything", "--json").json
    assert [(rule["rule"], rule["opened"], rule["severity_after"]) for rule in found["rules"]] == [
        ("anything", 2, "info")
    ]
    Path("gatewatch.toml").unlink()
    assert gatewatch("--data", replies, "policy", "backtest", "changed.toml", "--rule", "anything").code == 2


def test_it_works_while_an_ingest_holds_the_directory(replies: Path) -> None:
    with holding(replies):
        assert gatewatch("--data", replies, "policy", "backtest", "changed.toml").code == 0


def test_another_version_is_named_on_stderr_and_a_layout_that_does_not_fit_is_an_error(
    replies: Path, tmp_path: Path
) -> None:
    """The first may explain a difference, the second leaves nothing to compare: exit 3 and the fix."""
    result = gatewatch("--data", replies, "policy", "backtest", "changed.toml")
    assert "the snapshot was judged by gatewatch 0.0.9, this is " in result.err
    (tmp_path / "data").mkdir()
    link = shutil.copyfile((replies / "gatewatch.duckdb").resolve(), tmp_path / "data" / "gatewatch.duckdb")
    with duckdb.connect(str(link)) as con:
        con.execute("ALTER TABLE sources DROP COLUMN complete")
    broken = gatewatch("--data", tmp_path / "data", "policy", "backtest", "changed.toml")
    assert broken.code == 3
    assert "sources.complete is missing or differs" in broken.complaint
    assert "`gatewatch rebuild`" in broken.complaint


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing.toml"], "policy missing.toml: no such file"),
        (["support-sqad"], 'no shipped policy of that name; did you mean "support-squad"?'),
        (["changed.toml", "--rule", "gate_mising"], '--rule gate_mising: no such rule; did you mean "gate_missing"?'),
        (["changed.toml", "--examples", "-1"], "-1 is not in the range"),
        ([], "Missing argument 'FILE'"),
    ],
)
def test_a_mistake_is_one_line(arguments: list[str], said: str, replies: Path) -> None:
    result = gatewatch("--data", replies, "policy", "backtest", *arguments)
    assert result.code == 2
    assert said in result.complaint


def test_a_directory_without_a_snapshot_is_one_line(tmp_path: Path) -> None:
    result = gatewatch("--data", tmp_path / "none", "policy", "backtest", "changed.toml")
    assert result.code == 2
    assert "holds no snapshot yet" in result.complaint


def test_a_person_sees_that_it_works_and_a_program_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line on a terminal's stderr, which is taken away again."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def during(stream: Any) -> str:
        monkeypatch.setattr(sys, "stderr", stream)
        with patience(f"judging{TURN} …"):
            pass
        return str(stream.getvalue())

    assert during(io.StringIO()) == ""
    assert during(Terminal()) == "judging\\u202e …\r\x1b[K"
