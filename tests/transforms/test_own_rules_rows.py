"""What own rules find: judged like shipped ones, and what can be no finding is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemas.policy import Policy
from schemas.policy_file import parse_policy, policy_digest
from tests.docs.pages import blocks
from tests.support.engine import NOW, create, load
from tests.support.own_rules import ENDLESS, HEAD, POLICY, call, select
from transforms.catalogue import relations, rules
from transforms.errors import OwnRuleError
from transforms.own_rules import NO_RULES, OwnRules, blaming, check_rows, judged_by, known_rules, rule_texts
from transforms.refresh import refresh
from transforms.rule_folder import load_rules


@pytest.fixture
def con() -> Iterator[duckdb.DuckDBPyConnection]:
    """Two calls: a quick one, and one of two seconds."""
    with duckdb.connect() as made:
        create(made)
        load(made, [call("quick", 10), call("slow", 2000, tenant="acme")])
        yield made


def judge(con: duckdb.DuckDBPyConnection, folder: Path, sql: str, policy: Policy = POLICY) -> OwnRules:
    (folder / "slow.sql").write_text(sql)
    own = load_rules(folder)
    refresh(con, policy, now=NOW, own=own)
    return own


def found(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    query = "SELECT rule, severity, status, subject, tenant, evidence, policy_digest FROM findings"
    return con.execute(f"{query} WHERE rule = 'slow_call'").fetchall()


def test_an_own_rule_judges_like_a_shipped_one(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """With the policy's severity, and its words in the database; without its file its findings are gone."""
    policy = parse_policy('name = "p"\nversion = 1\n[severity]\nslow_call = "critical"\n')
    own = judge(con, folder, HEAD + select(), policy)
    digest = judged_by(policy, own)
    assert found(con) == [("slow_call", "critical", "open", "slow", "acme", ["slow"], digest)]
    texts = con.execute("SELECT * FROM rule_texts WHERE rule = 'slow_call'").fetchall()
    assert texts == [("slow_call", "own_slow", "low", "It took long.", "Find out why.", "a quick call.")]
    assert con.execute("SELECT digest FROM policy_about").fetchall() == [(digest,)]
    load(con, [call("slower", 9000, correlation_id="T-2")])
    con.execute("UPDATE events SET seq = 3 WHERE event_id = 'slower'")
    refresh(con, policy, now=NOW, own=own)
    assert sorted(row[3] for row in found(con)) == ["slow", "slower"]
    refresh(con, POLICY, now=NOW)
    assert found(con) == []
    history = con.execute("SELECT change, reason FROM finding_history WHERE change = 'cleared'").fetchall()
    assert history == [("cleared", "policy")] * 2


