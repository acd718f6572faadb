"""Following files: whatever happens to them, each line is handed out once, when its newline is there."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from pydantic import ValidationError

from ingest.errors import SourceError
from ingest.lines import MAX_CHUNK_BYTES, MAX_CHUNK_LINES, MAX_LINE_BYTES, OverLong
from ingest.pipeline import Pipeline
from ingest.sources.live import MAX_POLL_BYTES, LiveSource
from ingest.sources.tail.settings import TailSettings
from ingest.sources.tail.source import TailSource
from ingest.sources.tail.state import Claims
from tests.ingest.builders import Ingest, line, lines, query
from tests.ingest.memory import Memory, read_file
from tests.ingest.tailing import Tail, append, texts

A, B, C, D, E, F = (letter.encode() * 40 for letter in "abcdef")
"""Lines, long enough to be recognised."""

Compress = Callable[[bytes], bytes]


def _nl(*contents: bytes) -> bytes:
    return b"".join(content + b"\n" for content in contents)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    return folder / "events.jsonl"


def test_a_line_is_taken_when_its_newline_is_there(file: Path) -> None:
    """However long that takes: a pause in the middle of a line is no end."""
    tail = Tail(file)
    file.write_bytes(A + b"\n" + B[:7])
    assert tail.poll() == [A]
    assert tail.source.lag() == {str(file): 7}
    assert tail.later(100_000) == []
    append(file, B[7:])
    assert tail.later(100_000) == []
    append(file, b"\n")
    assert tail.poll() == [B]
    assert tail.source.lag() == {str(file): 0}


def test_positions_and_names(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A, B) + b"c")
    tail.poll()
    (chunk,) = tail.chunks
    assert (chunk.source.name, chunk.source.kind, chunk.source.path) == (str(file), "tail", str(file))
    assert (chunk.start, chunk.end, chunk.final) == ({"offset": 0, "line": 0}, {"offset": 82, "line": 2}, False)
    status = file.stat()
    window = [82, hashlib.sha256(_nl(A, B)).hexdigest()]
    assert chunk.positions == {
        f"file:{status.st_dev}:{status.st_ino}": {
            "offset": 82,
            "line": 2,
            "sha256": None,
            "head": window,
            "tail": window,
            "partial": None,
            "final": False,
            "seen": 83,
            "path": str(file),
            "at": str(file),
        }
    }
    tail = Tail(file, name="orders", dialect="xenia")
    tail.poll()
    assert (tail.chunks[0].source.name, tail.chunks[0].source.dialect) == ("orders", "xenia")
    assert tail.source.label == "orders"


def test_odd_bytes(file: Path) -> None:
    """CRLF, NUL, no UTF-8, a mark at the beginning of the file (and only there), blank lines."""
    mark = b"\xef\xbb\xbf"
    tail = Tail(file)
    append(file, mark[:2])
    assert tail.poll() == []
    append(file, mark[2:] + A + b"\r\n", b"\n", b"\0\xff\xfe\n", mark + B + b"\n", b"\r\n")
    assert tail.poll() == [A + b"\r", b"", b"\0\xff\xfe", mark + B, b"\r"]


def test_many_blank_lines_take_several_chunks(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(b"\n" * (MAX_CHUNK_LINES + 10) + A + b"\n")
    assert len(tail.poll()) == MAX_CHUNK_LINES + 11
    assert [len(chunk.lines) for chunk in tail.chunks] == [MAX_CHUNK_LINES, 11]
    assert tail.chunks[1].start == {"offset": MAX_CHUNK_LINES, "line": MAX_CHUNK_LINES}


@pytest.mark.parametrize("more", [0, 1, 5 << 20])
def test_a_line_that_is_too_long_is_told_by_length_and_hash(more: int, file: Path) -> None:
    """And the file goes on: also where the line comes in pieces, and the reader starts anew in its middle."""
    tail = Tail(file)
    long = b"x" * (MAX_LINE_BYTES + more)
    file.write_bytes(_nl(A) + long[:-100])
    assert tail.poll() == [A]
    append(file, long[-100:-50])
    assert tail.poll() == []
    tail.restart()
    assert tail.poll() == []
    append(file, long[-50:] + b"\n" + B + b"\n")
    kept = long if not more else OverLong(len(long), hashlib.sha256(long).hexdigest())
    assert tail.poll() == [kept, B]
    assert tail.chunks[-1].end == {"offset": 41 + len(long) + 1 + 41, "line": 3}


def test_a_poll_and_its_chunks_are_bounded(file: Path) -> None:
    others = [file.with_name(f"{number}.jsonl") for number in range(3)]
    text = b"y" * 99 + b"\n"
    for path in (file, *others):
        path.write_bytes(text * (10 * MAX_CHUNK_BYTES // 100))
    source = TailSource(TailSettings(paths=[str(file.parent / "*.jsonl")]), Memory())
    found = source.poll(0)
    assert sum(chunk.size for chunk in found) <= MAX_POLL_BYTES
    assert all(chunk.size <= MAX_CHUNK_BYTES for chunk in found)
    assert {Path(chunk.source.name).name for chunk in found} == {"events.jsonl", "0.jsonl", "1.jsonl", "2.jsonl"}
    source.close()


def test_the_last_line_of_a_file_that_is_not_written_to_any_more(file: Path) -> None:
    """`close_after` ends the file, and its last line; a file that grows is open again."""
    tail = Tail(file, close_after="1h")
    file.write_bytes(_nl(A) + B)
    assert tail.poll() == [A]
    tail.clock.shift = 3599
    assert tail.later() == []
    tail.clock.shift = 3601
    assert tail.later() == [B]
    assert tail.finals == ["events.jsonl"]
    tail.restart()
    assert tail.later() == []
    assert tail.finals == []
    append(file, b"\n" + C + b"\n")
    tail.clock.shift = 0
    assert tail.poll() == [C]
    assert tail.chunks[0].start == {"offset": 82, "line": 2}
    assert not tail.chunks[0].final
    tail.clock.shift = 3601
    assert tail.later() == []
    assert tail.finals == ["events.jsonl"]


def test_rotation_by_rename(file: Path) -> None:
    """The old file is read on while its producer writes to it, and only then the new one."""
    tail = Tail(file)
    file.write_bytes(_nl(A))
    assert tail.poll() == [A]
    with file.open("ab", buffering=0) as producer:
        file.rename(file.with_suffix(".jsonl.1"))
        file.write_bytes(_nl(D))
        producer.write(_nl(B))
        assert tail.poll() == [B]
        tail.clock.now += 1
        producer.write(_nl(C))
        assert tail.poll() == [C]
        assert tail.later() == [D]
        assert tail.finals == []
        producer.write(_nl(E))
        assert tail.poll() == [E]  # late, but not lost
    append(file, _nl(F))
    assert tail.poll() == [F]
    assert {chunk.source.name for chunk in tail.chunks} == {str(file)}


def test_rotation_while_nobody_looked(file: Path) -> None:
    """A rotated file is found again by its inode, although no pattern matches its name."""
    tail = Tail(file)
    file.write_bytes(_nl(A))
    tail.poll()
    append(file, _nl(B))
    file.rename(file.with_name("old-events"))
    file.write_bytes(_nl(C))
    tail.restart()
    assert tail.later() == [B, C]
    assert tail.later() == []


def test_rotation_twice_at_once(file: Path) -> None:
    """In the order in which they were written, where the pattern matches the rotated ones too."""
    tail = Tail(f"{file}*")
    file.write_bytes(_nl(A))
    tail.poll()
    append(file, _nl(B))
    file.rename(f"{file}.2")
    Path(f"{file}.1").write_bytes(_nl(C))
    file.write_bytes(_nl(D))
    tail.restart()
    found = tail.later()
    assert sorted(found) == [B, C, D]
    assert found.index(B) < found.index(D)
    assert tail.later() == []


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_copytruncate(wide: bool, restarted: bool, file: Path) -> None:
    """What was written between the last look and the truncation is read in the copy, before the new content."""
    tail = Tail(f"{file}*" if wide else file)
    file.write_bytes(_nl(A, B))
    assert tail.poll() == [A, B]
    append(file, _nl(C))
    shutil.copy(file, f"{file}.1")
    if not restarted:
        assert tail.poll() == [C]  # a copy of what is there holds nothing new
        append(file, _nl(D))
        shutil.copy(file, f"{file}.1")
    os.truncate(file, 0)
    if restarted:
        tail.restart()
    append(file, _nl(E, F))
    assert tail.later() == ([C, E, F] if restarted else [D, E, F])
    assert [Path(chunk.source.name).name for chunk in tail.chunks] == ["events.jsonl"] * 2
    assert tail.gaps == []
    tail.restart()
    assert tail.later() == []


def test_copytruncate_before_anything_was_read(file: Path) -> None:
    """The copy is a source of its own, and a finished one: else its silence would be a finding, for ever."""
    copy = Path(f"{file}.1")
    copy.write_bytes(_nl(A, B))
    file.write_bytes(b"")
    tail = Tail(f"{file}*")
    assert (tail.later(), tail.finals) == ([A, B], ["events.jsonl.1"])
    append(file, _nl(C))
    assert (tail.later(100), tail.finals) == ([C], [])
    tail.restart()
    assert (tail.later(100), tail.finals) == ([], [])
    append(copy, _nl(D))  # somebody writes to it after all: it is open, and finished once more
    assert (tail.later(), tail.finals) == ([D], ["events.jsonl.1"])


@pytest.mark.parametrize("suffix", [".1", ".12", "-20260603", ".2026-06-03", "-20260603-101500", ".old", ".bak", "_3"])
def test_a_rotated_piece_is_finished(suffix: str, file: Path) -> None:
    """Half a line at its end may still become a whole one: until then it is not over."""
    piece = Path(f"{file}{suffix}")
    file.write_bytes(_nl(A))
    piece.write_bytes(_nl(B) + C[:7])
    tail = Tail(f"{file}*")
    assert (sorted(tail.later(100)), tail.finals) == ([A, B], [])
    append(piece, C[7:] + b"\n")
    assert (tail.later(), tail.finals) == ([C], [piece.name])


@pytest.mark.parametrize("name", ["events-2.jsonl", "events.jsonl.live", "other.jsonl.1", "events.jsonl2"])
def test_a_file_of_another_producer_is_not_held_to_be_a_rotated_piece(name: str, file: Path) -> None:
    """Its silence has to be told."""
    file.write_bytes(_nl(A))
    file.with_name(name).write_bytes(_nl(B))
    tail = Tail(file.parent / "*")
    assert (sorted(tail.later(100_000)), tail.finals) == ([A, B], [])


@pytest.mark.parametrize("size", [2, 100])
def test_a_backup_whose_original_goes_on_is_finished(size: int, file: Path) -> None:
    """Whatever it is called; while both are the same, nobody can tell which one is written to."""
    content = _nl(*(f"{number:040}".encode() for number in range(size)))
    file.write_bytes(content)
    file.with_name("saved.jsonl").write_bytes(content)
    tail = Tail(file.parent / "*")
    assert (len(tail.later(100)), tail.finals) == (2 * size, [])
    append(file, _nl(A))
    assert (tail.later(), tail.finals) == ([A], ["saved.jsonl"])
    assert (tail.later(100_000), tail.finals) == ([], [])  # the original fell silent: that is no end


def test_a_file_that_grew_past_the_old_position_after_it_was_emptied(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A))
    tail.poll()
    os.truncate(file, 0)
    append(file, _nl(B, C, D))
    assert tail.poll() == [B, C, D]
    assert tail.chunks[0].start == {"offset": 0, "line": 0, "replaced": {"offset": 41, "line": 1}}
    assert tail.gaps == []  # everything that was ever seen had been read


def test_truncation_that_is_known_to_have_lost_something_is_a_gap(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A) + B[:20])
    assert tail.poll() == [A]
    os.truncate(file, 0)
    assert tail.poll() == []
    assert tail.gaps == [("byte 41", "byte 61")]
    append(file, _nl(C))
    assert tail.poll() == [C]
    tail.restart()
    assert tail.poll() == []
    assert tail.gaps == []


def test_a_torn_line_that_its_producer_takes_back_is_no_gap(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A) + B[:20])
    tail.poll()
    os.truncate(file, 41)
    append(file, _nl(C))
    assert tail.poll() == [C]
    assert tail.gaps == []


def test_a_torn_line_that_is_too_long_and_taken_back(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A) + b"x" * (MAX_LINE_BYTES + 7))
    assert tail.poll() == [A]
    with file.open("r+b") as producer:
        producer.seek(41)
        producer.write(b"y" * (MAX_LINE_BYTES + 7) + b"\n")
    long = b"y" * (MAX_LINE_BYTES + 7)
    assert tail.poll() == [OverLong(len(long), hashlib.sha256(long).hexdigest())]


@pytest.mark.parametrize("content", [_nl(B), _nl(B, C), _nl(B, C, D), b""])
@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_another_content(content: bytes, in_place: bool, restarted: bool, file: Path) -> None:
    """Shorter, as long or longer; under the same inode or another."""
    tail = Tail(file)
    file.write_bytes(_nl(A, A))
    tail.poll()
    if in_place:
        file.write_bytes(content)
    else:
        file.with_name("new").write_bytes(content)
        file.with_name("new").rename(file)
    if restarted:
        tail.restart()
    assert _nl(*tail.later()) == content
    assert tail.gaps == []


def test_an_inode_that_is_used_again(file: Path) -> None:
    """By the file itself, made anew while nobody looked: the file system hands out the number that is free."""
    for number in range(20):
        memory = Memory()
        file.write_bytes(_nl(A))
        tail = Tail(file, memory=memory)
        assert tail.poll() == [A]
        tail.source.close()
        file.unlink()
        file.write_bytes(_nl(B, C))
        tail.restart()
        assert tail.later() == [B, C], number
        file.unlink()


def test_a_file_that_vanishes_and_comes_back(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A) + B)
    assert tail.poll() == [A]
    with file.open("ab", buffering=0) as producer:
        file.unlink()
        producer.write(b"!\n" + C)
        assert tail.poll() == [B + b"!"]
        assert tail.finals == []
    assert tail.later() == [C]  # nobody can end this line any more
    assert tail.finals == ["events.jsonl"]
    assert tail.later() == []
    file.write_bytes(_nl(D))
    assert tail.poll() == [D]
    assert not tail.chunks[0].final
    tail.restart()
    assert tail.later() == []


def test_a_file_that_is_moved_away_and_back(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A))
    tail.poll()
    elsewhere = file.parent.parent / "elsewhere"
    file.rename(elsewhere)
    tail.later()
    assert tail.finals == ["events.jsonl"]
    append(elsewhere, _nl(B))
    elsewhere.rename(file)
    assert tail.poll() == [B]
    file.rename(elsewhere)
    tail.later()
    shutil.copy(elsewhere, file)  # another inode, the same content
    append(file, _nl(C))
    assert tail.later() == [C]


def test_a_file_that_was_deleted_unread_is_a_gap(file: Path) -> None:
    """Known by its size when it was last read; nothing is made up about what came after."""
    tail = Tail(file)
    file.write_bytes(_nl(A) + B)
    tail.poll()
    tail.source.close()
    file.unlink()
    tail.restart()
    assert tail.later() == []
    assert tail.gaps == [("byte 41", "byte 81")]
    assert tail.finals == ["events.jsonl"]
    tail.restart()
    assert tail.later() == []
    assert (tail.gaps, tail.finals) == ([], [])


def test_folders_and_files_that_do_not_exist_yet(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    tail = Tail(folder / "*" / "e.jsonl")
    assert tail.poll() == []
    assert list(tail.source.troubles.values()) == [f"no file matches {folder}/*/e.jsonl yet: check the path"]
    assert tail.source.away
    (folder / "x").mkdir(parents=True)
    (folder / "x" / "e.jsonl").write_bytes(b"")
    assert tail.poll() == []
    assert tail.source.troubles == {}
    append(folder / "x" / "e.jsonl", _nl(A))
    assert tail.poll() == [A]
    shutil.rmtree(folder)
    tail.later()
    assert tail.finals == ["e.jsonl"]
    assert tail.source.troubles == {}


def test_a_file_that_may_not_be_read_does_not_keep_the_others_waiting(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = Tail(file.parent / "*.jsonl")
    opened = os.open

    def refuse(path: object, flags: int, *mode: int) -> int:
        if str(path) == str(file):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *mode)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "open", refuse)
    file.write_bytes(_nl(A))
    file.with_name("other.jsonl").write_bytes(_nl(B))
    assert tail.poll() == [B]
    why = f"{file} cannot be read (permission denied): allow this user to read it"
    assert (tail.source.troubles, tail.source.away, tail.source.unreadable) == ({str(file): why}, False, 1)
    monkeypatch.undo()
    assert tail.poll() == [A]
    assert tail.source.troubles == {}


def test_a_folder_that_may_not_be_listed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tail = Tail(file.parent / "*.jsonl", file.parent.parent / "*.jsonl")
    listed = os.scandir

    def refuse(path: str) -> object:
        if str(path) == str(file.parent):
            raise PermissionError(13, "Permission denied")
        return listed(path)

    file.write_bytes(_nl(A))
    (file.parent.parent / "b.jsonl").write_bytes(_nl(B))
    monkeypatch.setattr(os, "scandir", refuse)
    assert tail.poll() == [B]
    why = f"{file.parent} cannot be read (permission denied): allow this user to read it"
    assert tail.source.troubles == {str(file.parent): why}
    monkeypatch.undo()
    assert tail.poll() == [A]


def test_every_fault_is_named(file: Path) -> None:
    """One that lasts for ever hides no other; nothing at all can be read only when no file is left."""
    broken = [file.with_name(f"{number}.jsonl.gz") for number in range(3)]
    for path in broken:
        path.write_bytes(b"no gzip")
        os.utime(path, (1, 1))
    tail = Tail(file.parent / "*")
    tail.later()
    assert set(tail.source.troubles) == {str(path) for path in broken}
    assert all(path in why for path, why in tail.source.troubles.items())
    assert (tail.source.away, tail.source.unreadable) == (True, 3)
    file.write_bytes(_nl(A))
    assert tail.poll() == [A]
    assert (tail.source.away, tail.source.unreadable) == (False, 3)


def test_what_gatewatch_keeps_itself_is_no_source(tmp_path: Path) -> None:
    """Reading its ledger would make it longer, without end; other files in the data directory are read."""
    data = tmp_path / "data"
    for name in ("ledger/00000001.ndjson", "published/x.jsonl", "keys/y.jsonl", "work.duckdb.jsonl", "demo/e.jsonl"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(_nl(name.encode() * 4))  # a file with less is looked at twice
    (tmp_path / "lockers.jsonl").write_bytes(_nl(A))
    (tmp_path / "link.jsonl").symlink_to(data / "ledger" / "00000001.ndjson")
    (tmp_path / "linked").symlink_to(data)

    def source(*paths: str) -> TailSource:
        return TailSource(TailSettings(paths=list(paths)), Memory(), data=tmp_path / "linked")

    for paths in ([str(tmp_path)], [f"{tmp_path}/**/*.*json*", f"{tmp_path}/linked/*/*"]):
        found = source(*paths)
        read = sorted(text for chunk in found.poll(0) for text in texts(chunk.lines))
        assert read == [A.decode(), "demo/e.jsonl" * 4]
        found.close()
    found = source(f"{tmp_path}/data/led*/*")
    assert found.poll(0) == []
    assert "matches only what gatewatch itself keeps in its data directory: name other" in found.troubles[""]
    found.close()
    for named in ("data/ledger/*.ndjson", "linked/ledger", "link.jsonl"):
        with pytest.raises(SourceError, match=r"keeps in its data directory, and no source: use `gatewatch rebuild`"):
            source(f"{tmp_path}/{named}")


def test_a_ledger_that_an_earlier_version_followed_is_left(tmp_path: Path) -> None:
    data = tmp_path / "data"
    segment = data / "ledger" / "00000001.ndjson"
    segment.parent.mkdir(parents=True)
    segment.write_bytes(_nl(A))
    tail = Tail(tmp_path)
    assert tail.poll() == [A]
    append(segment, _nl(B))
    found = TailSource(tail.settings, tail.memory, data=data)
    assert found.poll(0) == []
    found.close()


def test_what_is_no_file_is_passed_over(file: Path) -> None:
    tail = Tail(file.parent / "*")
    (file.parent / "folder.jsonl").mkdir()
    os.mkfifo(file.parent / "pipe.jsonl")
    (file.parent / "null.jsonl").symlink_to("/dev/null")
    (file.parent / "dangling.jsonl").symlink_to("nowhere")
    (file.parent / "circle.jsonl").symlink_to("circle.jsonl")
    (file.parent / ".hidden.jsonl").write_bytes(_nl(B))
    file.write_bytes(_nl(A))
    assert tail.poll() == [A]
    circle = f"{file.parent}/circle.jsonl"
    assert tail.source.troubles == {circle: f"{circle} cannot be read (too many levels of symbolic links)"}


def test_a_link_is_followed_and_where_it_leads_then(file: Path) -> None:
    """`current -> events-1.jsonl`, then `-> events-2.jsonl`, in another folder."""
    target = file.parent.parent / "data"
    target.mkdir()
    (target / "events-1.jsonl").write_bytes(_nl(A))
    current = file.with_name("current")
    current.symlink_to(target / "events-1.jsonl")
    tail = Tail(current)
    assert tail.poll() == [A]
    append(target / "events-1.jsonl", _nl(B))
    (target / "events-2.jsonl").write_bytes(_nl(C))
    current.unlink()
    current.symlink_to(target / "events-2.jsonl")
    tail.restart()
    assert tail.later() == [B, C]
    assert {chunk.source.name for chunk in tail.chunks} == {str(current)}
    append(target / "events-1.jsonl", _nl(D))
    assert tail.poll() == [D]


def test_one_file_under_several_names_is_read_once(file: Path) -> None:
    file.write_bytes(_nl(A))
    file.with_name("z-hard.jsonl").hardlink_to(file)
    file.with_name("z-soft.jsonl").symlink_to(file)
    tail = Tail(file.parent / "z*.jsonl", file.parent / "*.jsonl", file)
    assert tail.poll() == [A]
    assert Path(tail.chunks[0].source.name).name == "z-hard.jsonl"
    file.with_name("z-hard.jsonl").unlink()
    append(file, _nl(B))
    assert tail.later() == [B]
    tail.restart()
    assert tail.later() == []


def test_of_two_sources_the_first_reads_a_file(file: Path) -> None:
    file.write_bytes(_nl(A))
    memory, claims = Memory(), Claims()
    first = TailSource(TailSettings(paths=[str(file)]), memory, claims)
    second = TailSource(TailSettings(paths=[str(file.parent / "*")], name="all"), memory, claims)
    assert [chunk.source.name for chunk in first.poll(0)] == [str(file)]
    assert second.poll(0) == []
    first.close()
    second.close()
    third = TailSource(TailSettings(paths=[str(file.parent / "*")], name="all"), memory, claims)
    assert [chunk.source.name for chunk in third.poll(0)] == ["all"]
    third.close()


def test_a_folder_stands_for_its_json_lines(file: Path) -> None:
    inner = file.parent / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "x.NDJSON").write_bytes(_nl(A))
    (inner / "x.txt").write_bytes(_nl(B))
    file.write_bytes(_nl(C))
    (file.parent / "loop").symlink_to(file.parent)
    assert sorted(Tail(file.parent).poll()) == [A, C]
    assert sorted(Tail(file.parent / "**" / "*.*").poll()) == [A, B, C]
    assert Tail(file.parent / "*" / "*" / "*.NDJSON").poll() == [A]


def test_odd_names(file: Path) -> None:
    """A name is what it says, even where it looks like a pattern; a name that is no text is kept as it is."""
    file.with_name("a[1].jsonl").write_bytes(_nl(A))
    assert Tail(file.with_name("a[1].jsonl")).poll() == [A]
    file.with_name("a[1].jsonl").unlink()
    odd = os.fsencode(file.parent) + b"/\xff\xfe.jsonl"
    with open(odd, "wb") as writer:  # noqa: PTH123 - a Path takes no bytes
        writer.write(_nl(B))
    tail = Tail(file.parent / "*.jsonl")
    assert tail.poll() == [B]
    assert tail.chunks[0].source.name == f"{file.parent}/\\xff\\xfe.jsonl"
    tail.restart()
    assert tail.poll() == []


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
def test_a_compressed_file_is_read_once_when_it_has_stopped_growing(
    suffix: str, compress: Compress, file: Path
) -> None:
    packed = file.with_name(f"events.jsonl{suffix}")
    whole = compress(_nl(A, B) + C)
    packed.write_bytes(whole[:20])
    tail = Tail(f"{file}*")
    assert tail.poll() == []
    append(packed, whole[20:])
    assert tail.poll() == []
    assert tail.later() == [A, B, C]
    assert tail.finals == [packed.name]
    tail.restart()
    assert tail.later() == []
    packed.rename(f"{packed}-{suffix}")
    assert tail.later() == []
    file.write_bytes(_nl(A, B, D))  # unpacked by somebody, and written on
    assert tail.later() == [D]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".zst", zstandard.compress)])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_rotated_file_that_was_compressed(
    suffix: str, compress: Compress, wide: bool, restarted: bool, file: Path
) -> None:
    """What was not read of it is read there, and nothing twice; before the new file's lines."""
    tail = Tail(f"{file}*" if wide else file)
    file.write_bytes(_nl(A, B))
    tail.poll()
    append(file, _nl(C))
    content = file.read_bytes()
    if restarted:
        tail.source.close()
    else:
        assert tail.poll() == [C]
    Path(f"{file}.1{suffix}").write_bytes(compress(content))
    file.unlink()
    file.write_bytes(_nl(D))
    if restarted:
        tail.restart()
    assert tail.later(12) == ([C, D] if restarted else [D])
    assert tail.gaps == []
    tail.restart()
    assert tail.later() == []


