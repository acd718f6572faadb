"""The SQL of marts and rules stays within what Spark can run too, so that it can move there without being rewritten."""

from __future__ import annotations

from importlib.resources import files

import pytest
import sqlglot
from sqlglot import exp

FUNCTIONS = {
    "ABS", "AND", "ARRAY", "ARRAY_AGG", "ARRAY_APPEND", "ARRAY_SORT", "AVG", "CASE", "CAST", "CEIL", "COALESCE",
    "CONCAT_WS", "COUNT", "EXISTS", "GREATEST", "IF", "LAG", "LEAST", "MAX", "MIN", "NULLIF", "OR", "ROW_NUMBER",
    "SQRT", "SUM", "TIMESTAMP_TRUNC",
}  # fmt: skip
"""What the files may call; sqlglot knows how to say each of them in Spark's SQL."""

FORBIDDEN = (exp.Qualify, exp.Pivot, exp.Lambda, exp.Unnest, exp.Lateral, exp.Placeholder)

FILES = sorted(
    f"{folder}/{entry.name}"
    for folder in ("marts", "rules")
    for entry in files("transforms").joinpath(folder).iterdir()
    if entry.name.endswith(".sql")
)


def complaints(sql: str) -> list[str]:
    """What a file uses that is outside the subset."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    found = [f"{type(node).__name__}: {node.sql()[:60]}" for kind in FORBIDDEN for node in tree.find_all(kind)]
    for function in tree.find_all(exp.Func):
        name = function.name.upper() if isinstance(function, exp.Anonymous) else function.sql_name()
        if name not in FUNCTIONS:
            found.append(f"function {name}")
    found += [f"ASOF join: {join.sql()[:60]}" for join in tree.find_all(exp.Join) if join.args.get("method")]
    for aggregate in tree.find_all(exp.ArrayAgg):
        if aggregate.find(exp.Order):
            found.append("an ordered list")
    return found


@pytest.mark.parametrize("name", FILES)
def test_a_file_stays_within_the_portable_subset(name: str) -> None:
    """A relation that only DuckDB can run would have to be written twice."""
    sql = files("transforms").joinpath(name).read_text(encoding="utf-8")
    assert complaints(sql) == []
    assert sqlglot.parse_one(sql, dialect="duckdb").sql(dialect="spark")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
        "SELECT epoch_us(a) FROM t",
        "SELECT quantile_cont(a, 0.5) FROM t",
        "SELECT list(a ORDER BY b) FROM t",
        "SELECT array_agg(a ORDER BY b) FROM t",
        "SELECT * FROM t ASOF JOIN u ON t.a >= u.a",
        "SELECT * FROM unnest([1, 2])",
        "SELECT list_filter(a, lambda x: x > 1) FROM t",
        "SELECT * FROM t WHERE a = $a",
    ],
)
def test_what_only_duckdb_knows_is_refused(sql: str) -> None:
    """A check that lets these through checks nothing."""
    assert complaints(sql) != []
