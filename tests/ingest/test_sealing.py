"""A full segment is compressed: the same content, at every moment of the change, and damage to it is named."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ingest.errors import DiskError, LedgerError
from ingest.ledger.files import SegmentFile
from ingest.ledger.segments import Segments
from tests.ingest.test_ledger import chunk


class Killed(Exception):
    """Stands for the loss of the process."""


def _fill(directory: Path, count: int, at: str | None = None) -> None:
    """Chunks of four lines, one for each segment; the process is lost when it passes `at`."""

    def die(point: str) -> None:
        if point == at:
            raise Killed

    ledger = Segments(directory, die)
    have = list(Segments(directory).read())
    after = have[-1].chunk.after if have else None
    ledger.open_for_append()
    leaf, seq = (after.leaf, after.seq) if after else (0, 1)
    try:
        for number in range(count):
            ledger.append([chunk(seq + 4 * number, leaf=leaf + number)])
    finally:
        ledger.close()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 10)


def _leaves(directory: Path) -> list[str]:
    return [stored.leaf for stored in Segments(directory).read()]


def test_a_sealed_segment_has_the_same_content(tmp_path: Path) -> None:
    plain, sealed = tmp_path / "plain", tmp_path / "sealed"
    _fill(plain, 1)
    _fill(sealed, 3)
    content = (plain / "00000001.ndjson").read_bytes()
    packed = (sealed / "00000001.ndjson.zst").read_bytes()
    assert hashlib.sha256(zstandard.ZstdDecompressor().decompress(packed)).digest() == hashlib.sha256(content).digest()
    assert zstandard.get_frame_parameters(packed).has_checksum
    assert Segments(sealed).sizes()[1] == len(content)
    assert _leaves(sealed)[:1] == _leaves(plain)


def test_reading_begins_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 2_000)
    _fill(tmp_path, 12)
    every = list(Segments(tmp_path).read())
    assert len({stored.location.segment for stored in every}) >= 3
    for number, stored in enumerate(every):
        location = stored.location
        found = [other.leaf for other in Segments(tmp_path).read(location.segment, location.offset)]
        assert found == [other.leaf for other in every[number:]]


@pytest.mark.parametrize("point", ["seal.written", "seal.named", "seal.done"])
def test_killed_while_sealing(point: str, tmp_path: Path) -> None:
    undisturbed = tmp_path / "undisturbed"
    _fill(undisturbed, 3)
    killed = tmp_path / "killed"
    with pytest.raises(Killed):
        _fill(killed, 3, at=point)
    assert _leaves(killed) == _leaves(undisturbed)[: len(_leaves(killed))]
    _fill(killed, 3 - len(_leaves(killed)))
    assert _leaves(killed) == _leaves(undisturbed)
    assert sorted(path.name for path in killed.glob("0*")) == sorted(path.name for path in undisturbed.glob("0*"))


def test_the_newest_segment_alone_is_plain_and_a_sealed_one_is_never_appended_to(tmp_path: Path) -> None:
    _fill(tmp_path, 3)
    (tmp_path / "00000003.ndjson").unlink()
    _fill(tmp_path, 1)
    assert sorted(path.name for path in tmp_path.glob("0*")) == [
        "00000001.ndjson.zst", "00000002.ndjson.zst", "00000003.ndjson",
    ]  # fmt: skip


def _repacked(path: Path, content: bytes, **options: bool) -> None:
    path.write_bytes(zstandard.ZstdCompressor(**options).compress(content))


@pytest.mark.parametrize("how", ["flipped", "cut", "longer", "another frame", "other content", "no size", "empty"])
def test_damage_to_a_sealed_segment_is_named(how: str, tmp_path: Path) -> None:
    _fill(tmp_path, 3)
    path = tmp_path / "00000001.ndjson.zst"
    packed = path.read_bytes()
    content = zstandard.ZstdDecompressor().decompress(packed)
    if how == "flipped":
        path.write_bytes(packed[:40] + bytes([packed[40] ^ 1]) + packed[41:])
    elif how == "cut":
        path.write_bytes(packed[:-9])
    elif how == "longer":
        path.write_bytes(packed + b"x")
    elif how == "another frame":
        path.write_bytes(packed + zstandard.ZstdCompressor().compress(b"x"))
    elif how == "other content":
        _repacked(path, content[:-2] + b"x\n")
    elif how == "no size":
        _repacked(path, content, write_content_size=False)
    else:
        path.write_bytes(b"")
    with pytest.raises(LedgerError, match=r"00000001\.ndjson\.zst .*: put|00000001\.ndjson\.zst .*; put") as raised:
        list(Segments(tmp_path).read())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("what", ["one byte is another", "the end is missing", "there is more"])
def test_a_disk_that_gives_back_something_else_keeps_the_plain_segment(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed: dict[str, Callable[[bytes], bytes]] = {
        "one byte is another": lambda content: content[:-2] + b"?" + content[-1:],
        "the end is missing": lambda content: content[:-1],
        "there is more": lambda content: content + b"\n",
    }

    def compress(segment: SegmentFile, draft: Path) -> None:
        draft.write_bytes(zstandard.compress(changed[what](segment.path.read_bytes())))

    monkeypatch.setattr("ingest.ledger.sealing._compress", compress)
    with pytest.raises(LedgerError, match=r"does not hold what .*00000001.ndjson does: check the disk"):
        _fill(tmp_path, 2)
    assert (tmp_path / "00000001.ndjson").exists()


def test_a_disk_without_room_for_the_sealed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(segment: SegmentFile, draft: Path) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("ingest.ledger.sealing._compress", full)
        with pytest.raises(DiskError, match=r"no space left while writing .*00000001\.ndjson\.zst"):
            _fill(tmp_path, 2)
    assert (tmp_path / "00000001.ndjson").exists()
    _fill(tmp_path, 1)
    assert len(_leaves(tmp_path)) == 2
    assert not (tmp_path / "00000001.ndjson").exists()
