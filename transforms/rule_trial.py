"""An empty database on which the SELECT of an own rule is tried, before it meets the stored events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import duckdb

from ingest.ledger.tables import create_tables
from schemas.policy import Policy
from transforms.catalogue import RULE_COLUMNS
from transforms.errors import CatalogueError
from transforms.refresh import refresh
from transforms.rule_order import ARRIVAL, hidden

TYPES = dict.fromkeys(RULE_COLUMNS, "VARCHAR") | {"event_ts": "TIMESTAMP", "evidence": "VARCHAR[]"}
"""The DuckDB type of every column that a rule returns."""

# Whatever the check of the text missed finds no file, no network and no setting to change here.
_SANDBOX = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}

_NAMES = """
SELECT lower(table_name) FROM duckdb_tables() UNION SELECT lower(view_name) FROM duckdb_views()
"""

_COLUMNS = "SELECT lower(table_name), column_name FROM duckdb_columns() WHERE list_contains($names, column_name)"

_DELIVERIES = frozenset({"sources", "batches", "quarantine", "gaps", "retries"})
"""Tables that are about how lines arrived, and are no events; what they say of it is what one reads them for."""

_MISSED = re.compile(rf'column (?:named )?"({"|".join(ARRIVAL)})"', re.IGNORECASE)


class Trial:
    """Every relation that a rule can read, computed for no events at all. Use as a context manager."""

    def __init__(self) -> None:
        self._con = duckdb.connect(":memory:", config=dict(_SANDBOX))
        for statement in create_tables():
            self._con.execute(statement)
        refresh(self._con, Policy(name="none", version=1), now=datetime.now(UTC).replace(tzinfo=None))
        self._hidden: dict[str, list[str]] = {}
        for table, column in self._con.execute(_COLUMNS, {"names": list(ARRIVAL)}).fetchall():
            if table not in _DELIVERIES:
                self._hidden.setdefault(table, []).append(column)
        self._con.execute("SET lock_configuration = true")
        self.names = frozenset(name for (name,) in self._con.execute(_NAMES).fetchall())
        """Whatever is called like a table or view, lower-cased, DuckDB's own included."""

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *_: object) -> None:
        self._con.close()

    def run(self, sql: str, reads: set[str]) -> str:
        """Try a SELECT that is thought to read just these relations; the SELECT of exactly `RULE_COLUMNS` over it.

        What tells the order of arrival is hidden from it. Nothing is computed: DuckDB says what columns it would
        return. Raises CatalogueError.
        """
        self._compare(sql, reads)
        sql = hidden(sql, {name: sorted(self._hidden.get(name, [])) for name in reads})
        try:
            described = self._con.execute(f"DESCRIBE {sql}").fetchall()
        except duckdb.Error as error:
            # What follows the first paragraph points into the text as it was written anew, which its author never saw.
            said = " ".join(str(error).split("\n\n")[0].split())[:300]
            if missed := _MISSED.search(said):
                raise CatalogueError(
                    f"reads the column {missed[1].lower()}, which tells the order of arrival or is not there; "
                    "order by ts and event_id"
                ) from None
            raise CatalogueError(f"cannot run: {said}") from None
        _check_columns([(str(row[0]), str(row[1])) for row in described])
        columns = ", ".join(f"CAST(own.{name} AS {TYPES[name]}) AS {name}" for name in RULE_COLUMNS)
        return f"SELECT {columns} FROM (\n{sql}\n) AS own"  # noqa: S608 - checked just now

    def _compare(self, sql: str, reads: set[str]) -> None:
        """Hold what DuckDB's parser finds against what the check has found."""
        ((found,),) = self._con.execute("SELECT json_serialize_sql(CAST(? AS VARCHAR))", [sql]).fetchall()
        parsed = json.loads(found)
        if parsed["error"]:
            raise CatalogueError(f"cannot run: {' '.join(str(parsed.get('error_message')).split())[:300]}")
        nodes = list(_nodes(parsed))
        named = {str(key["key"]).lower() for node in nodes if "cte_map" in node for key in node["cte_map"]["map"]}
        tables = {str(node["table_name"]).lower() for node in nodes if node.get("type") == "BASE_TABLE"}
        called = [node for node in nodes if node.get("type") == "TABLE_FUNCTION"]
        if len(parsed["statements"]) != 1 or called or tables - named != reads:
            raise CatalogueError("reads for DuckDB otherwise than it looks; write it more plainly")


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON document."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []


def _check_columns(described: list[tuple[str, str]]) -> None:
    names = [name.lower() for name, _ in described]
    for name in RULE_COLUMNS:
        if name not in names:
            raise CatalogueError(f"does not return the column {name}; a rule returns {', '.join(RULE_COLUMNS)}")
    for name, kind in described:
        if name.lower() not in TYPES:
            raise CatalogueError(f'returns the column "{name[:60]}", which no finding has; take it out')
        if names.count(name.lower()) > 1:
            raise CatalogueError(f"returns the column {name} twice; keep one")
        # A column of nothing but NULL has no type of its own.
        if kind not in (TYPES[name.lower()], '"NULL"', '"NULL"[]'):
            raise CatalogueError(f"returns {name} as {kind}; it must be {TYPES[name.lower()]}")
