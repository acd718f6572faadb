"""What another policy would have opened and cleared over the stored history; nothing that is stored changes.

The events of a published snapshot are judged again, in memory, by the same SQL and at the same watermark, and the
findings are compared with those of the snapshot. The writer's files are never touched, so an ingest may run meanwhile.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb

from ingest.ledger.tables import TABLES
from schemas.columns import Column, create_table
from schemas.policy import Policy
from transforms.errors import BacktestError
from transforms.own_rules import NO_RULES, OwnRules, judged_by
from transforms.refresh import FINDING_COLUMNS, refresh

Change = Literal["opened", "cleared", "settled", "unsettled", "awaited", "dropped", "regraded"]
"""opened: not there before, open now. cleared: open before, gone now. settled: pending, then open. unsettled: open,
then pending. awaited: not there, then pending. dropped: pending, then gone. regraded: stays, with another severity."""

CHANGES: tuple[Change, ...] = get_args(Change)

_REBUILD = "run `gatewatch rebuild` first, which judges and publishes anew"

_CONFIG = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "memory_limit": "2GB",  # what does not fit goes to a temporary folder: the pipeline may run on the same machine
}

_COMPARED = """
CREATE TEMP TABLE compared AS
SELECT
    coalesce(a.rule, b.rule) AS rule, b.status AS before, a.status AS after,
    b.severity AS severity_before, a.severity AS severity_after,
    CASE
        WHEN b.status IS NULL AND a.status = 'open' THEN 'opened'
        WHEN b.status IS NULL THEN 'awaited'
        WHEN a.status IS NULL AND b.status = 'open' THEN 'cleared'
        WHEN a.status IS NULL THEN 'dropped'
        WHEN b.status = 'pending' AND a.status = 'open' THEN 'settled'
        WHEN b.status = 'open' AND a.status = 'pending' THEN 'unsettled'
    END AS change,
    coalesce(a.severity <> b.severity, FALSE) AS regraded,
    coalesce(a.finding_id, b.finding_id) AS finding_id, coalesce(a.event_ts, b.event_ts) AS event_ts,
    -- What is gone is told in the words that it had, everything else in those that it would have.
    CASE WHEN a.finding_id IS NULL THEN b.subject ELSE a.subject END AS subject,
    CASE WHEN a.finding_id IS NULL THEN b.correlation_id ELSE a.correlation_id END AS correlation_id,
    CASE WHEN a.finding_id IS NULL THEN b.tenant ELSE a.tenant END AS tenant,
    CASE WHEN a.finding_id IS NULL THEN b.message ELSE a.message END AS message
FROM findings AS a
FULL JOIN snapshot.findings AS b ON b.finding_id = a.finding_id
WHERE $rule IS NULL OR coalesce(a.rule, b.rule) = $rule
"""

_BY_RULE = """
SELECT
    c.rule,
    coalesce(max(c.severity_before), any_value(b.severity)) AS severity_before,
    coalesce(max(c.severity_after), any_value(a.severity)) AS severity_after,
    count(*) FILTER (WHERE c.before = 'open') AS before,
    count(*) FILTER (WHERE c.after = 'open') AS after,
    count(*) FILTER (WHERE c.before = 'pending') AS pending_before,
    count(*) FILTER (WHERE c.after = 'pending') AS pending_after,
    {counts}
FROM compared AS c
LEFT JOIN snapshot.policy_severity AS b ON b.rule = c.rule
LEFT JOIN policy_severity AS a ON a.rule = c.rule
GROUP BY c.rule
ORDER BY c.rule
"""

_EXAMPLES = """
WITH sides AS (
    SELECT *, change AS side FROM compared WHERE change IS NOT NULL
    UNION ALL
    SELECT *, 'regraded' FROM compared WHERE regraded
)
SELECT rule, side, finding_id, event_ts, tenant, correlation_id, subject, message
FROM sides
QUALIFY row_number() OVER (PARTITION BY rule, side ORDER BY event_ts DESC NULLS LAST, finding_id) <= $examples
ORDER BY rule, side, event_ts DESC NULLS LAST, finding_id
"""


@dataclass(frozen=True, slots=True)
class Judge:
    """One side of the comparison: a policy, and the digest of all that judges (own rules included)."""

    name: str
    version: int
    digest: str


@dataclass(frozen=True, slots=True)
class Example:
    """One finding that changes: as it would be, or as it was when it is gone. Times are naive UTC."""

    finding_id: str
    event_ts: datetime | None
    tenant: str | None
    correlation_id: str | None
    subject: str
    message: str


@dataclass(frozen=True, slots=True)
class RuleChange:
    """One rule: findings before and after, what changes, and examples of each change, the newest first.

    `before` and `after` count open findings. A severity is None where that side does not know the rule.
    """

    rule: str
    severity_before: str | None
    severity_after: str | None
    before: int
    after: int
    pending_before: int
    pending_after: int
    changes: Mapping[Change, int]
    examples: Mapping[Change, tuple[Example, ...]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether the other policy makes any difference to this rule's findings."""
        return any(self.changes.values())


@dataclass(frozen=True, slots=True)
class Backtest:
    """What was compared, and one RuleChange for each rule that has a finding on either side, by name.

    `about` is the snapshot's own description of itself.
    """

    before: Judge
    after: Judge
    about: Mapping[str, Any]
    rules: tuple[RuleChange, ...]


