"""The SQL of marts and rules stays within what Spark can run too, so that it can move there without being rewritten."""

from __future__ import annotations

from importlib.resources import files

import pytest

from transforms.portable import complaints, parse_select

FILES = sorted(
    f"{folder}/{entry.name}"
    for folder in ("marts", "rules")
    for entry in files("transforms").joinpath(folder).iterdir()
    if entry.name.endswith(".sql")
)


@pytest.mark.parametrize("name", FILES)
def test_a_file_stays_within_the_portable_subset(name: str) -> None:
    """A relation that only DuckDB can run would have to be written twice."""
    sql = files("transforms").joinpath(name).read_text(encoding="utf-8")
    assert complaints(sql) == []
    assert parse_select(sql).sql(dialect="spark")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t QUALIFY row_number() OVER (ORDER BY a) = 1",
        "SELECT epoch_us(a) FROM t",
        "SELECT quantile_cont(a, 0.5) FROM t",
        "SELECT list(a ORDER BY b) FROM t",
        "SELECT array_agg(a ORDER BY b) FROM t",
        "SELECT * FROM t ASOF JOIN u ON t.a >= u.a",
        "SELECT * FROM t POSITIONAL JOIN u",
        "SELECT * FROM unnest([1, 2])",
        "SELECT list_filter(a, lambda x: x > 1) FROM t",
        "SELECT * FROM t WHERE a = $a",
        "SELECT DISTINCT ON (a) a, b FROM t",
        "SELECT a[1] FROM t",
        "SELECT columns('a') FROM t",
        "PIVOT t ON a USING sum(b)",
    ],
)
def test_what_only_duckdb_knows_is_refused(sql: str) -> None:
    """A check that lets these through checks nothing."""
    assert complaints(sql) != []


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT a FROM t LIMIT 3", "Limit: LIMIT 3"),
        ("SELECT a FROM t USING SAMPLE 10", "TableSample"),
        ("SELECT now() AS a", "the function NOW"),
        ("SELECT current_timestamp AS a", "the function CURRENT_TIMESTAMP"),
        ("SELECT random() AS a", "the function RAND"),
        ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT * FROM a", "WITH RECURSIVE"),
        ("SELECT * FROM read_csv('x.csv')", "the function READ_CSV"),
        ("SELECT * FROM duckdb_tables()", "the function DUCKDB_TABLES"),
        ("SELECT * FROM query('DROP TABLE t')", "the function QUERY"),
        ("SELECT 1 AS a FOR UPDATE", "Lock"),
    ],
)
def test_what_depends_on_more_than_the_rows_is_refused(sql: str, said: str) -> None:
    """Chance, clocks, files, and whatever else was looked at together would make one ledger lead to two databases."""
    assert [text for text in complaints(sql) if text.startswith(said)]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("", "holds 0 statements instead of one SELECT"),
        ("SELECT 1; DROP TABLE t", "holds 2 statements instead of one SELECT"),
        ("DROP TABLE t", "is a DROP statement"),
        ("COPY t TO 'x.csv'", "is a COPY statement"),
        ("EXPLAIN SELECT 1", "is a EXPLAIN statement"),
        ("SELECT (", "is no SQL that can be read in line 1"),
        ("SELECT 'a", "is no SQL that can be read"),
        (f"SELECT {'(' * 5000}1{')' * 5000}", "is nested too deeply"),
    ],
)
def test_what_is_no_single_select_is_said_to_be_none(sql: str, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    """In one complaint, and with nothing of the parser's own on stderr."""
    (complaint,) = complaints(sql)
    assert complaint.startswith(said)
    assert capfd.readouterr() == ("", "")


def test_a_semicolon_at_the_end_is_no_second_statement() -> None:
    """Many editors put one there."""
    assert complaints("-- One row is x.\nSELECT a FROM t;\n-- the end\n") == []
