"""Duplicates and conflicts: what the columns say is what the canonical JSON of the two events says."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from typing import Any

import duckdb
import polars as pl
import pytest

from ingest.canonical import content_columns, same_content
from ingest.contract import Judged, judge
from ingest.frame import event_frame
from ingest.ledger.repeats import Conflict, first_and_conflicts
from schemas.columns import create_table
from schemas.events import KINDS
from tests.ingest.builders import line
from tests.ingest.canonical_event import content_of
from tests.ingest.test_frame import full_event

_VALUES: list[Any] = [
    None,
    [],
    {},
    0,
    -0.0,
    1,
    1.0,
    "",
    "x",
    True,
    False,
    2**53,
    2**70,
    1e21,
    1e-7,
    [None],
    [{}],
]
_TIMES = [
    "2026-06-03T10:00:00Z",
    "2026-06-03T12:00:00+02:00",
    "2026-06-03T10:00:00.000001Z",
    "2026-06-03T10:00:00.0000019Z",
]


def _mutate(event: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The event with a few things written otherwise, left out, nulled, moved or exchanged, at any depth."""
    event = copy.deepcopy(event)
    for _ in range(chance.choice([0, 1, 1, 2])):
        place: Any = event
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = chance.choice(keys)
            if isinstance(place[key], (dict, list)) and chance.random() < 0.7:
                place = place[key]
                continue
            what = chance.randrange(7)
            value = place[key]
            if what == 0:
                place[key] = None
            elif what == 1:
                del place[key]
            elif what == 2:
                place[key] = chance.choice(_TIMES if key in ("ts", "expires_at") else _VALUES)
            elif what == 3 and isinstance(value, str):
                place[key] = chance.choice([value.upper(), value + "1", value.lower()])
            elif what == 4 and isinstance(value, (int, float)) and not isinstance(value, bool):
                place[key] = chance.choice([float(value), value + 1, -value])
            elif what == 5 and isinstance(place, dict):
                place[f"new{chance.randrange(2)}"] = chance.choice(_VALUES)
            elif isinstance(place, dict):
                items = list(place.items())
                chance.shuffle(items)
                place.clear()
                place.update(items)
            break
    return event


