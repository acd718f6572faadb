"""Two data directories for the pages: the committed sample, and the demo that the README speaks of."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gatewatch.cli import cli
from sample_data import sample_path


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The committed sample, ingested and judged by the policy that belongs to it."""
    data = tmp_path_factory.mktemp("docs") / "sample"
    run(data, "ingest", str(sample_path()), "--policy", "support-squad")
    return data


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make demo` leaves, without the dashboard."""
    data = tmp_path_factory.mktemp("docs") / "demo"
    run(data, "demo", "--no-dashboard")
    return data


def run(data: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> str:
    """Run one command on a data directory; its stdout."""
    result = CliRunner().invoke(cli, ["--data", str(data), *arguments])
    assert result.exit_code in codes, f"{arguments}: {result.output}{result.exception!r}"
    return result.stdout
