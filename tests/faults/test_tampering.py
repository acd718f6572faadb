"""Two thousand ways to change history: each is noticed by `verify` alone, or by a checkpoint that was kept outside."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pytest

from gatewatch.comparison import compare_snapshot, compare_work, older_state
from ingest.ledger.checkpoints import read_kept
from ingest.ledger.store import Store
from ingest.tree_check import NOTHING, Outside
from ingest.verify import STATEMENT, verify
from ingest.verify_copy import verify_copy
from sample_data import policy_path
from schemas.policy_file import parse_policy
from tests.faults import tamper_ledger  # noqa: F401 - it registers its kinds
from tests.faults.tamper_database import STORED, change_rows
from tests.faults.tamper_history import make_it_fit
from tests.faults.tampered import KINDS, Base, Kind, Remembering, Trial, What, all_chunks, copied, make_base
from tests.gatewatch.terminal import gatewatch
from tests.ingest.builders import line
from transforms.refresh import refresh
from transforms.views import views

ALL = os.environ.get("GATEWATCH_FAULTS") == "all"
"""All of them; else one of each kind, and six tables of each database."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    """The untouched data directory. Read only."""
    return make_base(tmp_path_factory.mktemp("tampering"))


@pytest.fixture(scope="module")
def remembering() -> Remembering:
    """One validator for all trials."""
    return Remembering()


def test_nothing_is_found_where_nothing_was_done(base: Base, tmp_path: Path) -> None:
    data = copied(base, tmp_path / "data")
    alone, outside = verify(data), verify(data, outside=base.outside)
    assert (alone.problems, alone.left_out, alone.statement) == ([], [], STATEMENT)
    assert (outside.problems, outside.left_out) == ([], [])
    assert (alone.tree.own, alone.tree.size, len(outside.tree.outside)) == (4, alone.chunks, 1)
    assert outside.statement.endswith(
        "is what it was when the checkpoint from outside was signed; nothing came after it"
    )


@pytest.mark.parametrize("kind", list(KINDS.values()), ids=list(KINDS))
def test_tampering(kind: Kind, base: Base, remembering: Remembering, tmp_path: Path) -> None:
    outcomes: Counter[str] = Counter()
    times = kind.times if ALL else 1
    for number in range(times):
        # What the ledger alone shows, `verify` finds by the same code as `verify --ledger`, which takes a hundredth of
        # the time. So every tenth trial does without signatures, and the database has to notice.
        thorough = kind.live or kind.what is What.DATABASE or number % 10 == 0
        trial = Trial(base, copied(base, tmp_path / "data"), random.Random(f"{kind.name} {number}"), thorough)
        kind.tamper(trial)
        outcomes[outcome(kind, trial, remembering)] += 1
        shutil.rmtree(trial.data)
    sys.stdout.write(f"{kind.name}: {dict(outcomes)}\n")
    assert outcomes["slipped through"] == 0
    assert sum(outcomes.values()) == times


def outcome(kind: Kind, trial: Trial, remembering: Remembering) -> str:
    """Who noticed."""

    def problems(outside: Outside = NOTHING) -> list[str]:
        if trial.thorough:
            return verify(trial.data, validator=remembering, outside=outside).problems
        return verify_copy(trial.data, outside=outside).problems

    if not trial.changed:
        return "nothing was changed after all"
    if kind.what is What.EVERYTHING:
        if problems():
            return "noticed alone, though everything should fit"
        return "noticed from outside" if problems(trial.base.outside) else "slipped through"
    if kind.what is What.LEDGER and trial.thorough:
        shutil.rmtree(trial.data / "keys")
        (trial.ledger / "checkpoints").unlink()
        return "noticed by the database alone" if problems() else "slipped through"
    return "noticed alone" if problems() else "slipped through"


@pytest.fixture(autouse=True)
def nobody_is_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged end is not looked at again and again, as it is where somebody may be writing."""
    monkeypatch.setattr("ingest.verify_copy._PAUSE_SECONDS", 0)


