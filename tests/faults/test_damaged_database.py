"""A work database that was cut, flipped, replaced or made by another version: one line that names `gatewatch rebuild`.

DuckDB keeps a checksum of every block, so a flipped bit is noticed at the latest when `verify` reads its block; only in
a block that is not in use does it go unnoticed, where it changes nothing.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from ingest.errors import StoreError
from ingest.pipeline import Pipeline, rebuild, verify
from tests.gatewatch.terminal import gatewatch
from tests.ingest.builders import line, query, tables

HEADERS = 3 * 4096
"""Bytes of DuckDB's three headers, of which it uses two in turn."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory of 60 lines, two of them refused. Read only."""
    folder = tmp_path_factory.mktemp("made")
    content = [line(f"e{number}", note=f"n{number}") for number in range(58)]
    (folder / "e.jsonl").write_bytes(b"\n".join([*content, b"{", line("e1", tool="fax")]) + b"\n")
    with Pipeline(folder / "data") as pipeline:
        pipeline.ingest_paths([str(folder / "e.jsonl")])
    return folder / "data"


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """A copy of it, to be damaged."""
    return shutil.copytree(made, tmp_path / "data")


def cut(share: float) -> Callable[[Path], None]:
    """Only so much of the file is left."""

    def damage(file: Path) -> None:
        file.write_bytes(file.read_bytes()[: int(file.stat().st_size * share)])

    return damage


def empty(file: Path) -> None:
    """The file is there, and has no bytes."""
    file.write_bytes(b"")


def text(file: Path) -> None:
    """Somebody wrote notes into it."""
    file.write_text("dear diary,\n" * 5000)


def of_version(version: str) -> Callable[[Path], None]:
    """The file of a gatewatch with another version of the tables."""

    def damage(file: Path) -> None:
        with duckdb.connect(str(file)) as connection:
            connection.execute("UPDATE meta SET value = $version WHERE key = 'version'", {"version": version})

    return damage


def another_layout(file: Path) -> None:
    """A column of events is missing, as before it was added."""
    with duckdb.connect(str(file)) as connection:
        connection.execute("ALTER TABLE events DROP COLUMN undo")
        connection.execute("UPDATE meta SET value = 'older' WHERE key = 'layout'")


def another_database(file: Path) -> None:
    """A DuckDB file of somebody else."""
    file.unlink()
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")


