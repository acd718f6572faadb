"""The filter of stored ids names every place where an id can be, whatever its hashes; what it says is no verdict."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from ingest.ledger import ids as module
from ingest.ledger.ids import Hash, StoredIds, keyed_hash, ranges_of
from ingest.ledger.known import SCANS_BEFORE_FILTER, KnownEvents
from ingest.ledger.store import Store
from ingest.pipeline import Pipeline
from tests.ingest.builders import Ingest, line, lines, query


def _all_alike(ids: pl.Series) -> pl.Series:
    return pl.Series(np.zeros(len(ids), np.uint64))


def _nearly_alike(ids: pl.Series) -> pl.Series:
    return pl.Series((ids.hash(1).to_numpy() % 5).astype(np.uint64) << np.uint64(40))


def _highest(ids: pl.Series) -> pl.Series:
    return pl.Series(np.full(len(ids), 2**64 - 1, np.uint64))


HASHES = pytest.mark.parametrize("hashed", [keyed_hash(), _all_alike, _nearly_alike, _highest])


@pytest.fixture(params=["memory", "file"])
def kept_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Runs of any size in memory, or everything beyond a few words in files of small pieces."""
    if request.param == "file":
        monkeypatch.setattr(module, "MEMORY_WORDS", 20)
        monkeypatch.setattr(module, "_PIECE", 16)
    return str(request.param)


@HASHES
def test_no_id_is_missed(hashed: Hash, kept_in: str, tmp_path: Path) -> None:
    chance = random.Random(5)
    stored: dict[str, int] = {}
    filled = StoredIds(tmp_path, hashed)
    seq = 1
    for _ in range(120):
        new = [f"e{len(stored) + n}" for n in range(chance.choice([1, 2, 3, 40]))]
        seqs = []
        for event_id in new:
            seq += chance.choice([1, 1, 9_000])
            stored[event_id] = seq
            seqs.append(seq)
        filled.add(pl.Series(new), pl.Series(seqs))
        wanted = [*chance.sample(sorted(stored), min(20, len(stored))), "never", "seen"]
        chance.shuffle(wanted)
        maybe, blocks = filled.candidates(pl.Series(wanted))
        for event_id, found in zip(wanted, maybe, strict=True):
            if event_id in stored:
                assert found
                assert stored[event_id] >> 15 in blocks
    assert filled.size == len(stored)
    assert len(filled._runs) < 16
    assert any(run._file for run in filled._runs) is (kept_in == "file")
    words = np.concatenate([np.concatenate(list(run.all())) for run in filled._runs])
    assert len(words) == len(stored)
    assert all((np.diff(np.concatenate(list(run.all())).astype(object)) >= 0).all() for run in filled._runs)
    assert list(tmp_path.iterdir()) == []  # its files have no names
    filled.close()


def test_other_ids_are_told_apart(tmp_path: Path) -> None:
    filled = StoredIds(tmp_path)
    filled.add(pl.Series([f"e{n}" for n in range(50_000)]), pl.Series(range(50_000)))
    maybe, blocks = filled.candidates(pl.Series([f"x{n}" for n in range(50_000)]))
    # 50,000 times 50,000 pairs and 39 bits: one collision in 220 runs of this test.
    assert maybe.sum() <= 2
    assert len(blocks) <= 2


def test_two_filters_have_two_keys() -> None:
    one, other = keyed_hash()(pl.Series(["a"])), keyed_hash()(pl.Series(["a"]))
    assert one[0] != other[0]


def test_blocks_are_stretches_of_ledger_numbers() -> None:
    assert ranges_of([]) == []
    assert ranges_of([0, 1, 3]) == [(0, 65_535), (98_304, 131_071)]
    assert ranges_of([2**25 - 1]) == [((2**25 - 1) << 15, 2**63 - 1)]


