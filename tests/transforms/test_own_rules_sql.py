"""Every way in which the SQL of an own rule could do or say more than a rule may."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from tests.support.own_rules import HEAD, refusal, select
from transforms.errors import CatalogueError
from transforms.rule_folder import load_rules
from transforms.rule_trial import Trial


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        # Another statement, or none.
        ("", "holds 0 statements"),
        (select() + "; DROP TABLE events", "holds 2 statements"),
        (select() + ";\n-- \n;; DELETE FROM events", "holds 2 statements"),
        ("COPY (SELECT 1) TO 'out.csv'", "is a COPY statement"),
        ("ATTACH 'other.duckdb'", "is a ATTACH statement"),
        ("PRAGMA database_list", "is a PRAGMA statement"),
        ("INSTALL httpfs", "is a INSTALL statement"),
        ("SET enable_external_access = true", "is a SET statement"),
        ("INSERT INTO events SELECT * FROM events", "is a INSERT statement"),
        ("CREATE TABLE x AS SELECT 1", "is a CREATE statement"),
        ("WITH x AS (DELETE FROM events RETURNING *) " + select(), "uses what a rule may not: Delete"),
        # Files and what DuckDB knows of itself.
        (select(source="read_csv('x.csv') AS e"), "uses what a rule may not: the function READ_CSV"),
        (select(source="read_text('x') AS e"), "uses what a rule may not: the function READ_TEXT"),
        (select(source="glob('*') AS e"), "uses what a rule may not: the function GLOB"),
        (select(source="'x.csv' AS e"), 'reads "x.csv", which is no table that a rule can read'),
        (select(source='"x.parquet" AS e'), 'reads "x.parquet", which is no table that a rule can read'),
        (select(source="duckdb_settings() AS e"), "uses what a rule may not: the function DUCKDB_SETTINGS"),
        (select(source="duckdb_tables AS e"), 'reads "duckdb_tables", which'),
        (select(source="sqlite_master AS e"), 'reads "sqlite_master", which'),
        (select(source="information_schema.tables AS e"), "reads information_schema.tables"),
        (select(source="main.events AS e"), "reads main.events"),
        (select(source="pg_catalog.pg_class AS e"), "reads pg_catalog.pg_class"),
        (select(source="query('SELECT 1') AS e"), "uses what a rule may not: the function QUERY"),
        (select(source="query_table('events') AS e"), "uses what a rule may not: the function QUERY_TABLE"),
        (
            select(more="WHERE EXISTS (SELECT 1 FROM read_blob('x'))"),
            "uses what a rule may not: the function READ_BLOB",
        ),
        (
            select(subject="(SELECT max(content) FROM read_text('x'))"),
            "uses what a rule may not: the function READ_TEXT",
        ),
        (select(subject="getenv('HOME')"), "uses what a rule may not: the function GETENV"),
        (select(subject="current_setting('home_directory')"), "uses what a rule may not: the function CURRENT_SETTING"),
        # What is stored for all runs together, or made from findings.
        (select(source="events AS e"), 'reads "events", which holds more than is being judged; read "scope_events"'),
        (select(source="EVENTS AS e"), 'reads "EVENTS", which holds more than is being judged'),
        (select(more="WHERE e.event_id IN (SELECT event_id FROM events)"), 'reads "events"'),
        (select(source="scope_events AS e, events AS f", more=""), 'reads "events"'),
        (select(more="UNION ALL " + select(source="events AS e")), 'reads "events"'),
        (select(source="findings AS e"), 'reads "findings", which is made after the rules'),
        (select(source="kpis AS e"), 'reads "kpis", which'),
        (select(source="reconciliation AS e"), 'reads "reconciliation", which adds up what "fct_reconciliation"'),
        (select(source="sources AS e"), 'reads "sources", which belongs to no run; a rule about it is marked'),
        (select(source="scope_event AS e"), 'which is no table that a rule can read; did you mean "scope_events"?'),
        # Parts of the query that hide a table, and comments that hide a statement.
        (
            "WITH events AS (SELECT * FROM scope_events) " + select(source="events AS e"),
            'calls a part of the query "events"',
        ),
        (
            select(more="WHERE EXISTS (WITH events AS (SELECT 1) SELECT * FROM events)"),
            'calls a part of the query "events"',
        ),
        ("WITH Scope_Events AS (SELECT 1) " + select(), 'calls a part of the query "scope_events"'),
        ("WITH sqlite_master AS (SELECT 1) " + select(), 'calls a part of the query "sqlite_master"'),
        (select(source="(WITH u AS (SELECT 1) SELECT * FROM scope_events) AS e, u", more=""), "cannot run: "),
        (select(more="{# #} -- \n; DROP TABLE events"), "holds 2 statements"),
        (select(subject="e'\\'; DROP TABLE events; --'"), "uses what a rule may not: ByteString"),
        # What never ends, or depends on more than the rows.
        (
            "WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n) " + select(),
            "uses what a rule may not: WITH RECURSIVE",
        ),
        (select(source="range(1000000000000) AS e"), "uses what a rule may not: the function GENERATE_SERIES"),
        (select(subject="repeat('x', 1000000000000)"), "uses what a rule may not: the function REPEAT"),
        (select(event_ts="now()"), "uses what a rule may not: the function NOW"),
        (select(more="LIMIT 1"), "uses what a rule may not: Limit"),
        # What would depend on the order of arrival.
        (select(subject="CAST(e.seq AS VARCHAR)"), "reads the column seq, which tells the order of arrival"),
        (select(subject="CAST(SEQ AS VARCHAR)"), "reads the column seq, which"),
        (select(subject='CAST(e."Seq" AS VARCHAR)'), "reads the column seq, which"),
        (select(more="WHERE e.ts < e.floor_ts"), "reads the column floor_ts, which"),
        (select(source="scope_events AS e INNER JOIN scope_events AS f USING (seq)"), "reads the column seq, which"),
        (
            "WITH a AS (SELECT * FROM scope_events) " + select(source="a AS e", more="ORDER BY e.seq"),
            "reads the column seq, which",
        ),
        (
            "WITH a AS (SELECT t.group_no AS n FROM tool_calls AS t) " + select(source="scope_events AS e, a"),
            "reads the column group_no, which",
        ),
        (select(source="scope_events AS e, policy_tools AS p", more="WHERE p.rowid = 1"), "reads the column rowid"),
        (
            select(occurrence="CAST(row_number() OVER () AS VARCHAR)"),
            "uses ROW_NUMBER without ORDER BY a column; write OVER (… ORDER BY ts, event_id)",
        ),
        (select(occurrence="CAST(rank() OVER (PARTITION BY e.tool) AS VARCHAR)"), "uses RANK without ORDER BY"),
        (select(occurrence="CAST(dense_rank() OVER (ORDER BY 1) AS VARCHAR)"), "uses DENSE_RANK without ORDER BY"),
        (select(occurrence="lag(e.tool) OVER (PARTITION BY e.tool)"), "uses LAG without ORDER BY"),
        (select(occurrence="lead(e.tool) OVER w", more="WINDOW w AS (PARTITION BY e.tool)"), "uses LEAD without"),
        (
            select(occurrence="CAST(count(*) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS VARCHAR)"),
            "uses a window of neighbouring rows without ORDER BY",
        ),
        (
            select(occurrence="first_value(e.tool) OVER (ORDER BY e.ts)"),
            "uses what a rule may not: the function FIRST_VALUE",
        ),
        (select(subject="first(e.event_id)"), "uses what a rule may not: the function FIRST"),
        (
            select(message="(SELECT CAST(array_agg(f.tool) AS VARCHAR) FROM scope_events AS f)"),
            "uses ARRAY_AGG in the order of arrival; write list_sort(array_agg(…))",
        ),
        (select(more="WHERE (SELECT list(f.tool) FROM scope_events AS f) = ARRAY['a', 'b']"), "uses ARRAY_AGG in the"),
        (
            "WITH a AS (SELECT array_agg(event_id) AS evidence FROM scope_events) "
            + select(source="scope_events AS e, a", message="CAST(a.evidence AS VARCHAR)"),
            "uses ARRAY_AGG in the",
        ),
        (
            select(evidence="array_agg(e.event_id) OVER (PARTITION BY e.tool)", message="CAST(evidence AS VARCHAR)"),
            "uses ARRAY_AGG in the",
        ),
        (select(evidence="array_agg(e.event_id) OVER ()").replace("SELECT", "SELECT DISTINCT", 1), "uses ARRAY_AGG in"),
        (
            select() + " UNION ALL " + select(message="array_agg(e.tool) OVER ()").replace("AS message", "AS evidence"),
            "uses ARRAY_AGG in the",
        ),
        (select(subject="(" * 5000 + "e.event_id" + ")" * 5000), "is nested too deeply"),
        ("SELECT * FROM (", "is no SQL that can be read"),
    ],
)
def test_what_does_more_than_a_rule_needs_is_refused(folder: Path, sql: str, said: str) -> None:
    """A rule runs with the writer's rights: what is not known to be harmless does not run."""
    assert said in refusal(folder, HEAD + sql)


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a AS (SELECT * FROM scope_events) " + select(source="a AS e"),
        select(occurrence="CAST(row_number() OVER (PARTITION BY e.tool ORDER BY e.ts, e.event_id) AS VARCHAR)"),
        select(occurrence="lag(e.tool) OVER w", more="WINDOW w AS (PARTITION BY e.run_id ORDER BY e.ts, e.event_id)"),
        select(occurrence="lag(e.tool) OVER (w ORDER BY e.event_id)", more="WINDOW w AS (PARTITION BY e.run_id)"),
        select(occurrence="CAST(count(*) OVER (PARTITION BY e.tool) AS VARCHAR)"),
        select(evidence="array_agg(e.event_id) OVER (PARTITION BY e.tool)"),
        select() + " UNION ALL " + select(evidence="(array_agg(DISTINCT e.event_id) FILTER (WHERE TRUE) OVER ())"),
        select(message="CAST(list_sort(array_agg(e.tool) FILTER (WHERE e.attempt > 1) OVER ()) AS VARCHAR)"),
        "WITH n AS (SELECT event_id, row_number() OVER (ORDER BY ts, event_id) AS seq FROM scope_events) "
        + select(
            source="scope_events AS e INNER JOIN n ON n.event_id = e.event_id", occurrence="CAST(n.seq AS VARCHAR)"
        ),
    ],
)
def test_an_order_that_the_events_give_is_let_in(folder: Path, sql: str) -> None:
    """A star too, as what tells the order of arrival is not in it; and a name that is the rule's own."""
    (folder / "slow.sql").write_text(HEAD + sql)
    assert set(load_rules(folder).rules) == {"slow_call"}


