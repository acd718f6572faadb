"""Everything there is to tell about one finding, read from the snapshot: facts, events in order, history."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import duckdb

from dashboard.narrate import tell
from gatewatch.errors import InputError
from gatewatch.output import clean
from gatewatch.reading import rows
from gatewatch.waiting import Waiting, waiting
from schemas.columns import fields_of
from schemas.events import KINDS
from transforms.refresh import FINDING_COLUMNS

WHOLE = 40
"""A run of up to so many events is told whole."""

_AROUND = 3
"""Of a longer one: so many events before and after each piece of evidence, its first event and its last."""

_FIRST, _LAST = 20, 5
"""Of more evidence than both together: so many pieces from the beginning, and from the end."""

_FIND = """
SELECT DISTINCT finding_id FROM (SELECT finding_id FROM findings UNION ALL SELECT finding_id FROM finding_history)
WHERE starts_with(finding_id, $wanted)
ORDER BY finding_id
LIMIT 2
"""

_HOLDS = f"SELECT {', '.join(FINDING_COLUMNS)} FROM findings WHERE finding_id = $id"  # noqa: S608 - a constant

_HELD = """
SELECT finding_id, rule, severity, 'cleared' AS status, subject, correlation_id, tenant, message
FROM finding_history
WHERE finding_id = $id
ORDER BY "at" DESC, change
LIMIT 1
"""

_HISTORY = """
SELECT "at", change, reason FROM finding_history WHERE finding_id = $id ORDER BY "at", change DESC
"""

_RULE = 'SELECT family, means, "action", satisfied_by FROM rule_texts WHERE rule = $rule'

_TIMELINE = """
WITH mine AS (
    SELECT seq, ts, event_id, list_contains($evidence::VARCHAR[], event_id) AS is_evidence
    FROM events
    WHERE list_contains($evidence::VARCHAR[], event_id)
       OR (correlation_id = $correlation AND tenant IS NOT DISTINCT FROM $tenant)
),
numbered AS (
    SELECT seq, is_evidence,
        row_number() OVER in_order AS place, count(*) OVER () AS events,
        count(*) FILTER (WHERE is_evidence) OVER in_order AS nth, count(*) FILTER (WHERE is_evidence) OVER () AS pieces
    FROM mine
    WINDOW in_order AS (ORDER BY ts, event_id)
),
near AS (
    SELECT *, place IN (1, events) OR bool_or(is_evidence AND (nth <= $first OR nth > pieces - $last)) OVER (
        ORDER BY place ROWS BETWEEN {around} PRECEDING AND {around} FOLLOWING) AS kept
    FROM numbered
),
chosen AS (
    -- A gap of one event would take as much room as the event.
    SELECT *, kept OR (lag(kept) OVER (ORDER BY place) AND lead(kept) OVER (ORDER BY place)) AS shown FROM near
)
SELECT c.place, c.events, c.is_evidence, e.*,
    coalesce(e.subject, e.artifact_id, e.path, e.target, e.task_id, e.proposal_id, e.decision_id, e.receipt_id,
        e.call_id, e.ticket_id) AS about
FROM chosen AS c
INNER JOIN events AS e ON e.seq = c.seq
WHERE c.shown OR c.events <= $whole OR $everything
ORDER BY c.place
"""

_DETAILS: dict[str, tuple[str, ...]] = {
    "privilege_mismatch": ("privilege",),
    "side_effects_understated": ("side_effects",),
    "undo_missing": ("undo",),
    "digest_missing": ("input_digest",),
    "confirmation_stale": ("input_digest", "digest"),
    "gate_stale": ("digest",),
    "key_conflict": ("input_digest",),
    "blind_retry": ("input_digest",),
    "model_tier_mismatch": ("model_tier", "model"),
    "over_scoped": ("needed_privilege",),
    "under_scoped": ("needed_privilege", "privilege"),
    "foreign_report": ("lease_id",),
    "lease_expired_report": ("lease_id",),
    "backdated": ("floor_ts",),
}
"""What an event is told with under these rules because the rule is about it, also when it is missing."""

_DIGEST = re.compile(r"\b(sha256:[0-9a-f]{12})[0-9a-f]{52}\b")

LOOK_ELSEWHERE = {
    "producer_silent": "No event can show that nothing came. How far each source got: "
    '`gatewatch sql "SELECT source, last_received_at, complete FROM sources ORDER BY last_received_at"`',
    "source_gap": "Nobody read what is missing. Every gap, and when it was met: "
    '`gatewatch sql "SELECT * FROM gaps ORDER BY received_at"`',
    "ledger_tampered": "The evidence is the ledger, not an event. Keep a copy of the data directory, then run "
    "`gatewatch verify`, which names every difference.",
    "pii_redacted": "The events are counted, not listed. Which they are: "
    '`gatewatch sql "SELECT tenant, source, kind, count(*) AS events FROM events WHERE redacted GROUP BY ALL"`',
}
_NOWHERE = (
    "This finding names no run and no event: its rule looks at whole tables. The subject above says where to look."
)


@dataclass(frozen=True, slots=True)
class Moment:
    """One event of the timeline; `place` counts from 1, `offset` is from the finding's own time."""

    place: int
    ts: datetime
    offset: timedelta
    event_id: str
    kind: str
    evidence: bool
    who: str | None
    what: str
    subject: str | None
    correlation_id: str | None
    tenant: str | None


