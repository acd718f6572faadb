"""The machine's clock jumps back, as after a wrong time server: nothing breaks, and no line is lost or moved."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ingest.lines import Received, Source
from ingest.pipeline import Pipeline, rebuild, verify
from tests.ingest.builders import line, query, tables

NOON = datetime(2026, 6, 3, 12, tzinfo=UTC)
TAIL = Source("app.log", "tail", "app.log", "auto")


def clock() -> Iterator[datetime]:
    """Noon, a day before that, an hour after noon."""
    yield NOON
    yield NOON - timedelta(days=1)
    yield NOON + timedelta(hours=1)


def test_a_clock_that_jumps_back(tmp_path: Path) -> None:
    """Every line is kept in the order in which it came, with the time that was read then."""
    times = clock()
    with Pipeline(tmp_path, now=lambda: next(times)) as pipeline:
        for number in range(3):
            received = Received(TAIL, [line(f"e{number}")], {"line": number}, {"line": number + 1}, final=False)
            assert pipeline.commit([received]).accepted == 1
    assert query(tmp_path, "SELECT seq, event_id FROM events ORDER BY seq") == [(1, "e0"), (2, "e1"), (3, "e2")]
    hours = query(tmp_path, "SELECT CAST(epoch(received_at - TIMESTAMP '2026-06-03 12:00') AS BIGINT) FROM batches")
    assert hours == [(0,), (-86_400,), (3_600,)]
    assert query(tmp_path, "SELECT max(received_at) FROM batches") == [(datetime(2026, 6, 3, 13),)]  # noqa: DTZ001
    before = tables(tmp_path)
    assert verify(tmp_path).problems == []
    rebuild(tmp_path)
    assert tables(tmp_path) == before
