"""The store: one chunk is one transaction; the first of equal ids stays, whatever is in front of it in time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from ingest.errors import DiskError, LockedError, StoreError
from ingest.ledger.database import attach, store_error
from ingest.ledger.store import Store
from ingest.ledger.tables import TABLES
from ingest.pipeline import Pipeline
from tests.ingest.builders import Ingest, line, query

USED = "event_id a was used before, with other content, by line 1 of the ledger"


def _file(path: Path, *contents: bytes) -> Path:
    path.write_bytes(b"".join(content + b"\n" for content in contents))
    return path


def test_duplicates_and_conflicts_inside_a_chunk_and_across(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    other = line("a", tool="fax")
    first = ingest(_file(tmp_path / "1.jsonl", line("a"), line("a"), other, line("b"), other, line("a")))
    assert (first.accepted, first.duplicate, first.quarantined) == (2, 2, 2)
    second = ingest(
        _file(tmp_path / "2.jsonl", line("c"), line("a"), other, line("c"), line("b", ts="2026-06-03T12:00:00+02:00"))
    )
    assert (second.accepted, second.duplicate, second.quarantined, second.reasons) == (1, 3, 1, {"event_conflict": 1})
    assert query(data, "SELECT seq, event_id, tool FROM events ORDER BY seq") == [
        (1, "a", "mail"),
        (4, "b", "mail"),
        (7, "c", "mail"),
    ]
    assert query(data, "SELECT quarantine_id, position, reason, errors, line FROM quarantine ORDER BY seq") == [
        (
            f"q{seq}",
            f"line {number}",
            "event_conflict",
            USED,
            other.decode(),
        )
        for seq, number in ((3, 3), (5, 5), (9, 3))
    ]


def test_the_ledgers_order_decides_and_not_the_time(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    late, early = line("a", ts="2026-06-03T10:00:00Z"), line("a", ts="2026-01-01T00:00:00Z")
    ingest(_file(tmp_path / "1.jsonl", late))
    assert ingest(_file(tmp_path / "2.jsonl", early)).reasons == {"event_conflict": 1}
    assert query(data, "SELECT ts::VARCHAR FROM events") == [("2026-06-03 10:00:00",)]


def test_sources_add_up_over_runs(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    path = _file(tmp_path / "e.jsonl", line("a"), b"", b"{", line("b", ts="2026-06-04T10:00:00Z"))
    ingest(path)
    with path.open("ab") as file:
        file.write(line("c", extra=1) + b"\n")
    ingest(path)
    row = query(
        data,
        "SELECT source, kind, path, dialect, lines, accepted, duplicate, quarantined, blank, warnings, drift, "
        "redacted, max_ts::VARCHAR, complete, first_received_at < last_received_at FROM sources",
    )
    assert row == [(str(path), "jsonl", str(path), "auto", 5, 3, 0, 1, 1, 0, 1, 0, "2026-06-04 10:00:00", True, True)]
    assert query(data, "SELECT batch_id, first_seq, lines, drift, final FROM batches") == [
        (1, 1, 4, 0, True),
        (2, 5, 1, 1, True),
    ]


def test_a_source_that_goes_on_is_not_complete(data: Path, tmp_path: Path, small_chunks: None) -> None:
    path = _file(tmp_path / "e.jsonl", *(line(f"{number}") for number in range(12)))
    seen: list[bool] = []
    with Pipeline(data) as pipeline:

        def at(point: str) -> None:
            if point == "store.committed" and pipeline._opened is not None:  # what `connection` gives would wait for us
                store = pipeline._opened.store
                seen.append(store.connection.execute("SELECT complete FROM sources").fetchall() == [(True,)])

        pipeline._at = at
        pipeline.ingest_paths([str(path)])
    assert seen == [False, False, True]


def test_a_long_ingest_closes_and_opens_the_database_on_its_way(
    data: Path, tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here after every 5 events or more: what was stored before is known afterwards, and nothing else is different."""
    monkeypatch.setattr("ingest.ledger.store.REATTACH_EVENTS", 5)
    attached: list[Path] = []

    def watched(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        attached.append(path)
        attach(connection, path)

    monkeypatch.setattr("ingest.ledger.store.attach", watched)
    path = _file(tmp_path / "e.jsonl", *(line(f"{number % 22}") for number in range(40)))
    with Pipeline(data) as pipeline:
        pipeline.connection.execute("CREATE TEMP TABLE mine AS SELECT 7 AS seven")
        found = pipeline.ingest_paths([str(path)])
        assert pipeline.connection.execute("SELECT count(*), (SELECT seven FROM mine) FROM events").fetchall() == [
            (22, 7)
        ]
    assert (found.accepted, found.duplicate) == (22, 18)
    assert len(attached) >= 2
    assert query(data, "SELECT seq FROM events ORDER BY seq") == [(seq,) for seq in range(1, 23)]


def test_a_database_that_cannot_be_opened_again_costs_nothing(
    data: Path, tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _file(tmp_path / "e.jsonl", *(line(f"{number}") for number in range(20)))

    def broken(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
        raise duckdb.IOException("IO Error: Could not read from file: Input/output error")

    with monkeypatch.context() as patch, Pipeline(data) as pipeline:
        patch.setattr("ingest.ledger.store.REATTACH_EVENTS", 5)
        patch.setattr("ingest.ledger.store.attach", broken)
        with pytest.raises(StoreError, match=r"cannot be used \(IO Error: Could not read from file"):
            pipeline.ingest_paths([str(path)])
    with Pipeline(data) as pipeline:
        found = pipeline.ingest_paths([str(path)])
        assert pipeline.connection.execute("SELECT count(DISTINCT event_id), count(*) FROM events").fetchall() == [
            (20, 20)
        ]
    assert found.recovered > 0


def test_every_table_has_a_comment_for_every_column(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    ingest(_file(tmp_path / "e.jsonl", line("a")))
    for table, columns in TABLES.items():
        assert [name for name, *_ in query(data, f"DESCRIBE {table}")] == [column.name for column in columns]
    assert all(column.comment for name, columns in TABLES.items() if name != "events" for column in columns)


def test_there_is_no_index(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    ingest(_file(tmp_path / "e.jsonl", line("a")))
    assert query(data, "SELECT count(*) FROM duckdb_indexes()") == [(0,)]
    assert query(data, "SELECT count(*) FROM duckdb_constraints() WHERE constraint_type <> 'NOT NULL'") == [(0,)]


def test_text_of_any_kind_survives_the_database(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    texts = ["nul \0 nul", "é😀\u2028", "'; DROP TABLE events; --", '"', "\\", "\x1b[31m", ""]
    ingest(_file(tmp_path / "e.jsonl", *(line(f"{number}", reason=text, x=text) for number, text in enumerate(texts))))
    assert query(data, "SELECT reason, extra->>'$.x' FROM events ORDER BY seq") == [(text, text) for text in texts]


def _set(data: Path, sql: str) -> None:
    with duckdb.connect(str(data / "work.duckdb")) as connection:
        connection.execute(sql)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE meta SET value = '99' WHERE key = 'version'",
         r"made by a newer gatewatch \(store version 99\): update gatewatch"),
        ("UPDATE meta SET value = '0' WHERE key = 'version'",
         r"made by another version of gatewatch: make it again with `gatewatch rebuild`"),
        ("UPDATE meta SET value = 'x' WHERE key = 'layout'",
         r"made by another version of gatewatch: make it again with"),
        ("UPDATE batches SET leaf_hash = 'x'",
         r"was not made from this ledger: `gatewatch rebuild` makes the database again"),
        ("UPDATE batches SET bytes = bytes + 1", r"is ahead of the ledger: "),
    ],
)  # fmt: skip
def test_a_store_that_does_not_fit_is_refused(
    change: str, message: str, ingest: Ingest, data: Path, tmp_path: Path
) -> None:
    path = _file(tmp_path / "e.jsonl", line("a"))
    ingest(path)
    _set(data, change)
    with pytest.raises(StoreError, match=message) as raised:
        ingest(path)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [b"no database", b"", b"\0" * 20_000])
def test_a_file_that_is_no_database(content: bytes, ingest: Ingest, data: Path, tmp_path: Path) -> None:
    path = _file(tmp_path / "e.jsonl", line("a"))
    ingest(path)
    (data / "work.duckdb").write_bytes(content)
    with pytest.raises(StoreError, match=r"work.duckdb cannot be used .*: make it again with `gatewatch rebuild`"):
        ingest(path)


def test_a_database_that_somebody_else_has_open(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    ingest(_file(tmp_path / "e.jsonl", line("a")))
    code = (
        f"import duckdb, sys; c = duckdb.connect({str(data / 'work.duckdb')!r}); print(1, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(LockedError, match=r"work\.duckdb is open in another program: close it, then run again"):
            ingest(tmp_path / "e.jsonl")
        other.communicate()


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ("IO Error: Could not write file: No space left on device", DiskError),
        ("IO Error: Cannot open file: Permission denied", DiskError),
        ("IO Error: Cannot open file: Read-only file system", DiskError),
        ("IO Error: Could not set lock on file", LockedError),
        ("Corrupt database file: computed checksum", StoreError),
        ("", StoreError),
    ],
)
def test_errors_of_the_database_are_ours(told: str, kind: type[Exception]) -> None:
    found = store_error(duckdb.Error(told), Path("/d/work.duckdb"))
    assert type(found) is kind
    assert "/d/work.duckdb" in str(found)


def test_a_store_opens_twice_in_one_process_only_after_it_was_closed(tmp_path: Path) -> None:
    first = Store(tmp_path / "work.duckdb")
    assert first.end() is None
    first.close()
    Store(tmp_path / "work.duckdb").close()
