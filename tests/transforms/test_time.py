"""Time: watermarks of source partitions, grace, pending → open → cleared, and evidence that is late in either sense.

The policy of these tests: lateness 30 s, skew 2 s, idle after 5 min, grace 60 s. A shipment at second 0 that nothing
has passed is therefore settled when every open source has been read past second 0 + 60 + 30.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from schemas.policy import Policy
from tests.oracle.cases import NOON, decide, policy, receipt, record, ship
from tests.support.engine import create, load
from tests.support.own_rules import HEAD, call, select
from transforms.refresh import NO_WATERMARK_US, refresh
from transforms.rule_folder import load_rules

ONE_GATE = Policy.model_validate(
    policy(
        time={"allowed_lateness": "30s", "clock_skew": "2s", "idle_after": "5m", "grace": "60s"},
        pipelines=[
            {
                "name": "reply",
                "applies_to": {"kind": "artifact.shipment"},
                "gates": ["quality"],
                "grace": "60s",
            }
        ],
    )
)


def at(seconds: float) -> datetime:
    """So many seconds after the shipment, naive UTC."""
    return NOON.replace(tzinfo=None) + timedelta(seconds=seconds)


class Stream:
    """A database whose sources and clocks a test moves by hand."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.reads = 0
        create(con)

    def source(self, name: str, newest: float | None, *, read: float = 0, complete: bool = False) -> None:
        """The source has been read up to an event time, the last line at a wall-clock time (both in seconds)."""
        self.con.execute("DELETE FROM sources WHERE source = ?", [name])
        self.con.execute(
            "INSERT INTO sources (source, max_ts, complete, last_received_at) VALUES (?, ?, ?, ?)",
            [name, None if newest is None else at(newest), complete, at(read)],
        )

    def clock(self, seconds: float) -> None:
        """The newest time at which the ledger was written to."""
        self.con.execute("INSERT INTO batches (received_at) VALUES (?)", [at(seconds)])

    def refresh(self) -> list[tuple[Any, ...]]:
        """Refresh at the next hour of the wall clock; (rule, status) of every gate finding."""
        self.reads += 1
        refresh(self.con, ONE_GATE, now=at(3600 * self.reads))
        return self.con.execute("SELECT rule, status FROM findings WHERE gate IS NOT NULL ORDER BY ALL").fetchall()

    def changes(self) -> list[tuple[Any, ...]]:
        """(rule, change, reason) in the order in which it was noticed."""
        query = (
            "SELECT rule, change, reason FROM finding_history WHERE rule LIKE 'gate_%' ORDER BY \"at\", change, rule"
        )
        return self.con.execute(query).fetchall()

    def watermark(self) -> float | None:
        """The watermark in seconds after the shipment; None when everything is finished."""
        ((us,),) = self.con.execute("SELECT watermark_us - epoch_us(?::TIMESTAMP) FROM clock", [at(0)]).fetchall()
        return None if us > NO_WATERMARK_US / 2 else us / 1e6


@pytest.fixture
def stream() -> Iterator[Stream]:
    with duckdb.connect(config={"threads": 1}) as con:
        yield Stream(con)


def test_a_check_waits_until_its_grace_is_over_and_then_opens_once(stream: Stream) -> None:
    """Nobody is called out of bed for a decision that is a few seconds behind, and everybody when it stays away."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 90)
    assert stream.refresh() == [("gate_missing", "pending")]
    assert stream.watermark() == 60  # 90 - 30, and the grace ends at 60: it must be passed, not reached
    stream.source("topic/0", 90.000001)
    assert stream.refresh() == [("gate_missing", "open")]
    assert stream.refresh() == [("gate_missing", "open")]
    assert stream.changes() == [("gate_missing", "opened", "grace_over")]


def test_a_decision_within_the_grace_leaves_no_trace(stream: Stream) -> None:
    """What was pending and then passed was never a finding, so the history is silent about it."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 20)
    assert stream.refresh() == [("gate_missing", "pending")]
    load(stream.con, [decide("d1", -1, "quality")])
    assert stream.refresh() == []
    assert stream.changes() == []


def test_evidence_that_happened_in_time_and_arrived_late_clears(stream: Stream) -> None:
    """The mail was reviewed after all; the record of it was stuck for an hour."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    assert stream.refresh() == [("gate_missing", "open")]
    load(stream.con, [decide("d1", -1, "quality")])
    assert stream.refresh() == []
    assert stream.changes() == [("gate_missing", "opened", "evidence"), ("gate_missing", "cleared", "late_evidence")]


def test_evidence_that_happened_late_never_clears(stream: Stream) -> None:
    """A review after the fact does not undo that the mail went out unreviewed: `gate_late` takes the place."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    assert stream.refresh() == [("gate_missing", "open")]
    load(stream.con, [decide("d1", 300, "quality")])
    assert stream.refresh() == [("gate_late", "open")]
    assert stream.changes() == [
        ("gate_missing", "opened", "evidence"),
        ("gate_missing", "cleared", "evidence"),
        ("gate_late", "opened", "evidence"),
    ]


