"""`verify` and `rebuild` against somebody who changes what people read, or takes evidence away."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from tests.gatewatch.terminal import gatewatch


@pytest.fixture
def data(sample: Path, tmp_path: Path) -> Path:
    """A copy of the committed sample's data directory, to be tampered with."""
    return shutil.copytree(sample, tmp_path / "data", symlinks=True)


def test_untouched_is_consistent(data: Path) -> None:
    assert gatewatch("--data", data, "verify").code == 0


@pytest.mark.parametrize("link", ["work.duckdb", "gatewatch.duckdb"])
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM findings WHERE rule = 'gate_missing'",
        "UPDATE reconciliation SET status = 'matched'",
        "UPDATE kpis SET value = 1.0 WHERE kpi = 'containment'",
        "UPDATE policy_severity SET severity = 'info'",
    ],
)
def test_a_table_that_people_read_was_changed(data: Path, link: str, statement: str) -> None:
    """Whoever takes a finding out of the database must not get a clean bill from us."""
    # In the work database the reconciliation is a view: whoever changes it there changes what it shows.
    below = "UPDATE fct_reconciliation" if link == "work.duckdb" else "UPDATE reconciliation"
    with duckdb.connect(str((data / link).resolve())) as con:
        con.execute(statement.replace("UPDATE reconciliation", below))
    result = gatewatch("--data", data, "verify")
    assert result.code == 3
    name = {"work.duckdb": "the work database", "gatewatch.duckdb": "the snapshot"}[link]
    assert f"problem: {name}: {statement.split()[1 if statement.startswith('UPDATE') else 2]}: " in result.out


def test_a_rebuild_from_a_ledger_that_lost_something_is_refused(data: Path) -> None:
    """The one command that a worried operator is told to run must not finish off the evidence."""
    segment = data / "ledger" / "00000001.ndjson"
    with segment.open("r+b") as file:
        file.truncate(segment.stat().st_size - 40)
    before = (data / "work.duckdb").read_bytes()
    result = gatewatch("--data", data, "rebuild")
    assert result.code == 3
    assert "the ledger ends before the database, which knows " in result.complaint
    assert (data / "work.duckdb").read_bytes() == before
    assert gatewatch("--data", data, "rebuild", "--force").code == 0
