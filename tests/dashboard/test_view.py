"""A link shows a colleague the same page, whatever the address was made of."""

from __future__ import annotations

import pytest

from dashboard.view import View


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(severities=("critical", "high"), rules=("gate_missing",), tenants=("", "acme & co?#"), finding="f1"),
        View(finding="f1"),
        View(
            period="24h",
            gates=("quality",),
            tools=("kb_search",),
            callers=("hermes",),
            intents=("billing",),
            snapshot=12,
        ),
        View(run="TICKET-1", run_of=("",), rows="silent-drops", search="a b"),
    ],
)
def test_an_address_brings_back_the_same_view(view: View) -> None:
    assert View.from_params(view.to_params()) == view


def test_what_an_address_may_not_say_is_passed_over() -> None:
    view = View.from_params(
        {
            "severity": ["critical", "critical"],
            "rule": ["x" * 1_001],
            "tenant": [f"t{n}" for n in range(99)],
            "embed": ["1"],
        }
    )

    assert view.severities == ("critical",)
    assert view.rules == ()
    assert len(view.tenants) == 50
    assert view.finding is None


def test_a_change_of_filter_keeps_the_opened_finding() -> None:
    view = View(severities=("critical",), finding="f1")

    assert view.with_filter("rule", ["gate_late"]) == View(severities=("critical",), rules=("gate_late",), finding="f1")
    assert view.with_finding(None) == View(severities=("critical",))
