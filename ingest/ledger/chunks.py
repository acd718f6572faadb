"""A chunk as bytes: one header line (JSON), then the lines as they were received, after redaction.

The header is a JSON object: ``v`` (layout, 2), ``leaf`` (number of the chunk in the ledger, from 0), ``commit`` (number
of the first chunk that was made durable together with this one), ``seq`` (ledger number of the first line, from 1),
``lines``, ``bytes`` and ``sha256`` of the payload, ``source`` {name, kind, path}, ``from`` and ``to`` (the source's
position before and after), ``positions`` (entries of the positions table that hold afterwards), ``received_at`` (UTC),
``dialect``, ``schema`` (version of the contract), ``final``, ``markers`` {index: {bytes, sha256}} for lines too long to
keep, and ``redactions`` {index: {sha256 of the original line, counts}}. The payload is the lines joined by a newline,
and one more newline ends the chunk. Where a line has a newline inside, as a message may, ``lengths`` says how long each
line is. A leaf is SHA-256(0x00 || chunk), as in RFC 6962.

A chunk may have no lines. With ``final`` it says that the source ended where it was; without, it is a *tick*: the
source was looked at and nothing had come. So how long a source is idle is in the ledger as well. It may carry positions
(of a partition that was met first, of a file that was exchanged) or a gap.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ingest.lines import Line, OverLong, Position, Received, Source
from ingest.redact import Redacted, Redaction

LAYOUT_VERSION = 2
SCHEMA_VERSION = 1
MAX_HEADER_BYTES = 64 << 20
"""No header is longer: 65,536 redacted lines with every count are about 20 MiB."""


class BadChunk(ValueError):
    """Bytes that are no whole chunk; the message says what is wrong with them."""


class ShortChunk(BadChunk):
    """The bytes end before the chunk does."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines with their place in the ledger and where they came from; times are UTC.

    `leaf` is the number of the chunk, from 0, `commit` that of the first chunk which became durable with it.
    """

    leaf: int
    commit: int
    seq: int
    source: Source
    lines: list[Line]
    start: Position
    end: Position
    received_at: datetime
    final: bool
    positions: dict[str, Position] = field(default_factory=dict)
    redactions: dict[int, Redaction] = field(default_factory=dict)

    @property
    def next_seq(self) -> int:
        """The ledger number of the line after this chunk."""
        return self.seq + len(self.lines)

    @property
    def after(self) -> Place:
        """Where the ledger goes on after this chunk."""
        return Place(self.leaf + 1, self.next_seq)

    @property
    def is_tick(self) -> bool:
        """Whether the chunk only says that its source was looked at and nothing had come."""
        return not self.lines and not self.final


@dataclass(frozen=True, slots=True)
class Place:
    """Where the ledger goes on: number of the next chunk (from 0) and of the next line (from 1)."""

    leaf: int = 0
    seq: int = 1


def chunks_of(received: Sequence[tuple[Received, Redacted]], place: Place, received_at: datetime) -> list[Chunk]:
    """The chunks of one commit, one behind the other from `place` on."""
    chunks: list[Chunk] = []
    seq = place.seq
    for leaf, (handed, redacted) in enumerate(received, start=place.leaf):
        chunks.append(_chunk_of(handed, redacted, leaf, place.leaf, seq, received_at))
        seq = chunks[-1].next_seq
    return chunks


def _chunk_of(received: Received, redacted: Redacted, leaf: int, commit: int, seq: int, received_at: datetime) -> Chunk:
    return Chunk(
        leaf=leaf,
        commit=commit,
        seq=seq,
        source=received.source,
        lines=redacted.lines,
        start=received.start,
        end=received.end,
        received_at=received_at,
        final=received.final,
        positions=received.positions,
        redactions=_taken(received.redactions, redacted.redactions),
    )


def _taken(before: Mapping[int, Redaction], now: Mapping[int, Redaction]) -> dict[int, Redaction]:
    """What was taken from lines in all; the hash stays that of the line as it was received first."""
    taken = {**now, **before}
    for index in before.keys() & now.keys():
        counts = Counter(before[index].counts) + Counter(now[index].counts)
        taken[index] = Redaction(before[index].sha256, dict(sorted(counts.items())))
    return taken


def leaf_hash(*parts: bytes) -> str:
    """RFC 6962 leaf hash (hex) of a chunk's bytes, which may come in parts: they need not be joined for it."""
    leaf = hashlib.sha256(b"\x00")
    for part in parts:
        leaf.update(part)
    return leaf.hexdigest()


def encode(chunk: Chunk) -> bytes:
    """The chunk's bytes: header, newline, payload, newline."""
    return b"".join(encoded_parts(chunk))