@dataclass(frozen=True)
class Judged:
    """A judged and published data directory, and a copy of its database in which everything was judged again."""

    data: Path
    again: duckdb.DuckDBPyConnection

    @property
    def snapshot(self) -> Path:
        """The file that readers see."""
        return (self.data / "gatewatch.duckdb").resolve()


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    """Made-up events with every fault, verified once. Read only."""
    folder = tmp_path_factory.mktemp("judged")
    data = folder / "data"
    assert gatewatch("generate", "--events", 150, "--seed", 11, "--out", folder / "events.jsonl").code == 0
    assert gatewatch("--data", data, "ingest", folder / "events.jsonl", "--policy", "support-squad").code == 0
    assert gatewatch("--data", data, "verify").code == 0
    store = Store(Path(shutil.copyfile(data / "work.duckdb", folder / "again.duckdb")))
    policy = parse_policy(policy_path("support-squad").read_text(encoding="utf-8"))
    refresh(store.connection, policy, now=datetime(2026, 7, 1), full=True)  # noqa: DTZ001 - naive UTC, as stored
    yield Judged(data, store.connection)
    store.close()


def tables(path: Path) -> list[str]:
    """The tables of a database."""
    with duckdb.connect(str(path), read_only=True) as con:
        return [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY ALL").fetchall()]


def difference(judged: Judged, work: Path, snapshot: Path) -> list[str]:
    """What `verify` finds; a snapshot that looks older is one problem here, since there never was such a state."""
    if older_state(judged.again, work, snapshot) is not None:
        return ["older", *compare_snapshot(judged.again, work, snapshot, older=True)]
    return compare_work(judged.again, work) + compare_snapshot(judged.again, work, snapshot)


def test_nothing_differs_where_nothing_was_done(judged: Judged) -> None:
    assert difference(judged, judged.data / "work.duckdb", judged.snapshot) == []


@pytest.mark.parametrize("database", ["work", "snapshot"])
def test_rows_that_people_read(database: str, judged: Judged, tmp_path: Path) -> None:
    """Every table of both databases: those that are judged, and those that only the next refresh looks at.

    A tie between runs that is noted twice (`links`) is the same tie.
    """
    source = judged.data / "work.duckdb" if database == "work" else judged.snapshot
    known = [name for name in tables(source) if name not in STORED or database == "snapshot"]
    rounds = 3 if ALL else 1
    chosen = known if ALL else random.Random(database).sample(known, 6)
    path = tmp_path / "changed.duckdb"
    noticed = 0
    for number, table in enumerate(table for table in chosen for _ in range(rounds)):
        shutil.copyfile(source, path)
        with duckdb.connect(str(path)) as con:
            done = change_rows(con, table, random.Random(f"{database} {number}"))
        work, snapshot = (path, judged.snapshot) if database == "work" else (judged.data / "work.duckdb", path)
        problems = difference(judged, work, snapshot)
        assert problems or done == "links: insert" or (database, done.partition(" ")[0]) in WITHOUT_SOURCE, done
        noticed += bool(problems)
    sys.stdout.write(f"rows of {len(chosen)} tables of the {database}: {noticed} changes noticed\n")


WITHOUT_SOURCE = {
    ("snapshot", f"about.{name}")
    for name in ("snapshot", "published_at", "schema_version", "software_version", "ledger_bytes")
}
"""What a snapshot says of its own making, which nothing else knows."""


@pytest.mark.parametrize("view", [view.name for view in views()] if ALL else ["tool_invocations"])
def test_a_view_that_leaves_rows_out(view: str, judged: Judged, tmp_path: Path) -> None:
    path = tmp_path / "changed.duckdb"
    shutil.copyfile(judged.snapshot, path)
    with duckdb.connect(str(path)) as con:
        if con.execute(f"SELECT count(*) FROM {view}").fetchall() == [(0,)]:
            con.execute(f"DROP VIEW {view}")
        else:
            ((told,),) = con.execute("SELECT sql FROM duckdb_views() WHERE view_name = ?", [view]).fetchall()
            con.execute(told.replace("CREATE VIEW", "CREATE OR REPLACE VIEW").rstrip(";\n ") + " LIMIT 0")
    problems = difference(judged, judged.data / "work.duckdb", path)
    assert [problem for problem in problems if f"the snapshot: {view}: " in problem or f"table {view} " in problem]


FOREIGN = {
    "macro 'lower'": "CREATE MACRO lower(x) AS 'hidden'",
    "macro 'list_position'": "CREATE MACRO list_position(a, b) AS NULL",
    "macro 'rows'": "CREATE MACRO rows() AS TABLE SELECT 1",
    "schema 's'": "CREATE SCHEMA s; CREATE MACRO s.lower(x) AS 'hidden'; CREATE VIEW s.findings AS SELECT 1",
    "sequence 's'": "CREATE SEQUENCE s",
    "type 'mood'": "CREATE TYPE mood AS ENUM ('good')",
    "index 'i'": "CREATE INDEX i ON batches (batch_id)",
    "default 'verifications.ok'": "ALTER TABLE verifications ALTER ok SET DEFAULT TRUE",
    "constraint 'verifications: NOT NULL'": "ALTER TABLE verifications ALTER ok SET NOT NULL",
    "table 'other'": "CREATE TABLE other AS SELECT 1 AS a",
    "table 'another'": "CREATE VIEW another AS SELECT 1 AS a",
}
"""What is none of ours, and how it comes into a database."""


@pytest.mark.parametrize("database", ["work", "snapshot"])
@pytest.mark.parametrize("told", FOREIGN)
def test_an_object_that_is_none_of_ours(told: str, database: str, judged: Judged, tmp_path: Path) -> None:
    """A macro above all, which takes the place of a function in every rule, or in every question of a reader."""
    path = tmp_path / "changed.duckdb"
    shutil.copyfile(judged.data / "work.duckdb" if database == "work" else judged.snapshot, path)
    with duckdb.connect(str(path)) as con:
        con.execute(FOREIGN[told])
    work, snapshot = (path, judged.snapshot) if database == "work" else (judged.data / "work.duckdb", path)
    name = "the work database" if database == "work" else "the snapshot"
    assert f"{name}: there is a {told}, which is none of ours" in difference(judged, work, snapshot)


@pytest.mark.parametrize("database", ["work", "snapshot"])
def test_a_view_that_shows_verify_what_it_wants_to_see(database: str, judged: Judged, tmp_path: Path) -> None:
    """The same rows here, and none for who opens the file by itself."""
    path = tmp_path / "changed.duckdb"
    shutil.copyfile(judged.data / "work.duckdb" if database == "work" else judged.snapshot, path)
    table = "findings" if database == "snapshot" else "fct_reconciliation"
    with duckdb.connect(str(path)) as con:
        con.execute(f"ALTER TABLE {table} RENAME TO kept")
        con.execute(f"CREATE VIEW {table} AS FROM kept WHERE (SELECT count(*) FROM duckdb_databases()) > 4")
    work, snapshot = (path, judged.snapshot) if database == "work" else (judged.data / "work.duckdb", path)
    name = "the work database" if database == "work" else "the snapshot"
    assert f"{name}: {table} is not made as ours is" in difference(judged, work, snapshot)


def test_the_tail_after_the_last_checkpoint_from_outside_is_not_covered(base: Base, tmp_path: Path) -> None:
    """The limit that nobody can take away; `verify` says where it is."""
    kept = read_kept(base.older[4] / "ledger").signed[-1]
    trial = Trial(base, copied(base, tmp_path / "data"), random.Random(1))
    found = all_chunks(trial.ledger)
    last = max(found)
    found[last][-1][1][0] = line("forged")
    make_it_fit(trial, found)
    (trial.ledger / "checkpoints").write_bytes((base.older[4] / "ledger" / "checkpoints").read_bytes())
    report = verify(trial.data, outside=Outside([base.key], [kept]))
    assert report.problems == []
    behind = report.tree.size - kept.checkpoint.size
    assert behind > 1
    assert report.statement.endswith(f"signed; the {behind} chunks after it are internally consistent only")
