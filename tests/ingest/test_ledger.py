"""The ledger: what was appended is what is read; a torn end is healed, damage anywhere else is named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import LedgerError
from ingest.ledger.chunks import BadChunk, Chunk, decode, encode, leaf_hash
from ingest.ledger.segments import Segments
from ingest.lines import Line, OverLong, Source
from ingest.redact import Redaction

NOON = datetime(2026, 6, 3, 12, 0, 0, 5, tzinfo=UTC)
SOURCE = Source("/x/é.jsonl", "jsonl", "/x/é.jsonl", "auto")


def chunk(seq: int = 1, lines: list[Line] | None = None, final: bool = False, leaf: int = 0) -> Chunk:
    return Chunk(
        leaf=leaf,
        commit=leaf,
        seq=seq,
        source=SOURCE,
        lines=[b'{"a":1}', OverLong(2_000_000, "ab" * 32), b"", b"\xff\r"] if lines is None else lines,
        start={"offset": 0, "line": 0},
        end={"offset": 9, "line": 4},
        received_at=NOON,
        final=final,
        positions={"file:1:2": {"offset": 9}},
        redactions={0: Redaction("cd" * 32, {"email": 2})},
    )


def test_the_layout_by_hand() -> None:
    encoded = encode(chunk())
    header, payload = encoded.split(b"\n", 1)
    assert payload == b'{"a":1}\n\n\n\xff\r\n'
    assert json.loads(header) == {
        "v": 2,
        "leaf": 0,
        "commit": 0,
        "seq": 1,
        "lines": 4,
        "bytes": 12,
        "sha256": hashlib.sha256(b'{"a":1}\n\n\n\xff\r').hexdigest(),
        "source": {"name": "/x/é.jsonl", "kind": "jsonl", "path": "/x/é.jsonl"},
        "dialect": "auto",
        "from": {"offset": 0, "line": 0},
        "to": {"offset": 9, "line": 4},
        "positions": {"file:1:2": {"offset": 9}},
        "received_at": "2026-06-03T12:00:00.000005+00:00",
        "schema": 1,
        "final": False,
        "markers": {"1": {"bytes": 2_000_000, "sha256": "ab" * 32}},
        "redactions": {"0": {"sha256": "cd" * 32, "counts": {"email": 2}}},
    }
    assert decode(encoded) == chunk()
    assert leaf_hash(encoded) == hashlib.sha256(b"\0" + encoded).hexdigest()
    # RFC 6962, 2.1.3: the leaf hash of the empty string's leaf, printf '\0' | sha256sum
    assert leaf_hash(b"") == "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


@given(st.lists(st.binary(max_size=30), max_size=6), st.booleans())
def test_any_lines_come_back(lines: list[Line], final: bool) -> None:
    one = replace(chunk(7, lines, final), redactions={index: Redaction("cd" * 32, {}) for index in range(len(lines))})
    assert decode(encode(one)) == one
    assert one.is_tick == (not lines and not final)


def test_lines_with_newlines_inside_carry_their_lengths() -> None:
    """A message may be pretty-printed JSON; it is one line of the ledger, byte for byte."""
    encoded = encode(chunk(lines=[b"{\n}", b"", b"a"]))
    header, payload = encoded.split(b"\n", 1)
    assert payload == b"{\n}\n\na\n"
    assert json.loads(header)["lengths"] == [3, 0, 1]
    assert b'"lengths"' not in encode(chunk())
    for wrong in (b"[3,0,2]", b"[3,1]", b"[4,-1,1]", b"[1,1,0,1]", b"3"):
        with pytest.raises(BadChunk, match="the header cannot be understood"):
            decode(encoded.replace(b"[3,0,1]", wrong))


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b'"lines":4', b'"lines":0'),
        (b'"markers":{"1"', b'"markers":{"4"'),
        (b'"markers":{"1"', b'"markers":{"-1"'),
        (b'"redactions":{"0"', b'"redactions":{"99999999999999999999"'),
        (b'"lines":4', b'"lines":Infinity'),
        (b'"source":{', b'"source":[],"other":{'),
        (b'"markers":{', b'"markers":[],"other":{'),
    ],
)
def test_a_header_that_does_not_fit_its_lines_is_damage(said: bytes, instead: bytes) -> None:
    """The header is not under its own hash: whoever forges it must get an error, neither a crash nor another chunk."""
    encoded = encode(chunk())
    assert said in encoded
    with pytest.raises(BadChunk, match="the header cannot be understood"):
        decode(encoded.replace(said, instead, 1))


def test_a_chunk_without_lines_is_read_between_others(tmp_path: Path) -> None:
    tick = replace(chunk(5, []), start={}, end={}, positions={}, redactions={})
    _append(tmp_path, chunk(1), tick, tick, chunk(5))
    assert [(stored.chunk.seq, stored.chunk.is_tick) for stored in Segments(tmp_path).read()] == [
        (1, False),
        (5, True),
        (5, True),
        (5, False),
    ]
    path = tmp_path / "00000001.ndjson"
    size = path.stat().st_size
    _append(tmp_path, replace(tick, seq=9))
    path.write_bytes(path.read_bytes()[:-1])
    _append(tmp_path)
    assert path.stat().st_size == size


@given(st.data())
def test_any_change_is_noticed(data: st.DataObject) -> None:
    encoded = encode(chunk())
    at = data.draw(st.integers(encoded.index(b"\n"), len(encoded) - 1))
    changed = bytearray(encoded)
    changed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BadChunk):
        decode(bytes(changed))


def _append(directory: Path, *chunks: Chunk) -> list[int]:
    ledger = Segments(directory)
    ledger.open_for_append()
    offsets = [ledger.append([one])[0].location.offset for one in chunks]
    ledger.close()
    return offsets


def test_segments_roll_before_they_grow_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(encode(chunk()))
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 2 * size + 9)
    offsets = _append(tmp_path, *(chunk(seq) for seq in (1, 5, 9, 13, 17)))
    assert offsets == [0, size, 0, size, 0]
    assert [path.name for path in sorted(tmp_path.glob("0*"))] == [
        "00000001.ndjson.zst",
        "00000002.ndjson.zst",
        "00000003.ndjson",
    ]
    assert [stored.chunk.seq for stored in Segments(tmp_path).read()] == [1, 5, 9, 13, 17]
    assert [stored.chunk.seq for stored in Segments(tmp_path).read(2, size)] == [13, 17]
    assert _append(tmp_path, chunk(21)) == [size + 1]


@pytest.mark.parametrize("torn", [1, 100, -1, -13])
def test_a_torn_last_chunk_is_cut_off(torn: int, tmp_path: Path) -> None:
    _append(tmp_path, chunk(1), chunk(5))
    path = tmp_path / "00000001.ndjson"
    size = path.stat().st_size // 2
    path.write_bytes(path.read_bytes()[: size + torn if torn > 0 else 2 * size + torn])
    _append(tmp_path, chunk(5, [b"again"]))
    assert [stored.chunk.lines for stored in Segments(tmp_path).read()] == [chunk().lines, [b"again"]]


@pytest.mark.parametrize("begin", [0, 20, 700])
def test_sectors_that_never_reached_the_disk_are_a_torn_chunk(begin: int, tmp_path: Path) -> None:
    _append(tmp_path, chunk(1), chunk(5, [b"x" * 5_000]))
    path = tmp_path / "00000001.ndjson"
    first = len(encode(chunk()))
    content = bytearray(path.read_bytes())
    content[first + begin : first + begin + 1024] = bytes(1024)
    path.write_bytes(content)
    _append(tmp_path)
    assert path.stat().st_size == first


def test_a_torn_first_chunk_of_a_segment_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 10)
    _append(tmp_path, chunk(1), chunk(5))
    path = tmp_path / "00000002.ndjson"
    path.write_bytes(path.read_bytes()[:50])
    _append(tmp_path)
    assert path.stat().st_size == 0
    _append(tmp_path, chunk(5))
    assert [stored.chunk.seq for stored in Segments(tmp_path).read()] == [1, 5]


@pytest.mark.parametrize("place", ["lines", "header", "size", "cut"])
def test_damage_before_the_end_is_named_and_nothing_is_cut(place: str, tmp_path: Path) -> None:
    _append(tmp_path, chunk(1), chunk(5), chunk(9))
    path = tmp_path / "00000001.ndjson"
    whole = path.read_bytes()
    size = len(whole) // 3
    content = bytearray(whole)
    if place == "lines":
        content[2 * size - 3] ^= 1
    elif place == "header":
        content[size + 1] ^= 1
    elif place == "size":
        at = content.index(b'"bytes":12', size) + len(b'"bytes":')
        content[at : at + 2] = b"99"
    else:
        del content[size + 10 : size + 200]
    path.write_bytes(content)
    with pytest.raises(
        LedgerError, match=rf"damaged in .*/00000001.ndjson at byte {size}: .*; put the file back"
    ) as raised:
        Segments(tmp_path).open_for_append()
    assert "\n" not in str(raised.value)
    assert path.read_bytes() == content
    with pytest.raises(LedgerError):
        list(Segments(tmp_path).read())


def test_a_flipped_bit_in_the_last_chunk_is_damage_and_no_tear(tmp_path: Path) -> None:
    _append(tmp_path, chunk(1), chunk(5))
    path = tmp_path / "00000001.ndjson"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    with pytest.raises(LedgerError, match="the lines are not those that the header's hash stands for"):
        Segments(tmp_path).open_for_append()
    assert path.read_bytes() == content


def test_a_missing_segment_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.ledger.segments.SEGMENT_BYTES", 10)
    _append(tmp_path, chunk(1), chunk(5), chunk(9))
    (tmp_path / "00000002.ndjson.zst").unlink()
    with pytest.raises(LedgerError, match=r"00000002.ndjson is missing: put it back from a backup"):
        Segments(tmp_path).open_for_append()


def test_a_ledger_of_a_later_layout_is_not_cut(tmp_path: Path) -> None:
    later = encode(chunk()).replace(b'{"v":2,', b'{"v":3,')
    (tmp_path / "00000001.ndjson").write_bytes(later)
    with pytest.raises(LedgerError, match="has layout version 3, but this gatewatch reads 2: update it"):
        Segments(tmp_path).open_for_append()
    assert (tmp_path / "00000001.ndjson").read_bytes() == later


def test_a_line_that_looks_like_a_header_is_a_line(tmp_path: Path) -> None:
    forged = encode(chunk(5)).split(b"\n")[0]
    _append(tmp_path, chunk(1, [forged, b"x", forged]), chunk(4))
    assert [len(stored.chunk.lines) for stored in Segments(tmp_path).read()] == [3, 4]
