"""Another try for rejected lines is in the ledger as well: a rebuild, in whatever commits, finds the same rows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ingest.accounting import Accounting
from ingest.lines import Line
from ingest.pipeline import Pipeline, rebuild, verify
from ingest.retry import rejected_lines, retry
from ingest.validate import Batch, RowValidator, Validated
from tests.ingest.builders import Ingest, line, query, tables

TRIED = "SELECT quarantine_id, seq, dialect, outcome FROM retries ORDER BY seq"
SECRET = line("e3", note="write to a@b.co")


@pytest.fixture
def refused(ingest: Ingest, tmp_path: Path) -> bytes:
    """Lines 1 to 5, refused since xenia was asked for: two events, the first again, one with an address, half one."""
    content = b"\n".join([line("e1"), line("e2"), line("e1"), SECRET, b'{"event_id":'])
    (tmp_path / "e.jsonl").write_bytes(content)
    assert ingest(tmp_path / "e.jsonl", dialect="xenia").reasons == {"dialect": 4, "not_json": 1}
    return content


def again(data: Path, *ids: str, dialect: str | None = None, **choice: str) -> Accounting:
    """Try lines again in a run of its own."""
    with Pipeline(data) as pipeline:
        return retry(pipeline, rejected_lines(pipeline.connection, ids, **choice), dialect)


def open_ids(data: Path) -> list[str]:
    """What `retry` without names would take."""
    with Pipeline(data) as pipeline:
        return [one.quarantine_id for one in rejected_lines(pipeline.connection)]


def test_lines_become_what_they_can(refused: bytes, data: Path) -> None:
    """Each under a number of its own; whoever asks finds the way from the refused line to the event and back."""
    found = again(data, dialect="native")
    assert (found.lines, found.accepted, found.duplicate, found.reasons) == (5, 3, 1, {"not_json": 1})
    assert query(data, TRIED) == [
        ("q1", 6, "native", "accepted"),
        ("q2", 7, "native", "accepted"),
        ("q3", 8, "native", "duplicate"),
        ("q4", 9, "native", "accepted"),
        ("q5", 10, "native", "quarantined"),
    ]
    assert query(data, "SELECT seq, event_id FROM events ORDER BY seq") == [(6, "e1"), (7, "e2"), (9, "e3")]
    assert query(data, "SELECT quarantine_id, source, position FROM quarantine WHERE seq > 5") == [
        ("q10", "retry", "q5")
    ]
    assert open_ids(data) == ["q10"]


def test_what_was_sent_can_be_proven_and_what_was_taken_stays_known(refused: bytes, data: Path) -> None:
    """The hash is that of the producer's bytes, through every try; an event says that something was taken from it."""
    again(data, "q4")
    again(data, "q9999", "q6")  # the same dialect: refused again
    again(data, "q7", dialect="native")
    assert query(data, TRIED) == [
        ("q4", 6, "xenia", "quarantined"),
        ("q6", 7, "xenia", "quarantined"),
        ("q7", 8, "native", "accepted"),
    ]
    sent = hashlib.sha256(SECRET).hexdigest()
    hashes = "SELECT DISTINCT line_sha256 FROM quarantine WHERE seq IN (4, 6, 7)"
    assert query(data, hashes) == [(sent,)]
    assert query(data, "SELECT event_id, redacted, contains(extra, 'a@b.co') FROM events") == [("e3", True, False)]


def test_a_choice_narrows(refused: bytes, data: Path, ingest: Ingest, tmp_path: Path) -> None:
    """By reason, by source, by name; a named line can be tried as often as one likes."""
    (tmp_path / "f.jsonl").write_bytes(b"]\n")
    ingest(tmp_path / "f.jsonl")
    assert again(data, reason="not_json", source=str(tmp_path / "f.jsonl")).lines == 1
    assert again(data, reason="not_json").lines == 2  # that of e.jsonl, and the one that was refused again
    assert again(data, "q1", reason="schema").lines == 0
    assert [again(data, "q1", dialect="native").accepted for _ in range(2)] == [1, 0]
    assert again(data, "q1").reasons == {"dialect": 1}
    outcomes = "SELECT outcome FROM retries WHERE quarantine_id = 'q1' ORDER BY seq"
    assert query(data, outcomes) == [("accepted",), ("duplicate",), ("quarantined",)]


def test_it_says_nothing_about_when_things_happen(refused: bytes, data: Path) -> None:
    """An old line that is tried again is not late, no producer drifts by it, and nobody waits for more."""
    again(data, dialect="native")
    assert query(data, "SELECT count(*) FROM events WHERE floor_ts IS NOT NULL") == [(0,)]
    again(data, "q1", dialect="native")
    columns = "kind, path, floor_ts, complete, lines, accepted, drift"
    assert query(data, f"SELECT {columns} FROM sources WHERE source = 'retry'") == [("retry", "-", None, True, 6, 3, 0)]


