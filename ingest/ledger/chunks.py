"""A chunk as bytes: one header line (JSON), then the lines as they were received, after redaction.

The header is a JSON object: ``v`` (layout, 1), ``seq`` (ledger number of the first line, from 1), ``lines``, ``bytes``
and ``sha256`` of the payload, ``source`` {name, kind, path}, ``from`` and ``to`` (the source's position before and
after), ``positions`` (entries of the positions table that hold afterwards), ``received_at`` (UTC), ``dialect``,
``schema`` (version of the contract), ``final``, ``markers`` {index: {bytes, sha256}} for lines too long to keep, and
``redactions`` {index: {sha256 of the original line, counts}}. The payload is the lines joined by a newline, and one
more newline ends the chunk. A leaf is SHA-256(0x00 || chunk), as in RFC 6962.

A chunk may have no lines. With ``final`` it says that the source ended where it was; without, it is a *tick*: the
source was looked at, nothing had come, and no position moves. So how long a source is idle is in the ledger as well.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ingest.lines import Line, OverLong, Position, Received, Source
from ingest.redact import Redacted, Redaction

LAYOUT_VERSION = 1
SCHEMA_VERSION = 1
MAX_HEADER_BYTES = 64 << 20
"""No header is longer: 65,536 redacted lines with every count are about 20 MiB."""


class BadChunk(ValueError):
    """Bytes that are no whole chunk; the message says what is wrong with them."""


class ShortChunk(BadChunk):
    """The bytes end before the chunk does."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines with their place in the ledger and where they came from; times are UTC."""

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
    def is_tick(self) -> bool:
        """Whether the chunk only says that its source was looked at and nothing had come."""
        return not self.lines and not self.final


def chunk_of(received: Received, redacted: Redacted, seq: int, received_at: datetime) -> Chunk:
    """The chunk that holds these lines from ledger number `seq` on."""
    return Chunk(
        seq=seq,
        source=received.source,
        lines=redacted.lines,
        start=received.start,
        end=received.end,
        received_at=received_at,
        final=received.final,
        positions=received.positions,
        redactions=redacted.redactions,
    )


def leaf_hash(encoded: bytes) -> str:
    """RFC 6962 leaf hash (hex) of a chunk's bytes."""
    return hashlib.sha256(b"\x00" + encoded).hexdigest()


def encode(chunk: Chunk) -> bytes:
    """The chunk's bytes: header, newline, payload, newline."""
    payload = b"\n".join(line if isinstance(line, bytes) else b"" for line in chunk.lines)
    markers = {
        str(index): {"bytes": line.bytes, "sha256": line.sha256}
        for index, line in enumerate(chunk.lines)
        if isinstance(line, OverLong)
    }
    header: dict[str, Any] = {
        "v": LAYOUT_VERSION,
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
    return json.dumps(header, separators=(",", ":")).encode("ascii") + b"\n" + payload + b"\n"


def payload_size(header_line: bytes) -> int:
    """Bytes from the end of a header line to the end of its chunk. Raises BadChunk when it is no header."""
    return int(_header(header_line)["bytes"]) + 1


def decode(encoded: bytes) -> Chunk:
    """The chunk in these bytes, every hash and count checked. Raises BadChunk."""
    end = encoded.find(b"\n")
    if end < 0:
        raise ShortChunk("the header line has no end")
    header = _header(encoded[:end])
    payload = encoded[end + 1 : -1]
    # Counted, since a chunk without lines that lost its last byte still ends with a newline: its header's.
    if len(encoded) != end + 1 + header["bytes"] + 1 or not encoded.endswith(b"\n"):
        raise ShortChunk(f"has {len(payload)} bytes of lines, but the header says {header['bytes']}")
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise BadChunk("the lines are not those that the header's hash stands for")
    try:
        return _chunk(header, payload)
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise BadChunk(f"the header cannot be understood ({type(error).__name__}: {error})") from None


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        raise BadChunk("the header is not JSON") from None
    if not isinstance(header, dict) or not isinstance(header.get("bytes"), int) or header["bytes"] < 0:
        raise BadChunk("the header is not that of a chunk")
    if header.get("v") != LAYOUT_VERSION:
        raise BadChunk(f"has layout version {header.get('v')}, but this gatewatch reads {LAYOUT_VERSION}: update it")
    return header


def _chunk(header: dict[str, Any], payload: bytes) -> Chunk:
    count = int(header["lines"])
    lines: list[Line] = list(payload.split(b"\n")) if count or payload else []
    if len(lines) != count:
        raise ValueError(f"{len(lines)} lines where the header says {count}")
    for index, marker in header["markers"].items():
        lines[_index(index, count)] = OverLong(int(marker["bytes"]), str(marker["sha256"]))
    source = header["source"]
    return Chunk(
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


def _index(text: str, count: int) -> int:
    index = int(text)
    if not 0 <= index < count:
        raise ValueError(f"line {index} of {count}")
    return index
