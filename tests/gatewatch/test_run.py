"""`gatewatch run` as a process: what a person, a scraper, a second process and a kill see of it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.gatewatch.terminal import ROOT, gatewatch

SETTINGS = """
policy = "p.toml"
[run]
refresh_interval = "100ms"
publish_interval = "100ms"
[metrics]
listen = "127.0.0.1:0"
[[sources]]
type = "jsonl"
paths = ["logs/*.jsonl"]
"""


def event(number: int) -> str:
    return json.dumps(
        {
            "kind": "tool.invocation",
            "event_id": f"e{number}",
            "ts": "2026-06-03T10:00:00Z",
            "correlation_id": f"c{number}",
            "tool": "lookup",
            "caller": "hestia",
            "privilege": "read",
            "side_effects": "none",
            "outcome": "success",
        }
    )


class Running:
    """A service in a process of its own, and its log."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "gatewatch", "--config", str(folder / "g.toml"), "run"],
                cwd=ROOT,
                env=os.environ,
                stderr=log,
                stdout=subprocess.DEVNULL,
            )

    def until(self, what: Callable[[], Any]) -> Any:
        """Ask until the answer is not empty; an end of the process is the end of waiting."""
        while not (found := what()):
            assert self.process.poll() is None, self.log.read_text()
            select_nothing()
        return found

    def said(self, pattern: str) -> str | None:
        found = re.search(pattern, self.log.read_text())
        return found[0] if found else None

    @property
    def url(self) -> str:
        return str(self.until(lambda: self.said(r"http://127\.0\.0\.1:\d+")))

    def counted(self, series: str) -> float:
        with urllib.request.urlopen(f"{self.url}/metrics") as answer:  # noqa: S310 - our own http
            lines = answer.read().decode().splitlines()
        return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{series} ")), 0.0)

    def health(self) -> str:
        with urllib.request.urlopen(f"{self.url}/healthz") as answer:  # noqa: S310 - our own http
            return str(json.load(answer)["status"])

    def events(self) -> int:
        """How many events a reader sees."""
        link = self.folder / "data" / "gatewatch.duckdb"
        if not link.exists():
            return 0
        with duckdb.connect(str(link.resolve()), read_only=True) as con:
            ((count,),) = con.execute("SELECT count(*) FROM events").fetchall()
        return int(count)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait()


def select_nothing() -> None:
    """Let others run for a moment."""
    signal.sigtimedwait([], 0.2)


@contextmanager
def running(folder: Path) -> Iterator[Running]:
    service = Running(folder)
    try:
        yield service
    finally:
        service.process.kill()
        service.process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "g.toml").write_text(f'data = "data"{SETTINGS}')
    (tmp_path / "p.toml").write_text('name = "mine"\nversion = 1\n')
    return tmp_path


def append(file: Path, *lines: str) -> None:
    with file.open("a") as handle:
        handle.write("".join(f"{line}\n" for line in lines))


def test_a_day_in_its_life(folder: Path) -> None:
    """Lines come, are seen in the metrics and by readers; a second process is refused; the policy changes; it stops."""
    with running(folder) as service:
        service.until(lambda: service.said("ready: 0 open findings"))
        append(folder / "logs" / "a.jsonl", *map(event, range(5)), event(0), "garbage", "")
        service.until(lambda: service.events() == 5)
        lines = {verdict: service.counted(f'gatewatch_lines_total{{verdict="{verdict}"}}') for verdict in
                 ("accepted", "duplicate", "quarantined", "blank")}  # fmt: skip
        assert lines == {"accepted": 5, "duplicate": 1, "quarantined": 1, "blank": 1}
        # That no file was there to begin with is over as soon as the sources are looked at again.
        service.until(lambda: service.health() == "ok")

        refused = gatewatch("--config", folder / "g.toml", "run")
        assert refused.code == 3
        assert f"data is in use by process {service.process.pid} (" in refused.complaint
        assert gatewatch("--config", folder / "g.toml", "findings", "--json").json["count"] == 0

        (folder / "p.toml").write_text('name = "mine"\nversion = 2\n[tim]\n')
        service.process.send_signal(signal.SIGHUP)
        service.until(lambda: service.said("warning  the former policy judges on: .*has no key"))
        (folder / "p.toml").write_text('name = "mine"\nversion = 3\n')
        service.process.send_signal(signal.SIGHUP)
        service.until(lambda: service.said("judged by mine version 3"))
        append(folder / "logs" / "b.jsonl", event(9))
        service.until(lambda: service.events() == 6)

        assert service.stop() == 0
        assert service.said(
            "stopped by SIGTERM: 9 lines = 6 accepted [+] 1 duplicate [+] 1 quarantined [+] 1 blank; 0 open findings; "
            r"snapshot gatewatch-\d+\.duckdb\n$"
        )
        assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (info|warning|error) ", line) for line in
                   service.log.read_text().splitlines())  # fmt: skip
    shown = gatewatch("--config", folder / "g.toml", "--data", folder / "data", "policy", "show", "--json").json
    assert shown["policy"]["version"] == 3


