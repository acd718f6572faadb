"""A small ledger with everything around it that somebody could tamper with, and the means to do so."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import zstandard

from ingest.checkpointer import Checkpointer
from ingest.ledger import segments
from ingest.ledger.checkpoints import CheckpointSettings, Signed, read_outside
from ingest.ledger.files import segment_files
from ingest.ledger.keys import make_keys
from ingest.ledger.note import VerifierKey
from ingest.pipeline import Pipeline
from ingest.redact import Redacted
from ingest.tree_check import Outside
from ingest.validate import Batch, RowValidator, Validated
from tests.ingest.builders import line, record

SEGMENT_BYTES = 9_000
ROUNDS = 8
SIGNED_AFTER = (2, 4, 5, 7)
"""Rounds of ingest after which a checkpoint was signed; the last one goes outside."""


@dataclass(frozen=True)
class Base:
    """An untouched data directory, older copies of it, and what was kept elsewhere."""

    data: Path
    older: dict[int, Path]
    key: VerifierKey
    kept: Signed

    @property
    def outside(self) -> Outside:
        """The public key and the newest checkpoint, as somebody kept them who does not trust this machine."""
        return Outside([self.key], [self.kept])


def make_base(folder: Path) -> Base:
    """Eight rounds of ingest: good, bad, repeated, conflicting and redacted lines, records, sealed segments."""
    data, inputs, outside = folder / "data", folder / "in", folder / "outside"
    inputs.mkdir()
    key = make_keys(data / "keys", "example.com/log")
    settings = CheckpointSettings(files=[outside])
    older: dict[int, Path] = {}
    with patch.object(segments, "SEGMENT_BYTES", SEGMENT_BYTES):
        for number in range(ROUNDS):
            mixed = [line(f"e{number}-{index}", note2=number) for index in range(4)]
            mixed[2:2] = [b"{", b"", line(f"e{number}-0", note2=number), line(f"m{number}", reason="write to a@b.co")]
            if number:
                mixed.append(line(f"e{number - 1}-1", tool="fax"))
            (inputs / f"{number}.jsonl").write_bytes(b"\n".join(mixed) + b"\n")
            (inputs / f"{number}.more.jsonl").write_bytes(line(f"x{number}") + b"\n")
            (inputs / f"{number}.md").write_text(record(f"R{number}"))
            with Pipeline(data) as pipeline:
                pipeline.ingest_paths([str(path) for path in sorted(inputs.glob(f"{number}.*"))])
                if number in SIGNED_AFTER:
                    checkpointer = Checkpointer(data, settings)
                    assert checkpointer.sign(pipeline.ledger_state()) is not None
                    assert checkpointer.publish() == []
            older[number] = shutil.copytree(data, folder / f"older-{number}", symlinks=True)
    (kept,) = read_outside(outside)
    return Base(data, older, key.verifier, kept)


@dataclass
class Trial:
    """One copy to be tampered with. `changed` is cleared by who finds that nothing was changed after all.

    `thorough`: everything is made to fit, the database too, which takes long; else only what nobody else looks at.
    """

    base: Base
    data: Path
    chance: random.Random
    thorough: bool = True
    changed: bool = True

    @property
    def ledger(self) -> Path:
        """The folder of segments."""
        return self.data / "ledger"


class What(Enum):
    """What is tampered with, which says who has to notice."""

    LEDGER = "the ledger: by its signatures, and by the database too where there are none"
    BESIDE = "what lies beside the segments: by its own form and signatures"
    DATABASE = "the database: by the ledger"
    EVERYTHING = "everything, so that it fits: only by what was kept outside"


@dataclass(frozen=True)
class Kind:
    """A way of tampering, what with, and how often it is tried when all is tried."""

    tamper: Callable[[Trial], None]
    what: What
    times: int
    live: bool = False
    """Whether only `verify` on the data directory can notice: a copy of the ledger may well look like that."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.tamper.__name__


KINDS: dict[str, Kind] = {}


