"""Readers in other processes, while the service writes as fast as it can: none sees an error or half a chunk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from sample_data.generate import generate
from tests.faults.conftest import ROOT

READERS = 4
PARTS, PART_EVENTS = 5, 1_500
_CONFIGURATION = """
data = "data"
[run]
refresh_interval = "200ms"
publish_interval = "200ms"
[metrics]
listen = ""
[[sources]]
type = "jsonl"
name = "feed"
paths = ["in/*.jsonl"]
"""


def test_no_reader_sees_an_error_or_half_a_chunk(tmp_path: Path) -> None:
    """Four readers ask all the time, one holds its first snapshot for the whole run, a feed comes in parts."""
    (tmp_path / "in").mkdir()
    (tmp_path / "gatewatch.toml").write_text(_CONFIGURATION)
    generate(PARTS * PART_EVENTS, 5, tmp_path / "made.jsonl", fault_rate=0.1)
    lines = (tmp_path / "made.jsonl").read_bytes().splitlines(keepends=True)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    data = tmp_path / "data"
    data.mkdir()
    reader = [sys.executable, str(Path(__file__).with_name("reader.py")), str(data)]
    readers = [
        subprocess.Popen([*reader, *hold], env=environment, stdout=subprocess.PIPE, text=True)
        for hold in [["hold"], *([] for _ in range(READERS))]
    ]
    service = subprocess.Popen(
        [sys.executable, "-m", "gatewatch", "run"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL
    )
    try:
        for part in range(PARTS):
            draft = tmp_path / "part"
            draft.write_bytes(b"".join(lines[part::PARTS]))
            draft.rename(tmp_path / "in" / f"{part}.jsonl")
            _wait_for_snapshot(data, part + 1)
    finally:
        service.send_signal(signal.SIGTERM)
        service.wait(timeout=60)
        (data / "stop").touch()
        told = [json.loads(one.communicate(timeout=60)[0]) for one in readers]
    assert service.returncode == 0
    assert [one["wrong"] for one in told] == [[]] * len(told)
    assert all(one["looks"] > 1 for one in told)
    held, *others = told
    assert held["seen"] == 1
    # Each saw what was published while it looked, and not the same file again and again.
    assert max(one["seen"] for one in others) > 2


def _wait_for_snapshot(data: Path, number: int) -> None:
    """Until so many snapshots were published."""
    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        link = data / "gatewatch.duckdb"
        if link.is_symlink() and int(link.readlink().stem.rpartition("-")[2]) >= number:
            return
        time.sleep(0.05)
    raise AssertionError(f"no snapshot {number} within 90 s")
