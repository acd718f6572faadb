"""Facts of arrival: what came late, what was redacted, whose identity was reused, and since when nothing came.

The integrity rules rest on them, so that each must be the same from the ledger alone.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger.segments import Segments
from ingest.lines import Received, Source
from ingest.pipeline import Pipeline, rebuild, verify
from tests.ingest.builders import Ingest, line, query, record, tables

NOON = datetime(2026, 6, 3, 12, tzinfo=UTC)
TAIL = Source("orders", "tail", "/var/log/orders.jsonl", "auto")
FLOORS = "SELECT event_id, floor_ts::VARCHAR FROM events ORDER BY seq"


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def advance(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)


def _at(event_id: str, hour: int, **fields: Any) -> bytes:
    return line(event_id, ts=f"2026-06-03T{hour:02}:00:00Z", **fields)


def _write(path: Path, *contents: bytes, mode: str = "wb") -> Path:
    with path.open(mode) as file:
        file.writelines(content + b"\n" for content in contents)
    return path


def _given(*contents: bytes, number: int = 0, final: bool = False) -> Received:
    """What a tailed file has just given."""
    return Received(TAIL, list(contents), {"line": number}, {"line": number + len(contents)}, final)


def assert_same_from_the_ledger(data: Path) -> None:
    """Recovery, rebuild and verify all come to the tables that are there."""
    expected = tables(data)
    assert verify(data).problems == []
    rebuild(data)
    assert tables(data) == expected
    (data / "work.duckdb").unlink()
    with Pipeline(data) as pipeline:
        assert pipeline.connection is not None
    assert tables(data) == expected


def test_a_shuffled_file_does_not_accuse_itself(ingest: Ingest, data: Path, tmp_path: Path, small_chunks: None) -> None:
    path = _write(tmp_path / "e.jsonl", *(_at(f"e{number}", 23 - number) for number in range(12)))
    ingest(path)
    assert query(data, "SELECT count(*) > 1 FROM batches") == [(True,)]
    assert query(data, "SELECT count(*), count(floor_ts) FROM events") == [(12, 0)]
    assert query(data, "SELECT floor_ts = max_ts FROM sources") == [(True,)]
    assert_same_from_the_ledger(data)


@pytest.mark.parametrize("turned", [False, True], ids=["one first", "other first"])
def test_how_far_a_source_has_come_is_not_a_matter_of_who_sent_an_event_first(
    turned: bool, ingest: Ingest, data: Path, tmp_path: Path
) -> None:
    """What both sent counts for both; a line in conflict with another shows no time, nor does a rejected one."""
    one = _write(tmp_path / "one.jsonl", _at("a", 1), _at("both", 5), b'{"ts": "2027-01-01T00:00:00Z"}')
    other = _write(tmp_path / "other.jsonl", _at("b", 2), _at("both", 5), _at("b", 9))
    for path in (other, one) if turned else (one, other):
        ingest(path)
    assert query(data, "SELECT source, max_ts FROM sources ORDER BY source") == [
        (str(path), query(data, "SELECT ts FROM events WHERE event_id = 'both'")[0][0]) for path in (one, other)
    ]
    assert_same_from_the_ledger(data)


def test_a_file_that_grew_is_held_against_what_it_was(
    ingest: Ingest, data: Path, tmp_path: Path, small_chunks: None
) -> None:
    path = _write(tmp_path / "e.jsonl", _at("a", 9), _at("b", 15))
    other = _write(tmp_path / "f.jsonl", _at("x", 20))
    ingest(path, other)
    _write(path, _at("c", 18), *(_at(f"d{number}", 10) for number in range(8)), mode="ab")
    ingest(path)
    _write(path, _at("e", 11), mode="ab")
    _write(other, _at("y", 7), mode="ab")
    ingest(path, other)
    assert query(data, FLOORS) == [
        ("a", None),
        ("b", None),
        ("x", None),
        *((event_id, "2026-06-03 15:00:00") for event_id in ("c", *(f"d{number}" for number in range(8)))),
        ("e", "2026-06-03 18:00:00"),
        ("y", "2026-06-03 20:00:00"),
    ]
    assert_same_from_the_ledger(data)


def test_a_delivery_goes_on_after_a_kill(data: Path, tmp_path: Path, small_chunks: None) -> None:
    """The rest of a file that a crash interrupted belongs to the delivery that had begun."""

    class Crash(BaseException):
        pass

    path = _write(tmp_path / "e.jsonl", *(_at(f"e{number}", 23 - number) for number in range(12)))
    committed = 0

    def crash(point: str) -> None:
        nonlocal committed
        committed += point == "store.committed"
        if committed == 2:
            raise Crash

    with pytest.raises(Crash), Pipeline(data, at=crash) as pipeline:
        pipeline.ingest_paths([str(path)])
    assert query(data, "SELECT count(*) < 12, max(floor_ts) FROM events") == [(True, None)]
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(path)])
    assert query(data, "SELECT count(*), count(floor_ts) FROM events") == [(12, 0)]
    assert_same_from_the_ledger(data)


def test_a_stream_delivers_chunk_by_chunk(data: Path) -> None:
    with Pipeline(data) as pipeline:
        pipeline.commit([_given(_at("a", 9), _at("b", 15))])
        pipeline.commit([_given(_at("c", 18), _at("d", 10), number=2)])
        pipeline.tick(TAIL)
        pipeline.commit([_given(b"{", number=4)])
        pipeline.commit([_given(_at("e", 11), number=5)])
    assert query(data, FLOORS) == [
        ("a", None),
        ("b", None),
        ("c", "2026-06-03 15:00:00"),
        ("d", "2026-06-03 15:00:00"),
        ("e", "2026-06-03 18:00:00"),
    ]
    assert_same_from_the_ledger(data)


def test_a_folder_of_records_is_held_against_nothing(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    """Records are files of their own: an older one that is added or edited later is no event that came late."""
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "1.md").write_text(record("DR-1"))
    ingest(folder)
    (folder / "2.md").write_text(record("DR-2"))
    ingest(folder)
    assert query(data, "SELECT decision_id, floor_ts::VARCHAR FROM events ORDER BY seq") == [
        ("DR-1", None),
        ("DR-2", None),
    ]


def test_an_event_says_that_its_line_was_redacted(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    """Also as the second line of a second chunk; a rejected line that was redacted is no event."""
    ingest(_write(tmp_path / "1.jsonl", line("a"), line("b", reason="write to jo@example.org")))
    ingest(_write(tmp_path / "2.jsonl", b'{"x":"jo@example.org"}', line("c"), line("d", note2="jo@example.org")))
    assert query(data, "SELECT event_id, redacted FROM events ORDER BY seq") == [
        ("a", False),
        ("b", True),
        ("c", False),
        ("d", True),
    ]
    assert query(data, "SELECT redacted FROM batches ORDER BY batch_id") == [(1,), (2,)]
    assert_same_from_the_ledger(data)


def test_a_reused_identity_is_named_beside_the_rejected_line(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    contents = (line("a"), line("a", tool="fax"), line("a"), b"{", line("b", ts="no time"))
    ingest(_write(tmp_path / "e.jsonl", *contents))
    ingest(_write(tmp_path / "f.jsonl", line("a", tool="phone")))
    assert query(data, "SELECT seq, reason, event_id FROM quarantine ORDER BY seq") == [
        (2, "event_conflict", "a"),
        (4, "not_json", None),
        (5, "schema", None),
        (6, "event_conflict", "a"),
    ]
    assert_same_from_the_ledger(data)


def test_silence_is_in_the_ledger(data: Path) -> None:
    """A tick moves the ledger's own clock, and not the time at which the source was last heard."""
    clock = Clock()
    with Pipeline(data, now=clock) as pipeline:
        pipeline.commit([_given(_at("a", 9))])
        before = pipeline.connection.execute("SELECT * FROM sources").fetchall()
        for _ in range(2):
            clock.advance(minutes=10)
            pipeline.tick(TAIL)
        assert pipeline.connection.execute("SELECT * FROM sources").fetchall() == before
        clock.advance(minutes=10)
        pipeline.commit([_given(_at("b", 10), number=1)])
    assert query(data, "SELECT batch_id, first_seq, lines, received_at::VARCHAR, final FROM batches ORDER BY 1") == [
        (1, 1, 1, "2026-06-03 12:00:00", False),
        (2, 2, 0, "2026-06-03 12:10:00", False),
        (3, 2, 0, "2026-06-03 12:20:00", False),
        (4, 2, 1, "2026-06-03 12:30:00", False),
    ]
    assert query(data, "SELECT first_received_at::VARCHAR, last_received_at::VARCHAR, complete FROM sources") == [
        ("2026-06-03 12:00:00", "2026-06-03 12:30:00", False)
    ]
    assert query(data, "SELECT count(*) FROM positions") == [(0,)]
    assert_same_from_the_ledger(data)


