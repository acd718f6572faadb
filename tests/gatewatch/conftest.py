"""Data directories that are made once: the real files, and the generator's sample."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.gatewatch.terminal import XENIA, Result, gatewatch


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees a configuration or data of whoever runs it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GATEWATCH_DATA", raising=False)
    monkeypatch.delenv("GATEWATCH_POLICY", raising=False)
    monkeypatch.delenv("GATEWATCH_RULES", raising=False)


@pytest.fixture(scope="session")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The real files, ingested: the data directory and what the command said. Read only."""
    if not XENIA.is_dir():
        pytest.skip("platform: the folder of real files is not beside this checkout")
    data = tmp_path_factory.mktemp("real") / "data"
    return data, gatewatch("--data", data, "ingest", XENIA, "--policy", "support-squad", "--json")


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 generated events with every fault, ingested. Read only."""
    folder = tmp_path_factory.mktemp("sample")
    assert gatewatch("generate", "--events", 600, "--seed", 11, "--out", folder / "events.jsonl").code == 0
    found = gatewatch("--data", folder / "data", "ingest", folder / "events.jsonl", "--policy", "support-squad")
    assert found.code == 0, found.err
    return folder / "data"


@pytest.fixture
def copy(real: tuple[Path, Result], tmp_path: Path) -> Path:
    """A copy of the real files' data directory, to be broken."""
    shutil.copytree(real[0], tmp_path / "copy", symlinks=True)
    return tmp_path / "copy"
