"""Every page in every state that somebody may find it in: a sentence or a number, never a traceback or a wrong zero."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.snapshot import Snapshots
from tests.dashboard.pages import open_page, said
from tests.dashboard.snapshots import EMPTY, about, publish
from tests.dashboard.test_hostile import HOSTILE

PAGES = ("overview", "gates", "reconciliation", "tools", "kpis", "runs", "quality")
MARTS = (
    "gate_checks", "reconciliation", "tool_calls", "outcome_rates", "retry_degrade", "runs", "kpi_facts", "findings",
    "quarantine", "evidence", "sources", "batches",
)  # fmt: skip

TITLES = {
    "overview": "silent gate drops, ",
    "gates": "dropped silently, of ",
    "reconciliation": "breaks in ",
    "tools": "tool calls succeeded",
    "kpis": "verified containment, ",
    "runs": " runs",
    "quality": "lines are accounted for, ",
}
"""A part of the title of each page on the demo: the answer to its question."""


@pytest.fixture
def copied(demo: Path, tmp_path: Path) -> Path:
    """A data directory with a copy of the demo's snapshot that a test may change."""
    data = tmp_path / "copied"
    (data / "published").mkdir(parents=True)
    file = (demo / "gatewatch.duckdb").resolve()
    shutil.copy(file, data / "published" / file.name)
    (data / "gatewatch.duckdb").symlink_to(Path("published") / file.name)
    return data


def _change(data: Path, *statements: str) -> None:
    with duckdb.connect(str((data / "gatewatch.duckdb").resolve())) as con:
        for statement in statements:
            con.execute(statement)


def _everything(app: AppTest) -> str:
    return "\n".join([said(app), *(header.value for header in app.header)])


