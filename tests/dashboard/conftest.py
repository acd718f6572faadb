"""A snapshot as the pipeline makes it, for what has to hold on real tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory as `gatewatch demo` leaves it, of 3,000 events."""
    folder = tmp_path_factory.mktemp("demo") / "gatewatch-data"
    command = [sys.executable, "-m", "gatewatch", "--data", str(folder), "demo", "--no-dashboard", "--events", "3000"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return folder
