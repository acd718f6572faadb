"""A backtest says what another policy would have opened and cleared, from a snapshot alone, and changes nothing."""

from __future__ import annotations

import hashlib
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.pipeline import Pipeline
from sample_data import policy_path
from schemas.policy import Policy
from schemas.policy_file import parse_policy, policy_digest
from tests.oracle.cases import NOON, attempt, claim, decide, policy, record, ship
from tests.support.stored import Stored
from transforms.backtest import CHANGES, Backtest, Change, RuleChange, backtest
from transforms.errors import BacktestError
from transforms.own_rules import judged_by
from transforms.rule_folder import load_rules

POLICY = Policy.model_validate(policy())

OWN_RULE = """\
-- One row is one shipment by post.
-- @rule by_post low
--   means: It went out by post.
--   do: Nothing.
--   satisfied by: another channel.
SELECT
    'by_post' AS rule, 'open' AS status, e.artifact_id AS subject, e.event_id AS occurrence, e.correlation_id, e.run_id,
    e.tenant, CAST(NULL AS VARCHAR) AS caller, CAST(NULL AS VARCHAR) AS tool, CAST(NULL AS VARCHAR) AS gate,
    e.ts AS event_ts, ARRAY[e.event_id] AS evidence, e.artifact_id || ' went out by post.' AS message
FROM scope_events AS e
WHERE e.kind = 'artifact.shipment' AND e.channel = 'post'
"""


def gates(*names: str, grace: str = "60s", **more: Any) -> Policy:
    """The policy of the hand-worked cases with only these gates in front of a reply."""
    changed = policy(**more)
    changed["gates"] = [{"name": name} for name in names]
    changed["pipelines"][0] |= {"gates": list(names), "grace": grace}
    return Policy.model_validate(changed)


def changes(result: Backtest) -> dict[str, dict[Change, int]]:
    """Rule → what changes, without zeros."""
    found = {rule.rule: {name: n for name, n in rule.changes.items() if n} for rule in result.rules}
    return {rule: some for rule, some in found.items() if some}


def only(result: Backtest, rule: str) -> RuleChange:
    """The one entry of a rule."""
    (found,) = [entry for entry in result.rules if entry.rule == rule]
    return found


def query(file: Path, sql: str) -> list[tuple[Any, ...]]:
    """Ask a database file."""
    with duckdb.connect(str(file), read_only=True) as con:
        return con.execute(sql).fetchall()


def open_by_rule(file: Path) -> dict[str, int]:
    """Rule → open findings, straight from the file."""
    return dict(query(file, "SELECT rule, count(*) FROM findings WHERE status = 'open' GROUP BY rule"))


# Two replies without any decision, and one with a full set: 4 missing decisions.
SILENT = [
    ship("s1", 0),
    ship("s2", 60, correlation_id="c2", artifact_id="b"),
    decide("q3", 100, "quality", correlation_id="c3"),
    decide("k3", 110, "clearance", correlation_id="c3"),
    ship("s3", 120, correlation_id="c3"),
]


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of `SILENT`. Read only."""
    with Stored(tmp_path_factory.mktemp("silent") / "data") as stored:
        return stored.judge(POLICY, SILENT)


def test_the_policy_that_judged_changes_nothing(silent: Path, tmp_path: Path) -> None:
    """On finished and on open sources, with rows of global rules and of runs that share a key, and on nothing."""
    shared = [attempt("t1", 0, idempotency_key="k"), attempt("t2", 5, idempotency_key="k", correlation_id="c2")]
    reused = {"quarantine_id": "q9", "seq": 9, "reason": "event_conflict", "event_id": "s1", "source": "f"}
    failed = {"verified_at": NOON, "ok": False, "problems": ["events: 1 row is changed"]}
    private = [{**event, "_redacted": True, "source": "x"} for event in SILENT]
    with Stored(tmp_path / "finished") as stored:
        finished = stored.judge(POLICY, [*SILENT, *shared], facts={"quarantine": [reused], "verifications": [failed]})
    with Stored(tmp_path / "running") as stored:
        running = stored.judge(POLICY, private, watermark=NOON + timedelta(seconds=90))
    with Stored(tmp_path / "empty") as stored:
        empty = stored.judge(POLICY)

    totals = {}
    for file in (silent, finished, running, empty):
        result = backtest(file, POLICY)
        assert changes(result) == {}, file
        assert {rule.rule: rule.before for rule in result.rules if rule.before} == open_by_rule(file)
        assert all((rule.before, rule.pending_before) == (rule.after, rule.pending_after) for rule in result.rules)
        assert all(rule.severity_before == rule.severity_after for rule in result.rules)
        assert result.before == result.after
        totals[file] = [sum(getattr(rule, name) for rule in result.rules) for name in ("before", "pending_before")]
    assert {"event_conflict", "ledger_tampered", "duplicate_execution"} <= set(open_by_rule(finished))
    assert totals[silent] == [4, 0]
    # At noon + 90 s the minute of the first reply is over and that of the second is not; the redaction is one more.
    assert totals[running] == [3, 2]
    assert totals[empty] == [0, 0]


@pytest.fixture(scope="module")
def pieces(sample_events: list[dict[str, Any]], squad_policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of the committed sample after it came in three pieces. Read only."""
    with Stored(tmp_path_factory.mktemp("pieces") / "data") as stored:
        third = len(sample_events) // 3 + 1
        return [stored.judge(squad_policy, sample_events[n : n + third]) for n in range(0, 3 * third, third)][-1]