def test_the_order_of_arrival_is_not_reached_by_another_name(
    two_calls: duckdb.DuckDBPyConnection, folder: Path
) -> None:
    """Names given by place, or all columns of a row as one value."""
    ((first, *_), *_) = two_calls.execute("DESCRIBE SELECT * EXCLUDE (seq) FROM events").fetchall()
    (folder / "slow.sql").write_text(
        HEAD + "WITH a(x) AS (SELECT * FROM scope_events) "
        ""
        + select(source="scope_events AS e, a", subject="CAST(a.x AS VARCHAR)", message="CAST(e AS VARCHAR)", more="")
    )
    (relation,) = load_rules(folder).relations
    rows = two_calls.execute(f"SELECT DISTINCT subject FROM ({relation.sql})").fetchall()
    assert sorted(rows) == sorted(two_calls.execute(f'SELECT CAST("{first}" AS VARCHAR) FROM events').fetchall())
    ((told,), *_) = two_calls.execute(f"SELECT message FROM ({relation.sql})").fetchall()
    assert "event_id" in told
    assert "seq" not in told
    assert "floor_ts" not in told


def test_what_a_comment_holds_is_not_run(folder: Path) -> None:
    """Readers of SQL do not agree on where a comment within a comment ends: what was not read is not handed on."""
    text = select(more="/* /* */ UNION ALL SELECT * FROM events */ WHERE TRUE {# ; DROP TABLE events #}")
    (folder / "slow.sql").write_text(HEAD + text)
    (relation,) = load_rules(folder).relations
    code = relation.sql.removeprefix(HEAD)
    assert "/*" not in code
    assert "DROP" not in code
    assert " events" not in code