@pytest.mark.parametrize("page", PAGES)
def test_a_page_answers_its_question_in_its_title(page: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(monkeypatch, demo, page)

    assert TITLES[page] in app.title[0].value.replace("\u202f", " ")
    assert "Events until" in said(app)
    assert not app.error


@pytest.mark.parametrize("page", PAGES)
def test_without_events_nothing_is_known(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **EMPTY)

    app = open_page(monkeypatch, tmp_path, page)

    assert "holds no events yet" in said(app)
    assert "Events until unknown" in said(app)
    assert {metric.value for metric in app.metric} <= {"unknown"}
    assert not app.error


@pytest.mark.parametrize("page", PAGES)
def test_filtered_to_nothing_is_a_sentence(page: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_page(monkeypatch, demo, page, tenant="nobody")

    assert not app.error
    if page != "quality":  # which has no filter
        assert any(word in _everything(app) for word in ("with these filters", "passes these filters"))


@pytest.mark.parametrize("page", PAGES)
def test_an_old_snapshot_says_so(page: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _change(copied, "UPDATE about SET published_at = published_at - INTERVAL 3 DAY")

    assert "Stale: nothing has been published for 3 days" in said(open_page(monkeypatch, copied, page))


@pytest.mark.parametrize("page", PAGES)
def test_no_snapshot_and_a_damaged_one_are_sentences(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert open_page(monkeypatch, tmp_path / "nowhere", page).title[0].value == "No data yet"
    publish(tmp_path, about=[about()]).write_bytes(b"\0" * 10_000)
    assert open_page(monkeypatch, tmp_path, page).title[0].value == "The snapshot cannot be read"


@pytest.mark.parametrize("page", PAGES)
def test_hostile_text_reaches_no_element_that_formats(page: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of every mart begins with what Markdown, HTML and LaTeX would make something of."""
    bad = "' || chr(96) || '[x](http://192.0.2.1) **b** <img src=x onerror=alert(1)> :red[r] $x^2$ ' || "
    fixed = {"rule", "severity", "status", "kpi", "outcome", "error_class", "verdict", "match_key", "reason", "kind"}
    with duckdb.connect(str((copied / "gatewatch.duckdb").resolve())) as con:
        for table in MARTS:
            columns = con.execute(
                "SELECT column_name FROM duckdb_columns() WHERE table_name = ? AND data_type = 'VARCHAR'", [table]
            ).fetchall()
            changes = ", ".join(f'"{name}" = \'{bad}"{name}"' for (name,) in columns if name not in fixed)
            if changes:
                con.execute(f'UPDATE "{table}" SET {changes}')
        ((run,),) = con.execute("SELECT correlation_id FROM runs WHERE findings_open > 0 LIMIT 1").fetchall()
        ((found,),) = con.execute("SELECT finding_id FROM findings WHERE status = 'open' LIMIT 1").fetchall()

    for params in ({}, {"run": run}, {"finding": found}, {"q": HOSTILE[0]}):
        app = open_page(monkeypatch, copied, page, **params)
        formatted = [*app.markdown, *app.caption, *app.header, *app.subheader, *app.title, *app.info, *app.warning]
        formatted += [*app.success, *app.error, *app.expander]
        words = [getattr(element, "value", None) or getattr(element, "label", "") for element in formatted]
        words += [metric.label for metric in app.metric] + [metric.value for metric in app.metric]
        words += [button.label for button in app.button]
        assert [word for word in words if "192.0.2.1" in str(word) or "onerror" in str(word)] == []


@pytest.mark.parametrize("page", PAGES)
def test_many_rows_are_cut_and_the_page_says_so(page: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    more = "INSERT INTO {0} SELECT t.* FROM {0} AS t, range(40)"
    _change(copied, *(more.format(table) for table in MARTS if table not in ("sources", "batches")))

    app = open_page(monkeypatch, copied, page)

    assert all(len(frame.value) <= 1_000 for frame in app.dataframe)
    if page in ("overview", "runs"):
        assert "The first " in said(app)


@pytest.mark.parametrize("page", PAGES)
def test_every_period_can_be_looked_at(page: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for period in ("24h", "7d", "90d", "nonsense"):
        assert not open_page(monkeypatch, demo, page, period=period).error


def test_a_run_opens_with_its_findings_and_its_events(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Snapshots(demo).current().con as con:
        ((run, tenant, n),) = con.execute(
            "SELECT correlation_id, tenant, findings_open FROM runs WHERE findings_open > 0 ORDER BY 1 LIMIT 1"
        ).fetchall()
        ((events,),) = con.execute(
            "SELECT count(*) FROM events WHERE correlation_id = ? AND tenant IS NOT DISTINCT FROM ?", [run, tenant]
        ).fetchall()

    app = open_page(monkeypatch, demo, "runs", run=run)

    assert run in said(app)
    assert len(app.dataframe[0].value) >= n
    assert f"All {events:,} events in words" in [expander.label for expander in app.expander]
    assert "knows no run of this name" in said(open_page(monkeypatch, demo, "runs", run="TICKET-nobody"))


def test_runs_are_found_by_a_part_of_their_name_and_by_tool(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Snapshots(demo).current().con as con:
        ((run,),) = con.execute("SELECT min(correlation_id) FROM runs").fetchall()
        ((with_tool,),) = con.execute(
            "SELECT count(*) FROM runs AS r WHERE EXISTS (SELECT 1 FROM tool_calls AS c WHERE c.tool = 'kb_search' "
            "AND c.correlation_id = r.correlation_id AND c.tenant IS NOT DISTINCT FROM r.tenant)"
        ).fetchall()

    found = open_page(monkeypatch, demo, "runs", q=run.lower())
    assert run in list(found.dataframe[0].value["correlation_id"])
    assert open_page(monkeypatch, demo, "runs", q="KB_search").title[0].value == f"{with_tool:,} runs"
    assert "No run was found" in said(open_page(monkeypatch, demo, "runs", q="100%_"))


def test_a_gate_drop_shows_the_order_that_was_demanded(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Snapshots(demo).current().con as con:
        ((finding, gates),) = con.execute(
            """
            SELECT f.finding_id, (SELECT count(*) FROM gate_checks AS a WHERE a.shipped_event_id = g.shipped_event_id)
            FROM gate_checks AS g
            INNER JOIN findings AS f ON f.rule = g.status AND f.gate = g.gate AND f.correlation_id = g.correlation_id
            WHERE g.silent ORDER BY 2 DESC, 1 LIMIT 1
            """
        ).fetchall()

    app = open_page(monkeypatch, demo, "gates", finding=finding)

    assert "The order that the policy demands" in [subheader.value for subheader in app.subheader]
    assert len(app.dataframe[-1].value) == gates


def test_a_stale_link_is_told_in_the_page(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "This link was taken from snapshot 99" in said(open_page(monkeypatch, demo, "gates", snapshot="99"))
