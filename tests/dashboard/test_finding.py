"""An opened finding: what happened, in order, what it means and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.dashboard.pages import open_app, said
from tests.dashboard.snapshots import NORMAL, at, event, finding, publish


def test_an_opened_finding_tells_what_happened_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)

    app = open_app(monkeypatch, tmp_path, finding="f1")

    texts = [text.value for text in app.text]
    wanted = [
        "reply-1 went out without any decision of the gate quality.",
        "The work was shipped and the gate never decided about it: a silent drop.",
        "Find out why the gate did not run, review the work now, and recall it if it fails.",
        "2 Mar 00:30:00.000  Tool call  hestia: kb_search: success",
        "Themis: reply-1 errored at the gate quality",
        "hestia: reply-1 went out",
        "2 Mar 01:06:00.000  Decision record  DR-1 closes as RESOLVED · claims no action",
    ]
    assert [text for text in texts if text in wanted] == wanted
    assert not any("mallory" in text for text in texts)
    assert "Evidence: 2 events, in order of time. Muted: the other 2 events" in said(app)


def test_many_events_in_a_row_are_folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [event(f"c{n}", "tool.invocation", n / 100, caller="a", tool="t", outcome="success") for n in range(40)]
    publish(tmp_path, **NORMAL | {"events": [*NORMAL["events"], *calls]})

    app = open_app(monkeypatch, tmp_path, finding="f1")

    assert app.expander[0].label.startswith("41 other events, 2 Mar 00:00:00.000 to 2 Mar 00:30:00.000")


@pytest.mark.parametrize(
    ("finding_id", "sentence"),
    [
        (
            "f9",
            "This finding no longer holds. It was cleared on 2 Mar 2026, 04:00 UTC: "
            "the policy or the rules were changed.",
        ),
        ("<b>nobody's</b>", "This snapshot knows no such finding."),
    ],
    ids=["cleared", "unknown"],
)
def test_a_link_to_a_finding_that_is_not_there_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, finding_id: str, sentence: str
) -> None:
    publish(tmp_path, **NORMAL)

    assert sentence in said(open_app(monkeypatch, tmp_path, finding=finding_id))


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("evidence", "cleared on 2 Mar 2026, 04:00 UTC: newer events settle it."),
        (
            "late_evidence",
            "cleared on 2 Mar 2026, 04:00 UTC: what was missing had happened in time and arrived late.",
        ),
        ("a_later_word", "cleared on 2 Mar 2026, 04:00 UTC."),
    ],
)
def test_a_cleared_finding_says_what_cleared_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, sentence: str
) -> None:
    """A manager who is told "the policy was changed" when a late review arrived asks the wrong person."""
    cleared = {"finding_id": "f9", "at": at(4), "change": "cleared", "reason": reason}
    publish(tmp_path, **NORMAL | {"finding_history": [cleared]})

    assert sentence in said(open_app(monkeypatch, tmp_path, finding="f9"))


def test_a_finding_without_run_and_events_says_where_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules about sources and the ledger name no ticket, gate, tool or event; the page must not show "None" or "0"."""
    nowhere = dict.fromkeys(("correlation_id", "tenant", "gate"))
    about_a_source = finding(1, rule="producer_silent", severity="medium", subject="a.jsonl", evidence=[]) | nowhere
    publish(tmp_path, **NORMAL | {"findings": [about_a_source]})

    app = open_app(monkeypatch, tmp_path, finding="f1")

    words = said(app)
    assert "No single event shows this" in words
    assert "gatewatch explain f1" in words
    assert "Evidence:" not in words
    assert "None" not in words
    facts = [caption.value for caption in app.caption if caption.value in ("Ticket or operation", "Subject", "Gate")]
    assert facts == ["Subject"]


def test_a_reused_id_points_to_the_refused_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The event on the page is the one that was kept; the question is what the other one said."""
    reused = finding(1, rule="event_conflict", severity="high", subject="e1-ship", gate=None)
    publish(tmp_path, **NORMAL | {"findings": [reused]})

    words = said(open_app(monkeypatch, tmp_path, finding="f1"))

    assert "gatewatch explain f1" in words
    assert "Evidence: 1 event, in order of time." in words


def test_a_subject_that_is_the_ticket_itself_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over = finding(1, rule="judge_cycles_exceeded", severity="medium", subject="TICKET-1", gate=None)
    record = event(
        "e1-again",
        "decision.record",
        1.2,
        decision_id="DR-2",
        terminal_state="RESOLVED",
        judge_cycles=3,
        dispatch_count=2,
    )
    publish(tmp_path, **NORMAL | {"findings": [over], "events": [*NORMAL["events"], record]})

    app = open_app(monkeypatch, tmp_path, finding="f1")

    assert [text.value for text in app.text].count("TICKET-1") == 1
    assert "DR-2 closes as RESOLVED · claims no action · judge rounds 3 · dispatches 2" in said(app)


def test_an_opened_finding_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path, **NORMAL)
    app = open_app(monkeypatch, tmp_path, finding="f1", severity="critical")

    next(button for button in app.button if button.label == "Close").click().run()

    assert "finding" not in app.query_params
    assert app.query_params["severity"] in ("critical", ["critical"])
    assert not [button for button in app.button if button.label == "Close"]


def test_a_rule_of_the_users_own_is_told_in_the_words_of_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has no folder of rules: what it says about one is what was published with the finding."""
    text = {"rule": "our_own_rule", "means": "It took long.", "action": "look `why`.", "satisfied_by": "a quick call."}
    tables = {"findings": [finding(1, rule="our_own_rule")], "rule_texts": [text]}
    publish(tmp_path, **NORMAL | tables)

    words = said(open_app(monkeypatch, tmp_path, finding="f1"))

    for sentence in ("It took long.", "Look “why”.", "A quick call."):
        assert sentence in words


def test_a_finding_of_a_rule_that_nobody_knows_is_shown_without_its_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, **NORMAL | {"findings": [finding(1, rule="our_own_rule", severity="odd", evidence=["gone"])]})

    words = said(open_app(monkeypatch, tmp_path, finding="f1"))

    assert "no description of this rule" in words
    assert "1 further event named as evidence cannot be shown here." in words