def test_what_the_check_of_the_text_would_miss_still_runs_nowhere(trial: Trial) -> None:
    """DuckDB's own parser has to see the same tables, and the trial knows no file and no setting."""
    for sql, reads in (
        (select(source="read_csv('pyproject.toml') AS e"), set()),
        (select(source="events AS e"), {"scope_events"}),
        (select() + "; " + select(), {"scope_events"}),
    ):
        with pytest.raises(CatalogueError, match="reads for DuckDB otherwise than it looks"):
            trial.run(sql, reads)
    with pytest.raises(CatalogueError, match="cannot run"):
        trial.run("DROP TABLE events", set())
    with pytest.raises(CatalogueError, match="cannot run"):
        trial.run(select(source="'pyproject.toml' AS e"), {"pyproject.toml"})


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (select().replace(" AS gate", " AS gates"), "does not return the column gate; a rule returns rule, status, "),
        (select().replace("SELECT ", "SELECT 1 AS score, "), 'returns the column "score", which no finding has'),
        (select().replace("SELECT ", "SELECT 'x' AS gate, "), "returns the column gate twice"),
        (select(event_ts="e.event_id"), "returns event_ts as VARCHAR; it must be TIMESTAMP"),
        (select(evidence="e.event_id"), "returns evidence as VARCHAR; it must be VARCHAR[]"),
        (select(subject="e.attempt"), "returns subject as BIGINT; it must be VARCHAR"),
        (select(subject="e.evnt_id"), "cannot run: Binder Error"),
        (select(subject="e.duration_ms || 1"), "returns subject as VARCHAR"),
        (select(more="UNION ALL SELECT 1"), "cannot run: "),
    ],
)
def test_columns_are_held_against_the_database(folder: Path, sql: str, said: str) -> None:
    """Before the first event: a wrong type would otherwise break the pipeline in the middle of the night."""
    if "returns subject as VARCHAR" in said:
        (folder / "slow.sql").write_text(HEAD + sql)
        assert load_rules(folder).rules
        return
    assert refusal(folder, HEAD + sql).startswith(said)


def test_a_rule_about_everything_reads_no_single_run(folder: Path) -> None:
    """It is computed as a whole each time, so it may not read what is only there in parts."""
    head = HEAD.replace("long.\n-- @rule", "long.\n-- @scope all\n-- @rule", 1)
    source = "scope_all_events AS e"
    said = refusal(folder, head + select(source="tool_calls AS e"))
    assert said.startswith('reads "tool_calls", which holds only the runs that are being judged')
    assert 'read "scope_all_events"' in refusal(folder, head + select(source="events AS e"))
    (folder / "slow.sql").write_text(head + select(source=source, correlation_id="NULL"))
    (relation,) = load_rules(folder).relations
    assert relation.unit == "all"
    assert relation.reads == {"scope_all_events"}