def flip(positions: range) -> Callable[[Path], None]:
    """One bit is flipped at each of these bytes."""

    def damage(file: Path) -> None:
        content = bytearray(file.read_bytes())
        for position in positions:
            content[position % len(content)] ^= 1 << position % 8
        file.write_bytes(content)

    return damage


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        pytest.param(cut(0.0005), "", id="cut in the first header"),
        pytest.param(cut(0.3), "", id="cut to a third"),
        pytest.param(empty, "", id="empty"),
        pytest.param(text, "", id="text"),
        pytest.param(of_version("99"), "was made by a newer gatewatch", id="newer"),
        pytest.param(of_version("0"), "was made by another version of gatewatch", id="older"),
        pytest.param(of_version("x"), "was made by another version of gatewatch", id="version is no number"),
        pytest.param(another_layout, "was made by another version of gatewatch", id="another layout"),
        pytest.param(another_database, "", id="another database"),
        pytest.param(flip(range(9, HEADERS, 512)), "", id="flips in the headers"),
        pytest.param(flip(range(HEADERS, 1 << 21, 4096)), "", id="flips everywhere"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_rebuilt(
    damage: Callable[[Path], None], said: str, made: Path, data: Path
) -> None:
    """Whoever uses it is told once, in one line; nothing is read from it, and nothing is lost."""
    damage(data / "work.duckdb")
    with Pipeline(data) as pipeline, pytest.raises(StoreError) as raised:
        pipeline.ingest_paths([str(made.parent / "e.jsonl")])
    assert "`gatewatch rebuild`" in str(raised.value)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert verify(data).problems
    assert rebuild(data).lines == 60
    assert tables(data) == tables(made)
    assert verify(data).problems == []


@pytest.mark.parametrize("number", range(12))
def test_one_flipped_bit_is_found(number: int, made: Path, data: Path) -> None:
    """At the latest by `verify`; whatever works in spite of it does so on the right rows."""
    file = data / "work.duckdb"
    position = random.Random(number).randrange(0 if number % 3 == 0 else HEADERS, file.stat().st_size)
    flip(range(position, position + 1))(file)
    _found_at_the_latest_by_verify(data, made)


@pytest.mark.parametrize("share", [0.6, 0.9, 0.99])
def test_a_file_that_lost_its_end_is_found(share: float, made: Path, data: Path) -> None:
    """DuckDB opens it as long as nothing asks for a block that is gone."""
    cut(share)(data / "work.duckdb")
    _found_at_the_latest_by_verify(data, made)


def _found_at_the_latest_by_verify(data: Path, made: Path) -> None:
    said = complaint(data, made)
    assert said is None or "`gatewatch rebuild`" in said
    found = verify(data).problems
    assert all("`gatewatch rebuild`" in problem for problem in found), found
    if not found:  # the block is not in use
        assert events(data) == events(made)
    rebuild(data)
    assert tables(data) == tables(made)
    assert verify(data).problems == []


def complaint(data: Path, made: Path) -> str | None:
    """What an ingest of the same file again says about the database; None: nothing."""
    try:
        with Pipeline(data) as pipeline:
            pipeline.ingest_paths([str(made.parent / "e.jsonl")])
    except StoreError as error:
        return str(error)
    return None


def events(data: Path) -> list[tuple[Any, ...]]:
    """Every event with all its columns."""
    return query(data, "SELECT * FROM events ORDER BY seq")


def nothing(log: bytes) -> bytes:
    """An empty log."""
    return b""


def half(log: bytes) -> bytes:
    """The second half of it did not reach the disk."""
    return log[: len(log) // 2]


def zeros(log: bytes) -> bytes:
    """The sectors of its end read as zeros."""
    return log[: len(log) // 2] + bytes(len(log) - len(log) // 2)


def noise(log: bytes) -> bytes:
    """Something else altogether."""
    return random.Random(1).randbytes(5000)


def bit(log: bytes) -> bytes:
    """One bit in the middle is another."""
    changed = bytearray(log)
    changed[len(log) // 2] ^= 4
    return bytes(changed)


@pytest.mark.parametrize("change", [nothing, half, zeros, noise, bit])
def test_a_damaged_write_ahead_log(change: Callable[[bytes], bytes], made: Path, tmp_path: Path) -> None:
    """Refused with the way out, or the file is simply behind the ledger, which every start makes good."""
    data = tmp_path / "data"
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(made.parent / "e.jsonl")])
        log = (data / "work.duckdb.wal").read_bytes()
        killed = shutil.copytree(data, tmp_path / "killed")  # as a killed process leaves it
    assert len(log) > 1000
    (killed / "work.duckdb.wal").write_bytes(change(log))
    said = complaint(killed, made)
    if said is None:
        assert events(killed) == events(made)
        assert verify(killed).problems == []
    else:
        assert "`gatewatch rebuild`" in said
    rebuild(killed)
    assert events(killed) == events(made)
    assert verify(killed).problems == []


def test_the_command_line_says_it(data: Path, made: Path) -> None:
    """Exit 3 and one line; after the command that it names, all is as before."""
    flip(range(HEADERS, 1 << 21, 4096))(data / "work.duckdb")
    result = gatewatch("--data", data, "ingest", made.parent / "e.jsonl")
    assert result.code == 3
    assert "`gatewatch rebuild`" in result.complaint
    assert gatewatch("--data", data, "rebuild").code == 0
    assert gatewatch("--data", data, "verify").code == 0
    assert tables(data)["events"] == tables(made)["events"]
