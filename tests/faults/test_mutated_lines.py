"""A million broken lines through the pipeline: no crash, every line accounted for and in the ledger, flat memory."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ingest.ledger.segments import Segments
from ingest.lines import MAX_LINE_BYTES, OverLong
from tests.faults.conftest import ROOT
from tests.faults.mutations import base_lines, mutated, mutated_record

ALL = os.environ.get("GATEWATCH_FAULTS") == "all"
"""A million lines and 5,000 records, which take a quarter of an hour; else 20,000 and 200."""

LINES, RECORDS, FILES = (1_000_000, 5_000, 20) if ALL else (20_000, 200, 4)
SEED = 20260603
GROWTH = 1.25, 96 << 10
"""How much more memory (factor, KiB) the second half may need: pages that the allocator and DuckDB keep for later."""


def _run(*arguments: object) -> Any:
    command = [sys.executable, str(Path(__file__).with_name("mutations_runner.py")), *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=3_600)
    assert done.returncode == 0, done.stderr[-4_000:]
    return json.loads(done.stdout)


def _write_lines(folder: Path) -> list[Path]:
    base = base_lines(folder / "base", SEED)
    made = mutated(base, LINES, SEED)
    paths = []
    for number in range(FILES):
        path = folder / f"lines-{number:02}.jsonl"
        with path.open("wb") as file:
            for _ in range(LINES // FILES):
                file.write(next(made) + b"\n")
        paths.append(path)
    return paths


def _write_records(folder: Path) -> Path:
    records = folder / "records"
    records.mkdir()
    chance = random.Random(SEED)
    for number in range(RECORDS):
        (records / f"r{number}.md").write_bytes(mutated_record(number, chance))
    return records


def _kept(data: Path) -> Iterator[tuple[str, str]]:
    """(source, SHA-256 of the line as it was received) of every line in the ledger, in order."""
    for stored in Segments(data / "ledger").read():
        chunk = stored.chunk
        for index, content in enumerate(chunk.lines):
            if isinstance(content, OverLong):
                yield chunk.source.name, content.sha256
            elif index in chunk.redactions:
                yield chunk.source.name, chunk.redactions[index].sha256
            else:
                yield chunk.source.name, hashlib.sha256(content).hexdigest()


def _sent(path: Path) -> Iterator[tuple[str, str]]:
    content = path.read_bytes()
    for piece in content[:-1].split(b"\n"):
        yield str(path), hashlib.sha256(piece).hexdigest()


def test_broken_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data"
    paths = _write_lines(tmp_path)
    records = _write_records(tmp_path)
    halves = [*paths[: FILES // 2], records, *paths[FILES // 2 :]]
    taken = _run(data, *halves)
    total = Counter({name: sum(part[name] for part in taken) for name in taken[0] if isinstance(taken[0][name], int)})
    reasons = sum((Counter(part["reasons"]) for part in taken), Counter())
    with capsys.disabled():
        counts = ", ".join(f"{name} {total[name]:,}" for name in total if name != "peak")
        why = ", ".join(f"{name} {count:,}" for name, count in reasons.most_common())
        told = f"peak {taken[FILES // 2]['peak'] >> 10} MiB after half, {taken[-1]['peak'] >> 10} MiB after all"
        print(f"\n{counts} ({why}); {told}")  # noqa: T201

    sent = 0
    kept = _kept(data)
    for path, part in zip(halves, taken, strict=True):
        assert part["lines"] == sum(part[name] for name in ("accepted", "duplicate", "quarantined", "blank"))
        if path == records:
            assert part["lines"] + part["skipped"] == RECORDS
            assert {next(kept)[0] for _ in range(part["lines"])} == {str(records)}
            continue
        expected = list(_sent(path))
        assert part["lines"] == len(expected)
        assert [next(kept) for _ in expected] == expected
        sent += len(expected)
    assert next(kept, None) is None
    assert sent >= LINES
    assert total["accepted"] > LINES // 20
    assert {"not_json", "schema", "encoding", "unknown_kind", "not_an_object", "event_conflict", "dialect"} <= set(
        reasons
    )

    factor, more = GROWTH
    assert taken[-1]["peak"] <= taken[FILES // 2]["peak"] * factor + more

    rebuilt = _run(data, "--rebuild")
    assert rebuilt["after"] == rebuilt["before"]
    assert rebuilt["before"]["events"][0] == total["accepted"]
    assert rebuilt["before"]["quarantine"][0] == total["quarantined"]


def test_the_longest_lines_are_kept_by_length_and_hash() -> None:
    long = [content for content in mutated([b'{"event_id":"a"}'], 60_000, 3) if len(content) > MAX_LINE_BYTES]
    assert long  # the mutations reach past the limit
