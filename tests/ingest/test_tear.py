"""A commit of several chunks that a crash tore is cut off; what no crash explains is damage, and nothing is cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ingest.errors import LedgerError
from ingest.ledger.chunks import Chunk, decode, encode
from ingest.ledger.segments import Segments
from tests.ingest.test_ledger import chunk

COMMITS = (
    [chunk(1, leaf=0), replace(chunk(5, [b"x" * 3_000], leaf=1), commit=0)],
    [replace(chunk(6 + number, [b"y" * 3_000], leaf=2 + number), commit=2) for number in range(4)],
)


def _write(directory: Path, *commits: list[Chunk]) -> Path:
    ledger = Segments(directory)
    ledger.open_for_append()
    for commit in commits:
        ledger.append(commit)
    ledger.close()
    return directory / "00000001.ndjson"


def _offsets() -> list[int]:
    """Where each of the six chunks begins, and where the last one ends."""
    ends = [0]
    for one in (*COMMITS[0], *COMMITS[1]):
        ends.append(ends[-1] + len(encode(one)))
    return ends


def _whole(directory: Path) -> list[int]:
    Segments(directory).open_for_append()
    return [stored.chunk.leaf for stored in Segments(directory).read()]


@pytest.mark.parametrize("number", [2, 3, 4, 5])
@pytest.mark.parametrize("kept", [1, 60, 400, 3_000])
def test_the_end_of_the_last_commit_never_reached_the_disk(number: int, kept: int, tmp_path: Path) -> None:
    path = _write(tmp_path, *COMMITS)
    path.write_bytes(path.read_bytes()[: _offsets()[number] + kept])
    assert _whole(tmp_path) == list(range(number))


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_hole_in_the_last_commit_with_whole_chunks_behind_it(number: int, tmp_path: Path) -> None:
    """The kernel may write the later pages of a commit first; without its fsync nothing depends on any of them."""
    path = _write(tmp_path, *COMMITS)
    content = bytearray(path.read_bytes())
    middle = _offsets()[number] + 1_000
    content[middle : middle + 1_024] = bytes(1_024)
    path.write_bytes(content)
    assert _whole(tmp_path) == list(range(number))


@pytest.mark.parametrize("number", [0, 1])
def test_a_hole_in_an_earlier_commit_is_damage(number: int, tmp_path: Path) -> None:
    path = _write(tmp_path, *COMMITS)
    content = bytearray(path.read_bytes())
    begin = _offsets()[number] + 10
    content[begin : begin + 1_024] = bytes(1_024)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=rf"damaged in .*/00000001\.ndjson at byte {_offsets()[number]}"):
        Segments(tmp_path).open_for_append()
    assert path.read_bytes() == content


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_flipped_bit_in_the_last_commit_is_damage(number: int, tmp_path: Path) -> None:
    path = _write(tmp_path, *COMMITS)
    content = bytearray(path.read_bytes())
    content[_offsets()[number + 1] - 100] ^= 1
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="the lines are not those that the header's hash stands for"):
        Segments(tmp_path).open_for_append()
    assert path.read_bytes() == content


def test_lines_that_look_like_headers_do_not_cost_a_start_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 80 lines says that it is a chunk of 500 bytes; how much is hashed has a bound all the same."""
    forged = b'{"v":2,"bytes":500}'
    path = _write(tmp_path, COMMITS[0], [replace(chunk(6, [forged] * 80, leaf=2), commit=2)])
    content = bytearray(path.read_bytes())
    content[_offsets()[2] + 2] ^= 1
    path.write_bytes(content)
    hashed = 0

    def counted(encoded: bytes) -> Chunk:
        nonlocal hashed
        hashed += len(encoded)
        return decode(encoded)

    monkeypatch.setattr("ingest.ledger.tear.decode", counted)
    monkeypatch.setattr("ingest.ledger.tear._MOST_BYTES", 5_000)
    with pytest.raises(LedgerError):
        Segments(tmp_path).open_for_append()
    assert 1_000 < hashed <= 5_000


def test_a_forged_size_is_not_read_into_memory(tmp_path: Path) -> None:
    path = _write(tmp_path, COMMITS[0])
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"bytes":3000,', b'"bytes":30000000000000,'))
    with pytest.raises(LedgerError, match="the header says 30000000000001 bytes, but there are 3001"):
        list(Segments(tmp_path).read())