@dataclass(frozen=True, slots=True)
class Story:
    """One finding and what belongs to it. `finding` has the columns of `findings`; what is not known is None.

    `events` counts those of the whole timeline, `origin` is where its offsets start (naive UTC), `look` says where the
    evidence is when no event shows it, `history` are its changes, the oldest first.
    """

    finding: dict[str, Any]
    rule: dict[str, Any] | None
    policy: dict[str, Any] | None
    timeline: list[Moment]
    events: int
    origin: datetime | None
    look: str | None
    waits: Waiting | None
    history: list[dict[str, Any]] = field(default_factory=list)


def story(con: duckdb.DuckDBPyConnection, wanted: str, *, everything: bool = False) -> Story:
    """The story of the finding whose id begins with `wanted`, also when it was cleared.

    `everything` tells every event of a long run. Raises InputError when there is no such finding, or more than one.
    """
    finding_id = _find(con, wanted)
    finding = rows(con, _HOLDS, id=finding_id) or rows(con, _HELD, id=finding_id)
    facts: dict[str, Any] = dict.fromkeys(FINDING_COLUMNS) | {"evidence": []} | finding[0]
    events = rows(
        con,
        _TIMELINE.format(around=_AROUND),
        evidence=facts["evidence"],
        correlation=facts["correlation_id"],
        tenant=facts["tenant"],
        first=_FIRST,
        last=_LAST,
        whole=WHOLE,
        everything=everything,
    )
    origin = facts["event_ts"] or (events[0]["ts"] if events else None)
    texts = rows(con, _RULE, rule=facts["rule"])
    rule = texts[0] if texts else None
    policies = rows(con, "SELECT name, version, digest FROM policy_about")
    return Story(
        finding=facts,
        rule=rule,
        policy=policies[0] if policies else None,
        timeline=[_moment(row, origin, facts["rule"]) for row in events],
        events=events[0]["events"] if events else 0,
        origin=origin,
        look=None if events else LOOK_ELSEWHERE.get(facts["rule"], _NOWHERE),
        waits=waiting(con, facts, rule["family"] if rule else None) if facts["status"] == "pending" else None,
        history=rows(con, _HISTORY, id=finding_id),
    )


def _find(con: duckdb.DuckDBPyConnection, wanted: str) -> str:
    found = con.execute(_FIND, {"wanted": wanted.lower()}).fetchall()
    if not found:
        raise InputError(f"no finding {clean(wanted)}; `gatewatch findings` lists them")
    if len(found) > 1:
        raise InputError(f"{clean(wanted)} fits more than one finding; give more characters of the id")
    return str(found[0][0])


def _short(value: Any) -> str:
    """A detail; of a digest so much that two can be told apart."""
    return "none" if value is None else _DIGEST.sub(r"\1…", str(value))


def _moment(row: dict[str, Any], origin: datetime | None, rule: str) -> Moment:
    told = tell(row)
    known = fields_of(KINDS[row["kind"]]) if row["kind"] in KINDS else {}
    details = [
        f" · {name.replace('_', ' ')}: {_short(row[name])}"
        for name in _DETAILS.get(rule, ())
        if row["is_evidence"] and (name in known or row[name] is not None)
    ]
    return Moment(
        place=row["place"],
        ts=row["ts"],
        offset=row["ts"] - origin if origin else timedelta(0),
        event_id=row["event_id"],
        kind=row["kind"],
        evidence=row["is_evidence"],
        who=told.who,
        what=told.what + "".join(details),
        subject=row["about"],
        correlation_id=row["correlation_id"],
        tenant=row["tenant"],
    )