def test_a_late_review_within_the_grace_is_late_all_the_same(stream: Stream) -> None:
    """The grace waits for what arrives, and makes no review after the shipment a review before it."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    stream.refresh()
    load(stream.con, [decide("d1", 30, "quality")])
    assert stream.refresh() == [("gate_late", "open")]
    assert ("gate_missing", "cleared", "evidence") in stream.changes()


def test_evidence_of_another_run_that_shares_a_key_is_late_evidence_too(stream: Stream) -> None:
    """The receipt of a claimed refund came under the order's id instead of the ticket's, and an hour late."""
    claim = {"action": "refund", "executed": True, "receipt_id": "R1"}
    load(stream.con, [record("r1", 10, actions_attempted=[claim])])
    stream.source("topic/0", 600)
    stream.refresh()
    query = "SELECT change, reason FROM finding_history WHERE rule = 'phantom_execution' ORDER BY \"at\""
    assert stream.con.execute(query).fetchall() == [("opened", "evidence")]
    late = receipt("x1", 5, receipt_id="R1")
    load(stream.con, [{**late, "correlation_id": "order-7"}])
    stream.refresh()
    assert stream.con.execute(query).fetchall() == [("opened", "evidence"), ("cleared", "late_evidence")]


def test_the_slowest_partition_holds_the_watermark(stream: Stream) -> None:
    """The decision may still be in the partition that is behind."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    stream.source("topic/1", 50)
    assert stream.refresh() == [("gate_missing", "pending")]
    assert stream.watermark() == 20
    stream.source("topic/1", 50, complete=True)  # a finished file holds nothing back
    assert stream.refresh() == [("gate_missing", "open")]
    assert stream.watermark() == 570


def test_a_partition_that_joins_late_makes_what_was_decided_wait_again(stream: Stream) -> None:
    """Its backlog may hold the decision; the one look at everything would wait, too."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    assert stream.refresh() == [("gate_missing", "open")]
    stream.source("topic/1", 10)
    assert stream.refresh() == [("gate_missing", "pending")]
    stream.source("topic/1", 700)
    assert stream.refresh() == [("gate_missing", "open")]
    assert stream.changes() == [
        ("gate_missing", "opened", "evidence"),
        ("gate_missing", "cleared", "recalled"),
        ("gate_missing", "opened", "grace_over"),
    ]


@pytest.mark.parametrize(("now", "status"), [(300, "pending"), (300.000001, "open")])
def test_an_idle_partition_is_left_out_by_the_ledgers_own_clock(stream: Stream, now: float, status: str) -> None:
    """One dead producer must not keep every alert back; five minutes by the ledger, never by the wall clock."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600, read=290)
    stream.source("topic/1", 50, read=0)
    stream.clock(now)
    assert stream.refresh() == [("gate_missing", status)]
    silent = stream.con.execute("SELECT subject FROM findings WHERE rule = 'producer_silent'").fetchall()
    assert silent == ([("topic/1",)] if status == "open" else [])


def test_when_every_source_is_idle_nothing_more_is_awaited(stream: Stream) -> None:
    """A quiet topic must not hide the last drop of the evening."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 50, read=0)
    stream.clock(400)
    assert stream.refresh() == [("gate_missing", "open")]
    assert stream.watermark() is None


def test_a_source_without_an_event_yet_does_not_stop_the_clock(stream: Stream) -> None:
    """An empty partition has no time of its own."""
    load(stream.con, [ship("s1", 0)])
    stream.source("topic/0", 600)
    stream.source("topic/1", None)
    assert stream.refresh() == [("gate_missing", "open")]


def test_a_run_that_nobody_closes_is_found_by_time_alone(stream: Stream) -> None:
    """No event says that nothing came: the watermark does, a day after the run's last step."""
    dispatch = {"kind": "agent.dispatch", "command": "reply", "caller": "iris", "agent": "hermes"}
    load(stream.con, [{**dispatch, "event_id": "a1", "ts": f"{at(0).isoformat()}Z", "correlation_id": "c1"}])
    query = "SELECT status FROM findings WHERE rule = 'terminal_state_missing'"
    for newest, status in ((86_430, "pending"), (86_431, "open")):
        stream.source("topic/0", newest)
        stream.refresh()
        assert stream.con.execute(query).fetchall() == [(status,)]


def test_an_own_rule_waits_as_long_as_it_says_whichever_way_the_watermark_moves(stream: Stream, tmp_path: Path) -> None:
    """Nobody but the rule knows its three days, so a source that joins late must make it wait again."""
    waits = "CASE WHEN k.watermark_us <= a.ts_us + 259200000000 THEN 'pending' ELSE 'open' END"
    columns = {"correlation_id": "a.correlation_id", "run_id": "a.run_id", "tenant": "NULL", "caller": "a.caller"}
    sql = select(
        "",
        "stg_attempts AS a CROSS JOIN scope_clock AS k",
        status=waits,
        subject="a.event_id",
        tool="a.tool",
        event_ts="a.ts",
        evidence="ARRAY[a.event_id]",
        **columns,
    )
    (tmp_path / "slow.sql").write_text(HEAD + sql)
    own = load_rules(tmp_path)
    load(stream.con, [call("c1", 10)])
    for newest, status in ((None, "open"), (2 * 86_400, "pending"), (4 * 86_400, "open"), (86_400, "pending")):
        stream.source("topic/0", newest, complete=newest is None)
        refresh(stream.con, ONE_GATE, now=at(0), own=own)
        found = stream.con.execute("SELECT status FROM findings WHERE rule = 'slow_call'").fetchall()
        assert found == [(status,)], newest
