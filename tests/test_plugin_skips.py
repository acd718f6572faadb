"""CI's promise that no test goes quietly unrun: without it a missing browser would turn the browser tests green."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(folder: Path, test_file: str) -> subprocess.CompletedProcess[str]:
    """Run pytest with the plugin on one file of tests, away from this project's own configuration."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text("import pytest\n" + test_file)
    command = [sys.executable, "-m", "pytest", "-p", "tests.plugin_skips", "-p", "no:cacheprovider", str(folder)]
    # Without the other plugins of the environment, which take longer to import than these tests to run.
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    "test_file",
    [
        "def test_a():\n    pytest.skip('no chromium')\n",
        "@pytest.mark.skip(reason='no chromium')\ndef test_a():\n    pass\n",
        "pytest.skip('no chromium', allow_module_level=True)\n",
    ],
    ids=["while it runs", "by mark", "whole file"],
)
def test_a_skip_fails_the_session_and_is_named(tmp_path: Path, test_file: str) -> None:
    result = run(tmp_path, test_file + "\ndef test_b():\n    pass\n")
    assert result.returncode == 1, result.stdout
    assert "test_it.py" in result.stdout.split("counts as a failure")[1]
    assert "no chromium" in result.stdout.split("counts as a failure")[1]


@pytest.mark.parametrize(
    "test_file",
    [
        "def test_a():\n    pytest.skip('platform: no fork here')\n",
        "@pytest.mark.xfail(reason='known')\ndef test_a():\n    assert False\n",
        "def test_a():\n    pass\n",
    ],
    ids=["platform", "xfail", "no skip"],
)
def test_what_no_installation_can_mend_passes(tmp_path: Path, test_file: str) -> None:
    result = run(tmp_path, test_file)
    assert result.returncode == 0, result.stdout
    assert "counts as a failure" not in result.stdout


def test_a_failure_stays_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_a():\n    assert False\n").returncode == 1
