"""One data directory with a history that went through the whole of ingest, and what is measured on it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import duckdb

from benchmarks.histories import Weeks
from benchmarks.measuring import Times, timed
from dashboard.queries import findings
from dashboard.queries.base import Scope
from gatewatch.work import judge, publish_snapshot
from ingest.pipeline import Pipeline
from sample_data import policy_path
from schemas.policy import Policy
from schemas.policy_file import parse_policy

RUNS, CHUNK = 1_000, 5_000
"""A chunk of so many tool calls goes to so many of the newest runs."""

_TOGETHER = 10
"""Weeks that are written to one file when a history is made."""


class Costs(NamedTuple):
    """What one round took, each on a history of one size."""

    opened: Times
    ingested: Times
    refreshed: Times
    published: Times
    queried: Times


def squad() -> Policy:
    """The policy of the sample data."""
    return parse_policy(policy_path("support-squad").read_text(encoding="utf-8"), name="support-squad")


@dataclass(slots=True)
class History:
    """A data directory of `weeks` weeks; what is measured on it adds to it, unless it is measured on a copy."""

    data: Path
    lines: Weeks
    policy: Policy
    weeks: int = 0

    def grow(self, weeks: int) -> Times:
        """Make it `weeks` weeks long, judged; what the ingest of the new ones took."""
        wall = cpu = 0.0
        with Pipeline(self.data) as pipeline:
            while self.weeks < weeks:
                until = min(self.weeks + _TOGETHER, weeks)
                with self._file(b"".join(self.lines.lines(week) for week in range(self.weeks, until))) as file:
                    took = timed(lambda file=file: pipeline.ingest_paths([str(file)]))  # type: ignore[misc]
                wall, cpu, self.weeks = wall + took.wall, cpu + took.cpu, until
            judge(pipeline.connection, self.data, self.policy)
            pipeline.connection.execute("CHECKPOINT")
        return Times(wall, cpu)

    def copy(self, data: Path) -> History:
        """The same history in another place."""
        shutil.copytree(self.data, data)
        return History(data, self.lines, self.policy, self.weeks)

    def measure(self) -> Costs:
        """One more week of lines, then a chunk: ingest of the first; refresh, publication and a query after the other.

        The pipeline is a new one, as after a start of the service; until it has taken a first few lines, which is when
        it knows all ids of the history, is counted by itself.
        """
        # Names and lines that no earlier round had: a file that was read, or an event that is there, costs nothing.
        week = self.weeks
        self.weeks += 1
        whole = self.lines.lines(week)
        first, rest = whole[: (cut := whole.index(b"\n", len(whole) // 1000) + 1)], whole[cut:]
        with Pipeline(self.data) as pipeline:
            with self._file(first) as file:
                opened = timed(lambda: pipeline.ingest_paths([str(file)]))
            with self._file(rest) as file:
                ingested = timed(lambda: self._ingest(pipeline, file))
            con = pipeline.connection
            judge(con, self.data, self.policy)
            with self._file(chunk_lines(con, week)) as file:
                pipeline.ingest_paths([str(file)])
            refreshed = timed(lambda: judge(con, self.data, self.policy))
            _, root = pipeline.ledger_state()
            snapshots: list[Path] = []
            published = timed(lambda: snapshots.append(publish_snapshot(con, self.data, root)))
            queried = timed(lambda: _query(snapshots[0]))
        return Costs(opened, ingested, refreshed, published, queried)

    def _ingest(self, pipeline: Pipeline, file: Path) -> None:
        pipeline.ingest_paths([str(file)])
        pipeline.connection.execute("CHECKPOINT")

    @contextmanager
    def _file(self, lines: bytes) -> Iterator[Path]:
        path = self.data.with_name(f"{self.data.name}-new.jsonl")
        path.write_bytes(lines)
        try:
            yield path
        finally:
            path.unlink()


def chunk_lines(con: duckdb.DuckDBPyConnection, number: int) -> bytes:
    """Lines of a chunk: tool calls of the newest runs, a second apart, after everything that a run has had."""
    runs = con.execute(
        f"""
        SELECT tenant, correlation_id, max(ts) FROM events WHERE kind = 'decision.record'
        GROUP BY tenant, correlation_id ORDER BY max(seq) DESC LIMIT {RUNS}
        """
    ).fetchall()
    lines = []
    for place in range(CHUNK):
        tenant, correlation_id, ts = runs[place % len(runs)]
        call = {
            "event_id": f"chunk-{number}-{place}",
            "ts": f"{ts.isoformat()}Z",
            "kind": "tool.invocation",
            "correlation_id": correlation_id,
            "caller": "iris",
            "tool": "order_lookup",
            "privilege": "read",
            "side_effects": "none",
            "outcome": "success",
        }
        lines.append(json.dumps(call | ({"tenant": tenant} if tenant else {}), separators=(",", ":")))
    return ("\n".join(lines) + "\n").encode()


def _query(snapshot: Path) -> None:
    """What the front page asks first: the open findings, worst first."""
    with duckdb.connect(str(snapshot), read_only=True) as con:
        findings.open_findings(con, Scope(), 50)