def test_a_broken_compressed_file_is_trouble_until_it_is_mended(file: Path) -> None:
    packed = file.with_name("events.jsonl.gz")
    content = _nl(*(f"{number:040}".encode() for number in range(50_000)))
    whole = gzip.compress(content)
    packed.write_bytes(whole[: len(whole) // 2])
    os.utime(packed, (1, 1))
    tail = Tail(packed)
    first = tail.later()
    assert 0 < len(first) < 50_000
    assert "is not a whole gzip file (it ends in the middle)" in tail.source.troubles[str(packed)]
    assert (tail.source.away, tail.source.unreadable) == (True, 1)
    assert tail.later() == []
    packed.write_bytes(whole)
    assert first + tail.later() == content.split(b"\n")[:-1]
    assert tail.source.troubles == {}


def test_polls_that_were_not_stored_are_repeated(file: Path) -> None:
    tail = Tail(file)
    file.write_bytes(_nl(A))
    assert tail.poll() == [A]
    append(file, _nl(B))
    assert tail.poll(stored=False) == [B]
    append(file, _nl(C))
    assert tail.poll(stored=False) == [C]
    tail.restart()
    assert tail.poll() == [B, C]


@pytest.mark.parametrize("partial", [b"", B])
def test_after_one_shot_reading(partial: bytes, file: Path) -> None:
    """The two understand each other's positions: a last line that one-shot reading took is not taken again."""
    memory = Memory()
    file.write_bytes(_nl(A) + partial)
    read_file(file, memory)
    tail = Tail(file, memory=memory)
    assert tail.poll() == []
    append(file, b"\n" + C + b"\n" + D)
    assert tail.poll() == ([C] if partial else [b"", C])
    assert [chunk.lines for chunk in read_file(file, memory)] == [[D]]
    tail.restart()
    append(file, b"\n" + E + b"\n")
    assert tail.poll() == [E]
    assert [chunk.lines for chunk in read_file(file, memory)] == [[]]
    file.rename(f"{file}.1")
    append(Path(f"{file}.1"), _nl(F))
    tail.restart()
    assert tail.poll() == [F]


def test_a_position_of_an_earlier_version(file: Path) -> None:
    """It had the hash of everything before it and no windows."""
    memory = Memory()
    for content, found in ((_nl(A, B, C), [C]), (_nl(A, D, C), [A, D, C])):
        file.write_bytes(content)
        status = file.stat()
        known = {"offset": 82, "line": 2, "sha256": hashlib.sha256(_nl(A, B)).hexdigest()}
        memory.found = {f"file:{status.st_dev}:{status.st_ino}": {**known, "partial": None, "final": True}}
        assert Tail(file, memory=memory).later() == found


def test_thousands_of_files(file: Path) -> None:
    """Few of them are open at a time, and each is read."""
    tail = Tail(file.parent / "*.jsonl")
    paths = [file.with_name(f"{number:04}.jsonl") for number in range(1000)]
    for path in paths:
        path.write_bytes(_nl(path.name.encode().ljust(40)))
    assert sorted(tail.poll()) == [path.name.encode().ljust(40) for path in paths]
    assert len(list(Path("/proc/self/fd").iterdir())) < 500
    for path in paths[::100]:
        append(path, _nl(A))
    assert tail.poll() == [A] * 10
    tail.restart()
    assert tail.poll() == []
    for path in paths[::2]:
        path.unlink()
    tail.later()
    assert len(tail.finals) == 500


def test_waiting_is_sleeping(file: Path) -> None:
    tail = Tail(file)
    before = tail.clock.now
    assert tail.source.poll(3) == []
    assert tail.clock.now - before == pytest.approx(3, abs=0.01)


def test_it_is_a_live_source(file: Path) -> None:
    source: LiveSource = Tail(file).source
    assert source.label == str(file)


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"paths": []}, "paths"),
        ({"paths": [""]}, "paths"),
        ({"paths": ["a\0"]}, "NUL"),
        ({"paths": ["a"], "close_after": "500ms"}, "at least"),
        ({"paths": ["a"], "close_after": 5}, "duration in quotes"),
        ({"paths": ["a"], "dialect": "otlp"}, "dialect"),
        ({"paths": ["a"], "pattern": "a"}, "pattern"),
    ],
)
def test_wrong_settings(settings: dict[str, object], wrong: str) -> None:
    with pytest.raises(ValidationError, match=wrong):
        TailSettings.model_validate(settings)


