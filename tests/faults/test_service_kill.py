"""`gatewatch run`, killed at random moments while lines come by file and by topic: nothing lost, nothing doubled."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition

from gatewatch.witness import verify_and_record
from sample_data import policy_path
from sample_data.generate import generate
from tests.faults.conftest import ROOT
from tests.ingest.builders import query
from tests.support.broker import Broker
from transforms.compute import NOT_PUBLIC

ALL = os.environ.get("GATEWATCH_FAULTS") == "all"
KILLS, EVENTS = (150, 6_000) if ALL else (6, 400)
"""For each of the two tests."""

_CONFIGURATION = """
data = "data"
policy = "policy.toml"
[run]
refresh_interval = "300ms"
publish_interval = "300ms"
tick_interval = "1s"
[metrics]
listen = ""
[checkpoints]
interval = "1s"
[[sources]]
type = "jsonl"
name = "feed"
paths = ["in/feed*.jsonl"]
"""
_TOPIC = """
[kafka]
bootstrap_servers = ["{address}"]
[[sources]]
type = "kafka"
topics = ["feed"]
"""
ARRIVAL = {
    "events": ("seq", "floor_ts"),
    "quarantine": (
        "quarantine_id", "seq", "source", "position", "received_at", "errors", "retry_of", "retried_at", "retried_as",
    ),
    "runs": ("findings_open",),
}  # fmt: skip
"""What arrival decides, and not the lines: ledger numbers, and how far a source had got before. So does the number of
a run's group, which readers never see."""

TABLES = (
    "events", "quarantine", "tool_calls", "gate_checks", "reconciliation", "outcome_rates", "retry_degrade", "runs",
    "kpis",
)  # fmt: skip


def _lines(folder: Path) -> list[bytes]:
    """Events of the squad with their faults, each line once or twice, among lines that are no events."""
    generate(EVENTS, 11, folder / "made.jsonl", fault_rate=0.2)
    chance = random.Random(5)
    said: dict[str, set[bytes]] = {}
    made = (folder / "made.jsonl").read_bytes().splitlines()
    for line in made:
        try:
            said.setdefault(json.loads(line)["event_id"], set()).add(line)
        except (ValueError, TypeError, KeyError):
            continue
    # Which of two different events under one id was first is the one thing that arrival may decide.
    twice = {line for same in said.values() if len(same) > 1 for line in same}
    lines: list[bytes] = []
    for number, line in enumerate(line for line in made if line not in twice):
        lines += [line] * chance.choice((1, 1, 1, 2))
        if chance.random() < 0.05:
            lines.append(chance.choice((b"", b"{broken %d" % number, b'{"kind":"no.such","n":%d}' % number, b"\xff")))
    return lines


def _tables(data: Path) -> dict[str, list[tuple[Any, ...]]]:
    found = {}
    for table in TABLES:
        names = [
            name for name, *_ in query(data, f"DESCRIBE {table}") if name not in (*ARRIVAL.get(table, ()), NOT_PUBLIC)
        ]
        listed = ", ".join(f'"{name}"' for name in names)
        found[table] = sorted(query(data, f"SELECT {listed} FROM {table}"), key=repr)
    kept = f"SELECT * EXCLUDE ({NOT_PUBLIC}) FROM findings WHERE rule <> 'backdated'"
    found["findings"] = sorted(query(data, kept), key=repr)
    return found


def _expected(folder: Path, topic: bool, broker: Broker | None) -> Counter[bytes]:
    """The lines that were really written, from the files and the topic."""
    written: Counter[bytes] = Counter()
    for path in (folder / "in").iterdir():
        written.update(path.read_bytes().split(b"\n")[:-1])
    if topic and broker is not None:
        written.update(_messages(broker))
    return written


def _messages(broker: Broker) -> list[bytes]:
    partitions = [TopicPartition("feed", 0), TopicPartition("feed", 1)]
    with closing(KafkaConsumer(bootstrap_servers=broker.address, auto_offset_reset="earliest")) as consumer:
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        found: list[bytes] = []
        while any(consumer.position(partition) < ends[partition] for partition in partitions):
            for records in consumer.poll(1_000).values():
                found += [record.value for record in records]
    return found


@pytest.mark.parametrize("topic", [False, True], ids=["files", "files and a topic"])
def test_killed_at_random_moments(topic: bool, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    broker: Broker | None = request.getfixturevalue("broker") if topic else None
    folder = tmp_path / "service"
    (folder / "in").mkdir(parents=True)
    (folder / "lines").write_bytes(b"\n".join(_lines(folder)) + b"\n")
    policy = policy_path("support-squad").read_text()
    assert 'idle_after = "' in policy
    # A source is idle by the ledger's clock, which runs on during the kills and not in the undisturbed run.
    (folder / "policy.toml").write_text(policy.replace('idle_after = "', 'idle_after = "1000'))
    configuration = _CONFIGURATION
    arguments: list[str] = []
    if broker is not None:
        broker.create_topic("feed", 2)
        configuration += _TOPIC.format(address=broker.address)
        arguments = [broker.address]
    (folder / "gatewatch.toml").write_text(configuration)
    gatewatch = [sys.executable, "-m", "gatewatch"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([*gatewatch, "keys", "init"], cwd=folder, check=True, env=environment, capture_output=True)

    runner = [sys.executable, str(Path(__file__).with_name("service_runner.py")), str(folder), str(KILLS), "3"]
    done = subprocess.run([*runner, *arguments], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    doing = json.loads(done.stdout)
    assert sum(doing.values()) == KILLS
    sys.stdout.write(f"killed {KILLS} times, {len(doing)} kinds of moments: {doing}\n")

    data = folder / "data"
    written = _expected(folder, topic, broker)
    law = "SELECT sum(lines), sum(accepted), sum(duplicate), sum(quarantined), sum(blank) FROM batches"
    ((lines, accepted, duplicate, quarantined, blank),) = query(data, law)
    assert lines == written.total(), query(data, "SELECT source, sum(lines) FROM batches GROUP BY source ORDER BY 1")
    assert lines == accepted + duplicate + quarantined + blank
    report, unrecorded = verify_and_record(data)
    assert (report.problems, report.left_out, unrecorded) == ([], [], None)

    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    shutil.copytree(folder / "in", undisturbed / "in")
    for name in ("policy.toml", "gatewatch.toml"):
        shutil.copy(folder / name, undisturbed / name)
    subprocess.run([*gatewatch, "run", "--once"], cwd=undisturbed, check=True, env=environment, capture_output=True)
    assert _tables(data) == _tables(undisturbed / "data")
    assert query(undisturbed / "data", law) == [(lines, accepted, duplicate, quarantined, blank)]
