"""The overview in every state in which a manager may find it: a sentence, never a traceback or a made-up zero."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
from streamlit.testing.v1 import AppTest

from tests.dashboard.pages import metrics, open_app, said
from tests.dashboard.snapshots import EMPTY, NORMAL, about, now, publish


def _rules(app: AppTest) -> list[str]:
    return list(app.dataframe[0].value["rule"])


def test_a_normal_snapshot_shows_its_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    app = open_app(monkeypatch, tmp_path)

    assert app.title[0].value == "1 silent gate drop, 3 broken flags"
    assert metrics(app) == {
        "Silent gate drops": "1",
        "Broken executed flags": "3",
        "Success rate": "78.6 %",
        "Open critical findings": "2",
        "Verified containment": "unknown",
    }
    words = said(app)
    assert "14.3 % (2.6 to 51.3 %) of 7 checks on 5 shipments" in words
    assert "1 false done, 1 hidden, 1 partly · 50.0 % of 6 flags · 1 cannot be checked" in words
    assert "11 of 14 calls" in words
    assert "of 4 open findings · 1 more wait for late evidence" in words
    assert _rules(app) == ["phantom_execution", "gate_missing", "gate_late", "unverifiable"]


def test_freshness_is_always_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    (line,) = [text.value for text in open_app(monkeypatch, tmp_path).text if text.value.startswith("Events until")]

    line = line.replace("\u202f", " ")
    assert "(1 min ago)" in line
    assert "lag 10 min" in line
    assert "snapshot 7" in line
    assert "3 lines quarantined" in line
    assert "policy support-squad v2" in line


def test_without_events_nothing_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **EMPTY)

    app = open_app(monkeypatch, tmp_path)

    assert set(metrics(app).values()) == {"unknown"}
    assert app.title[0].value == "Nothing has been checked yet"
    assert "holds no events yet" in said(app)
    assert "Events until unknown" in said(app)
    assert not app.dataframe


def test_no_snapshot_is_a_sentence_with_the_next_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(monkeypatch, tmp_path / "nowhere")

    assert app.title[0].value == "No data yet"
    assert "gatewatch ingest" in app.info[0].value
    assert not app.metric


def test_the_page_fills_itself_once_a_snapshot_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = open_app(monkeypatch, tmp_path)
    publish(tmp_path, **NORMAL)

    app.run()

    assert metrics(app)["Silent gate drops"] == "1"


@pytest.mark.parametrize("damage", ["garbage", "another version", "a table gone"])
def test_an_unreadable_snapshot_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    target = publish(tmp_path, **NORMAL)
    if damage == "garbage":
        target.write_bytes(b"\0" * 10_000)
    else:
        with duckdb.connect(str(target)) as con:
            con.execute(
                "DROP TABLE findings" if damage == "a table gone" else "ALTER TABLE about RENAME policy TO rules"
            )

    app = open_app(monkeypatch, tmp_path)

    assert app.title[0].value == "The snapshot cannot be read"
    assert "gatewatch rebuild" in app.error[0].value
    assert not app.metric


def test_an_old_snapshot_says_how_old_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL | {"about": [about(published_at=now() - timedelta(days=3))]})

    app = open_app(monkeypatch, tmp_path)

    assert "Stale: nothing has been published for 3 days" in app.warning[0].value.replace("\u202f", " ")
    assert metrics(app)["Silent gate drops"] == "1"


def test_a_fresh_snapshot_is_not_called_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    assert not open_app(monkeypatch, tmp_path).warning


def test_no_findings_is_good_news_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL | {"findings": []})

    app = open_app(monkeypatch, tmp_path)

    assert "No open findings" in app.success[0].value
    assert not app.dataframe


def test_filters_come_from_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    app = open_app(monkeypatch, tmp_path, severity=["critical", "high"], tenant="")

    assert _rules(app) == ["gate_late"]
    assert "1 of 4 open findings" in said(app)


def test_a_chosen_filter_goes_into_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)
    app = open_app(monkeypatch, tmp_path, finding="f1")

    app.multiselect(key="filter-severity").select("low").run()

    assert not app.exception
    assert app.query_params["severity"] in ("low", ["low"])
    assert app.query_params["finding"] in ("f1", ["f1"])
    assert _rules(app) == ["unverifiable"]


def test_filtered_to_nothing_says_so_and_shows_the_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    app = open_app(monkeypatch, tmp_path, rule="no_such_rule")

    assert "No open finding passes these filters; without them there are 4." in said(app)
    assert app.multiselect(key="filter-rule").value == ["no_such_rule"]
    assert not app.dataframe


def test_a_table_of_many_findings_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = publish(tmp_path, **NORMAL)
    with duckdb.connect(str(target)) as con:
        con.execute("INSERT INTO findings BY NAME SELECT f.* REPLACE ('many' || i AS finding_id) "
                    "FROM findings AS f, range(5000) AS t(i) WHERE f.finding_id = 'f1'")  # fmt: skip

    app = open_app(monkeypatch, tmp_path)

    assert len(app.dataframe[0].value) == 1_000
    assert "The first 1,000 of 5,004: filter to reach the rest." in said(app)
    assert metrics(app)["Open critical findings"] == "5,002"


# --- the period, and what opens


def _weeks(n: int, silent: int, days_ago: int) -> list[dict[str, object]]:
    """`n` checks so many days ago, of which the first `silent` were dropped."""
    then = now() - timedelta(days=days_ago)
    return [
        {"shipped_event_id": f"d{days_ago}-{nth}", "shipped_ts": then, "gate": "quality", "subject": f"reply-{nth}",
         "status": "gate_missing" if nth < silent else "passed", "silent": nth < silent, "correlation_id": f"T-{nth}"}
        for nth in range(n)
    ]  # fmt: skip


def test_a_week_is_held_against_the_week_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, gate_checks=[*_weeks(40, 2, 1), *_weeks(50, 5, 9), *_weeks(10, 7, 30)])

    app = open_app(monkeypatch, tmp_path, period="7d")

    (card,) = [metric for metric in app.metric if metric.label == "Silent gate drops"]
    assert (card.value, card.delta) == ("2", "-3")
    assert "of 40 checks" in said(app)
    assert metrics(open_app(monkeypatch, tmp_path))["Silent gate drops"] == "14"


def test_nothing_is_said_about_a_period_that_began_before_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = now() - timedelta(days=9)
    publish(tmp_path, about=[about(first_event_ts=first)], gate_checks=[*_weeks(40, 2, 1), *_weeks(50, 5, 9)])

    app = open_app(monkeypatch, tmp_path, period="7d")

    (card,) = [metric for metric in app.metric if metric.label == "Silent gate drops"]
    assert not card.delta


def test_an_event_from_the_future_does_not_hide_the_present(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    future = _weeks(3, 1, -4_000)
    publish(
        tmp_path,
        about=[about(last_event_ts=now() + timedelta(days=4_000))],
        gate_checks=[*_weeks(40, 2, 1), *future],
    )

    assert metrics(open_app(monkeypatch, tmp_path, period="7d"))["Silent gate drops"] == "3"


def test_a_number_opens_to_its_rows_and_closes_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, gate_checks=_weeks(40, 2, 1))
    app = open_app(monkeypatch, tmp_path)

    app.button(key="rows-silent-drops").click().run()

    assert app.query_params["rows"] in ("silent-drops", ["silent-drops"])
    assert sorted(app.dataframe[0].value["subject"]) == ["reply-0", "reply-1"]
    app.button(key="close-rows").click().run()
    assert "rows" not in app.query_params
    assert not app.dataframe


def test_a_link_says_from_which_snapshot_it_was_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    told = said(open_app(monkeypatch, tmp_path, snapshot="5", severity="critical"))

    assert "This link was taken from snapshot 5; you see snapshot 7, which may say more." in told
    assert "This link was taken" not in said(open_app(monkeypatch, tmp_path, snapshot="7"))
    app = open_app(monkeypatch, tmp_path)
    app.multiselect(key="filter-severity").select("low").run()
    assert app.query_params["snapshot"] in ("7", ["7"])


def test_what_changed_since_yesterday_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change(number: int, hours_ago: float, change: str, reason: str, severity: str) -> dict[str, object]:
        noticed = now() - timedelta(hours=hours_ago)
        return {"finding_id": f"f{number}", "at": noticed, "change": change, "reason": reason, "severity": severity}

    history = [
        change(1, 2, "opened", "evidence", "critical"),
        change(2, 3, "opened", "evidence", "low"),
        change(3, 23, "cleared", "late_evidence", "high"),
        change(4, 26, "opened", "evidence", "critical"),
    ]
    publish(tmp_path, **NORMAL | {"finding_history": history})

    told = said(open_app(monkeypatch, tmp_path))

    assert (
        "Noticed in the 24 hours before this snapshot: 2 findings new (1 critical), 1 finding cleared, "
        "1 of the cleared ones because evidence came late." in told
    )