def test_a_source_that_never_said_anything_is_silent_since_the_first_look(data: Path) -> None:
    clock = Clock()
    with Pipeline(data, now=clock) as pipeline:
        pipeline.tick(TAIL)
        clock.advance(minutes=10)
        pipeline.tick(TAIL)
    assert query(data, "SELECT source, kind, lines, max_ts, complete, last_received_at::VARCHAR FROM sources") == [
        ("orders", "tail", 0, None, False, "2026-06-03 12:00:00")
    ]
    assert_same_from_the_ledger(data)


def test_a_look_at_a_finished_file_leaves_it_finished(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    path = _write(tmp_path / "e.jsonl", _at("a", 9))
    ingest(path)
    before = query(data, "SELECT * FROM sources")
    with Pipeline(data) as pipeline:
        pipeline.tick(Source(str(path), "jsonl", str(path), "auto"))
    assert query(data, "SELECT * FROM sources") == before
    assert ingest(path).lines == 0
    assert_same_from_the_ledger(data)


@pytest.mark.parametrize("torn", [True, False])
def test_a_tick_that_a_crash_interrupted(torn: bool, data: Path, tmp_path: Path) -> None:
    """Torn, it is cut off and was never there; whole, the next start brings it into the store."""
    clock = Clock()
    with Pipeline(data, now=clock) as pipeline:
        pipeline.commit([_given(_at("a", 9))])
    shutil.copy(data / "work.duckdb", tmp_path / "before.duckdb")
    clock.advance(minutes=10)
    with Pipeline(data, now=clock) as pipeline:
        pipeline.tick(TAIL)
    shutil.copy(tmp_path / "before.duckdb", data / "work.duckdb")
    segment = data / "ledger" / "00000001.ndjson"
    if torn:
        segment.write_bytes(segment.read_bytes()[:-1])
    else:
        assert verify(data).pending == 1
    with Pipeline(data, now=clock) as pipeline:
        pipeline.commit([_given(_at("b", 10), number=1)])
    counts = [1, 1] if torn else [1, 0, 1]
    assert query(data, "SELECT lines FROM batches ORDER BY batch_id") == [(count,) for count in counts]
    assert query(data, "SELECT seq, event_id FROM events ORDER BY seq") == [(1, "a"), (2, "b")]
    assert_same_from_the_ledger(data)


def test_a_tick_that_was_taken_out_of_the_ledger_is_missed(data: Path) -> None:
    """Silence is evidence too: without its tick nobody could tell that the source had stopped."""
    with Pipeline(data) as pipeline:
        pipeline.commit([_given(_at("a", 9))])
        pipeline.tick(TAIL)
        pipeline.commit([_given(_at("b", 10), number=1)])
    segment = data / "ledger" / "00000001.ndjson"
    whole = segment.read_bytes()
    _, tick, _ = (stored.location for stored in Segments(data / "ledger").read())
    segment.write_bytes(whole[: tick.offset] + whole[tick.offset + tick.length :])
    assert any(problem.startswith("batches: ") for problem in verify(data).problems)


def test_the_clock_is_the_callers(data: Path, tmp_path: Path) -> None:
    """Any zone will do: the tables keep UTC."""
    with Pipeline(data, now=lambda: datetime.fromisoformat("2026-06-03T14:00:00+02:00")) as pipeline:
        pipeline.ingest_paths([str(_write(tmp_path / "e.jsonl", line("a"), b"{"))])
    for table in ("batches", "quarantine"):
        assert query(data, f"SELECT received_at::VARCHAR FROM {table}") == [("2026-06-03 12:00:00",)]