def backtest(
    snapshot: Path, policy: Policy, *, own: OwnRules = NO_RULES, rule: str | None = None, examples: int = 3
) -> Backtest:
    """Judge the events of a published snapshot by another policy and compare the findings.

    `snapshot` is the versioned file, opened read-only; `rule` narrows the result down to one rule, `examples` is how
    many findings each change of a rule is shown with. Raises BacktestError when the snapshot cannot be read, was made
    by another version, or the judging fails; OwnRuleError for a rule of the user's own that fails.
    """
    with _opened(snapshot) as con:
        _take_over(con, snapshot)
        about = _only_row(con, "SELECT * FROM snapshot.about")
        # The time only dates the history, which is thrown away; the clock that judges is in the sources.
        refresh(con, policy, now=about["published_at"], own=own)
        con.execute(_COMPARED, {"rule": rule})
        return Backtest(
            before=Judge(about["policy"], about["policy_version"], about["policy_digest"]),
            after=Judge(policy.name, policy.version, judged_by(policy, own)),
            about=about,
            rules=_by_rule(con, _examples(con, examples)),
        )


@contextlib.contextmanager
def _opened(snapshot: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database in memory that the snapshot is attached to; nothing else can be reached from it."""
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gatewatch-") as spill,
            duckdb.connect(":memory:", config={**_CONFIG, "temp_directory": spill}) as con,
        ):
            con.execute("SET TimeZone = 'UTC'")
            quoted = str(snapshot).replace("'", "''")  # ATTACH takes no parameters
            con.execute(f"ATTACH '{quoted}' AS snapshot (READ_ONLY)")
            con.execute("SET enable_external_access = FALSE")
            yield con
    except (duckdb.OutOfMemoryException, OSError) as error:
        said = " ".join(str(error).split())[:200]
        raise BacktestError(
            f"the backtest lacks room for what does not fit into memory ({said}): free space in the temporary folder, "
            "or name another with TMPDIR"
        ) from None
    except duckdb.Error as error:
        said = " ".join(str(error).split())[:300]
        raise BacktestError(f"the backtest of {snapshot} failed ({said}): {_REBUILD}") from None


def _take_over(con: duckdb.DuckDBPyConnection, snapshot: Path) -> None:
    """Give the database what ingest stores, as views of the snapshot: copies would cost memory for nothing.

    Raises BacktestError when the snapshot lacks a table or a column of this version.
    """
    there = _columns(con, "snapshot")
    stored = {name: columns for name, columns in TABLES.items() if name not in ("positions", "meta")}
    for name, columns in stored.items():
        missing = _missing(con, name, columns, there)
        if missing:
            raise BacktestError(
                f"{snapshot} was made by another version of gatewatch ({missing} is missing or differs): {_REBUILD}"
            )
        # The names are our own constants.
        con.execute(f'CREATE VIEW "{name}" AS SELECT * FROM snapshot."{name}"')  # noqa: S608
    wanted = {("findings", column) for column in FINDING_COLUMNS} | {
        ("about", "policy_digest"),
        ("policy_severity", "rule"),
    }
    if lacking := sorted(wanted - set(there)):
        raise BacktestError(
            f"{snapshot} was made by another version of gatewatch ({'.'.join(lacking[0])} is missing): {_REBUILD}"
        )


def _columns(con: duckdb.DuckDBPyConnection, database: str) -> dict[tuple[str, str], str]:
    """(table, column) → type of one attached database."""
    query = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE database_name = $database"
    return {(table, column): kind for table, column, kind in con.execute(query, {"database": database}).fetchall()}


def _missing(
    con: duckdb.DuckDBPyConnection, name: str, columns: tuple[Column, ...], there: Mapping[tuple[str, str], str]
) -> str | None:
    """The first column of a stored table that the snapshot does not have as this version makes it."""
    con.execute(create_table(name, columns))
    wanted = {place: kind for place, kind in _columns(con, "memory").items() if place[0] == name}
    con.execute(f'DROP TABLE "{name}"')
    return next((".".join(place) for place, kind in wanted.items() if there.get(place) != kind), None)


def _only_row(con: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    result = con.execute(query)
    names = [column[0] for column in result.description or ()]
    (row,) = result.fetchall()
    return dict(zip(names, row, strict=True))


def _examples(con: duckdb.DuckDBPyConnection, examples: int) -> dict[str, dict[Change, tuple[Example, ...]]]:
    found: dict[str, dict[Change, tuple[Example, ...]]] = {}
    for rule, side, *facts in con.execute(_EXAMPLES, {"examples": examples}).fetchall():
        sides = found.setdefault(rule, {})
        sides[side] = (*sides.get(side, ()), Example(*facts))
    return found


def _by_rule(
    con: duckdb.DuckDBPyConnection, examples: Mapping[str, Mapping[Change, tuple[Example, ...]]]
) -> tuple[RuleChange, ...]:
    counts = [f"count(*) FILTER (WHERE c.change = '{name}')" for name in CHANGES if name != "regraded"]
    counts.append("count(*) FILTER (WHERE c.regraded)")
    rows = con.execute(_BY_RULE.format(counts=", ".join(counts))).fetchall()
    found = []
    for row in rows:
        rule, severity_before, severity_after, before, after, pending_before, pending_after, *counted = row
        found.append(
            RuleChange(
                rule=rule,
                severity_before=severity_before,
                severity_after=severity_after,
                before=before,
                after=after,
                pending_before=pending_before,
                pending_after=pending_after,
                changes=dict(zip(CHANGES, counted, strict=True)),
                examples=examples.get(rule, {}),
            )
        )
    return tuple(found)