WRITER = """
import os, random, sys
name, count, pieces = sys.argv[1], int(sys.argv[3]), sys.argv[4] == "pieces"
chance = random.Random(name)
file = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
for number in range(count):
    text = f'{name}-{number:05}' + "." * chance.randrange(200) + chr(10)
    cut = chance.randrange(len(text)) if pieces else 0
    for piece in (text[:cut], text[cut:]):
        if piece:
            os.write(file, piece.encode())
"""


def test_lines_of_two_processes_in_one_file(file: Path) -> None:
    """Whole lines of both, each in its order, as they come."""
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, name, str(file), "3000", "lines"]) for name in ("x", "y")]
    source = TailSource(TailSettings(paths=[str(file)]), Memory())
    found: list[str] = []
    while any(writer.poll() is None for writer in writers) or source.lag().get(str(file), 1):
        found += [text for chunk in source.poll(0.2) for text in texts(chunk.lines)]
    for chunk in source.poll(1):
        found += texts(chunk.lines)
    source.close()
    assert len(found) == 6000
    for name in ("x", "y"):
        assert [text[:7] for text in found if text[0] == name] == [f"{name}-{number:05}" for number in range(3000)]


def test_pieces_of_two_processes_in_one_file(file: Path) -> None:
    """Which bytes stand between two newlines is the producers' affair; all of them are handed out, once."""
    command = [sys.executable, "-c", WRITER]
    writers = [subprocess.Popen([*command, name, str(file), "2000", "pieces"]) for name in ("x", "y")]
    source = TailSource(TailSettings(paths=[str(file)]), Memory())
    found: list[bytes] = []
    while any(writer.poll() is None for writer in writers) or source.lag().get(str(file), 1):
        found += [text for chunk in source.poll(0.2) for text in chunk.lines if isinstance(text, bytes)]
    for chunk in source.poll(1):
        found += [text for text in chunk.lines if isinstance(text, bytes)]
    source.close()
    assert _nl(*found) == file.read_bytes()