def kind(what: What, times: int, *, live: bool = False) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:
    """Register a way of tampering, to be tried so many times."""

    def register(tamper: Callable[[Trial], None]) -> Callable[[Trial], None]:
        KINDS[tamper.__name__] = Kind(tamper, what, times, live)
        return tamper

    return register


def copied(base: Base, folder: Path) -> Path:
    """A copy for one trial. Databases are large, and linked: who changes one has to copy it first."""
    shutil.copytree(base.data, folder, symlinks=True, ignore=shutil.ignore_patterns("*.duckdb", "lock"))
    os.link(base.data / "work.duckdb", folder / "work.duckdb")
    return folder


class Remembering:
    """A validator that judges the same lines only once: most of a trial would be spent on it."""

    def __init__(self) -> None:
        self._validator = RowValidator()
        self._judged = cache(self._judge)

    def _judge(self, lines: tuple[Any, ...], seq: int, dialect: str) -> Validated:
        return self._validator.validate_all([Batch(list(lines), seq, dialect)])[0]

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts on the lines."""
        return [self._judged(tuple(batch.lines), batch.first_seq, batch.dialect) for batch in batches]

    def receive_all(self, batches: Sequence[Batch]) -> list[tuple[Redacted, Validated]]:
        """The lines without what may not be kept, and the verdicts."""
        return self._validator.receive_all(batches)


Chunk = tuple[dict[str, Any], list[bytes]]
"""Header and lines, read and written here without the code that is tested."""


def numbers(ledger: Path) -> list[int]:
    """The segments."""
    return list(segment_files(ledger))


def content(ledger: Path, number: int) -> bytes:
    """What a segment holds, sealed or not."""
    file = segment_files(ledger)[number]
    held = file.path.read_bytes()
    return zstandard.ZstdDecompressor().decompress(held) if file.sealed else held


def rewrite(ledger: Path, number: int, held: bytes) -> None:
    """Let a segment hold something else, in the form that it has."""
    file = segment_files(ledger)[number]
    if file.sealed:
        held = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True).compress(held)
    file.path.write_bytes(held)


def chunks(held: bytes) -> list[Chunk]:
    """The chunks of a segment."""
    found: list[Chunk] = []
    while held:
        header, _, rest = held.partition(b"\n")
        told = json.loads(header)
        payload, held = rest[: told["bytes"]], rest[told["bytes"] + 1 :]
        found.append((told, payload.split(b"\n") if told["lines"] else []))
    return found


def encoded(chunk: Chunk, *, honest: bool = True) -> bytes:
    """A chunk's bytes; `honest`: the header's counts and hash are made to fit the lines."""
    header, lines = dict(chunk[0]), chunk[1]
    payload = b"\n".join(lines)
    if honest:
        header |= {"lines": len(lines), "bytes": len(payload), "sha256": hashlib.sha256(payload).hexdigest()}
    return json.dumps(header, separators=(",", ":")).encode() + b"\n" + payload + b"\n"


def all_chunks(ledger: Path) -> dict[int, list[Chunk]]:
    """The chunks by segment."""
    return {number: chunks(content(ledger, number)) for number in numbers(ledger)}


def write_all(ledger: Path, found: dict[int, list[Chunk]], *, renumber: bool = True) -> None:
    """Every segment anew; `renumber`: chunks and lines are counted through, as if they had always been these."""
    leaf, seq = 0, 1
    for number, held in found.items():
        for header, lines in held:
            if renumber:
                # What is where it was keeps its commit, and with it every byte.
                header |= {"leaf": leaf, "commit": header["commit"] if header["leaf"] == leaf else leaf, "seq": seq}
                leaf, seq = leaf + 1, seq + len(lines)
        rewrite(ledger, number, b"".join(map(encoded, held)))


def pick(trial: Trial, *, lines: int = 0) -> tuple[int, list[Chunk], int]:
    """A random segment, its chunks, and the place of one with at least so many lines."""
    found = [
        (number, held, place)
        for number, held in all_chunks(trial.ledger).items()
        for place, chunk in enumerate(held)
        if len(chunk[1]) >= lines
    ]
    return trial.chance.choice(found)