def test_a_line_that_was_too_long_is_known_not_to_be_kept(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_bytes(b"x" * (1 << 20) + b"yz\n")
    ingest(tmp_path / "e.jsonl")
    with Pipeline(data) as pipeline:
        assert [one.kept for one in rejected_lines(pipeline.connection)] == [False]


def test_many_lines_make_several_chunks(
    ingest: Ingest, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And every line is read from where it lies, also in a segment that is packed away."""
    monkeypatch.setattr("ingest.sources.jsonl._BLOCK_BYTES", 500)
    monkeypatch.setattr("ingest.sources.jsonl.MAX_CHUNK_BYTES", 2_000)
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 8_000)
    monkeypatch.setattr("ingest.commits.MAX_COMMIT_LINES", 1)
    monkeypatch.setattr("ingest.retry.MAX_CHUNK_BYTES", 5_000)
    (tmp_path / "e.jsonl").write_bytes(b"".join(line(f"e{number}") + b"\n" for number in range(200)))
    ingest(tmp_path / "e.jsonl", dialect="xenia")
    assert list((data / "ledger").glob("*.zst"))
    assert again(data, dialect="native").accepted == 200
    assert query(data, "SELECT count(DISTINCT event_id), min(seq), max(seq) FROM events") == [(200, 201, 400)]
    ((chunks, largest),) = query(data, "SELECT count(*), max(bytes) FROM batches WHERE source = 'retry'")
    assert chunks >= 6
    assert largest < 10_000
    assert verify(data).problems == []


@pytest.mark.usefixtures("small_chunks")
def test_a_rebuild_gives_the_same_rows_whatever_its_commits(
    refused: bytes, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The law: a try and its outcome are facts of the ledger, also when all of it comes in one commit."""
    again(data, "q2", "q5", dialect="native")
    again(data)
    again(data, dialect="native")
    expected = tables(data)
    assert verify(data).problems == []
    for most in (1, 100_000):
        monkeypatch.setattr("ingest.ledger.recovery.MAX_COMMIT_LINES", most)
        assert rebuild(data).lines == 5 + 2 + 4 + 4
        assert tables(data) == expected


class Crash(BaseException):
    """What no code of ours catches."""


def crashing(point: str) -> Callable[[str], None]:
    """Crash where the point of this name is passed."""

    def at(name: str) -> None:
        if name == point:
            raise Crash

    return at


@pytest.mark.parametrize(
    ("point", "kept"),
    [("ledger.write", False), ("ledger.written", True), ("store.begin", True), ("store.commit", True),
     ("store.committed", True)],
)  # fmt: skip
def test_a_crash_leaves_lines_open_or_tried_and_never_both(point: str, kept: bool, refused: bytes, data: Path) -> None:
    """The next run finds what was decided in the ledger; a second try of the same lines changes nothing else."""
    with Pipeline(data, at=crashing(point)) as pipeline, pytest.raises(Crash):
        retry(pipeline, rejected_lines(pipeline.connection, reason="dialect"), "native")
    assert open_ids(data) == (["q5"] if kept else ["q1", "q2", "q3", "q4", "q5"])
    again(data, reason="dialect", dialect="native")
    assert query(data, "SELECT event_id FROM events ORDER BY seq") == [("e1",), ("e2",), ("e3",)]
    assert query(data, "SELECT outcome, count(*) FROM retries GROUP BY outcome ORDER BY 1") == [
        ("accepted", 3),
        ("duplicate", 1),
    ]
    assert verify(data).problems == []


def known(found: Line) -> Line:
    """The line with the new name as the one that is known."""
    return found.replace(b"tool.fallback", b"tool.degradation") if isinstance(found, bytes) else found


class Newer(RowValidator):
    """Reads a name of a kind that this version does not know: what an update may bring."""

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts, with the new name understood."""
        return super().validate_all([batch._replace(lines=list(map(known, batch.lines))) for batch in batches])


def test_a_version_that_reads_more(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    """A try brings the event in at once; a rebuild by that version reads the line where it stood, and needs no try."""
    (tmp_path / "e.jsonl").write_bytes(line("e1", kind="tool.fallback") + b"\n" + line("e2") + b"\n")
    assert ingest(tmp_path / "e.jsonl").reasons == {"unknown_kind": 1}
    with Pipeline(data, Newer()) as pipeline:
        assert retry(pipeline, rejected_lines(pipeline.connection)).accepted == 1
    assert query(data, "SELECT seq, event_id FROM events ORDER BY seq") == [(2, "e2"), (3, "e1")]
    rebuild(data, validator=Newer())
    assert query(data, "SELECT seq, event_id FROM events ORDER BY seq") == [(1, "e1"), (2, "e2")]
    assert query(data, TRIED) == [("q1", 3, "auto", "duplicate")]
    assert query(data, "SELECT * FROM quarantine") == []
