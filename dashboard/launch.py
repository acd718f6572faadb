"""Start the dashboard's server: Streamlit in a process of its own, on loopback, without a word to the outside."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dashboard.errors import NotUpError

HOST = "127.0.0.1"
DATA_VARIABLE = "GATEWATCH_DATA"
"""Environment variable by which the page learns the data directory."""

_APP = Path(__file__).with_name("app.py")

_HOSTS = (HOST, "localhost")
"""Names under which the server answers: a page elsewhere that points its own name to this machine reads nothing."""

_OPTIONS = {
    "server.address": HOST,
    "server.headless": "true",  # opens no browser and asks for no e-mail address
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "server.runOnSave": "false",
    "server.enableStaticServing": "false",
    "browser.gatherUsageStats": "false",
    "client.toolbarMode": "viewer",
    "client.showErrorDetails": "none",  # what went wrong is for the log, not for a manager
    "client.showErrorLinks": "false",
    "client.allowedOrigins": f"http://{HOST}",  # who may steer the page from a frame around it; never a cloud
    # A cell may begin with "=": no spreadsheet gets it from here before exports neutralise formulas.
    "client.disableDataExport": "true",
    "global.developmentMode": "false",
    "logger.hideWelcomeMessage": "true",
    "logger.level": "warning",
    "runner.magicEnabled": "false",
    "theme.baseRadius": "0.5rem",
    "theme.light.primaryColor": "#1f6fb2",
    "theme.light.backgroundColor": "#fbfcfd",
    "theme.light.secondaryBackgroundColor": "#eef2f6",
    "theme.light.textColor": "#17212e",
    "theme.dark.primaryColor": "#4f9fdc",
    "theme.dark.backgroundColor": "#10151c",
    "theme.dark.secondaryBackgroundColor": "#1a222c",
    "theme.dark.textColor": "#e6ebf1",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """How to run the server; `url` is where it will answer."""

    command: tuple[str, ...]
    env: dict[str, str]
    port: int
    url: str


def free_port() -> int:
    """A port of the loopback interface that nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def prepare(data: Path, *, port: int | None = None) -> Launch:
    """The command line and environment that serve the snapshots of `data`; without `port`, on a free one."""
    chosen = free_port() if port is None else port
    options = [f"--{name}={value}" for name, value in {**_OPTIONS, "server.port": str(chosen)}.items()]
    options += [f"--server.allowedHosts={host}" for host in _HOSTS]
    # The packages beside ours have to be importable in the child too, when they run from a checkout.
    paths = [str(_APP.parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, DATA_VARIABLE: str(data.resolve()), "PYTHONPATH": os.pathsep.join(paths)}
    command = (sys.executable, "-m", "streamlit", "run", str(_APP), *options)
    return Launch(command, env, chosen, f"http://{HOST}:{chosen}")


@contextlib.contextmanager
def running(launch: Launch, *, timeout: float = 60) -> Iterator[subprocess.Popen[bytes]]:
    """Run the server for the length of the block, which begins when it answers and ends with the process gone.

    Raises NotUpError when the port is taken, when it ends early or does not answer within `timeout` seconds. Prints
    nothing; what the server complains about goes to stderr.
    """
    _claim(launch.port)
    process = subprocess.Popen(launch.command, env=launch.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _wait(process, launch, timeout)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _claim(port: int) -> None:
    # Asked first: a server of somebody else on this port would answer in our server's place.
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise NotUpError(f"port {port} cannot be used ({error.strerror}); name another one") from error


def _wait(process: subprocess.Popen[bytes], launch: Launch, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise NotUpError(f"the dashboard ended at once (exit code {process.returncode}); stderr says why")
        if _healthy(launch.port):
            return
        time.sleep(0.1)
    raise NotUpError(f"the dashboard did not answer on {launch.url} within {timeout:g} s")


def _healthy(port: int) -> bool:
    # http.client, unlike urllib, asks no proxy.
    connection = http.client.HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
