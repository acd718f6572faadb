"""The server is for this machine only, tells nobody anything, and its failures are one line."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from dashboard.errors import NotUpError
from dashboard.launch import DATA_VARIABLE, free_port, prepare, running


def test_the_server_stays_on_loopback_and_sends_no_statistics(tmp_path: Path) -> None:
    launch = prepare(tmp_path, port=8765)

    assert launch.command[:4] == (sys.executable, "-m", "streamlit", "run")
    assert Path(launch.command[4]).name == "app.py"
    assert {"--server.address=127.0.0.1", "--server.port=8765", "--server.headless=true"} <= set(launch.command)
    assert "--browser.gatherUsageStats=false" in launch.command
    assert launch.env[DATA_VARIABLE] == str(tmp_path)
    assert launch.url == "http://127.0.0.1:8765"


def test_without_a_port_a_free_one_is_taken(tmp_path: Path) -> None:
    launch = prepare(tmp_path)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", launch.port))


def test_a_taken_port_is_told_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        launch = prepare(tmp_path, port=other.getsockname()[1])

        with pytest.raises(NotUpError, match="name another one"), running(launch):
            pytest.fail("must not start")


def test_a_server_that_ends_at_once_is_told(tmp_path: Path) -> None:
    launch = prepare(tmp_path, port=free_port())
    broken = type(launch)((sys.executable, "-c", "raise SystemExit(3)"), launch.env, launch.port, launch.url)

    with pytest.raises(NotUpError, match="exit code 3"), running(broken):
        pytest.fail("must not start")


def test_a_server_that_never_answers_is_ended(tmp_path: Path) -> None:
    launch = prepare(tmp_path, port=free_port())
    mute = type(launch)((sys.executable, "-c", "import time; time.sleep(60)"), launch.env, launch.port, launch.url)

    with pytest.raises(NotUpError, match="did not answer"), running(mute, timeout=0.3):
        pytest.fail("must not start")