def compute(con: duckdb.DuckDBPyConnection, folder: Path, sql: str) -> None:
    """What a refresh does with an own rule before anything of it gets into the findings."""
    (folder / "slow.sql").write_text(sql)
    own = load_rules(folder)
    (relation,) = own.relations
    with blaming(con, relation):
        con.execute(f"CREATE OR REPLACE TEMP TABLE {relation.name} AS {relation.sql}")
    check_rows(con, own)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rule": "'other'"}, 'returns the rule "other", which no "-- @rule" line declares'),
        ({"rule": "'gate_missing'"}, 'returns the rule "gate_missing", which no "-- @rule" line declares'),
        ({"rule": "NULL"}, 'returns the rule NULL, which no "-- @rule" line declares'),
        ({"status": "'closed'"}, 'returns the status "closed"; it must be open or pending'),
        ({"status": "NULL"}, "returns the status NULL; it must be open or pending"),
        ({"subject": "NULL"}, "returns a row without subject"),
        ({"event_ts": "NULL"}, "returns a row without event_ts"),
        ({"message": "NULL"}, "returns a row without message"),
        ({"evidence": "NULL"}, "returns a row without evidence"),
        ({"correlation_id": "'T-9'"}, 'returns a row of the run "T-9", which is not the run of what it has read'),
        ({"tenant": "'globex'"}, 'returns a row of the run "T-1", which is not the run of what it has read'),
        ({"correlation_id": "NULL", "event_ts": "CAST('1999-01-01' AS TIMESTAMP)"}, 'of the run "@1999-01-01"'),
        ({"tool": "CAST(CAST(e.tool AS INTEGER) AS VARCHAR)"}, "its SELECT failed on the stored events (Conversion "),
    ],
)
def test_a_row_that_can_be_no_finding_is_refused(
    two_calls: duckdb.DuckDBPyConnection, folder: Path, changes: dict[str, str], said: str
) -> None:
    """Dropping it would look as if there were nothing; letting it in would leave a finding that nothing clears."""
    compute(two_calls, folder, HEAD + select())
    with pytest.raises(OwnRuleError) as raised:
        compute(two_calls, folder, HEAD + select(**changes))
    assert str(raised.value).startswith("own rule slow.sql: ")
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_one_finding_is_returned_once(two_calls: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Two rows of one id would be opened twice and cleared once; `occurrence` tells them apart."""
    twice = "scope_events AS e CROSS JOIN (SELECT 'a' AS n UNION ALL SELECT 'b') AS two"
    with pytest.raises(OwnRuleError, match="returns one finding twice"):
        compute(two_calls, folder, HEAD + select(source=twice))
    compute(two_calls, folder, HEAD + select(source=twice, occurrence="two.n"))


def test_a_refused_row_leaves_everything_as_it_was(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """The judging stops as a whole."""
    judge(con, folder, HEAD + select())
    before = found(con)
    with pytest.raises(OwnRuleError, match='returns the rule "other"'):
        judge(con, folder, HEAD + select(rule="'other'"))
    assert found(con) == before


def test_a_rule_that_does_not_end_is_stopped(
    con: duckdb.DuckDBPyConnection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a line that names it; what was judged before stays, and is judged again without it."""
    own = judge(con, folder, HEAD + select())
    load(con, [call(f"call-{number}", 2000) for number in range(20)])
    con.execute("UPDATE events SET seq = rowid + 1")
    before, threads = found(con), threading.active_count()
    monkeypatch.setattr("transforms.own_rules.LIMIT_S", 0.2)
    with pytest.raises(OwnRuleError) as raised:
        judge(con, folder, HEAD + ENDLESS)
    assert str(raised.value) == (
        "own rule slow.sql: took longer than 0.2 s; join its tables on correlation_id and tenant so that it compares "
        "fewer rows, or take it out of the folder"
    )
    assert found(con) == before
    assert threading.active_count() == threads
    monkeypatch.undo()
    refresh(con, POLICY, now=NOW, own=own)
    assert len(found(con)) == 21


def test_only_the_rules_own_statement_is_stopped(
    con: duckdb.DuckDBPyConnection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit that is reached between two statements, a shipped relation, and an interruption by somebody else."""
    (relation,) = judge(con, folder, HEAD + select()).relations
    shipped = next(one for one in relations() if one.name == "rule_gates")
    threads = threading.active_count()
    for limit, one in ((0.01, relation), (0.0, shipped), (60.0, relation)):
        monkeypatch.setattr("transforms.own_rules.LIMIT_S", limit)
        with blaming(con, one):
            con.execute("SELECT 1")
            time.sleep(0.05)
        assert threading.active_count() == threads
        assert con.execute("SELECT count(*) FROM range(1000) AS a, range(1000) AS b").fetchall() == [(1_000_000,)]
    with pytest.raises(duckdb.InterruptException), blaming(con, relation):
        raise duckdb.InterruptException("Interrupted!")


def test_a_rule_about_everything_belongs_to_no_run(
    con: duckdb.DuckDBPyConnection, two_calls: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    """Its findings are replaced as a whole."""
    head = HEAD.replace("long.\n-- @rule", "long.\n-- @scope all\n-- @rule", 1)
    source = "scope_all_events AS e"
    with pytest.raises(OwnRuleError, match='returns a correlation_id, although "-- @scope all" says'):
        compute(two_calls, folder, head + select(source=source))
    judge(con, folder, head + select(source=source, correlation_id="NULL"))
    assert [row[3] for row in found(con)] == ["slow"]


def test_the_digest_covers_the_files_and_is_the_policys_own_without_any(folder: Path) -> None:
    """A finding says what judged it: another file, another name, another digest."""
    assert judged_by(POLICY, NO_RULES) == policy_digest(POLICY)
    (folder / "slow.sql").write_text(HEAD + select())
    one = judged_by(POLICY, load_rules(folder))
    assert one == judged_by(POLICY, load_rules(folder))
    assert one.startswith("sha256:")
    assert len(one) == len(policy_digest(POLICY))
    (folder / "slow.sql").write_text(HEAD + select() + "\n")
    other = judged_by(POLICY, load_rules(folder))
    (folder / "slow.sql").rename(folder / "slower.sql")
    third = judged_by(POLICY, load_rules(folder))
    assert len({policy_digest(POLICY), one, other, third}) == 4


def test_the_texts_of_all_rules_are_there_for_readers(folder: Path) -> None:
    """`explain` and the page have no files."""
    (folder / "slow.sql").write_text(HEAD + select())
    own = load_rules(folder)
    table = rule_texts(own)
    assert [name for name, _ in table.columns] == ["rule", "family", "severity", "means", "action", "satisfied_by"]
    assert {row[0] for row in table.rows} == set(known_rules(own)) == {*rules(), "slow_call"}
    gate = rules()["gate_late"]
    assert ("gate_late", "gates", gate.severity, gate.means, gate.do, gate.satisfied_by) in table.rows


def test_the_example_of_the_manual_is_a_rule(con: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """A refund without a look at the order fires; one after a look, or in another tenant's run, does not."""
    (example,) = blocks("docs/policy.md", "sql")
    refund = {"tool": "issue_refund", "privilege": "write", "side_effects": "irreversible"}
    look, noon = {"tool": "order_lookup"}, datetime(2026, 6, 3, 12, tzinfo=UTC)
    load(
        con,
        [
            call("unseen", 1, **refund, tenant="acme", correlation_id="T-5"),
            call("look", 1, **look, correlation_id="T-5"),
            call("look-6", 1, **look, correlation_id="T-6"),
            call("seen", 1, **refund, correlation_id="T-6", ts=noon.replace(minute=1)),
            call("failed", 1, **refund | {"outcome": "failed"}, correlation_id="T-7"),
        ],
    )
    con.execute("UPDATE events SET seq = rowid + 1")
    (folder / "refunds.sql").write_text(example)
    refresh(con, POLICY, now=NOW, own=load_rules(folder))
    query = "SELECT subject, severity, tenant, evidence FROM findings WHERE rule = 'refund_unseen'"
    assert con.execute(query).fetchall() == [("unseen", "medium", "acme", ["unseen"])]
