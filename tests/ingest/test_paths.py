"""What the arguments of `ingest` stand for; a wrong one is said before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingest.errors import SourceError
from ingest.pipeline import Pipeline
from ingest.sources.paths import JsonLines, Records, plan
from tests.ingest.builders import Ingest, line, lines, query, record


def test_a_folder_is_its_json_lines_and_its_records(tmp_path: Path) -> None:
    inner = tmp_path / "in"
    inner.mkdir()
    for name in ("b.jsonl", "a.ndjson.gz", "in/c.JSONL.zst", "x.json", "y.txt", "z.jsonl.bak"):
        (tmp_path / name).write_bytes(b"")
    for name in ("in/r.md", "s.YAML", "README.md"):
        (tmp_path / name).write_text(record())
    records = [tmp_path / name for name in ("README.md", "in/r.md", "s.YAML")]
    assert plan([str(tmp_path)]) == [
        JsonLines(str(tmp_path / "a.ndjson.gz")),
        JsonLines(str(tmp_path / "b.jsonl")),
        JsonLines(str(tmp_path / "in/c.JSONL.zst")),
        Records(tmp_path, records),
    ]


def test_every_source_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    path = str(tmp_path / "a.jsonl")
    assert plan([path, path, str(tmp_path / "*.jsonl"), str(tmp_path)]) == [JsonLines(path)]


def test_odd_names(tmp_path: Path) -> None:
    for name in ("a[1].jsonl", "b b.jsonl", "c.log"):
        (tmp_path / name).write_bytes(b"")
        assert plan([str(tmp_path / name)]) == [JsonLines(str(tmp_path / name))]
    assert plan(["-"]) == [JsonLines("-")]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.jsonl", "gone.jsonl does not exist: check the path"),
        ("*.gone", r"\*.gone matches no file: check the pattern"),
        ("empty", r"empty holds no decision record and no JSON lines \(\.jsonl, \.ndjson\): check the path"),
        ("prose", "prose holds no decision record and no JSON lines"),
        ("prose/README.md", "README.md is no decision record: it has neither the heading nor a decision_id"),
        ("dangling.jsonl", "dangling.jsonl does not exist: check the path"),
    ],
)
def test_what_cannot_be_read_is_said_before_anything_is_written(
    name: str, message: str, tmp_path: Path, data: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "prose").mkdir()
    (tmp_path / "prose" / "README.md").write_text("# Notes\n")
    (tmp_path / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (tmp_path / "good.jsonl").write_bytes(lines("a"))
    with Pipeline(data) as pipeline, pytest.raises(SourceError, match=message) as raised:
        pipeline.ingest_paths([str(tmp_path / "good.jsonl"), str(tmp_path / name)])
    assert "\n" not in str(raised.value)
    assert not data.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="platform: root may read everything")
def test_a_forbidden_file_is_said_before_anything_is_written(tmp_path: Path, data: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    (tmp_path / "a.jsonl").chmod(0)
    with Pipeline(data) as pipeline, pytest.raises(SourceError, match=r"cannot be read \(permission denied\)"):
        pipeline.ingest_paths([str(tmp_path / "a.jsonl")])
    assert not data.exists()


def test_links_are_not_followed_out_of_the_folder(tmp_path: Path, ingest: Ingest, data: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "r.md").write_text(record("OUT"))
    (outside / "e.jsonl").write_bytes(lines("out"))
    (folder / "in.md").write_text(record("IN"))
    (folder / "link.md").symlink_to(outside / "r.md")
    (folder / "link.jsonl").symlink_to(outside / "e.jsonl")
    (folder / "links").symlink_to(outside)
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "inside.yaml").symlink_to(folder / "in.md")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    found = ingest(folder)
    assert (found.accepted, found.duplicate) == (1, 1)
    assert query(data, "SELECT decision_id FROM events") == [("IN",)]


def test_what_gatewatch_keeps_itself_is_no_source(tmp_path: Path, data: Path, ingest: Ingest) -> None:
    """Each run would read what the one before wrote into the ledger; other files in the data directory are read."""
    (tmp_path / "a.jsonl").write_bytes(lines("a"))
    assert ingest(tmp_path).accepted == 1
    (data / "demo").mkdir()
    (data / "demo" / "b.jsonl").write_bytes(lines("b"))
    (tmp_path / "link.ndjson").symlink_to(data / "ledger" / "00000001.ndjson")
    for argument, accepted in ((tmp_path, 1), (f"{tmp_path}/**/*.*json*", 0), (data, 0)):
        found = ingest(argument)
        assert (found.accepted, found.quarantined) == (accepted, 0)
    with pytest.raises(SourceError, match="does not exist"):
        ingest("a\0")
    (data / "keys").mkdir()
    for name, fix in (
        ("data/ledger/00000001.ndjson", "use `gatewatch rebuild` or `gatewatch verify --ledger`"),
        ("data/ledger", "use `gatewatch rebuild`"),
        ("data/led*/*", "use `gatewatch rebuild`"),
        ("link.ndjson", "use `gatewatch rebuild`"),
        ("data/keys", "name other files"),
        ("data/work.duckdb", "name other files"),
    ):
        with pytest.raises(SourceError, match="is what gatewatch itself keeps in its data directory") as raised:
            ingest(tmp_path / name)
        assert fix in str(raised.value)
        assert "\n" not in str(raised.value)
    assert query(data, "SELECT event_id FROM events ORDER BY 1") == [("a",), ("b",)]


def test_one_broken_source_does_not_keep_the_others(tmp_path: Path, data: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"no gzip")
    (tmp_path / "b.jsonl").write_bytes(line("b"))
    (tmp_path / "c.jsonl.zst").write_bytes(b"no zstd")
    with (
        Pipeline(data) as pipeline,
        pytest.raises(SourceError, match=r"a.jsonl.gz .*\(and 1 more sources failed\)") as raised,
    ):
        pipeline.ingest_paths([str(tmp_path)])
    assert raised.value.accounting is not None
    assert raised.value.accounting.accepted == 1
    assert query(data, "SELECT event_id FROM events") == [("b",)]
