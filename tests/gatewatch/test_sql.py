"""`sql`: anything may be asked of the snapshot, nothing else may be reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.gatewatch.terminal import Result, gatewatch

Real = tuple[Path, Result]


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO findings SELECT * FROM findings",
        "DELETE FROM events",
        "UPDATE findings SET status = 'pending'",
        "DROP TABLE findings",
        "CREATE TABLE t (i INTEGER)",
        "ATTACH 'other.duckdb' AS other",
        "ATTACH ':memory:' AS other",
        "COPY findings TO 'out.csv'",
        "COPY (SELECT 1) TO 'out.csv'",
        "EXPORT DATABASE 'out'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "SELECT * FROM read_json('http://127.0.0.1:9/x')",
        "SELECT getenv('HOME')",
        "SET enable_external_access = true",
        "RESET lock_configuration",
        "PRAGMA enable_profiling",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE findings",
        "",
        "-- only a comment",
        "SELEC 1",
        "SELECT * FROM nosuch",
    ],
)
def test_what_is_not_one_query_on_the_snapshot_is_refused(query: str, real: Real, tmp_path: Path) -> None:
    """Exit 2 and one line; no file is read, written or attached, and no setting is changed."""
    result = gatewatch("--data", real[0], "sql", "--", query)
    assert result.code == 2
    assert result.complaint.startswith("the query ")
    assert list(tmp_path.iterdir()) == []


def test_a_query_is_a_table_or_a_document(real: Real) -> None:
    """Null is nothing, booleans are words, lists are joined; JSON keeps types and says how many rows there are."""
    query = "SELECT NULL AS a, 1.5 AS b, true AS c, ['x', 'y'] AS d, TIMESTAMP '2026-06-03 10:00:00' AS e"
    assert gatewatch("--data", real[0], "sql", query).out.splitlines()[-1].split("  ")[1:] == [
        " 1.5",
        "yes",
        "x, y",
        "2026-06-03 10:00:00",
    ]
    result = gatewatch("--data", real[0], "sql", query, "--json").json
    expected = {"a": None, "b": 1.5, "c": True, "d": ["x", "y"], "e": "2026-06-03T10:00:00.000000Z"}
    assert result == {"rows": [expected], "count": 1}
    assert gatewatch("--data", real[0], "sql", "SELECT 1 WHERE false").out == "no rows\n"


def test_a_long_answer_is_cut_and_says_so(real: Real) -> None:
    """On stderr, so that stdout stays data."""
    result = gatewatch("--data", real[0], "sql", "SELECT range FROM range(10)", "--limit", "3", "--json")
    assert (result.code, result.json["count"]) == (0, 3)
    assert "only the first 3 rows are shown" in result.err
    assert gatewatch("--data", real[0], "sql", "SELECT range FROM range(3)", "--limit", "3").err == ""


def test_two_columns_of_one_name_are_both_in_the_document(real: Real) -> None:
    """A join of two tables has them; a column that vanishes from the JSON would be data lost in silence."""
    (row,) = gatewatch("--data", real[0], "sql", "SELECT 1 AS a, 2 AS a", "--json").json["rows"]
    assert sorted(row.values()) == [1, 2]


def test_a_query_that_never_ends_is_stopped(sample: Path) -> None:
    """One analyst's runaway query must not take the machine from the pipeline."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    result = gatewatch("--data", sample, "sql", endless, "--timeout", 1)
    assert result.code == 2
    assert "the query was stopped after 1 s" in result.complaint
