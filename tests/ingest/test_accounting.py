"""Every line has exactly one verdict, however awkward the file: what does not add up would be lost evidence."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.accounting import Accounting
from ingest.lines import MAX_LINE_BYTES, OverLong
from ingest.sources.splitter import Splitter
from ingest.validate import Batch, RowValidator
from tests.ingest.builders import Ingest, event, ledger_bytes, line, lines, query

BOM = b"\xef\xbb\xbf"
LONG = b'{"event_id":"' + b"x" * MAX_LINE_BYTES + b'"}'

# (content, lines, accepted, duplicate, quarantined, blank, reasons)
AWKWARD = {
    "empty file": (b"", 0, 0, 0, 0, 0, {}),
    "one newline": (b"\n", 1, 0, 0, 0, 1, {}),
    "no final newline": (lines("a") + line("b"), 2, 2, 0, 0, 0, {}),
    "byte order mark": (BOM + lines("a", "b"), 2, 2, 0, 0, 0, {}),
    "only a byte order mark": (BOM, 0, 0, 0, 0, 0, {}),
    "byte order mark inside": (lines("a") + BOM + lines("b"), 2, 1, 0, 1, 0, {"not_json": 1}),
    "CRLF": (line("a") + b"\r\n" + line("b") + b"\r\n\r\n", 3, 2, 0, 0, 1, {}),
    "lone carriage return": (line("a") + b"\r" + line("b") + b"\n", 1, 0, 0, 1, 0, {"not_json": 1}),
    "blank lines": (b"\n \t\n" + lines("a") + b"\n", 4, 1, 0, 0, 3, {}),
    "NUL bytes": (b"\0\0\0\n" + lines("a"), 2, 1, 0, 1, 0, {"not_json": 1}),
    "invalid UTF-8": (b'{"event_id":"\xff"}\n' + lines("a"), 2, 1, 0, 1, 0, {"encoding": 1}),
    "UTF-16": ("{}\n".encode("utf-16"), 2, 0, 0, 2, 0, {"encoding": 1, "not_json": 1}),
    "over-long line": (LONG + b"\n" + lines("a"), 2, 1, 0, 1, 0, {"line_too_long": 1}),
    "over-long last line": (lines("a") + LONG, 2, 1, 0, 1, 0, {"line_too_long": 1}),
    "duplicates and conflicts": (
        lines("a", "a") + line("a", tool="fax") + b"\n",
        3, 1, 1, 1, 0, {"event_conflict": 1},
    ),
    "everything that is no event": (
        b'[]\n"x"\n7\nnull\ntrue\n{}\n{"kind":7}\n{"kind":"tool.teleport"}\n{"kind":"tool.degradation"}\n{,}\n',
        10, 0, 0, 10, 0, {"not_an_object": 5, "schema": 3, "unknown_kind": 1, "not_json": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_files_add_up(name: str, ingest: Ingest, data: Path, tmp_path: Path) -> None:
    content, *counts, reasons = AWKWARD[name]
    file = tmp_path / "events.jsonl"
    file.write_bytes(content)
    found = ingest(file)
    assert [found.lines, found.accepted, found.duplicate, found.quarantined, found.blank] == counts
    assert found.reasons == reasons
    assert query(data, "SELECT lines, accepted, duplicate, quarantined, blank, complete FROM sources") == [
        (*counts, True)
    ]
    assert query(data, "SELECT count(*) FROM quarantine") == [(counts[3],)]
    assert query(data, "SELECT count(*) FROM events") == [(counts[1],)]


@pytest.mark.parametrize("name", AWKWARD)
def test_compression_changes_nothing(name: str, ingest: Ingest, data: Path, tmp_path: Path) -> None:
    content, *counts, _ = AWKWARD[name]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content))
    (tmp_path / "b.jsonl.zst").write_bytes(zstandard.compress(content))
    first = ingest(tmp_path / "a.jsonl.gz")
    assert [first.lines, first.accepted, first.duplicate, first.quarantined, first.blank] == counts
    second = ingest(tmp_path / "b.jsonl.zst")
    assert second.lines == counts[0]
    assert (second.accepted, second.duplicate) == (0, counts[1] + counts[2])


@pytest.mark.parametrize("name", AWKWARD)
def test_standard_input_is_read_like_a_file(name: str, ingest: Ingest, monkeypatch: pytest.MonkeyPatch) -> None:
    content, *counts, reasons = AWKWARD[name]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    found = ingest("-")
    assert [found.lines, found.accepted, found.duplicate, found.quarantined, found.blank] == counts
    assert found.reasons == reasons


def test_the_over_long_line_is_kept_by_length_and_hash(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(lines("a") + LONG + b"\n")
    ingest(tmp_path / "events.jsonl")
    (row,) = query(data, "SELECT position, reason, errors, line, line_sha256 FROM quarantine")
    told = "has 1,048,591 bytes, but a line may have 1,048,576: only its length and hash are kept"
    assert row == ("line 2", "line_too_long", told, None, hashlib.sha256(LONG).hexdigest())
    assert len(ledger_bytes(data)) < 10_000


def test_a_glob_is_every_file_that_it_matches(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.jsonl").write_bytes(lines(name))
    (tmp_path / "c.txt").write_bytes(lines("d"))
    assert ingest(tmp_path / "*.jsonl").accepted == 3
    assert query(data, "SELECT count(*) FROM sources WHERE complete") == [(3,)]


def test_many_empty_lines_stay_within_a_chunk(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"\n" * 200_000)
    assert ingest(tmp_path / "events.jsonl").blank == 200_000
    assert query(data, "SELECT max(lines) <= 65536, sum(lines) FROM batches") == [(True, 200_000)]


PIECES = st.sampled_from(
    [b"\n", b"\r\n", b" ", b"\0", b"\xff", b"{", b"}", b'"', b"[1]", BOM, line("a"), line("b"), line("a", tool="fax")]
)


@given(st.lists(PIECES, max_size=30).map(b"".join))
@settings(max_examples=300, deadline=None)
def test_any_bytes_add_up(content: bytes) -> None:
    splitter = Splitter()
    found = splitter.feed(content)
    rest = splitter.rest()
    found += [] if rest is None else [rest]
    assert len(found) == content.count(b"\n") + bool(content and not content.endswith(b"\n"))
    validated = RowValidator().validate_all([Batch(found, 1, "auto")])[0]
    assert validated.accepted.height + len(validated.rejects) + validated.blank == len(found)


@given(st.binary(max_size=200), st.integers(1, 50))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_how_blocks_fall_changes_no_line(content: bytes, step: int) -> None:
    splitter = Splitter()
    found = [item for start in range(0, len(content), step) for item in splitter.feed(content[start : start + step])]
    rest = splitter.rest()
    whole = content.split(b"\n")
    assert found + ([] if rest is None else [rest]) == (whole if whole[-1] else whole[:-1])


@pytest.mark.parametrize("length", [MAX_LINE_BYTES - 1, MAX_LINE_BYTES, MAX_LINE_BYTES + 1])
def test_the_longest_line_is_exactly_the_limit(length: int) -> None:
    for step in (length + 1, 65_536):
        splitter = Splitter()
        content = b"x" * length + b"\n"
        (found,) = [item for at in range(0, len(content), step) for item in splitter.feed(content[at : at + step])]
        assert isinstance(found, OverLong) == (length > MAX_LINE_BYTES)


def test_accountings_add_up() -> None:
    total = Accounting()
    for _ in range(2):
        part = Accounting(lines=6, accepted=1, duplicate=2, quarantined=2, blank=1, warnings=3)
        part.reasons.update(schema=2)
        total.add(part)
    assert total == Accounting(12, 2, 4, 4, 2, 6, reasons=total.reasons)
    assert total.reasons == {"schema": 4}
    assert total.balanced
    assert not Accounting(lines=1).balanced


def test_unknown_fields_are_kept_and_counted(ingest: Ingest, data: Path, tmp_path: Path) -> None:
    big = 123456789012345678901234567890
    content = [
        event("a", colour="red", size={"x": [big, None]}),
        event("b"),
        event("c", reason="nul \0 byte", odd="\0"),
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(item) + "\n" for item in content))
    found = ingest(tmp_path / "events.jsonl")
    assert (found.accepted, found.drift) == (3, 2)
    rows = query(data, "SELECT event_id, extra, reason FROM events ORDER BY event_id")
    assert rows == [
        ("a", f'{{"colour":"red","size":{{"x":[{big},null]}}}}', None),
        ("b", None, None),
        ("c", '{"odd":"\\u0000"}', "nul \0 byte"),
    ]
