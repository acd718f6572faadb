"""Whatever producers and rotation do to their files, and whenever the reader dies: each line is stored once, in order.

A history is random: lines, halves of lines, lines that are too long and rubbish are appended; files are rotated by
rename (the producer writes on for a while) or by copytruncate, compressed, emptied, deleted and made anew, replaced,
moved away and back; the reader polls, stores all, some or nothing of it, and starts anew from what was stored. The
model below knows what was written, and what may be lost by design: lines that nobody could read before they were
deleted. Nothing else may be missing and nothing may be there twice.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from ingest.lines import Line, OverLong
from ingest.sources.tail.state import LEAST_TO_RECOGNISE
from tests.ingest.tailing import Tail

LONGEST = 200
HISTORIES = 20_000 if os.environ.get("GATEWATCH_FAULTS") == "all" else 400
BLOCK = 50


class Content:
    """What was written from the moment a file was empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: list[Line] = []
        self.open_line = b""
        self.marked = False
        self.stored = 0  # lines of it that the reader has stored


class World:
    """A folder with two producers, what they wrote, and the reader."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.log: list[str] = []
        self.number = 0
        self.wide = self.random.random() < 0.5
        self.tail = Tail(folder / ("*.jsonl*" if self.wide else "*.jsonl"))
        self.contents: list[Content] = []
        self.active: dict[str, Content | None] = {"a.jsonl": None, "b.jsonl": None}
        self.writers: dict[str, int] = {}
        self.optional: Counter[Line] = Counter()
        self.found: list[Line] = []
        self.rotated: dict[str, list[Content]] = {"a.jsonl": [], "b.jsonl": []}
        self.owners: dict[Line, Content] = {}

    # What the producer does.

    def text(self) -> bytes:
        """The next line: never the same twice, and rubbish of every kind."""
        self.number += 1
        text = b"%06d " % self.number + b"." * self.random.choice([33, 40, 90, LONGEST - 7, LONGEST - 6, 3 * LONGEST])
        return self.random.choice([text, text, text, text + b"\r", text + b"\0\xff\x80", b"\0" + text])

    def append(self, name: str) -> None:
        content = self.active[name] or self.create(name)
        for _ in range(self.random.choice([1, 1, 2, 5, 20])):
            if self.random.random() < 0.1:
                self.write(name, content, b"\n")
            self.write(name, content, self.text() + b"\n")

    def piece(self, name: str) -> None:
        content = self.active[name] or self.create(name)
        text = self.text()
        self.write(name, content, text[: self.random.randrange(40, len(text) + 1)])

    def end_line(self, name: str) -> None:
        content = self.active[name]
        if content is not None and content.open_line:
            self.write(name, content, b"#\n")

    def create(self, name: str) -> Content:
        content = Content(self.folder / name)
        self.writers[name] = os.open(content.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC)
        self.active[name] = content
        self.contents.append(content)
        if self.random.random() < 0.2:
            os.write(self.writers[name], b"\xef\xbb\xbf")
            content.marked = True
        return content

    def write(self, name: str, content: Content, data: bytes) -> None:
        os.write(self.writers[name], data)
        self.account(content, data)

    def account(self, content: Content, data: bytes) -> None:
        *complete, content.open_line = (content.open_line + data).split(b"\n")
        for text in complete:
            # A line that is too long is told as the file has it, with the mark.
            marked = b"\xef\xbb\xbf" + text if content.marked and not content.lines else text
            kept = OverLong(len(marked), hashlib.sha256(marked).hexdigest()) if len(marked) > LONGEST else text
            content.lines.append(kept)
            self.owners[kept] = content

    def stop_writing(self, name: str) -> Content | None:
        content, self.active[name] = self.active[name], None
        if content is not None:
            os.close(self.writers.pop(name))
            self.cut(content)
        return content

    def cut(self, content: Content) -> None:
        """What stands at the end without a newline may be handed out as a line, or not."""
        text, content.open_line = content.open_line, b""
        if text:
            marked = b"\xef\xbb\xbf" + text if content.marked and not content.lines else text
            kept = OverLong(len(marked), hashlib.sha256(marked).hexdigest()) if len(marked) > LONGEST else text
            # Of a content of which less was read than can be recognised, a copy is another file.
            self.optional[kept] += 1 if self.known(content) else 2

    def at_risk(self, content: Content) -> None:
        self.optional.update(content.lines[content.stored :])

    # What rotation does.

    def known(self, content: Content | None) -> bool:
        """Whether a reader that starts now can know the content again."""
        return content is not None and any(line != b"" for line in content.lines[: content.stored])

    def shift(self, name: str) -> Path:
        kept = self.rotated[name]
        for content in kept:
            stem, number, *suffix = content.path.name.removeprefix(name + ".").partition(".")
            del number
            target = self.folder / f"{name}.{int(stem) + 1}{'.' if suffix[0] else ''}{suffix[0]}"
            content.path.rename(target)
            content.path = target
        kept.sort(key=lambda content: content.path.name, reverse=True)
        return self.folder / f"{name}.1"

    def rename(self, name: str) -> None:
        content = self.active[name]
        if content is None or not (self.wide or self.known(content)):
            return
        target = self.shift(name)
        content.path.rename(target)
        content.path = target
        self.rotated[name].append(content)
        for _ in range(self.random.choice([0, 0, 1, 2])):
            self.reader()
            self.append(name)
        self.end_line(name)
        self.stop_writing(name)
        if self.random.random() < 0.7:
            self.create(name)

    def copytruncate(self, name: str) -> None:
        content = self.active[name]
        if content is None or not (self.wide or self.known(content)):
            return
        between = self.known(content) and self.random.random() < 0.5
        target = self.shift(name)
        whole = content.path.read_bytes()
        if between and self.random.random() < 0.5:
            half = self.random.randrange(LEAST_TO_RECOGNISE, len(whole))
            target.write_bytes(whole[:half])
            self.reader()
            with target.open("ab") as copy:
                copy.write(whole[half:])
        else:
            target.write_bytes(whole)
        if between:
            self.reader()
        copied = Content(target)
        copied.lines, copied.stored, copied.marked = content.lines, content.stored, content.marked
        for line in copied.lines:
            self.owners[line] = copied
        copied.open_line = content.open_line
        self.contents[self.contents.index(content)] = copied
        self.rotated[name].append(copied)
        self.cut(copied)
        os.truncate(self.folder / name, 0)
        fresh = Content(self.folder / name)
        self.contents.append(fresh)
        self.active[name] = fresh

    def compress(self, name: str) -> None:
        plain = [content for content in self.rotated[name] if content.path.suffix not in (".gz", ".zst")]
        plain = [content for content in plain if content is not self.active[name]]
        plain = [content for content in plain if self.wide or self.known(content)]
        if not plain:
            return
        content = self.random.choice(plain)
        zipped = self.random.random() < 0.7
        target = content.path.with_name(content.path.name + (".gz" if zipped else ".zst"))
        whole = content.path.read_bytes()
        packed = gzip.compress(whole, mtime=0) if zipped else zstandard.compress(whole)
        half = self.random.randrange(len(packed)) if self.known(content) and self.random.random() < 0.5 else 0
        target.write_bytes(packed[:half])
        if half:
            self.reader()
        with target.open("ab") as file:
            file.write(packed[half:])
        if self.known(content) and self.random.random() < 0.3:
            self.reader()
        content.path.unlink()
        content.path = target

    def empty(self, name: str) -> None:
        content = self.active[name]
        if content is not None:
            self.at_risk(content)
            self.cut(content)
            os.truncate(content.path, 0)
            self.active[name] = Content(content.path)
            self.contents.append(self.active[name])

    def delete(self, name: str) -> None:
        content = self.stop_writing(name)
        if content is not None:
            self.at_risk(content)
            content.path.unlink()
            if self.random.random() < 0.5:
                self.reader()
            self.create(name)

    def replace(self, name: str) -> None:
        content = self.stop_writing(name)
        if content is not None:
            self.at_risk(content)
            path = content.path
            self.create("new")
            self.append("new")
            self.writers[name], self.active[name] = self.writers.pop("new"), self.active.pop("new")
            (self.folder / "new").rename(path)
            self.active[name].path = path

    def away_and_back(self, name: str) -> None:
        content = self.active[name]
        if self.known(content):
            parked = self.folder / f"parked-{name}.tmp"
            content.path.rename(parked)
            self.reader()
            self.append(name)
            parked.rename(content.path)

    # What the reader does.

    def reader(self) -> None:
        for _ in range(self.random.choice([1, 1, 2, 3])):
            self.random.choice([self.poll, self.poll, self.wait, self.die])()

    def store(self, chunks: list) -> None:
        for chunk in chunks:
            self.tail.memory.found |= chunk.positions
            self.found += chunk.lines
            for line in chunk.lines:
                if line in self.owners and line != b"":
                    content = self.owners[line]
                    if line in content.lines[content.stored :]:
                        content.stored = content.lines.index(line, content.stored) + 1

    def poll(self) -> None:
        self.tail.poll(stored=False)
        self.store(self.tail.chunks)

    def wait(self) -> None:
        self.tail.clock.now += 6

    def die(self) -> None:
        """Some of what was handed out is stored, the rest is not."""
        if self.random.random() < 0.7:
            self.tail.poll(stored=False)
            self.store(self.tail.chunks[: self.random.randrange(len(self.tail.chunks) + 1)])
        self.tail.restart()

    def run(self) -> None:
        producer: list[Callable[[str], None]] = [self.append, self.append, self.append, self.piece, self.end_line]
        rotation = [self.rename, self.rename, self.copytruncate, self.copytruncate, self.compress, self.compress]
        accidents = [self.empty, self.delete, self.replace, self.away_and_back]
        for _ in range(self.random.choice([10, 20, 40])):
            kinds = self.random.choices([producer, rotation, accidents, None], [5, 2, 0.5, 4])[0]
            name = self.random.choice(["a.jsonl", "a.jsonl", "b.jsonl"])
            if kinds is None:
                self.note("reader")
                self.reader()
            else:
                act = self.random.choice(kinds)
                self.note(f"{act.__name__} {name}")
                act(name)
        for name in ("a.jsonl", "b.jsonl"):
            self.end_line(name)
        for _ in range(8):
            self.poll()
            self.wait()
        self.check()
        self.tail.restart()
        for _ in range(8):
            self.poll()
            self.wait()
        self.check()

    def note(self, what: str) -> None:
        self.log.append(what)

    def check(self) -> None:
        written = Counter(line for content in self.contents for line in content.lines if line != b"")
        found = Counter(line for line in self.found if line != b"")
        missing = written - found - self.optional
        assert not missing, f"lost: {sorted(missing, key=str)}"
        surplus = found - written - self.optional
        assert not surplus, f"doubled or made up: {sorted(surplus, key=str)}"
        place = {line: index for index, line in enumerate(self.found)}
        for content in self.contents:
            places = [place[line] for line in content.lines if line in place and line != b""]
            assert places == sorted(places), "out of order"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Small limits, so that short files have every kind of end."""

    def set_limits(window: int) -> None:
        for module in ("tail.file", "splitter"):
            monkeypatch.setattr(f"ingest.sources.{module}.MAX_LINE_BYTES", LONGEST)
        for module in ("tail.file", "jsonl", "tail.source"):
            monkeypatch.setattr(f"ingest.sources.{module}.MAX_CHUNK_BYTES", 3 * LONGEST)
        monkeypatch.setattr("ingest.sources.jsonl._BLOCK_BYTES", 64)
        for module in ("fingerprint", "tail.file", "tail.copies", "tail.packed"):
            monkeypatch.setattr(f"ingest.sources.{module}.WINDOW_BYTES", window)

    return set_limits


@pytest.mark.parametrize("block", range(HISTORIES // BLOCK))
def test_no_line_is_lost_or_doubled(block: int, tmp_path: Path, small: Callable[[int], None]) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        small(64 if seed % 2 else 1024)
        folder = tmp_path / str(seed)
        folder.mkdir()
        world = World(folder, seed)
        try:
            world.run()
        except AssertionError as error:
            raise AssertionError(f"history {seed} (wide: {world.wide}): {error}\n" + "\n".join(world.log)) from None
        finally:
            world.tail.source.close()
            for descriptor in world.writers.values():
                os.close(descriptor)
            shutil.rmtree(folder)
