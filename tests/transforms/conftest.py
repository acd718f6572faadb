"""One judged copy of the committed sample and one published data directory, made once for all tests that only read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import ValidationError

from ingest.pipeline import Pipeline
from sample_data import policy_path, sample_path
from schemas.events import KINDS
from schemas.policy import Policy
from schemas.policy_file import parse_policy
from tests.support.engine import judged
from tests.support.own_rules import POLICY, call
from transforms import rule_folder
from transforms.publish import About, publish
from transforms.refresh import refresh
from transforms.rule_trial import Trial

NOW = datetime(2026, 7, 1, 12)  # noqa: DTZ001 - naive UTC, as the store has it


@pytest.fixture(scope="session")
def squad_policy() -> Policy:
    """The shipped policy of the support squad."""
    return parse_policy(policy_path("support-squad").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def sample_events() -> list[dict[str, Any]]:
    """The valid events of the committed sample, each identity once."""
    found: dict[str, dict[str, Any]] = {}
    for line in sample_path().read_bytes().splitlines():
        with suppress(ValueError, TypeError, KeyError, ValidationError):
            event = json.loads(line)
            KINDS[event["kind"]].model_validate(event)
            found.setdefault(event["event_id"], event)
    return list(found.values())


@pytest.fixture(scope="session")
def sample(sample_events: list[dict[str, Any]], squad_policy: Policy) -> Iterator[duckdb.DuckDBPyConnection]:
    """The sample in memory, judged. Read only: it is shared."""
    with judged(sample_events, squad_policy) as con:
        yield con


class Desk:
    """A data directory whose work database is open, and from which snapshots can be published."""

    def __init__(self, data: Path, pipeline: Pipeline) -> None:
        self.data = data
        self.con = pipeline.connection
        self.link = data / "gatewatch.duckdb"
        self.folder = data / "published"

    def publish(self) -> Path:
        """Publish the next snapshot."""
        return publish(self.con, self.data / "work.duckdb", self.data, About(NOW, 1, "1.2.3", 77, None))

    def versions(self) -> list[str]:
        """Every file in the folder of snapshots, drafts included."""
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory, squad_policy: Policy) -> Iterator[Desk]:
    """The sample in a data directory of its own: ingested, judged, and published once."""
    data = tmp_path_factory.mktemp("desk") / "data"
    with Pipeline(data) as pipeline:
        pipeline.ingest_paths([str(sample_path())])
        refresh(pipeline.connection, squad_policy, now=NOW)
        made = Desk(data, pipeline)
        made.publish()
        yield made


@pytest.fixture(scope="session")
def trial() -> Iterator[Trial]:
    """The empty database on which own rules are tried."""
    with Trial() as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path, trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of own rules. Making the database of the trial takes longest, and one serves all tests."""
    monkeypatch.setattr(rule_folder, "Trial", lambda: nullcontext(trial))
    made = tmp_path / "own"
    made.mkdir()
    return made


@pytest.fixture(scope="session")
def two_calls() -> Iterator[duckdb.DuckDBPyConnection]:
    """A quick call and a slow one, judged: what is left of the scope is what own relations are computed from."""
    with judged([call("quick", 10), call("slow", 2000, tenant="acme")], POLICY) as con:
        yield con