def test_ledger_numbers_beyond_the_last_block_are_found(tmp_path: Path) -> None:
    filled = StoredIds(tmp_path)
    filled.add(pl.Series(["a"]), pl.Series([2**50]))
    maybe, blocks = filled.candidates(pl.Series(["a"]))
    ((first, last),) = ranges_of(blocks)
    assert maybe.to_list() == [True]
    assert first <= 2**50 <= last


@pytest.mark.parametrize("hashed", [_all_alike, _nearly_alike])
def test_verdicts_do_not_depend_on_the_hash(
    hashed: Hash, data: Path, tmp_path: Path, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.ledger.ids.keyed_hash", lambda: hashed)
    chance = random.Random(8)
    first: dict[str, int] = {}
    accepted, duplicates, conflicts = 0, 0, 0
    monkeypatch.setattr(module, "MEMORY_WORDS", 20)
    content = b""
    for _ in range(120):
        event_id, version = f"e{chance.randrange(40)}", chance.randrange(3) // 2
        content += line(event_id, attempt_note=version) + b"\n"
        if event_id not in first:
            first[event_id] = version
            accepted += 1
        elif first[event_id] == version:
            duplicates += 1
        else:
            conflicts += 1
    path = tmp_path / "e.jsonl"
    path.write_bytes(content)
    with Pipeline(data) as pipeline:
        found = pipeline.ingest_paths([str(path)])
        assert pipeline._open().store._known._ids is not None  # a store that was empty has a filter
    assert (found.accepted, found.duplicate, found.quarantined) == (accepted, duplicates, conflicts)
    assert query(data, "SELECT count(*), count(DISTINCT event_id) FROM events") == [(accepted, accepted)]


def _known(pipeline: Pipeline) -> KnownEvents:
    return pipeline._open().store._known


def test_a_long_history_is_scanned_a_few_times_before_a_filter_is_made(
    data: Path, ingest: Ingest, tmp_path: Path
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a", "b"))
    ingest(path)
    with Pipeline(data) as pipeline:
        for number in range(SCANS_BEFORE_FILTER * 3):
            path.write_bytes(lines("a", f"n{number}", "b"))
            found = pipeline.ingest_paths([str(path)])
            assert (found.accepted, found.duplicate) == (1, 2)
        assert _known(pipeline)._ids is not None


def test_what_a_failed_transaction_brought_is_not_known(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a", "b"))
    store: Store | None = None
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(path)])
        store = pipeline._open().store
        known = store._known
        new = pl.DataFrame({"event_id": ["c", "a"], "kind": ["tool.degradation"] * 2})
        assert known.find(new.head(1)) is None
        store.connection.execute("BEGIN")
        store.connection.execute("INSERT INTO events BY NAME SELECT 'c' AS event_id, 99 AS seq")
        store.connection.execute("ROLLBACK")
        assert known.find(new.head(1)) is None
        found = known.find(new)
        assert found is not None
        assert found.select("seq", "event_id").rows() == [(1, "a")]


def test_what_somebody_else_stored_is_known(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a", "b"))
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(path)])
        pipeline.connection.execute("UPDATE events SET event_id = 'z' WHERE event_id = 'b'")
        pipeline.connection.execute("INSERT INTO events SELECT * REPLACE ('c' AS event_id) FROM events WHERE seq = 1")
        path.write_bytes(lines("c", "d", "a"))
        found = pipeline.ingest_paths([str(path)])
    assert (found.accepted, found.duplicate) == (1, 2)


@pytest.mark.parametrize("when", ["add", "find"])
def test_a_disk_that_fails_the_filter_fails_nothing_else(
    when: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "e.jsonl"
    path.write_bytes(lines("a", "b"))
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(path)])
        monkeypatch.setattr(StoredIds, "add" if when == "add" else "candidates", full)
        path.write_bytes(lines("b", "c"))
        assert pipeline.ingest_paths([str(path)]).duplicate == 1
        assert _known(pipeline)._ids is None
        path.write_bytes(lines("c", "d", "e"))
        assert pipeline.ingest_paths([str(path)]).duplicate == 1
