"""How much faster are our gate checks than PM4Py's DECLARE conformance of the same log?

The support squad's pipeline, quality before clearance before the reply ships, is three precedence constraints over
cases (one correlation id of one tenant). PM4Py is handed a prepared data frame and only its check is timed. Of ours,
every SQL relation that the gate rules rest on is timed, from staging to the findings' rows, within a refresh:

* over the same events, all of them: more than precedence, since it also says who decided, about what, when, and whether
  a pass was reused or stood for something else;
* after a chunk of 5,000 events, which is what a running service pays; PM4Py has to look at the whole log again.

Beside them the very same three constraints as one SQL query, and PM4Py with a model that it discovered from the log's
beginning: several hundred constraints instead of three.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

from benchmarks.histories import chunk, repeat, template
from benchmarks.measuring import Counted, Times, by_turns, medians, timed
from benchmarks.peers import peer_script
from benchmarks.results import Figure, keep, number, options
from sample_data import policy_path
from schemas.policy import Policy
from schemas.policy_file import parse_policy
from transforms.catalogue import relations
from transforms.refresh import refresh

NOW = datetime(2026, 1, 1)  # noqa: DTZ001 - naive UTC, as the store has it
PAIRS = (("quality", "ship"), ("clearance", "ship"), ("quality", "clearance"))
"""First, then: what the policy's pipeline `customer-reply` asks for."""

WEEK = 100_000

_LOG = """
COPY (
    SELECT coalesce(tenant, '') || '|' || correlation_id AS "case:concept:name", ts AS "time:timestamp",
        CASE
            WHEN kind = 'gate.decision' AND decision = 'passed' THEN gate
            WHEN kind = 'artifact.shipment' THEN 'ship'
            ELSE coalesce(tool, kind)
        END AS "concept:name"
    FROM events WHERE correlation_id IS NOT NULL
    ORDER BY 1, ts, event_id
) TO '{path}' (FORMAT parquet)
"""

# A precedence holds when the first of the one comes before the first of the other.
_SAME = """
WITH firsts AS (
    SELECT
        min((ts, event_id)) FILTER (WHERE kind = 'gate.decision' AND decision = 'passed' AND gate = 'quality')
            AS quality,
        min((ts, event_id)) FILTER (WHERE kind = 'gate.decision' AND decision = 'passed' AND gate = 'clearance')
            AS clearance,
        min((ts, event_id)) FILTER (WHERE kind = 'artifact.shipment') AS ship
    FROM events
    WHERE kind IN ('gate.decision', 'artifact.shipment') AND correlation_id IS NOT NULL
    GROUP BY coalesce(tenant, ''), correlation_id
)

SELECT count(*) FROM firsts
WHERE (ship IS NOT NULL AND (quality IS NULL OR quality > ship OR clearance IS NULL OR clearance > ship))
    OR (clearance IS NOT NULL AND (quality IS NULL OR quality > clearance))
"""


def main() -> None:
    """Print the ratio."""
    parser = options(__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help=f"up to {WEEK:,}, or whole times that")
    parser.add_argument("--discover", type=int, default=10_000, help="events from which PM4Py discovers a model")
    arguments = parser.parse_args()
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"), name="support-squad")
    with tempfile.TemporaryDirectory() as name, duckdb.connect(str(Path(name) / "work.duckdb")) as con:
        week, log = Path(name) / "week.duckdb", Path(name) / "log.parquet"
        weeks = max(arguments.events // WEEK, 1)
        template(week, min(arguments.events, WEEK))
        events = repeat(con, week, weeks)
        con.execute(_LOG.format(path=log))
        wanted = gate_relations()
        cases: list[int] = []
        constraints: list[int] = []

        def peer(told: list[int], *more: object) -> Times:
            wall, cpu, *told[:] = peer_script("declare_check", log, json.dumps(PAIRS), *more)
            return Times(wall, cpu)

        numbers = count()
        sides = {
            "ours": lambda: gate_checks(con, policy, wanted, full=True),
            "chunk": lambda: after_chunk(con, policy, wanted, next(numbers)),
            "sql": lambda: timed(lambda: con.execute(_SAME).fetchall()),
            "pm4py": lambda: peer(cases),
            "pm4py_discovered": lambda: peer(constraints, arguments.discover),
        }
        took = {side: medians(runs) for side, runs in by_turns(sides, arguments.rounds).items()}
        keep("declare", figures(con, took, events, cases, constraints[-1]), arguments.keep)


def gate_relations() -> frozenset[str]:
    """The names of the rule file of the gates and of every relation below it."""
    by_name = {relation.name: relation for relation in relations()}
    found: set[str] = set()
    left = ["rule_gates"]
    while left:
        name = left.pop()
        if name in by_name and name not in found:
            found.add(name)
            left += by_name[name].reads
    return frozenset(found)


def gate_checks(con: duckdb.DuckDBPyConnection, policy: Policy, wanted: frozenset[str], *, full: bool) -> Times:
    """What these relations take in one refresh."""
    counted: Any = Counted(con)
    refresh(counted, policy, now=NOW, full=full)
    return Times(sum(counted.wall[name] for name in wanted), sum(counted.seconds[name] for name in wanted))


def after_chunk(con: duckdb.DuckDBPyConnection, policy: Policy, wanted: frozenset[str], number: int) -> Times:
    """The same in a refresh of what a chunk changed: 5,000 tool calls of the 1,000 newest runs."""
    chunk(con, 1_000, 5_000, recent=True, number=number)
    return gate_checks(con, policy, wanted, full=False)


def figures(
    con: duckdb.DuckDBPyConnection, took: Mapping[str, Times], events: int, cases: Sequence[int], constraints: int
) -> list[Figure]:
    """The ratios of PM4Py's time to ours, and how much either side found."""
    ((checks, silent),) = con.execute("SELECT count(*), count(*) FILTER (WHERE silent) FROM gate_checks").fetchall()

    def times(key: str, what: str, peer: str, own: str, bar: float | None = None, more: str = "") -> Figure:
        one, other = took[peer], took[own]
        detail = f"{one.wall:.2f} s ÷ {other.wall:.3g} s; by processor time {one.cpu / other.cpu:.2f}{more}"
        return Figure(f"declare/{key}", what, one.wall / other.wall, " times", bar, detail=detail)

    found = (
        f"; {events:,} events; PM4Py: {cases[1]:,} of {cases[0]:,} cases deviate; "
        f"ours: {number(silent)} silent drops in {number(checks)} checks"
    )
    return [
        times("all", "PM4Py, the policy's three constraints ÷ all our gate checks", "pm4py", "ours", 50, found),
        times("chunk", "… ÷ our gate checks after 5,000 more events", "pm4py", "chunk"),
        times("same", "… ÷ the same three constraints as one SQL query", "pm4py", "sql"),
        times(
            "discovered", f"PM4Py, {constraints:,} discovered constraints ÷ all our gate checks",
            "pm4py_discovered", "ours",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    main()
