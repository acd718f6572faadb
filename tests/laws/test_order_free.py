"""The law: the database is a pure function of ledger and policy, whatever the order or batching of arrival."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from gatewatch.work import ingest_and_publish, rebuild_and_publish
from ingest.sources import jsonl
from sample_data import policy_path, sample_path

TABLES = ("findings", "gate_checks", "reconciliation", "outcome_rates", "retry_degrade", "runs", "kpis", "tool_calls")
POLICY = str(policy_path("support-squad"))


def _lines() -> list[bytes]:
    """The sample without its rejects: which of two different events under one id was first is the one thing that the
    order of arrival may decide.
    """
    said: dict[str, set[str]] = {}
    kept = []
    for line in sample_path().read_bytes().splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event_id" in event:
            said.setdefault(event["event_id"], set()).add(json.dumps(event, sort_keys=True))
            kept.append((event["event_id"], line))
    return [line for event_id, line in kept if len(said[event_id]) == 1]


def _tables(snapshot: Path) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect(str(snapshot), read_only=True) as con:
        return {name: sorted(con.execute(f"FROM {name}").fetchall(), key=repr) for name in TABLES}


def _judge(data: Path, batches: Sequence[Sequence[bytes]]) -> dict[str, list[tuple[object, ...]]]:
    """Ingest each batch as a file of its own in a run of its own, and read what the last snapshot says."""
    snapshot = data
    for number, batch in enumerate(batches):
        file = data.with_name(f"{data.name}-{number}.jsonl")
        file.write_bytes(b"\n".join(batch) + b"\n")
        _, _, snapshot = ingest_and_publish(data, [str(file)], dialect="auto", choice=POLICY)
    return _tables(snapshot)


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[object, ...]]]:
    """What the sample says when it arrives in its own order, at once."""
    return _judge(tmp_path_factory.mktemp("straight") / "data", [_lines()])


@pytest.mark.parametrize("seed", [1, 2])
def test_any_order_of_arrival_gives_the_same_tables(
    tmp_path: Path, straight: dict[str, list[tuple[object, ...]]], seed: int
) -> None:
    """Two collectors that shuffle differently must not tell an auditor two stories."""
    lines = _lines()
    random.Random(seed).shuffle(lines)
    assert _judge(tmp_path / "data", [lines]) == straight


def test_any_batching_and_repetition_gives_the_same_tables(
    tmp_path: Path, straight: dict[str, list[tuple[object, ...]]]
) -> None:
    """Three runs over parts that overlap are as good as one run over the whole."""
    lines = _lines()
    random.Random(3).shuffle(lines)
    third = len(lines) // 3
    assert _judge(tmp_path / "data", [lines[: 2 * third], lines[third:], lines[:5]]) == straight


def test_any_size_of_chunk_gives_the_same_tables(
    tmp_path: Path, straight: dict[str, list[tuple[object, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a chunk ends is a matter of buffers, not of meaning."""
    monkeypatch.setattr(jsonl, "MAX_CHUNK_BYTES", 20_000)
    assert _judge(tmp_path / "data", [_lines()]) == straight
    with duckdb.connect(str((tmp_path / "data" / "gatewatch.duckdb").resolve()), read_only=True) as con:
        assert (con.execute("SELECT count(*) FROM batches").fetchone() or (0,))[0] >= 3


def test_a_rebuild_gives_the_same_tables(tmp_path: Path) -> None:
    """The database can be thrown away: every row comes back from the ledger."""
    data = tmp_path / "data"
    before = _judge(data, [sample_path().read_bytes().splitlines()])
    (data / "work.duckdb").unlink()
    _, _, snapshot = rebuild_and_publish(data, choice=None)
    assert _tables(snapshot) == before
