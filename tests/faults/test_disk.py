"""A full disk, a failing fsync, a read-only folder: one line that says so, and a later run that makes it good."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ingest.errors import DiskError
from ingest.pipeline import Pipeline, rebuild, verify
from tests.faults.conftest import resize
from tests.ingest.builders import line, lines, query


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "e.jsonl"
    found.write_bytes(lines("a", "b") + b"{\n")
    return found


def _ingest(data: Path, file: Path) -> int:
    with Pipeline(data) as pipeline:
        return pipeline.ingest_paths([str(file)]).accepted


def _write_few(file: int, parts: Sequence[bytes]) -> int:
    """Ten bytes, as on a disk that fills up."""
    return os.write(file, b"".join(parts)[:10])


def _fails(error: int) -> Callable[..., int]:
    """A system call that fails."""

    def fail(file: int, content: bytes = b"") -> int:
        raise OSError(error, os.strerror(error))

    return fail


def _os(**calls: Callable[..., object]) -> object:
    """The module `os` with other calls."""
    return type("os", (), {name: staticmethod(it) if callable(it) else it for name, it in (vars(os) | calls).items()})


def _fails_at_once(file: int, size: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ("write", errno.ENOSPC, r"no space left while writing .*/00000001.ndjson: free some space, then run again"),
        ("write", errno.EDQUOT, r"no space left while writing"),
        ("fsync", errno.ENOSPC, r"no space left while writing"),
        (
            "fsync",
            errno.EIO,
            r"writing .*/00000001.ndjson failed \(input/output error\): check the disk, then run again",
        ),
    ],
)
def test_the_ledger_cannot_be_written(
    call: str, error: int, message: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    with Pipeline(data) as pipeline:
        assert pipeline.connection is not None
        with monkeypatch.context() as patch:
            before = {"writev": _write_few} if call == "write" else {}
            patch.setattr("ingest.ledger.segments.os", _os(**before, **{call: _fails(error)}))
            with pytest.raises(DiskError, match=message) as raised:
                pipeline.ingest_paths([str(file)])
            assert "\n" not in str(raised.value)
        assert (data / "ledger" / "00000001.ndjson").stat().st_size == 0
        assert pipeline.ingest_paths([str(file)]).accepted == 2  # the same pipeline takes it up again
    assert _ingest(data, file) == 0
    assert query(data, "SELECT count(*), max(seq) FROM events") == [(2, 2)]
    assert verify(data).consistent


def test_a_write_cut_short_that_cannot_be_undone(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    with Pipeline(data) as pipeline:
        assert pipeline.connection is not None
        with monkeypatch.context() as patch:
            broken = _os(writev=_write_few, write=_fails(errno.ENOSPC), ftruncate=_fails_at_once)
            patch.setattr("ingest.ledger.segments.os", broken)
            with pytest.raises(DiskError):
                pipeline.ingest_paths([str(file)])
    assert (data / "ledger" / "00000001.ndjson").stat().st_size == 10
    assert _ingest(data, file) == 2
    assert verify(data).consistent


def test_a_write_in_pieces_is_one_chunk(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = _os(writev=_write_few, write=lambda handle, content: os.write(handle, content[:100]))
    monkeypatch.setattr("ingest.ledger.segments.os", pieces)
    assert _ingest(tmp_path / "data", file) == 2
    assert verify(tmp_path / "data").consistent


def test_a_full_disk_at_every_size(small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.sources.jsonl.MAX_CHUNK_BYTES", 400_000)
    file = tmp_path / "e.jsonl"
    file.write_bytes(b"".join(line(f"e{number}") + b"\n" for number in range(10_000)))
    data = small_disk / "data"
    failures = []
    for size in ("300k", "600k", "900k", "1100k", "1400k", "1800k", "2200k", "2600k", "3m", "3400k"):
        resize(small_disk, f"size={size}")
        try:
            _ingest(data, file)
        except DiskError as error:
            failures.append(str(error))
    assert len(failures) >= 5
    assert all("no space left while writing" in told and "\n" not in told for told in failures)
    resize(small_disk, "size=4m")
    with pytest.raises(DiskError, match="no space left"):
        rebuild(data)
    resize(small_disk, "size=200m")
    _ingest(data, file)
    assert query(data, "SELECT count(*), count(DISTINCT event_id), max(seq) FROM events") == [(10_000, 10_000, 10_000)]
    assert query(data, "SELECT sum(lines) FROM batches") == [(10_000,)]
    assert verify(data).problems == []
    assert rebuild(data).accepted == 10_000


def test_a_read_only_disk(small_disk: Path, file: Path) -> None:
    resize(small_disk, "size=100m")
    _ingest(small_disk / "data", file)
    resize(small_disk, "ro")
    for data in (small_disk / "data", small_disk / "other"):
        with pytest.raises(DiskError, match=r"cannot be written \(read-only file system\): make it writable or choose"):
            _ingest(data, file)
    resize(small_disk, "rw")
    assert _ingest(small_disk / "data", file) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="platform: root may write everywhere")
def test_a_folder_that_is_not_ours(tmp_path: Path, file: Path) -> None:
    place = tmp_path / "theirs"
    place.mkdir()
    place.chmod(0o500)
    with pytest.raises(DiskError, match=r"cannot be written \(permission denied\): make it writable or choose another"):
        _ingest(place / "data", file)


def test_a_file_where_the_data_directory_should_be(tmp_path: Path, file: Path) -> None:
    with pytest.raises(DiskError, match=r"writing .* failed \(file exists\)"):
        _ingest(file, file)
