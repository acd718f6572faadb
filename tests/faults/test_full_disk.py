"""A disk that fills up anywhere between reading and signing: one line that says so, and a run that makes it good."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gatewatch.witness import verify_and_record
from gatewatch.work import Signing, ingest_and_publish
from ingest.errors import IngestError
from ingest.ledger.checkpoints import CheckpointSettings, read_kept
from ingest.ledger.keys import make_keys
from sample_data import sample_path
from tests.faults.conftest import resize
from tests.ingest.builders import query
from transforms.errors import TransformError

EXPECTED = (errno.ENOSPC, errno.EIO)


def _run(data: Path) -> None:
    ingest_and_publish(
        data, [str(sample_path())], dialect="auto", choice="support-squad", signing=Signing(CheckpointSettings())
    )


def _is_whole(data: Path) -> None:
    """All lines once, judged, published, signed and consistent."""
    assert query(data, "SELECT sum(lines), count(DISTINCT first_seq) = count(*) FROM batches") == [(613, True)]
    report, unrecorded = verify_and_record(data)
    assert (report.problems, report.left_out, unrecorded) == ([], [], None)
    assert report.lines == 613
    assert [signed.checkpoint.size for signed in read_kept(data / "ledger").signed] == [1]


def test_a_disk_that_is_full_at_every_step(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ledger, database, policy, judging, snapshot, checkpoint: whichever comes first finds no room."""
    data = small_disk / "data"
    resize(small_disk, "size=200m")
    make_keys(data / "keys", "gatewatch")
    failures = []
    for size in ("40k", "200k", "1m", "2m", "4m", "6m", "8m", "10m", "12m", "14m"):
        resize(small_disk, f"size={size}")
        try:
            _run(data)
        except (IngestError, TransformError) as error:
            failures.append(str(error))
    assert len(failures) >= 5
    assert all("\n" not in told and ("no space left" in told or "cannot publish" in told) for told in failures)
    assert any("cannot publish a snapshot" in told for told in failures)
    resize(small_disk, "size=200m")
    _run(data)
    _is_whole(data)


@pytest.mark.parametrize("module", ["ingest.ledger.checkpoints", "ingest.ledger.files", "ingest.ledger.origin"])
@pytest.mark.parametrize("number", EXPECTED, ids=["full", "broken"])
def test_an_fsync_that_fails_once(module: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it fails, what was to be durable is not taken for durable, and the next run makes it so."""
    data = tmp_path / "data"
    make_keys(data / "keys", "gatewatch")
    monkeypatch.setattr(f"{module}.os", _failing_once(number))
    with contextlib.suppress(IngestError, TransformError):  # or it is said and tried again at once
        _run(data)
    monkeypatch.undo()
    _run(data)
    _is_whole(data)


def _failing_once(number: int) -> object:
    """The module `os`, whose first fsync fails."""
    calls: list[int] = []

    def fsync(handle: int) -> None:
        calls.append(handle)
        if len(calls) == 1:
            raise OSError(number, os.strerror(number))
        os.fsync(handle)

    functions: dict[str, Callable[..., object]] = {**vars(os), "fsync": fsync}
    return type("os", (), {name: staticmethod(it) if callable(it) else it for name, it in functions.items()})
