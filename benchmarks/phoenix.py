"""How fast are the same tool calls in Gatewatch, checked, and in Arize Phoenix, until they can be queried?

Arize Phoenix runs on the loopback interface with an SQLite database, its default, and takes the calls as spans by
OTLP/HTTP in batches of 512; the clock stops when the last one is in the database. Ours is `gatewatch ingest` of the
same calls from a file: redaction, ledger with fsync, validation, dedupe, store.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.inputs import made
from benchmarks.loading import end_to_end
from benchmarks.measuring import Times, by_turns, medians, own_side
from benchmarks.peers import environment, peer_python, peer_script
from benchmarks.results import Figure, keep, number, options

BATCH = 512
_START_S = 180


def main() -> None:
    """Print the ratio of the rates."""
    parser = options(__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--side", choices=("whole",), help="run our side alone, once, and print its seconds as JSON")
    parser.add_argument("--file", type=Path, help="with --side: the file")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(end_to_end(arguments.file)))
        return
    spans = arguments.spans
    path = made("clean", spans)
    sides = {
        "whole": own_side("benchmarks.phoenix", "whole", "--file", path),
        "phoenix": lambda: send(path),
    }
    took = {side: medians(runs) for side, runs in by_turns(sides, arguments.rounds).items()}
    ours, theirs = spans / took["whole"].wall, spans / took["phoenix"].wall
    figures = [
        Figure(
            "whole_phoenix",
            "`gatewatch ingest` ÷ Arize Phoenix (OTLP → SQLite), clean tool calls",
            ours / theirs,
            detail=f"{number(ours)} events/s ÷ {number(theirs)} spans/s, {spans:,} of either",
        ),
        Figure("rate/phoenix", "Arize Phoenix, OTLP → SQLite", theirs, " spans/s"),
    ]
    keep("phoenix", figures, arguments.keep)


def send(path: Path) -> Times:
    """Seconds for all calls of a file, at the rate of those after the first hundred; a new server each time."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as url:
        found = peer_script("phoenix_send", url, Path(folder) / "phoenix.db", path, BATCH)
        with path.open("rb") as lines:
            share = sum(1 for _ in lines) / found["spans"]
        return Times(found["seconds"] * share, 0.0)  # processor time is the server's, which nobody measured


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a Phoenix whose database `phoenix.db` is in a folder."""
    http_port, grpc_port = _free_port(), _free_port()
    env = environment(folder) | {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_SQL_DATABASE_URL": f"sqlite:///{folder}/phoenix.db",
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http_port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
    }
    log = folder / "phoenix.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [peer_python(), "-m", "phoenix.server.main", "serve"], stdout=out, stderr=out, env=env, cwd=folder
        )
    try:
        _await_start(server, http_port, log)
        yield f"http://127.0.0.1:{http_port}"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _await_start(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    give_up = time.monotonic() + _START_S
    while time.monotonic() < give_up and server.poll() is None:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.2)
    raise SystemExit(f"Phoenix did not start: {log.read_text(errors='replace')[-2000:]}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
