"""Views over the wide table: an analyst sees one kind with its own columns, and everything that left the house."""

from __future__ import annotations

import duckdb

from schemas.columns import create_table, fields_of
from schemas.events import KINDS
from tests.oracle.cases import at, attempt, ship
from tests.support.engine import load
from transforms.views import VIEW_OF_KIND, views

TICKET = {"ts": at(0), "kind": "xenia.escalated", "agent": "hestia", "ticket_id": "T-1", "path": "out/T-1.md"}


def opened(*events: dict[str, object]) -> duckdb.DuckDBPyConnection:
    """A database with these events and all views."""
    con = duckdb.connect()
    con.execute(create_table("events"))
    load(con, events)
    for view in views():
        con.execute(f"CREATE VIEW {view.name} AS {view.sql}")
    return con


def test_every_kind_can_be_seen_alone_with_its_own_columns() -> None:
    """A view has the fields of its kind and no others, beside the bookkeeping."""
    names = {view.name for view in views()}
    covered = {*VIEW_OF_KIND, "artifact.shipment", *(kind for kind in KINDS if kind.startswith("xenia."))}
    assert covered == set(KINDS)
    with opened() as con:
        for kind, name in VIEW_OF_KIND.items():
            found = {column for column, *_ in con.execute(f"DESCRIBE {name}").fetchall()}
            system = {"seq", "dialect", "extra", "warnings", "redacted", "floor_ts"}
            assert found == (set(fields_of(KINDS[kind])) - {"kind"}) | system
    assert {"shipments", "ticket_events", "tool_invocations", "gate_decisions"} <= names


def test_a_call_without_an_id_is_its_own_call() -> None:
    """The contract's default holds in the view, so that attempts can be grouped by call."""
    with opened(attempt("t1", 0), attempt("t2", 1, call_id="k")) as con:
        assert con.execute("SELECT event_id, call_id FROM tool_invocations ORDER BY 1").fetchall() == [
            ("t1", "t1"),
            ("t2", "k"),
        ]


def test_shipments_are_artifacts_and_ticket_files() -> None:
    """A ticket or escalation file is a shipment of its path by its agent; a quality file is none."""
    events = [
        ship("s1", 0, customer_facing=False, author="metis"),
        {**TICKET, "event_id": "x1", "phase": "escalations"},
        {**TICKET, "event_id": "x2", "phase": "tickets", "kind": "xenia.ticket_resolved"},
        {**TICKET, "event_id": "x3", "phase": "quality"},
        {**TICKET, "event_id": "x4", "phase": "tickets", "path": None},
        {**TICKET, "event_id": "x5", "phase": "tickets", "ticket_id": None},
        {**TICKET, "event_id": "x6", "phase": None},
    ]
    with opened(*events) as con:
        query = 'SELECT event_id, artifact_id, "by", author, correlation_id, customer_facing FROM shipments ORDER BY 1'
        assert con.execute(query).fetchall() == [
            ("s1", "a", "hestia", "metis", "c1", False),
            ("x1", "out/T-1.md", "hestia", None, "T-1", True),
            ("x2", "out/T-1.md", "hestia", None, "T-1", True),
            # Without a ticket it left the house all the same.
            ("x5", "out/T-1.md", "hestia", None, None, True),
        ]
