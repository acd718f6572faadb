"""The law for streams: events that arrive in pieces, in any order, lead to what one look at all of them leads to.

Each example is a stream of small adversarial histories: cut into deliveries, shuffled, with a watermark that moves (and
sometimes falls back) in between. After every delivery the tables that were brought up to date must equal, row for row,
those of a database that was filled in another order and judged once.
"""

from __future__ import annotations

import itertools
import random
from datetime import datetime, timedelta
from typing import Any

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.policy import Policy
from schemas.policy_file import parse_policy
from tests.laws.closing import closing_histories
from tests.laws.conduct import contract_histories, run_histories
from tests.laws.lane import lane_histories, routing_histories
from tests.laws.policies import POLICIES_TOML
from tests.laws.strategies import histories, policy_names
from tests.laws.usual import START
from tests.support.engine import NOW, create, load, set_watermark
from transforms.compute import NOT_PUBLIC
from transforms.refresh import refresh

Event = dict[str, Any]

TABLES = (
    "findings", "gate_checks", "reconciliation", "outcome_rates", "retry_degrade", "runs", "kpis", "tool_calls",
    "claims", "evidence",
)  # fmt: skip

WATERMARKS = (-3600, 0, 1, 3, 11, 61, 64, 3600, 90_000, 2_000_000)

FAMILIES = (
    histories(),
    closing_histories(),
    contract_histories(),
    run_histories(),
    lane_histories(),
    routing_histories(),
)


def tables(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Every table that the law speaks of, as sorted rows."""
    return {
        name: sorted(map(repr, con.execute(f"SELECT COLUMNS(lambda c: c <> '{NOT_PUBLIC}') FROM {name}").fetchall()))
        for name in TABLES
    }


def difference(one: dict[str, list[str]], other: dict[str, list[str]]) -> dict[str, tuple[list[str], list[str]]]:
    """Table -> rows that only one of the two has."""
    return {
        name: (sorted(set(one[name]) - set(other[name])), sorted(set(other[name]) - set(one[name])))
        for name in TABLES
        if one[name] != other[name]
    }


def apart(number: int, history: list[Event]) -> list[Event]:
    """The history in a corner of its own: other event ids and tenants; every second one shares its tenant."""
    moved = []
    for event in history:
        run = "ticket_id" if event["kind"].startswith("xenia.") else "correlation_id"
        named = {run: f"{event[run]}-{number}"} if event.get(run) else {}
        own = {"event_id": f"{event['event_id']}-{number}", "tenant": f"pair-{number // 2}-{event.get('tenant') or ''}"}
        moved.append({**event, **own, **named})
    return moved


def once(events: list[Event], policy: Policy, watermark: datetime | None) -> dict[str, list[str]]:
    """What one look at all events says."""
    with duckdb.connect(config={"threads": 1}) as con:
        create(con)
        load(con, events)
        set_watermark(con, policy, watermark)
        refresh(con, policy, now=NOW)
        return tables(con)


def hold(events: list[Event], policy: Policy, cuts: list[int], clocks: list[datetime | None], seed: int) -> None:
    """Deliver the events in pieces; hold the tables after one of them, and after all, against those of one look."""
    arrived = list(events)
    random.Random(seed).shuffle(arrived)
    bounds = [0, *sorted(cut % (len(arrived) + 1) for cut in cuts), len(arrived)]
    last = len(bounds) - 2
    with duckdb.connect(config={"threads": 1}) as con:
        create(con)
        for number, (start, end) in enumerate(itertools.pairwise(bounds)):
            load(con, arrived[start:end])
            clock = clocks[number % len(clocks)]
            set_watermark(con, policy, clock)
            refresh(con, policy, now=NOW)
            if number in (seed % (last + 1), last):
                together = once(sorted(arrived[:end], key=lambda event: str(event["event_id"])), policy, clock)
                assert difference(tables(con), together) == {}
        noticed = con.execute("SELECT count(*) FROM finding_history").fetchall()
        refresh(con, policy, now=NOW + timedelta(hours=1))
        assert con.execute("SELECT count(*) FROM finding_history").fetchall() == noticed, "findings flap"


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.one_of(FAMILIES), min_size=2, max_size=14),
    policy_names(),
    st.lists(st.integers(0, 1000), min_size=1, max_size=3),
    st.lists(
        st.sampled_from([None, *(START + timedelta(seconds=seconds) for seconds in WATERMARKS)]),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 2**16),
)
def test_pieces_lead_to_what_the_whole_leads_to(
    batch: list[list[Event]], policy: str, cuts: list[int], clocks: list[datetime | None], seed: int
) -> None:
    """Two auditors must read the same, the one who watched the stream and the one who got the file afterwards."""
    events = [event for number, history in enumerate(batch) for event in apart(number, history)]
    hold(events, parse_policy(POLICIES_TOML[policy]), cuts, clocks, seed)