def encoded_parts(chunk: Chunk) -> tuple[bytes, bytes, bytes]:
    """The chunk's bytes in three parts: header line with its newline, payload, newline."""
    markers: dict[str, Any] = {}
    try:
        kept: list[bytes] = chunk.lines  # type: ignore[assignment]
        payload = b"\n".join(kept)
    except TypeError:  # an over-long line among them, which is rare
        kept = [line if isinstance(line, bytes) else b"" for line in chunk.lines]
        payload = b"\n".join(kept)
        markers = {
            str(index): {"bytes": line.bytes, "sha256": line.sha256}
            for index, line in enumerate(chunk.lines)
            if isinstance(line, OverLong)
        }
    header: dict[str, Any] = {
        "v": LAYOUT_VERSION,
        "leaf": chunk.leaf,
        "commit": chunk.commit,
        "seq": chunk.seq,
        "lines": len(chunk.lines),
        "bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
        "source": {"name": chunk.source.name, "kind": chunk.source.kind, "path": chunk.source.path},
        "dialect": chunk.source.dialect,
        "from": chunk.start,
        "to": chunk.end,
        "positions": chunk.positions,
        "received_at": chunk.received_at.astimezone(UTC).isoformat(timespec="microseconds"),
        "schema": SCHEMA_VERSION,
        "final": chunk.final,
        "markers": markers,
        "redactions": {
            str(index): {"sha256": redaction.sha256, "counts": redaction.counts}
            for index, redaction in chunk.redactions.items()
        },
    }
    if payload.count(b"\n") > len(kept) - 1 and kept:
        header["lengths"] = [len(line) for line in kept]
    return json.dumps(header, separators=(",", ":")).encode("ascii") + b"\n", payload, b"\n"


def payload_size(header_line: bytes) -> int:
    """Bytes from the end of a header line to the end of its chunk. Raises BadChunk when it is no header."""
    return size_behind(read_header(header_line))


def size_behind(header: Mapping[str, Any]) -> int:
    """Bytes from the end of the header line to the end of the chunk."""
    return int(header["bytes"]) + 1


def decode(encoded: bytes) -> Chunk:
    """The chunk in these bytes, every hash and count checked. Raises BadChunk."""
    end = encoded.find(b"\n")
    if end < 0:
        raise ShortChunk("the header line has no end")
    return decode_behind(read_header(encoded[:end]), encoded[end + 1 :])


def decode_behind(header: dict[str, Any], rest: bytes) -> Chunk:
    """The chunk with this header and these bytes behind its line, every hash and count checked. Raises BadChunk."""
    if len(rest) != size_behind(header) or not rest.endswith(b"\n"):
        raise ShortChunk(f"has {max(len(rest) - 1, 0)} bytes of lines, but the header says {header['bytes']}")
    if hashlib.sha256(memoryview(rest)[:-1]).hexdigest() != header.get("sha256"):
        raise BadChunk("the lines are not those that the header's hash stands for")
    try:
        return _chunk(header, rest)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise BadChunk(f"the header cannot be understood ({type(error).__name__}: {error})") from None


def read_header(line: bytes) -> dict[str, Any]:
    """A header line as an object that says how long its chunk is; nothing else is checked. Raises BadChunk."""
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise BadChunk("the header is not JSON") from None
    if not isinstance(header, dict) or not isinstance(header.get("bytes"), int) or header["bytes"] < 0:
        raise BadChunk("the header is not that of a chunk")
    if header.get("v") != LAYOUT_VERSION:
        raise BadChunk(f"has layout version {header.get('v')}, but this gatewatch reads {LAYOUT_VERSION}: update it")
    return header


def _chunk(header: dict[str, Any], rest: bytes) -> Chunk:
    count = int(header["lines"])
    lines = _lines(header, rest)
    if len(lines) != count:
        raise ValueError(f"{len(lines)} lines where the header says {count}")
    _check_positions(header, count)
    for index, marker in header["markers"].items():
        lines[_index(index, count)] = OverLong(int(marker["bytes"]), str(marker["sha256"]))
    source = header["source"]
    return Chunk(
        leaf=int(header["leaf"]),
        commit=int(header["commit"]),
        seq=int(header["seq"]),
        source=Source(source["name"], source["kind"], source["path"], header["dialect"]),
        lines=lines,
        start=header["from"],
        end=header["to"],
        received_at=datetime.fromisoformat(header["received_at"]),
        final=bool(header["final"]),
        positions=header["positions"],
        redactions={
            _index(index, count): Redaction(found["sha256"], found["counts"])
            for index, found in header["redactions"].items()
        },
    )


def _check_positions(header: dict[str, Any], count: int) -> None:
    """Raise ValueError or TypeError for a source or positions that no row could be made of: a forged header's."""
    start, end, source = header["from"], header["to"], header["source"]
    if not all(isinstance(found, dict) for found in (start, end, source, *header["positions"].values())):
        raise TypeError("a position is no object")
    if not all(isinstance(name, str) for name in (*source.values(), header["dialect"])):
        raise TypeError("a source has no name")
    if any(end.get(name) and len(end[name]) < count for name in ("files", "retries")):
        raise ValueError("not every line has a place")
    if not all(isinstance(file, list) and file for file in end.get("files", ())):
        raise TypeError("a file has no name")
    numbers = [start.get("line", 0), *(number for first, count in end.get("offsets", ()) for number in (first, count))]
    if not all(isinstance(number, int) for number in numbers):
        raise ValueError("lines have no numbers")


def _lines(header: dict[str, Any], rest: bytes) -> list[Line]:
    """The lines of a payload with the newline behind it: cut up where it is, since copying it would cost as much."""
    if "lengths" not in header:
        pieces = rest.split(b"\n")
        pieces.pop()
        return [*pieces] if header["lines"] or len(rest) > 1 else []
    lines: list[Line] = []
    begin = 0
    for length in header["lengths"]:
        lines.append(rest[begin : begin + length])
        begin += length + 1
    if begin != len(rest) or any(length < 0 for length in header["lengths"]):
        raise ValueError("the lengths of the lines do not add up")
    return lines


def _index(text: str, count: int) -> int:
    index = int(text)
    if not 0 <= index < count:
        raise ValueError(f"line {index} of {count}")
    return index