def test_what_was_judged_bit_by_bit_is_the_baseline_too(pieces: Path, squad_policy: Policy) -> None:
    """The snapshot of an incremental refresh is like with like as well."""
    assert sum(open_by_rule(pieces).values()) > 30
    assert changes(backtest(pieces, squad_policy)) == {}


def test_a_gate_less_clears_and_a_gate_more_opens(silent: Path) -> None:
    """Two replies miss both gates; without clearance two findings go, with a duty lead three more come."""
    less = backtest(silent, gates("quality"))
    assert changes(less) == {"gate_missing": {"cleared": 2}}
    rule = only(less, "gate_missing")
    assert (rule.before, rule.after, rule.severity_before, rule.severity_after) == (4, 2, "critical", "critical")
    cleared = rule.examples["cleared"]
    assert [(example.subject, example.correlation_id) for example in cleared] == [("b", "c2"), ("a", "c1")]
    assert cleared[0].message == "b went out without any decision of the gate clearance."
    known = dict(query(silent, "SELECT finding_id, event_ts FROM findings WHERE gate = 'clearance'"))
    assert {example.finding_id: example.event_ts for example in cleared} == known

    more = backtest(silent, gates("quality", "clearance", "duty"))
    assert changes(more) == {"gate_missing": {"opened": 3}}
    assert [example.correlation_id for example in only(more, "gate_missing").examples["opened"]] == ["c3", "c2", "c1"]
    assert more.before.digest == policy_digest(POLICY) != more.after.digest
    assert (more.before.name, more.after.name, more.about["events"]) == ("cases", "cases", 5)


def test_a_severity_of_its_own_is_a_change_that_opens_nothing(silent: Path) -> None:
    result = backtest(silent, Policy.model_validate(policy(severity={"gate_missing": "low"})), examples=1)
    assert changes(result) == {"gate_missing": {"regraded": 4}}
    rule = only(result, "gate_missing")
    assert (rule.severity_before, rule.severity_after, rule.before, rule.after) == ("critical", "low", 4, 4)
    assert [example.correlation_id for example in rule.examples["regraded"]] == ["c2"]


def test_a_longer_patience_makes_open_findings_wait_and_a_shorter_one_settles_them(tmp_path: Path) -> None:
    """At noon + 90 s: s1 (noon) is over its minute, s2 (noon + 60 s) is not; with an hour both wait, with 10 s none."""
    events = [ship("s1", 0), ship("s2", 60, correlation_id="c2")]
    with Stored(tmp_path / "data") as stored:
        file = stored.judge(gates("quality"), events, watermark=NOON + timedelta(seconds=90))
    longer = only(backtest(file, gates("quality", grace="1h")), "gate_missing")
    assert {name: n for name, n in longer.changes.items() if n} == {"unsettled": 1}
    assert (longer.before, longer.after, longer.pending_before, longer.pending_after) == (1, 0, 1, 2)
    shorter = only(backtest(file, gates("quality", grace="10s")), "gate_missing")
    assert {name: n for name, n in shorter.changes.items() if n} == {"settled": 1}
    assert (shorter.before, shorter.after, shorter.pending_before, shorter.pending_after) == (1, 2, 1, 0)
    assert [example.correlation_id for example in shorter.examples["settled"]] == ["c2"]
    other = changes(backtest(file, gates("clearance")))
    assert other == {"gate_missing": {"opened": 1, "cleared": 1, "awaited": 1, "dropped": 1}}


def test_the_watermark_is_that_of_the_snapshot_and_not_of_today(tmp_path: Path) -> None:
    """Less lateness moves it on: from noon + 90 s to noon + 119 s, which is still before the end of grace."""
    events = [ship("s2", 60)]
    with Stored(tmp_path / "data") as stored:
        file = stored.judge(gates("quality"), events, watermark=NOON + timedelta(seconds=90))
    prompt = {"allowed_lateness": "1s", "clock_skew": "2s", "grace": "60s"}
    assert changes(backtest(file, gates("quality", time=prompt))) == {}
    late = {"allowed_lateness": "0s", "clock_skew": "2s", "grace": "60s"}
    assert changes(backtest(file, gates("quality", grace="59s", time=late))) == {"gate_missing": {"settled": 1}}


