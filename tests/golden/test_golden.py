"""Every folder with an `expected.toml` is a case (see README.md): its events, judged, give exactly these rows."""

from __future__ import annotations

import functools
import json
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pytest

from schemas.fields import parse_rfc3339
from schemas.policy_file import parse_policy
from tests.support.engine import judged
from transforms.catalogue import rules

HERE = Path(__file__).parent
SETTINGS = ("why", "where", "alone")
OF_NO_TENANT = ("sources", "batches", "gaps", "verifications")
Rows = list[dict[str, Any]]


class Case(NamedTuple):
    """One folder; cases with the same `group` are judged in one refresh."""

    name: str
    group: tuple[str, str, str]
    expected: dict[str, Any]

    @property
    def tables(self) -> dict[str, Rows]:
        """The expected rows of each table that the case speaks of."""
        return {name: rows for name, rows in self.expected.items() if name not in SETTINGS}

    @property
    def facts(self) -> dict[str, Rows]:
        """Table -> rows, for what ingest notes beside the events; event ids as in `events`."""
        path = HERE / self.name / "facts.toml"
        facts: dict[str, Rows] = tomllib.loads(path.read_text()) if path.exists() else {}
        for row in facts.get("quarantine", []):
            if "event_id" in row:
                row["event_id"] = self.tag + row["event_id"]
        return facts

    @property
    def tag(self) -> str:
        """What keeps the case apart from the others of its group; nothing where it is alone."""
        return "" if self.group[2] else f"{self.name}|"

    def events(self) -> Rows:
        """The events, under tenants and ids of the case's own; the order of ids within the case stays."""
        lines = (HERE / self.name / "events.jsonl").read_text().splitlines()
        tag, events = self.tag, [json.loads(line) for line in lines if line]
        return [{**e, "event_id": tag + e["event_id"], "tenant": tag + (e.get("tenant") or "") or None} for e in events]


def _case(folder: Path) -> Case:
    name = folder.relative_to(HERE).as_posix()
    expected = tomllib.loads((folder / "expected.toml").read_text())
    own, clock = folder / "policy.toml", folder / "watermark.txt"
    policy = name if own.exists() else name.split("/")[0]
    watermark = clock.read_text().strip() if clock.exists() else ""
    noted = folder / "facts.toml"
    facts = noted.read_text() if noted.exists() else ""
    no_tenant = "kpis" in expected or any(table in tomllib.loads(facts) for table in OF_NO_TENANT)
    # Alone means: with cases of the very same events only.
    alone = (folder / "events.jsonl").read_text() + facts if expected.get("alone", no_tenant) else ""
    return Case(name, (f"{policy}/policy.toml", watermark, alone), expected)


CASES = sorted((_case(path.parent) for path in HERE.rglob("expected.toml")), key=lambda case: (case.group, case.name))


@functools.cache
def _rows(group: tuple[str, str, str]) -> dict[str, dict[str, Rows]]:
    """Case name -> table -> rows as the engine has them, for all cases of the group."""
    policy_file, clock, _ = group
    cases = [case for case in CASES if case.group == group]
    policy = parse_policy((HERE / policy_file).read_text(), name=policy_file)
    watermark = parse_rfc3339(clock) if clock else None
    events = {event["event_id"]: event for case in cases for event in case.events()}
    facts: dict[str, Rows] = {}
    # Cases that are alone together have the same facts.
    for case in cases if not group[2] else cases[:1]:
        for table, rows in case.facts.items():
            facts.setdefault(table, []).extend(rows)
    with judged(events.values(), policy, watermark, facts) as con:
        return {case.name: {table: _table(con, case, table) for table in case.tables} for case in cases}


def _of_family(case: Case) -> str:
    """Findings of other families are those families' matter: their cases live in folders of their own."""
    own = [f"'{name}'" for name, rule in rules().items() if rule.family == case.name.split("/")[0]]
    return f"rule IN ({', '.join(own)})" if own else "true"


def _table(con: duckdb.DuckDBPyConnection, case: Case, table: str) -> Rows:
    where = case.expected.get("where", {}).get(table, _of_family(case) if table == "findings" else "true")
    own = f"starts_with(tenant, '{case.tag}')" if case.tag else "true"
    rows = con.execute(f"SELECT * FROM {table} WHERE ({where}) AND {own}")
    columns = [column[0] for column in rows.description or []]
    return [
        {name: _plain(value, case.tag) for name, value in zip(columns, row, strict=True)} for row in rows.fetchall()
    ]


def _plain(value: Any, tag: str) -> Any:
    """A value as `expected.toml` spells it."""
    if isinstance(value, list):
        value = " ".join(sorted(item for item in value if item is not None))
    if isinstance(value, str):
        value = value.replace(tag, "")
    if isinstance(value, datetime):
        value = f"{value.isoformat()}Z"
    return "null" if value is None or value == "" else value


def _order(row: dict[str, Any]) -> tuple[list[str], list[float]]:
    """Rows are a multiset: sorted by what is exact, then by what is a number."""
    exact = [str(value) for value in row.values() if type(value) not in (int, float)]
    return exact, [round(float(value), 3) for value in row.values() if type(value) in (int, float)]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_case(case: Case) -> None:
    assert case.tables
    assert len(case.expected["why"]) > 20
    for table, wanted in case.tables.items():
        columns = list(wanted[0]) if wanted else ["subject"]
        assert all(list(row) == columns for row in wanted), f"every row of {table} names the same columns"
        got = [{name: row[name] for name in columns if name in row} for row in _rows(case.group)[case.name][table]]
        got.sort(key=_order)
        assert got == [pytest.approx(row, abs=1e-4) for row in sorted(wanted, key=_order)], case.expected["why"]


@pytest.mark.parametrize("rule", sorted(rules()))
def test_every_rule_fires_stays_silent_and_has_a_boundary(rule: str) -> None:
    folder = f"{rules()[rule].family}/{rule}/"
    said = [any(row["rule"] == rule for row in c.tables["findings"]) for c in CASES if c.name.startswith(folder)]
    assert len(said) >= 3
    assert set(said) == {True, False}
