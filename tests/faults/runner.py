"""Runs ingest again and again in processes of their own, each killed at one point; prints what came of it as JSON.

    python runner.py FOLDER count ingest|rebuild        how many points a run passes
    python runner.py FOLDER kill  ingest|rebuild N...   for each N: a run killed at its N-th point, then one undisturbed
    python runner.py FOLDER tear  ingest N...           the same, killed in the middle of the N-th write to the ledger
    python runner.py FOLDER storm ingest SEED...        for each seed: five kills at random points of one data directory
    python runner.py FOLDER again rebuild|retry N...    for each N: a run killed at its N-th point, then the same again

FOLDER holds `in/` (what is ingested, beside `stdin`), `data/` (else: the data directory to start from). Forking
saves importing everything anew for each run; nothing has started a thread before the first fork.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from ingest import commits
from ingest.ledger import recovery, segments
from ingest.pipeline import Pipeline, rebuild
from ingest.retry import rejected_lines, retry
from ingest.sources import jsonl

FOLDER = Path(sys.argv[1])


def small() -> None:
    """Small blocks, chunks, commits and segments, so that small files have several of each."""
    jsonl._BLOCK_BYTES = 256
    jsonl.MAX_CHUNK_BYTES = 1_000
    commits.MAX_COMMIT_BYTES = recovery.MAX_COMMIT_BYTES = 2_500
    segments.SEGMENT_BYTES = 5_000


def run(job: str, data: Path, at: Callable[[str], None]) -> None:
    """One run of ingest, over everything in the folder, of rebuild, or of retry for what a wrong dialect refused."""
    if job == "rebuild":
        rebuild(data, at=at)
        return
    if job == "retry":
        with Pipeline(data, at=at) as pipeline:
            retry(pipeline, rejected_lines(pipeline.connection, reason="dialect"), "native")
        return
    sys.stdin = io.TextIOWrapper(io.BytesIO((FOLDER / "stdin").read_bytes()))
    with Pipeline(data, at=at) as pipeline:
        pipeline.ingest_paths([str(FOLDER / "in"), "-"])


def in_a_fork(work: Callable[[], None]) -> int:
    """The signal that ended the fork (0: none). A failure in it is ours too."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a run failed")
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def note(points: Path, name: str) -> None:
    """Write down that a point was passed."""
    with points.open("a") as file:
        file.write(f"{name}\n")


def die() -> None:
    """As sudden as the loss of the process can be."""
    os.kill(os.getpid(), signal.SIGKILL)


def killer(point: int) -> Callable[[str], None]:
    """Dies at its `point`-th call."""
    passed = itertools.count(1)  # a plain integer would not do: two threads pass points

    def at(name: str) -> None:
        if next(passed) == point:
            die()

    return at


def tear(point: int) -> None:
    """Let the `point`-th write of the ledger die in the middle."""
    seen = 0

    def torn(file: int, parts: Sequence[bytes]) -> int:
        nonlocal seen
        seen += 1
        if seen == point:
            content = b"".join(parts)
            os.write(file, content[: random.Random(point).randrange(1, len(content))])
            die()
        return os.writev(file, parts)

    segments.os = type("os", (), {**vars(os), "writev": staticmethod(torn)})  # type: ignore[assignment]


def deaths(mode: str, number: int) -> list[Callable[[str, Path], None]]:
    """The runs of one trial that end in a kill."""
    if mode == "tear":
        return [partial(torn_run, number)]
    points = [number]
    if mode == "storm":
        chance = random.Random(number)
        points = [chance.randrange(1, 12) for _ in range(5)]
    return [partial(run, at=killer(point)) for point in points]


def torn_run(point: int, job: str, data: Path) -> None:
    """A run that dies in the middle of a write."""
    tear(point)
    run(job, data, survive)


def survive(name: str) -> None:
    """The hook of a run that is left alone."""


def start(name: str) -> Path:
    """A data directory for one trial."""
    data = FOLDER / name
    if (FOLDER / "data").exists():
        shutil.copytree(FOLDER / "data", data)
    return data


def main() -> None:
    """See the module's docstring."""
    mode, job, *numbers = sys.argv[2:]
    small()
    if mode == "count":
        points = FOLDER / "points"
        data = start("counted")
        in_a_fork(partial(run, job, data, partial(note, points)))
        sys.stdout.write(json.dumps({"points": points.read_text().split(), "data": str(data)}))
        return
    trials = []
    for number in map(int, numbers):
        data = start(f"{mode}-{number}")
        signals = [in_a_fork(partial(work, job, data)) for work in deaths(mode, number)]
        points = FOLDER / f"points-{number}"
        points.touch()
        in_a_fork(partial(run, job if mode == "again" else "ingest", data, partial(note, points)))
        trials.append({"data": str(data), "signals": signals, "points": points.read_text().split()})
    sys.stdout.write(json.dumps(trials))


if __name__ == "__main__":
    main()
