"""Headers that no run ever wrote: whoever forged them must get a sentence, and never a traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.errors import StoreError
from ingest.ledger.chunks import BadChunk, Place, chunks_of, decode, encode
from ingest.ledger.store import Store
from ingest.lines import Received, Source
from ingest.redact import redact_lines
from tests.ingest.builders import line

FORGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no hash": lambda header: header.pop("sha256"),
    "no lines": lambda header: header.pop("lines"),
    "no source": lambda header: header.update(source=None),
    "a source without a name": lambda header: header["source"].update(name=7),
    "a dialect that is no text": lambda header: header.update(dialect=None),
    "positions that are a list": lambda header: header.update(positions=[]),
    "a position that is a number": lambda header: header.update(positions={"file:1": 5}),
    "an end that is a text": lambda header: header.update(to="x"),
    "fewer files than lines": lambda header: header.update(to={"files": [["a.md", 1]]}),
    "files without names": lambda header: header.update(to={"files": [[], []]}),
    "fewer retries than lines": lambda header: header.update(to={"retries": [1]}),
    "a line number that is a text": lambda header: header.update({"from": {"line": "x"}}),
    "offsets that are texts": lambda header: header.update(to={"offsets": [["a", "b"]]}),
    "a time that is none": lambda header: header.update(received_at="yesterday"),
    "a redaction behind the end": lambda header: header.update(redactions={"2": {"sha256": "", "counts": {}}}),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_header_is_a_bad_chunk(name: str) -> None:
    received = Received(Source("s", "jsonl", "s", "auto"), [line("a"), line("b")], {}, {}, final=True)
    redacted = redact_lines(received.lines, "auto")
    (chunk,) = chunks_of([(received, redacted)], Place(), datetime(2026, 6, 1, tzinfo=UTC))
    encoded = encode(chunk)
    assert decode(encoded) == chunk
    header, _, payload = encoded.partition(b"\n")
    changed = json.loads(header)
    FORGED[name](changed)
    with pytest.raises(BadChunk):
        decode(json.dumps(changed).encode() + b"\n" + payload)


@pytest.mark.parametrize("version", ["x", "", "1x", "9" * 5000, None])
def test_a_store_with_a_senseless_version_is_refused(version: str | None, tmp_path: Path) -> None:
    store = Store(tmp_path / "work.duckdb")
    store.connection.execute("UPDATE meta SET value = ? WHERE key = 'version'", [version])
    store.close()
    with pytest.raises(StoreError, match="was made by another version of gatewatch"):
        Store(tmp_path / "work.duckdb")
