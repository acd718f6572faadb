"""Reading files again reads only what is new, and whatever happened to a file, no line is lost or read twice."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import threading
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import SourceError
from ingest.lines import MAX_LINE_BYTES, OverLong, Received
from ingest.sources import jsonl
from tests.ingest.builders import Ingest, line, lines, query
from tests.ingest.memory import Memory, lines_of, read_file


def _stdin(content: bytes, memory: Memory, monkeypatch: pytest.MonkeyPatch, most: int = 1_000_000) -> list[Received]:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    return memory.take(jsonl.read_stdin("auto", memory, lambda stream: None), most)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_positions_and_the_final_chunk(file: Path, small_chunks: None) -> None:
    content = lines(*"abcdefgh")
    file.write_bytes(content)
    size = len(line("a")) + 1
    found = read_file(file, Memory())
    assert [len(chunk.lines) for chunk in found] == [4, 4]
    assert [chunk.final for chunk in found] == [False, True]
    assert [chunk.start for chunk in found] == [{"offset": 0, "line": 0}, {"offset": 4 * size, "line": 4}]
    assert found[0].end == {
        "offset": 4 * size,
        "line": 4,
        "sha256": hashlib.sha256(content[: 4 * size]).hexdigest(),
        "head": [4 * size, hashlib.sha256(content[: 4 * size]).hexdigest()],
        "tail": [4 * size, hashlib.sha256(content[: 4 * size]).hexdigest()],
        "partial": None,
        "final": False,
    }
    assert found[1].end["offset"] == len(content)
    assert found[1].end["final"]
    assert b"".join(item + b"\n" for item in lines_of(found)) == content


def test_a_finished_file_says_so_once(file: Path) -> None:
    memory = Memory()
    file.write_bytes(b"")
    assert [(chunk.lines, chunk.final) for chunk in read_file(file, memory)] == [([], True)]
    assert read_file(file, memory) == []
    file.write_bytes(lines("a"))
    assert [chunk.final for chunk in read_file(file, memory)] == [True]
    assert read_file(file, memory) == []


def test_a_kill_between_the_last_lines_and_the_end_is_made_good(file: Path, small_chunks: None) -> None:
    file.write_bytes(lines(*"abcd"))  # exactly one chunk, but the end was not seen before the next block
    memory = Memory()
    first = read_file(file, memory)
    assert [chunk.final for chunk in first] == [True]
    key = next(iter(memory.found))
    memory.found[key] = {**memory.found[key], "final": False}
    assert [(chunk.lines, chunk.final) for chunk in read_file(file, memory)] == [([], True)]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_only_what_is_new_is_read(compress: object, file: Path, small_chunks: None) -> None:
    assert callable(compress)
    memory = Memory()
    file.write_bytes(compress(lines("a", "b")))
    assert lines_of(read_file(file, memory)) == [line("a"), line("b")]
    assert read_file(file, memory) == []
    with file.open("r+b") as handle:  # the same inode; compressed files grow by being written anew
        handle.write(compress(lines("a", "b", "c")))
    found = read_file(file, memory)
    assert lines_of(found) == [line("c")]
    assert found[0].start["line"] == 2


def test_a_last_line_without_newline_is_read_once(file: Path) -> None:
    memory = Memory()
    file.write_bytes(lines("a") + line("b"))
    assert lines_of(read_file(file, memory)) == [line("a"), line("b")]
    assert read_file(file, memory) == []
    with file.open("ab") as handle:
        handle.write(b"\n")
    assert [(chunk.lines, chunk.final) for chunk in read_file(file, memory)] == [([], True)]  # only the position moves
    assert read_file(file, memory) == []
    with file.open("ab") as handle:
        handle.write(lines("c"))
    found = read_file(file, memory)
    assert lines_of(found) == [line("c")]
    assert found[0].start == {"offset": 2 * len(line("a")) + 2, "line": 2}


def test_a_last_line_that_grows_is_another_line(file: Path) -> None:
    memory = Memory()
    file.write_bytes(lines("a") + b'{"event_id":')
    assert lines_of(read_file(file, memory)) == [line("a"), b'{"event_id":']
    file.write_bytes(lines("a", "b"))
    assert lines_of(read_file(file, memory)) == [line("b")]


def test_an_over_long_last_line_is_read_once(file: Path) -> None:
    memory = Memory()
    long = b"x" * (MAX_LINE_BYTES + 5)
    file.write_bytes(long)
    (chunk,) = read_file(file, memory)
    assert chunk.lines == [OverLong(len(long), hashlib.sha256(long).hexdigest())]
    assert read_file(file, memory) == []
    file.write_bytes(long + b"\n" + lines("a"))
    assert lines_of(read_file(file, memory)) == [line("a")]


@pytest.mark.parametrize(
    ("after", "new"),
    [
        (lines("x"), [line("x")]),  # shorter
        (lines("x", "y"), [line("x"), line("y")]),  # as long, other content
        (lines("a", "y", "c"), [line("a"), line("y"), line("c")]),  # longer, and changed in the middle
        (b"", []),
    ],
)
def test_a_changed_file_is_read_from_its_beginning(
    after: bytes, new: list[bytes], file: Path, small_chunks: None
) -> None:
    memory = Memory()
    file.write_bytes(lines("a", "b"))
    read_file(file, memory)
    with file.open("r+b") as handle:
        handle.truncate()
        handle.write(after)
    found = read_file(file, memory)
    assert lines_of(found) == new
    assert found[0].start["offset"] == 0
    assert found[-1].final


def test_a_renamed_file_is_the_same_and_a_new_one_in_its_place_another(file: Path, tmp_path: Path) -> None:
    memory = Memory()
    file.write_bytes(lines("a"))
    read_file(file, memory)
    rotated = tmp_path / "events.jsonl.1"
    file.rename(rotated)
    file.write_bytes(lines("b"))
    with rotated.open("ab") as handle:
        handle.write(lines("z"))
    assert lines_of(read_file(rotated, memory)) == [line("z")]
    assert lines_of(read_file(file, memory)) == [line("b")]


@pytest.mark.parametrize("killed_after", range(5))
def test_a_killed_run_is_continued(killed_after: int, file: Path, small_chunks: None) -> None:
    ids = "abcdefghijklmnop"
    file.write_bytes(b"\xef\xbb\xbf" + lines(*ids))
    memory = Memory()
    first = read_file(file, memory, killed_after)
    rest = read_file(file, memory)
    assert lines_of(first) + lines_of(rest) == [line(event_id) for event_id in ids]


@pytest.mark.parametrize("killed_after", range(5))
def test_standard_input_is_continued_by_its_content(
    killed_after: int, small_chunks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = "abcdefghijklmnop"
    memory = Memory()
    first = _stdin(lines(*ids), memory, monkeypatch, killed_after)
    rest = _stdin(lines(*ids), memory, monkeypatch)
    assert lines_of(first) + lines_of(rest) == [line(event_id) for event_id in ids]
    assert _stdin(lines(*ids), memory, monkeypatch) == []
    assert lines_of(_stdin(lines(*ids, "q"), memory, monkeypatch)) == [line("q")]
    assert lines_of(_stdin(lines("z", *ids), memory, monkeypatch)) == [line(event_id) for event_id in "z" + ids]


def test_different_standard_inputs_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    contents = [lines("a"), lines("a", "b") + line("c"), b"", lines("z"), line("z"), lines("a", "b", "c", "d")]
    news = [[line("a")], [line("b"), line("c")], [], [line("z")], [line("z")], [line("d")]]
    for content, new in zip(contents, news, strict=True):
        assert lines_of(_stdin(content, memory, monkeypatch)) == new
    for content in contents:
        assert _stdin(content, memory, monkeypatch) == []


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_growing_killed_and_restarted_no_line_is_lost_or_doubled(data: st.DataObject) -> None:
    whole = b"{\n" + b"".join(
        data.draw(st.lists(st.binary(max_size=90).map(lambda b: b.replace(b"\n", b"") + b"\n"), max_size=25))
    )
    memory = Memory()
    found: list[bytes] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "_BLOCK_BYTES", data.draw(st.sampled_from([1, 7, 64])))
        patch.setattr(jsonl, "MAX_CHUNK_BYTES", 200)
        ends = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
        for end in [*ends, len(whole), len(whole)]:
            cut = whole.rfind(b"\n", 0, end) + 1  # producers write whole lines
            patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(whole[:cut])))
            most = data.draw(st.sampled_from([1, 2, 1000])) if end != len(whole) else 1000
            found += lines_of(memory.take(jsonl.read_stdin("auto", memory, lambda stream: None), most))
    assert found == whole.split(b"\n")[:-1]


def test_a_named_pipe_is_read_through(tmp_path: Path, ingest: Ingest, data: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for expected in (2, 0):
        writer = threading.Thread(target=pipe.write_bytes, args=(lines("a", "b"),))
        writer.start()
        assert ingest(pipe).accepted == expected
        writer.join()
    assert query(data, "SELECT count(*) FROM events") == [(2,)]


def test_a_file_that_vanished_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone.jsonl does not exist: check the path"):
        read_file(tmp_path / "gone.jsonl", Memory())
