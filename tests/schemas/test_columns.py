"""From events to columns: what a row looks like in DuckDB, and that one wide table can hold every kind."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import duckdb
import polars as pl
import pytest

from schemas import columns
from schemas.columns import EVENT_COLUMNS, POLARS_SCHEMA, create_table, event_columns, row_of
from schemas.common import Event
from schemas.events import KINDS

XENIA = {
    "event_id": "x-1",
    "ts": "2026-06-03T22:28:09.521+02:00",
    "kind": "xenia.ticket_resolved",
    "agent": "hestia",
    "phase": "tickets",
    "ticket_id": "TICKET-900",
    "severity": "P3",
    "path": "out/TICKET-900.md",
    "tokens": {"in": 10},
    "cost_usd": 0.5,
}
RECORD = {
    "event_id": "dr:1",
    "ts": "2026-06-03T10:00:00Z",
    "kind": "decision.record",
    "correlation_id": "T-1",
    "decision_id": "DR-1",
    "terminal_state": "RESOLVED",
    "actions_attempted": [
        {"action": "refund", "executed": True, "amount": 12, "surprise": 1},
        {"action": "tag", "executed": False},
    ],
    "rubric_verdicts": [{"rubric_id": "tone", "pass": True, "dims": {"warm": 3, "calm": 2}}],
    "sla": {"received_at": "2026-06-03T09:00:00+01:00", "state": "ok"},
    "heads_dispatched": ["a", "b"],
    "degradations": [],
    "tokens": {"in": 1, "out": 2},
}


def test_a_ticket_record_is_correlated_by_its_ticket() -> None:
    """`TICKET-900` is what everything about the ticket shares; the time is naive UTC, missing tokens stay unknown."""
    row = row_of(KINDS["xenia.ticket_resolved"].model_validate(XENIA))
    assert row["correlation_id"] == row["ticket_id"] == "TICKET-900"
    assert row["ts"] == datetime(2026, 6, 3, 20, 28, 9, 521_000)  # noqa: DTZ001 - naive UTC, as the store has it
    assert row["tokens"] == {"in": 10, "out": None}
    assert (row["cost_usd"], row["category"]) == (0.5, None)
    unticketed = row_of(
        KINDS["xenia.output_written"].model_validate({**XENIA, "kind": "xenia.output_written", "ticket_id": None})
    )
    assert unticketed["correlation_id"] is None


def test_a_decision_record_keeps_its_lists() -> None:
    """Claims in their order, scores by name, times naive UTC; unknown members are not columns."""
    row = row_of(KINDS["decision.record"].model_validate(RECORD))
    unset = {"by": None, "result": None, "target": None, "call_id": None, "receipt_id": None, "idempotency_key": None}
    assert row["actions_attempted"] == [
        {"action": "refund", "executed": True, **unset, "amount": 12.0},
        {"action": "tag", "executed": False, **unset, "amount": None},
    ]
    assert row["rubric_verdicts"] == [
        {"rubric_id": "tone", "pass": True, "dims": [{"name": "calm", "value": 2}, {"name": "warm", "value": 3}]}
    ]
    assert row["sla"] == {
        "received_at": datetime(2026, 6, 3, 8),  # noqa: DTZ001 - naive UTC
        "first_response_at": None,
        "resolved_at": None,
        "state": "ok",
        "breached": None,
    }
    assert (row["heads_dispatched"], row["degradations"], row["injection_findings"]) == (["a", "b"], [], None)


def test_rows_of_every_kind_of_value_go_through_duckdb_unchanged() -> None:
    """The types that are derived for Polars and for DuckDB are the same types."""
    rows = [row_of(KINDS[event["kind"]].model_validate(event)) for event in (XENIA, RECORD)]
    frame = pl.DataFrame(
        [{**dict.fromkeys(POLARS_SCHEMA), **row, "seq": n} for n, row in enumerate(rows)], schema=POLARS_SCHEMA
    )
    with duckdb.connect() as con:
        con.execute(create_table("events"))
        con.register("frame", frame)
        con.execute("INSERT INTO events BY NAME SELECT * FROM frame")
        described = {name: kind for name, kind, *_ in con.execute("DESCRIBE events").fetchall()}
        for number, row in enumerate(rows):
            result = con.execute("SELECT * FROM events WHERE seq = ?", [number])
            found = dict(zip([c[0] for c in result.description or ()], result.fetchall()[0], strict=True))
            assert {name: found[name] for name in row} == row
    assert described["ts"] == "TIMESTAMP"
    assert described["rubric_verdicts"].endswith('dims STRUCT("name" VARCHAR, "value" BIGINT)[])[]')


def test_the_wide_table_has_every_field_of_every_kind_once() -> None:
    """Identity first, bookkeeping at both ends, and no column twice."""
    names = [column.name for column in EVENT_COLUMNS]
    assert names[:5] == ["seq", "event_id", "ts", "kind", "correlation_id"]
    assert names[-5:] == ["dialect", "extra", "warnings", "redacted", "floor_ts"]
    assert len(set(names)) == len(names)
    for model in KINDS.values():
        assert set(columns.fields_of(model)) <= set(names)
    assert list(POLARS_SCHEMA) == names


def test_one_name_with_two_types_is_refused_where_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """One wide table cannot hold `amount` as a number and as a text; the error names the model and both types."""

    class Odd(Event):
        kind: Literal["odd.kind"]
        amount: str | None = None

    monkeypatch.setattr(columns, "EVENT_MODELS", (*columns.EVENT_MODELS, Odd))
    with pytest.raises(TypeError, match=r"^Odd\.amount is VARCHAR, but another kind has it as DOUBLE$"):
        event_columns()


def test_a_type_without_a_column_form_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Better an error at import than a column that nobody can read."""

    class Odd(Event):
        kind: Literal["odd.kind"]
        blob: bytes | None = None

    monkeypatch.setattr(columns, "EVENT_MODELS", (*columns.EVENT_MODELS, Odd))
    with pytest.raises(TypeError, match="no column type for <class 'bytes'>"):
        event_columns()