def test_it_says_what_a_rebuild_by_the_other_policy_would_have(
    pieces: Path, sample_events: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Opened and cleared are exactly the differences between two stores, one judged by each policy."""
    workbench = parse_policy(policy_path("workbench").read_text(encoding="utf-8"))
    with Stored(tmp_path / "data") as stored:
        files = [pieces, stored.judge(workbench, sample_events)]
    result = backtest(pieces, workbench, examples=10**6)
    held = "SELECT finding_id FROM findings WHERE status = 'open'"
    ids = [{finding for (finding,) in query(file, held)} for file in files]
    found = {
        side: {example.finding_id for rule in result.rules for example in rule.examples.get(side, ())}
        for side in CHANGES
    }
    assert found["opened"] == ids[1] - ids[0] != set()
    assert found["cleared"] == ids[0] - ids[1] != set()
    assert {rule.rule: rule.after for rule in result.rules if rule.after} == open_by_rule(files[1])
    for rule in result.rules:
        moved = rule.changes["opened"] + rule.changes["settled"] - rule.changes["cleared"] - rule.changes["unsettled"]
        assert rule.after == rule.before + moved


@pytest.mark.parametrize(("examples", "shown"), [(0, 0), (1, 1), (9, 4)])
def test_examples_are_the_newest_and_no_more_than_asked_for(examples: int, shown: int, silent: Path) -> None:
    rule = only(backtest(silent, Policy.model_validate(policy(pipelines=[])), examples=examples), "gate_missing")
    cleared = rule.examples.get("cleared", ())
    assert (rule.changes["cleared"], len(cleared)) == (4, shown)
    assert [example.correlation_id for example in cleared] == ["c2", "c2", "c1", "c1"][:shown]


def test_one_rule_can_be_looked_at_alone(tmp_path: Path) -> None:
    """A claim without evidence is in the same store, and is left out."""
    with Stored(tmp_path / "data") as stored:
        file = stored.judge(POLICY, [*SILENT, record("r", 200, claim())])
    assert [rule.rule for rule in backtest(file, POLICY).rules] == ["gate_missing", "phantom_execution"]
    assert [rule.rule for rule in backtest(file, POLICY, rule="phantom_execution").rules] == ["phantom_execution"]
    assert backtest(file, POLICY, rule="no_such_rule").rules == ()


def test_own_rules_are_judged_as_well(tmp_path: Path) -> None:
    """The same rules on both sides change nothing; one that is new opens, one that is gone clears."""
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "post.sql").write_text(OWN_RULE)
    own = load_rules(folder)
    events = [ship("s1", 0, channel="post"), ship("s2", 60, correlation_id="c2", channel="email")]
    with Stored(tmp_path / "without") as stored:
        plain = stored.judge(POLICY, events)
    with Stored(tmp_path / "with") as stored:
        judged = stored.judge(POLICY, events, own=own)

    same = backtest(judged, POLICY, own=own)
    assert changes(same) == {}
    assert only(same, "by_post").before == only(same, "by_post").after == 1
    assert same.before.digest == same.after.digest == judged_by(POLICY, own)

    added = only(backtest(plain, POLICY, own=own), "by_post")
    assert (added.changes["opened"], added.severity_before, added.severity_after) == (1, None, "low")
    assert [example.message for example in added.examples["opened"]] == ["a went out by post."]
    removed = only(backtest(judged, POLICY), "by_post")
    assert (removed.changes["cleared"], removed.severity_before, removed.severity_after) == (1, "low", None)


def test_nothing_stored_changes_and_no_lock_is_taken(silent: Path, tmp_path: Path) -> None:
    """While the one writer has the directory: every file, the snapshot first of all, keeps its bytes."""

    def prints() -> dict[str, str]:
        files = [path for path in sorted(silent.parents[1].rglob("*")) if path.is_file()]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    with Pipeline(tmp_path / "data") as pipeline:
        assert pipeline.connection is not None
        (tmp_path / "data" / "gatewatch.duckdb").symlink_to(silent)
        before = prints()
        result = backtest(tmp_path / "data" / "gatewatch.duckdb", gates("quality"))
        assert changes(result) == {"gate_missing": {"cleared": 2}}
    assert prints() == before


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        ("ALTER TABLE events DROP COLUMN floor_ts", "events.floor_ts"),
        ("ALTER TABLE quarantine DROP COLUMN event_id", "quarantine.event_id"),
        ("ALTER TABLE events ALTER amount TYPE VARCHAR", "events.amount"),
        ("DROP TABLE sources", "sources.source"),
        ("DROP TABLE policy_severity", "policy_severity.rule"),
        ("ALTER TABLE findings DROP COLUMN message", "findings.message"),
        ("ALTER TABLE about DROP COLUMN policy_digest", "about.policy_digest"),
    ],
)
def test_a_snapshot_of_another_version_is_one_line_with_the_fix(
    damage: str, named: str, silent: Path, tmp_path: Path
) -> None:
    file = shutil.copyfile(silent, tmp_path / "old.duckdb")
    with duckdb.connect(str(file)) as con:
        for (name,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
            con.execute(f'DROP VIEW "{name}"')
        con.execute(damage)
    with pytest.raises(BacktestError) as caught:
        backtest(file, POLICY)
    assert f"made by another version of gatewatch ({named} is missing" in str(caught.value)
    assert "`gatewatch rebuild`" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_snapshot_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "it's.duckdb").write_bytes(b"no database")
    for file in (tmp_path / "it's.duckdb", tmp_path / "missing.duckdb"):
        with pytest.raises(BacktestError, match=r"the backtest of .* failed") as caught:
            backtest(file, POLICY)
        assert "\n" not in str(caught.value)
