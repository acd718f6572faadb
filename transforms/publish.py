"""Publish what readers see: a versioned, read-only copy of the work database, swapped in by an atomic symlink.

Readers never touch the writer's file. They resolve ``<data>/gatewatch.duckdb`` to the versioned file and open that.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import duckdb

from ingest.ledger.files import fsync_path
from ingest.ledger.tables import BATCHES, GAPS, QUARANTINE, RETRIES, SOURCES, VERIFICATIONS
from ingest.verify import attached, foreign_objects
from schemas.columns import EVENT_COLUMNS
from schemas.policy import Policy
from schemas.policy_tables import policy_tables
from transforms.catalogue import relations
from transforms.compute import NOT_PUBLIC
from transforms.errors import PublishError
from transforms.views import views

KEPT = 2
"""How many snapshots stay on disk at least: the newest, and the one before it."""

KPI_FACTS = "kpi_facts"
KPI_FACTS_SQL = """
SELECT f.* EXCLUDE (tenant_key, from_us, group_no), nullif(f.tenant_key, '') AS tenant,
    coalesce(f.from_us <= (SELECT max(as_of_us) FROM clock), TRUE) AS counted
FROM fct_kpis AS f
"""
"""The published rows behind the KPIs, and what they are made of."""

OPENING_SECONDS = 15.0
"""How long a superseded snapshot stays at least: a reader may have resolved the link and not opened the file yet."""

_VERSIONED = re.compile(r"gatewatch-(\d+)\.duckdb")


@dataclass(frozen=True, slots=True)
class About:
    """What the `about` view of a snapshot says beside what it can count itself."""

    published_at: datetime
    schema_version: int
    software_version: str
    ledger_bytes: int
    ledger_root: str | None


def public_tables() -> dict[str, str]:
    """Every table that readers see, with the sentence that says what a row is."""
    found = {relation.name: relation.grain for relation in relations() if relation.public}
    found |= {name: f"One row is {table.grain}." for name, table in policy_tables(_NO_POLICY).items()}
    return found | {
        "kpi_facts": "One row is what one run, score, answer, route or gate adds to one KPI of one UTC day.",
        "events": "One row is one accepted event; columns that a kind does not have are NULL. Times are UTC.",
        "findings": "One row is one finding that holds now: one rule and one subject.",
        "finding_history": "One row is one change of one finding: when we noticed, and why. Not replayed.",
        "quarantine": "One row is one line that was not accepted, with the reason.",
        "batches": "One row is one chunk of the ledger: lines = accepted + duplicate + quarantined + blank.",
        "sources": "One row is one source of lines and how far it has been read.",
        "gaps": "One row is one stretch of a source that could not be read any more.",
        "retries": "One row is one rejected line that was tried again, and what became of it.",
        "verifications": "One row is one verification: when the ledger and the tables were compared, and the outcome.",
        "rule_texts": "One row is one rule that judges, shipped or the user's own, and what it says about itself.",
        "policy_severity": "One row is one rule and the severity that the policy gives it.",
        "clock": "One row: how far time has been judged.",
    }


_NO_POLICY = Policy(name="none", version=1)


@cache
def column_comments() -> dict[str, dict[str, str]]:
    """Table → column → what it holds, its unit and its source. `*` stands for every table that has the column."""
    text = files("transforms").joinpath("dictionary.toml").read_text(encoding="utf-8")
    found: dict[str, dict[str, str]] = tomllib.loads(text)
    stored = {
        "events": EVENT_COLUMNS,
        "quarantine": QUARANTINE,
        "batches": BATCHES,
        "sources": SOURCES,
        "gaps": GAPS,
        "retries": RETRIES,
        "verifications": VERIFICATIONS,
    }
    for table, columns in stored.items():
        found[table] = {column.name: column.comment for column in columns if column.comment}
    return found


def publish(con: duckdb.DuckDBPyConnection, work: Path, data: Path, about: About) -> Path:
    """Write the next snapshot of the work database and point ``<data>/gatewatch.duckdb`` at it.

    `con` is the writer's connection to `work`, between transactions. Returns the versioned file. A crash at any point
    leaves the former snapshot in place. Raises PublishError (disk full, no permission, a macro or the like in `work`).
    """
    folder = data / "published"
    number = max((n for n, _ in _versions(folder)), default=0) + 1
    target = folder / f"gatewatch-{number}.duckdb"
    draft = folder / f".draft-{number}.duckdb"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob(".draft-*"):
            leftover.unlink()
        con.execute("CHECKPOINT")
        shutil.copyfile(work, draft)
        _refuse_foreign(draft, work)
        _prepare(draft, number, about)
        fsync_path(draft)
        draft.rename(target)
        fsync_path(folder)
        _point(data / "gatewatch.duckdb", Path("published") / target.name)
        fsync_path(data)
        for old in _superseded(folder):
            old.unlink()
    except PublishError:
        draft.unlink(missing_ok=True)
        raise
    except (OSError, duckdb.IOException, duckdb.FatalException) as error:  # fatal: a checkpoint that found no room
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        told = " ".join(str(error).split())
        raise PublishError(
            f"cannot publish a snapshot in {folder}: {told}; free space or mend the permissions"
        ) from error
    return target


def _refuse_foreign(draft: Path, work: Path) -> None:
    """Raise PublishError where something may have falsified the tables, and would falsify what readers ask them."""
    with attached(draft) as con:
        foreign = foreign_objects(con, "kept")
    if foreign:
        raise PublishError(
            f"{work} holds a {foreign[0]}, which is none of ours and may have falsified its tables: nothing was "
            "published; make it again with `gatewatch rebuild`"
        )


def _superseded(folder: Path) -> list[Path]:
    """The snapshots that nobody is about to open any more; whoever holds one open keeps it."""
    versions = [path for _, path in sorted(_versions(folder))]
    now = time.time()
    return [
        old
        for old, newer in pairwise(versions[: len(versions) - KEPT + 1])
        if now - newer.stat().st_mtime >= OPENING_SECONDS
    ]


def _versions(folder: Path) -> list[tuple[int, Path]]:
    if not folder.is_dir():
        return []
    matches = ((_VERSIONED.fullmatch(path.name), path) for path in folder.iterdir())
    return [(int(match[1]), path) for match, path in matches if match]


def _prepare(draft: Path, number: int, about: About) -> None:
    """Take out what is private, and add what explains the rest."""
    with duckdb.connect(str(draft)) as con:
        # One transaction: several hundred comments would each wait for the disk otherwise.
        con.execute("BEGIN TRANSACTION")
        public = public_tables()
        _settle(con, public)
        for view in views():
            con.execute(f'CREATE OR REPLACE VIEW "{view.name}" AS {view.sql}')
            _comment(con, "VIEW", view.name, view.grain)
        con.execute(
            """
            CREATE TABLE about AS
            SELECT
                $number::BIGINT AS snapshot, $published_at::TIMESTAMP AS published_at,
                (SELECT min(ts) FROM events) AS first_event_ts, (SELECT max(ts) FROM events) AS last_event_ts,
                (SELECT max(received_at) FROM batches WHERE lines > 0) AS last_received_at,
                (SELECT epoch($published_at::TIMESTAMP - max(ts)) FROM events) AS lag_seconds,
                (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM quarantine) AS quarantined,
                (SELECT name FROM policy_about) AS policy, (SELECT version FROM policy_about) AS policy_version,
                (SELECT digest FROM policy_about) AS policy_digest, $schema_version::BIGINT AS schema_version,
                $software_version::VARCHAR AS software_version, $ledger_bytes::BIGINT AS ledger_bytes,
                (SELECT count(*) FROM batches) AS ledger_chunks, $ledger_root::VARCHAR AS ledger_root
            """,
            {
                "number": number,
                "published_at": about.published_at,
                "schema_version": about.schema_version,
                "software_version": about.software_version,
                "ledger_bytes": about.ledger_bytes,
                "ledger_root": about.ledger_root,
            },
        )
        for name, grain in (public | {"about": "One row: what this snapshot covers."}).items():
            _comment(con, "TABLE", name, grain)
        _comment_columns(con)
        con.execute("COMMIT")
        con.execute("CHECKPOINT")


def _settle(con: duckdb.DuckDBPyConnection, public: Mapping[str, str]) -> None:
    """Leave only what readers see: views as tables, without the private columns and tables that they were made of."""
    for relation in relations():
        if relation.unit == "view":
            con.execute(f'CREATE TABLE "settled" AS SELECT * FROM "{relation.name}"')  # noqa: S608 - our own names
            con.execute(f'DROP VIEW "{relation.name}"')
            con.execute(f'ALTER TABLE "settled" RENAME TO "{relation.name}"')
    for (name,) in con.execute("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall():
        con.execute(f"DROP VIEW {_quoted(name)}")
    _publish_facts(con)
    there = con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()
    for name in sorted({row[0] for row in there} - set(public)):
        con.execute(f"DROP TABLE {_quoted(name)}")
    for (name,) in con.execute(
        "SELECT table_name FROM duckdb_columns() WHERE column_name = $name AND NOT internal", {"name": NOT_PUBLIC}
    ).fetchall():
        con.execute(f'ALTER TABLE "{name}" DROP COLUMN {NOT_PUBLIC}')


def _publish_facts(con: duckdb.DuckDBPyConnection) -> None:
    """Make the private facts of the KPIs what `KPI_FACTS_SQL` says, without copying them."""
    ((as_of_us,),) = con.execute("SELECT coalesce(max(as_of_us), 0)::BIGINT FROM clock").fetchall()
    for change in (
        f"RENAME TO {KPI_FACTS}",
        "ALTER tenant_key TYPE VARCHAR USING nullif(tenant_key, '')",
        "RENAME tenant_key TO tenant",
        f"ALTER from_us TYPE BOOLEAN USING coalesce(from_us <= {as_of_us:d}, true)",
        "RENAME from_us TO counted",
    ):
        con.execute(f"ALTER TABLE {'fct_kpis' if change.startswith('RENAME TO') else KPI_FACTS} {change}")


def _comment(con: duckdb.DuckDBPyConnection, what: str, name: str, text: str) -> None:
    con.execute(f'COMMENT ON {what} "{name}" IS {_literal(text)}')


def _comment_columns(con: duckdb.DuckDBPyConnection) -> None:
    comments = column_comments()
    everywhere = comments["*"]
    columns = con.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables() WHERE NOT internal").fetchall()}
    for table, column in columns:
        text = comments.get(table, {}).get(column) or everywhere.get(column)
        if text and table in tables:
            con.execute(f'COMMENT ON COLUMN "{table}"."{column}" IS {_literal(text)}')


def _quoted(name: str) -> str:
    # Not always one of our own: somebody may have put anything there.
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    # COMMENT takes no parameters; the texts are our own, from files of this package.
    return "'" + text.replace("'", "''") + "'"


def _point(link: Path, target: Path) -> None:
    """Replace the symlink in one step, so that a reader sees the old file or the new one and never none."""
    draft = link.with_name(f".{link.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    draft.symlink_to(target)
    draft.replace(link)