def test_through_the_pipeline(file: Path, data: Path, ingest: Ingest) -> None:
    """One-shot reading, two producers that rotate their files, a reader that is made anew after every commit."""
    file.write_bytes(lines("before-1") + b"{" + b"\n" + line("before-2"))
    assert ingest(file).lines == 3
    settings = TailSettings(paths=[f"{file.parent}/*.jsonl*"])
    program = """
import json, os, sys, time
sys.path.insert(0, os.getcwd())
from pathlib import Path
from tests.ingest.builders import line
path, name = Path(sys.argv[1]), sys.argv[2]
with_newline = name == "p"
file = path.open("ab", buffering=0)
if with_newline:
    file.write(b"\\n")
for number in range(600):
    file.write(line(f"{name}-{number}") + b"\\n")
    if number % 100 == 50:
        path.rename(f"{path}.{name}{number}")
        file.write(line(f"{name}-late-{number}") + b"\\n")
        file = path.open("ab", buffering=0)
    time.sleep(0.001)
"""
    paths = {"p": file, "q": file.with_name("other.jsonl")}
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([sys.executable, "-c", program, str(paths[name]), name], cwd=root) for name in paths]
    until = None
    while until is None or time.monotonic() < until:
        with Pipeline(data) as pipeline:
            source = TailSource(settings, pipeline.positions)
            for _ in range(3):
                received = source.poll(0.3)
                if received:
                    pipeline.commit(received)
            source.poll(0)  # handed out, and lost with the process
            source.close()
        if until is None and all(writer.poll() is not None for writer in writers):
            until = time.monotonic() + 8  # the grace of the rotated files, and some
    expected = {"before-1", "before-2"}
    for name in paths:
        expected |= {f"{name}-{number}" for number in range(600)}
        expected |= {f"{name}-late-{number}" for number in range(50, 600, 100)}
    assert {event for (event,) in query(data, "SELECT event_id FROM events")} == expected
    counts = query(data, "SELECT sum(lines), sum(accepted), sum(duplicate), sum(quarantined), sum(blank) FROM batches")
    assert counts == [(len(expected) + 1, len(expected), 0, 1, 0)]
    assert stat.S_ISREG(file.stat().st_mode)
