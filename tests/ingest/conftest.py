"""Fixtures of the ingest tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest.accounting import Accounting
from ingest.pipeline import Pipeline
from tests.ingest.builders import Ingest


@pytest.fixture
def shared_data() -> Path:
    """The folder of real files that lies beside the checkout where it is developed."""
    folder = Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("platform: the folder of real files is not beside this checkout")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def ingest(data: Path) -> Ingest:
    """Ingest paths into `data`, each call like a run of its own."""

    def run(*paths: Path | str, dialect: str = "auto") -> Accounting:
        with Pipeline(data) as pipeline:
            accounting = pipeline.ingest_paths([str(path) for path in paths], dialect)
        assert accounting.balanced
        return accounting

    return run


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 64 bytes, chunks of 600 and each a commit of its own, so that small files take several of each."""
    monkeypatch.setattr("ingest.sources.jsonl._BLOCK_BYTES", 64)
    monkeypatch.setattr("ingest.sources.jsonl.MAX_CHUNK_BYTES", 600)
    monkeypatch.setattr("ingest.commits.MAX_COMMIT_LINES", 1)
    monkeypatch.setattr("ingest.ledger.recovery.MAX_COMMIT_LINES", 1)