def test_a_kill_costs_nothing(folder: Path) -> None:
    """Killed while lines come; the next start has every line once, and what was published is whole."""
    file = folder / "logs" / "a.jsonl"
    with running(folder) as service:
        append(file, *map(event, range(2_000)))
        service.until(lambda: service.counted('gatewatch_lines_total{verdict="accepted"}'))
        append(file, *map(event, range(2_000, 4_000)))
        assert service.stop(signal.SIGKILL) == -signal.SIGKILL
    append(file, *map(event, range(4_000, 4_100)))
    found = gatewatch("--config", folder / "g.toml", "run", "--once")
    assert found.code == 0, found.err
    assert " 0 duplicate + 0 quarantined + 0 blank; " in found.err
    counted = gatewatch("--config", folder / "g.toml", "sql", "SELECT count(*) AS n FROM events", "--json").json
    assert [row["n"] for row in counted["rows"]] == [4_100]


def test_once_from_a_timer(folder: Path) -> None:
    """Each run takes what is new and ends; without anything new it changes nothing and is no error."""
    append(folder / "logs" / "a.jsonl", event(1))
    first = gatewatch("--config", folder / "g.toml", "run", "--once")
    assert (first.code, first.out) == (0, "")
    assert "done: 1 line = 1 accepted" in first.err
    assert "metrics" not in first.err
    again = gatewatch("--config", folder / "g.toml", "run", "--once")
    assert again.code == 0
    assert "done: 0 lines = 0 accepted" in again.err
    (folder / "logs" / "a.jsonl").unlink()
    (folder / "g.toml").write_text('data = "data"\n[[sources]]\ntype = "jsonl"\npaths = ["nowhere/*.jsonl"]\n')
    missing = gatewatch("--config", folder / "g.toml", "run", "--once")
    assert missing.code == 3
    assert "no file matches" in missing.err.splitlines()[-1]


def test_a_port_in_use_is_one_line(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = (folder / "g.toml").read_text()
        (folder / "g.toml").write_text(text.replace("127.0.0.1:0", f"127.0.0.1:{port}"))
        found = gatewatch("--config", folder / "g.toml", "run")
    assert found.code == 3
    assert found.err.splitlines()[-1] == (
        f"gatewatch: cannot serve metrics on 127.0.0.1:{port} (address already in use); choose another address with "
        'listen in [metrics], or "" for none'
    )


def test_a_wrong_policy_and_a_wrong_address_are_input(folder: Path) -> None:
    """Nothing is made before they are right."""
    (folder / "p.toml").write_text('name = "mine"\n')
    found = gatewatch("--config", folder / "g.toml", "run")
    assert found.code == 2
    assert 'needs the key "version"' in found.complaint
    assert not (folder / "data").exists()
    (folder / "p.toml").write_text('name = "mine"\nversion = 1\n')
    (folder / "g.toml").write_text((folder / "g.toml").read_text().replace("127.0.0.1:0", "0.0.0.0:0"))
    found = gatewatch("--config", folder / "g.toml", "run")
    assert found.code == 2
    assert "can be reached from other machines" in found.err.splitlines()[-1]
