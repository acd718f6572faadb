"""A refresh is a pure function of events and policy, all or nothing, and remembers what it opened and cleared."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import duckdb
import pytest

from schemas.policy import Policy
from schemas.policy_file import policy_digest
from tests.oracle.cases import decide, policy, ship
from tests.support.engine import NOW, judged, load
from transforms.catalogue import parse_relation, relations, rules
from transforms.refresh import refresh

PUBLIC = [relation.name for relation in relations() if relation.public]
POLICY = Policy.model_validate(policy())
NO_PIPELINES = Policy.model_validate(policy(pipelines=[]))

Rows = dict[str, list[tuple[Any, ...]]]


def everything(con: duckdb.DuckDBPyConnection, *more: str) -> Rows:
    """Every row of every public table and of `findings`, in one order."""
    names = [*PUBLIC, "findings", *more]
    return {name: sorted(con.execute(f"SELECT * FROM {name}").fetchall(), key=repr) for name in names}


def history(con: duckdb.DuckDBPyConnection, since: Any) -> list[tuple[Any, ...]]:
    """(finding, change, reason) of what was noticed at one time."""
    query = 'SELECT finding_id, change, reason FROM finding_history WHERE "at" = ? ORDER BY finding_id, change'
    return con.execute(query, [since]).fetchall()


def test_a_second_refresh_changes_nothing(sample_events: list[dict[str, Any]], squad_policy: Policy) -> None:
    """And neither does the order of arrival: the same rows, the same ids, and no new history."""
    with judged(sample_events, squad_policy) as con:
        before = everything(con, "finding_history")
        refresh(con, squad_policy, now=NOW + timedelta(hours=1))
        assert everything(con, "finding_history") == before
        assert before["findings"]
        con.execute("CREATE TABLE kept AS FROM events")
        con.execute("DELETE FROM events")
        con.execute("INSERT INTO events FROM kept ORDER BY md5(event_id)")
        refresh(con, squad_policy, now=NOW + timedelta(hours=2), full=True)
        assert everything(con, "finding_history") == before


def test_a_finding_has_an_id_of_its_own(sample: duckdb.DuckDBPyConnection, squad_policy: Policy) -> None:
    """One id for one rule and subject, 32 hex digits; evidence, severity and the digest of what judged beside it."""
    (total, ids, hexes) = sample.execute(
        "SELECT count(*), count(DISTINCT finding_id), count(*) FILTER (regexp_full_match(finding_id, '[0-9a-f]{32}')) "
        "FROM findings"
    ).fetchall()[0]
    assert total == ids == hexes > 30
    assert sample.execute("SELECT DISTINCT policy_digest FROM findings").fetchall() == [(policy_digest(squad_policy),)]
    foreign = (
        "SELECT count(*) FROM (SELECT unnest(evidence) AS e FROM findings) WHERE e NOT IN (SELECT event_id FROM events)"
    )
    assert sample.execute(foreign).fetchall() == [(0,)]
    assert sample.execute("SELECT count(*) FROM findings WHERE len(evidence) = 0 OR message IS NULL").fetchall() == [
        (0,)
    ]


def test_an_error_leaves_the_former_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refresh that fails half way through has changed nothing, not even the policy; the next one works."""
    with judged([ship("s1", 0)], POLICY) as con:
        names = ("finding_history", "policy_about", "policy_pipelines")
        before = everything(con, *names)
        load(con, [ship("s2", 10, artifact_id="b")])
        # `runs` comes late: the rest has been computed by then.
        broken = parse_relation("zz", "mart", "-- One row is wrong.\nSELECT error('boom') AS x FROM runs")
        with monkeypatch.context() as patched:
            patched.setattr("transforms.refresh.relations", lambda: (*relations(), broken))
            with pytest.raises(duckdb.Error, match="boom"):
                refresh(con, NO_PIPELINES, now=NOW + timedelta(hours=1))
        assert everything(con, *names) == before
        assert con.execute("SELECT count(*) FROM events").fetchall() == [(2,)]
        refresh(con, POLICY, now=NOW + timedelta(hours=2))
        assert con.execute("SELECT subject, gate, status FROM findings ORDER BY ALL").fetchall() == [
            ("a", "clearance", "open"),
            ("a", "quality", "open"),
            ("b", "clearance", "open"),
            ("b", "quality", "open"),
        ]


def test_the_history_says_what_was_noticed_when_and_why() -> None:
    """Evidence that arrives late clears with that reason; another policy clears and opens with reason `policy`."""
    with judged([ship("s1", 0)], POLICY) as con:
        ids = dict(con.execute("SELECT gate, finding_id FROM findings").fetchall())
        assert set(ids) == {"quality", "clearance"}
        assert history(con, NOW) == sorted((ids[gate], "opened", "evidence") for gate in ids)
        hours = [NOW + timedelta(hours=n) for n in range(4)]
        load(con, [decide("q1", -10, "quality")])  # happened in time, arrived late
        refresh(con, POLICY, now=hours[1])
        assert history(con, hours[1]) == [(ids["quality"], "cleared", "late_evidence")]
        refresh(con, NO_PIPELINES, now=hours[2])
        assert history(con, hours[2]) == [(ids["clearance"], "cleared", "policy")]
        assert con.execute("SELECT count(*) FROM findings").fetchall() == [(0,)]
        refresh(con, POLICY, now=hours[3])
        assert history(con, hours[3]) == [(ids["clearance"], "opened", "policy")]
        assert con.execute("SELECT count(*) FROM finding_history").fetchall() == [(5,)]


def test_what_is_pending_is_not_yet_history() -> None:
    """While the grace runs a check lacks evidence and nothing is claimed; 2 s past it, it is open."""
    with judged([ship("s1", 0)], POLICY, watermark=NOW) as con:
        # The watermark of 2026-01-01 is before the shipment: the source still may bring the decisions.
        assert con.execute("SELECT DISTINCT status FROM findings").fetchall() == [("pending",)]
        assert con.execute("SELECT count(*) FROM finding_history").fetchall() == [(0,)]
        assert con.execute("SELECT DISTINCT status FROM gate_checks").fetchall() == [("pending",)]
        con.execute("UPDATE sources SET complete = TRUE")
        refresh(con, POLICY, now=NOW)
        assert con.execute("SELECT status, count(*) FROM findings GROUP BY ALL").fetchall() == [("open", 2)]
        assert con.execute("SELECT change, count(*) FROM finding_history GROUP BY ALL").fetchall() == [("opened", 2)]


def test_the_policy_has_the_last_word_on_severity() -> None:
    """`[severity]` overrides the rule's own, in the findings and in the table of severities."""
    changed = Policy.model_validate(policy(severity={"gate_missing": "low"}))
    with judged([ship("s1", 0)], changed) as con:
        assert con.execute("SELECT DISTINCT rule, severity FROM findings").fetchall() == [("gate_missing", "low")]
        known = dict(con.execute("SELECT rule, severity FROM policy_severity").fetchall())
    assert set(known) == set(rules())
    assert known["gate_late"] == rules()["gate_late"].severity
