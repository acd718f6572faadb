"""Fixtures of the fault tests."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ingest.builders import line, record
from tests.support import broker_jars
from tests.support.broker import Broker

ROOT = Path(__file__).parents[2]
if os.environ.get("GATEWATCH_FAULTS") != "all":
    collect_ignore = ["test_kafka_full.py"]
Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Input with everything in it: good, bad, repeated and conflicting lines, two files, records, standard input."""
    inside = tmp_path / "in"
    inside.mkdir()
    mixed = [line(f"e{number}", note2=number) for number in range(18)]
    mixed[5:5] = [b"", b"{", line("e1", note2=1), line("e2", tool="fax"), b"\xff", line("p", reason="a@b.co")]
    (inside / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(mixed))
    (inside / "b.jsonl.gz").write_bytes(gzip.compress(b"\n".join(line(f"z{number}") for number in range(6)) + b"\n"))
    for number in range(3):
        (inside / f"r{number}.md").write_text(record(f"R{number}"))
    (tmp_path / "stdin").write_bytes(
        b"".join(line(f"s{number}") + b"\n" for number in range(12)) + line("e3", tool="fax")
    )
    return tmp_path


@pytest.fixture
def run(folder: Path) -> Run:
    """Run `runner.py` on the folder; the JSON that it printed."""
    if not hasattr(os, "fork"):
        pytest.skip("platform: no fork")

    def call(*arguments: object) -> Any:
        command = [sys.executable, str(Path(__file__).with_name("runner.py")), str(folder), *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=600)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Apache Kafka, running for as long as this test process lasts. Skips, with the reason, where it cannot run."""
    if (lacking := broker_jars.missing()) is not None:
        pytest.skip(f"{lacking}: install it, since nothing else says what Kafka does")
    made = Broker(tmp_path_factory.mktemp("kafka"), broker_jars.classpath())
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name for a topic of the test's own."""
    return f"t-{request.node.name[5:].replace('[', '-').replace(']', '')}"


@pytest.fixture
def collected() -> Iterator[None]:
    """Sockets that nobody closed are told by this test, and not by whatever comes later."""
    yield
    gc.collect()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = os.geteuid() == 0 and not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    ).returncode  # fmt: skip
    if not mounted:
        pytest.skip("platform: mounting a small file system needs root")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def resize(place: Path, option: str) -> None:
    """Mount the file system of `small_disk` anew with an option."""
    subprocess.run(["mount", "-o", f"remount,{option}", str(place)], check=True)
