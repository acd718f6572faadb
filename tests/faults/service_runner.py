"""Runs the service again and again, each time killed at a random moment, while lines keep coming.

    python service_runner.py FOLDER KILLS SEED [BOOTSTRAP]

FOLDER holds `lines`, `gatewatch.toml` and the folder `in`. Prints as JSON what was being done at each kill. Forking
saves importing everything anew for each run; nothing here has started a thread before the last fork.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from gatewatch.service import engine, loop
from gatewatch.service.reporter import Reporter
from gatewatch.service.start import run_service
from gatewatch.settings import load_settings
from ingest import commits
from ingest.ledger import segments
from ingest.pipeline import Pipeline

FOLDER = Path(sys.argv[1])
LONGEST_LIFE_S = 4.0
AIMED_AT = (
    "", "ledger.write", "ledger.fsync", "seal.written", "seal.named", "store.begin", "store.commit", "publishing",
    "judging", "signing a checkpoint", "opening the data directory", "between steps",
)  # fmt: skip
"""What is to be under way at a kill, one after the other; "": whatever it is."""


def small() -> None:
    """Small commits and segments, so that few lines take several of each."""
    segments.SEGMENT_BYTES = 40_000
    commits.MAX_COMMIT_LINES = loop.QUIET_ROUNDS * 10


def marked(place: int) -> None:
    """Have the service write down, at every moment, what it is doing."""

    def note(point: str) -> None:
        os.pwrite(place, point.ljust(32).encode(), 0)

    step = Reporter.step

    @contextmanager
    def noted(self: Reporter, name: str) -> Iterator[None]:
        note(name)
        with step(self, name):
            yield
        note("between steps")

    Reporter.step = noted  # type: ignore[method-assign]
    engine.Pipeline = partial(Pipeline, at=note)  # type: ignore[misc]


def wait_for(aim: str, place: int, chance: random.Random) -> None:
    """Let a random time pass; then until the service does what is aimed at, for as long as that may take."""
    time.sleep(chance.uniform(0.05, LONGEST_LIFE_S if not aim else 1.0))
    ends = time.monotonic() + LONGEST_LIFE_S
    while aim and time.monotonic() < ends:
        if os.pread(place, 32, 0).decode().strip() == aim:
            time.sleep(chance.uniform(0.0, 0.03))
            return
        time.sleep(0.0005)


def service(*, once: bool) -> None:
    """The service, on the folder's configuration."""
    settings = load_settings(FOLDER / "gatewatch.toml")
    run_service(settings.data, settings, choice=settings.policy, rules=None, once=once)


def in_a_fork(work: Callable[[], None]) -> int:
    """The process that does the work; its output goes to `service.log`."""
    child = os.fork()
    if child == 0:
        log = os.open(FOLDER / "service.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            work()
        except BaseException as error:
            os.write(log, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return child


def main() -> None:
    """See the module's docstring."""
    kills, seed, *bootstrap = int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
    chance = random.Random(seed)
    small()
    place = os.open(FOLDER / "doing", os.O_RDWR | os.O_CREAT)
    writer = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("service_writer.py")), str(FOLDER), *bootstrap],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert writer.stdin is not None
    assert writer.stdout is not None
    count = (FOLDER / "lines").read_bytes().count(b"\n")
    doing: Counter[str] = Counter()
    for number in range(kills):
        os.pwrite(place, b"starting".ljust(32), 0)

        def work() -> None:
            marked(place)
            service(once=False)

        child = in_a_fork(work)
        writer.stdin.write(f"{count // kills + 1}\n".encode())
        writer.stdin.flush()
        wait_for(AIMED_AT[(number + seed) % len(AIMED_AT)], place, chance)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit(f"the service ended by itself: {(FOLDER / 'service.log').read_text()[-3000:]}")
        doing[os.pread(place, 32, 0).decode().strip()] += 1
        writer.stdout.readline()
    writer.communicate()
    _, status = os.waitpid(in_a_fork(partial(service, once=True)), 0)
    if status:
        raise SystemExit(f"the last run failed: {(FOLDER / 'service.log').read_text()[-3000:]}")
    sys.stdout.write(json.dumps(doing))


if __name__ == "__main__":
    main()