def _judged(event: dict[str, Any]) -> Judged | None:
    verdict = judge(json.dumps(event).encode(), "auto")
    return verdict if isinstance(verdict, Judged) else None


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_say_what_the_canonical_json_says(kind: str) -> None:
    chance = random.Random(f"repeats {kind}")
    base = full_event(kind)
    verdicts = [judged for _ in range(400) if (judged := _judged(_mutate(base, chance))) is not None]
    others = verdicts[1:] + verdicts[:1]
    expected = [content_of(one) == content_of(other) for one, other in zip(verdicts, others, strict=True)]
    one, other = (event_frame(list(enumerate(found))) for found in (verdicts, others))
    assert same_content(one, other).to_list() == expected
    assert 0 < sum(expected) < len(expected)
    # And the same when one of the two has been in the database.
    con = duckdb.connect()
    con.execute(create_table("events"))
    con.register("one", one)
    con.execute("INSERT INTO events SELECT * FROM one")
    columns = ", ".join(f'"{name}"' for name in content_columns([kind]))
    stored = pl.DataFrame(pl.from_arrow(con.sql(f"SELECT {columns} FROM events ORDER BY seq").to_arrow_table()))
    assert same_content(other, stored).to_list() == expected
    assert same_content(one, stored).all()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"new": 1}, {"new": 1.0}, True),
        ({"new": None}, {}, True),
        ({"new": {"a": 1, "b": None}}, {"new": {"a": 1}}, True),
        ({"new": [None]}, {"new": []}, False),
        ({"new": 2**53}, {"new": f"int:{2**53}"}, True),
        ({"new": 0}, {}, False),
        ({"note": None}, {}, True),
        ({"note": ""}, {}, False),
        ({"tool": "Mail"}, {"tool": "mail"}, True),
        ({"ts": "2026-06-03T12:00:00+02:00"}, {"ts": "2026-06-03T10:00:00Z"}, True),
        ({"ts": "2026-06-03T10:00:00.000001Z"}, {"ts": "2026-06-03T10:00:00Z"}, False),
        ({"ts_source": "file name", "ts": "2026-06-03T10:00:01Z"}, {"ts_source": "file name"}, False),
    ],
)
def test_same_and_other_content_by_hand(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    frames = [event_frame([(1, judge(line(**fields), "auto"))]) for fields in (one, other)]  # type: ignore[list-item]
    assert same_content(*frames).to_list() == [same]


def _record(text: str, path: str, mtime: str = "2026-01-01T00:00:00Z") -> pl.DataFrame:
    judged = judge(json.dumps({"path": path, "mtime": mtime, "text": text}).encode(), "decision_record")
    assert isinstance(judged, Judged)
    return event_frame([(1, judged)])


def test_a_records_time_counts_where_its_text_gives_it() -> None:
    text = "decision_id: d\nterminal_state: RESOLVED\n"
    found = _record(text, "a.md")
    assert same_content(found, _record(text, "a-2026-05-05.md")).to_list() == [True]
    assert same_content(found, _record(text, "a.md", "2026-01-02T00:00:00Z")).to_list() == [True]
    assert same_content(found, _record(text + "note: x\n", "a.md").with_columns(event_id=found["event_id"]))[0] is False
    told = _record(text + "resolved_at: 2026-01-01T00:00:00Z\n", "a.md").with_columns(event_id=found["event_id"])
    assert same_content(told, told.with_columns(pl.col("ts") + pl.duration(seconds=1))).to_list() == [False]
    # The same fields from elsewhere: there the time is content.
    assert same_content(found, found.with_columns(dialect=pl.lit("native"))).to_list() == [False]


def _events(*events: bytes) -> pl.DataFrame:
    return event_frame([(seq, judge(event, "auto")) for seq, event in enumerate(events, start=1)])  # type: ignore[misc]


def _sorted_out(accepted: pl.DataFrame, known: pl.DataFrame | None) -> tuple[pl.DataFrame, Sequence[Conflict]]:
    first, conflicts = first_and_conflicts(accepted, known)
    assert first is not None
    return accepted.filter(first), conflicts


def test_the_first_in_the_ledgers_order_wins_inside_a_commit() -> None:
    commit = _events(line("a"), line("b"), line("a", note="x"), line("a"), line("b", new=1), line("c"), line("b"))
    events, conflicts = _sorted_out(commit, None)
    assert events["seq"].to_list() == [1, 2, 6]
    assert [(found.seq, found.event_id, found.first) for found in conflicts] == [(3, "a", 1), (5, "b", 2)]


def test_stored_events_come_before_all_of_them() -> None:
    stored = _events(line("b", new=1), line("d"))
    commit = _events(line("a"), line("b"), line("b", new=1), line("a"), line("b", new=1.0))
    commit = commit.with_columns(pl.col("seq") + 10)
    events, conflicts = _sorted_out(commit, stored.select("seq", *content_columns(["tool.degradation"])))
    assert events["seq"].to_list() == [11]
    assert [(found.seq, found.event_id, found.first) for found in conflicts] == [(12, "b", 1)]


def test_one_id_used_by_different_kinds_is_a_conflict() -> None:
    other = json.dumps(full_event("human.feedback") | {"event_id": "a"}).encode()
    third = json.dumps(full_event("gate.decision") | {"event_id": "b"}).encode()
    stored = _events(line("a")).select("seq", *content_columns(["tool.degradation", "human.feedback"]))
    commit = _events(line("z"), other, line("a"), third, line("b"), third).with_columns(pl.col("seq") + 10)
    events, conflicts = _sorted_out(commit, stored)
    assert events["seq"].to_list() == [11, 14]
    assert [(found.seq, found.event_id, found.first) for found in conflicts] == [(12, "a", 1), (15, "b", 14)]
