"""What the KPIs are called on a page, what they mean, and how their values are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dashboard.numbers import UNKNOWN, percent

Kind = Literal["share", "minutes", "score", "money", "count"]


@dataclass(frozen=True, slots=True)
class Kpi:
    """One KPI in words; `better` is the way that is good, None where a number alone says neither."""

    label: str
    meaning: str
    kind: Kind = "share"
    better: Literal["up", "down"] | None = "up"


KPIS = {
    "containment": Kpi(
        "Containment", "Runs that ended resolved without a human, of all that ended. Read it beside false deflection."
    ),
    "verified_containment": Kpi(
        "Verified containment",
        "The same, without those that came back within 7 days, or whose record breaks.",
    ),
    "false_deflection": Kpi(
        "False deflection",
        "Answers that closed the ticket and did not help, of those that a rubric judged.",
        better="down",
    ),
    "fcr": Kpi(
        "First-contact resolution",
        "Resolved without a follow-up on the same issue within 7 days. Younger days are left out.",
    ),
    "aht_proxy_median": Kpi(
        "Handling time, median", "From received to ended; a proxy: it holds waiting times too.", "minutes", "down"
    ),
    "aht_proxy_p90": Kpi(
        "Handling time, 90th percentile", "Nine of ten runs took no longer; a proxy, as the median.", "minutes", "down"
    ),
    "sla_attainment": Kpi(
        "SLA attainment", "Tickets that met their service level; overdue and still open counts as missed."
    ),
    "escalation_precision": Kpi("Escalation precision", "Hand-overs to a human that people judged to be right."),
    "escalation_precision_proxy": Kpi(
        "Escalation precision, proxy",
        "Hand-overs that the policy's trigger asked for: a proxy, without people's judgement.",
    ),
    "escalation_recall": Kpi(
        "Escalation recall", "Of the runs that needed a human, those that got one, by people's feedback."
    ),
    "csat": Kpi("Customer satisfaction", "Mean of real feedback, 1 to 5. Read it beside the response rate.", "score"),
    "csat_response_rate": Kpi("Response rate", "Ended runs on which the customer gave feedback.", better=None),
    "csat_sentiment_proxy": Kpi(
        "Bad sentiment, proxy", "Runs whose tone turned bad: a proxy for satisfaction.", better="down"
    ),
    "grounding": Kpi("Grounding", "Answers whose every statement is backed by a source, of those that were checked."),
    "cost_per_resolution": Kpi(
        "Cost per resolution", "US dollars per resolved run, of those that carry a cost.", "money", "down"
    ),
    "kb_gaps_filed": Kpi("Knowledge gaps filed", "Gaps in the knowledge base that were reported.", "count", None),
    "kb_gaps_closed": Kpi("Knowledge gaps closed", "Gaps in the knowledge base that were closed.", "count", None),
    "gate_reliability": Kpi(
        "Gate reliability", "Times that a gate, whose own call had failed, held the work back instead of dropping out."
    ),
    "under_scoping": Kpi(
        "Under-scoping", "Requests that were routed to too few agents, of those with a label.", better="down"
    ),
    "over_scoping": Kpi(
        "Over-scoping", "Requests that were routed to too many agents, of those with a label.", better="down"
    ),
}


def kpi_of(key: str) -> Kpi:
    """A KPI in words; one that this version does not know, by its key."""
    return KPIS.get(key) or Kpi(key, "", better=None)


def written(key: str, value: float | None) -> str:
    """A value as people write it: shares in percent, times in minutes or hours, money in dollars."""
    if value is None:
        return UNKNOWN
    kind = kpi_of(key).kind
    if kind == "minutes":
        return f"{value:.1f}\u202fmin" if value < 120 else f"{value / 60:.1f}\u202fh"
    if kind == "score":
        return f"{value:.2f}"
    if kind == "money":
        return f"${value:,.3f}"
    if kind == "count":
        return f"{value:,.0f}"
    return percent(value)


def moved(key: str, value: float | None, prior: float | None) -> str:
    """How a value moved against the period before, with a word for whether that is good."""
    if value is None or prior is None:
        return ""
    kpi, change = kpi_of(key), value - prior
    if kpi.kind == "share":
        points = round(change * 100, 1)
        size, none = f"{abs(points):.1f} points", points == 0
    else:
        size, none = written(key, abs(change)), abs(change) < 1e-9
    if none:
        return "unchanged"
    arrow = "▲" if change > 0 else "▼"
    word = "" if kpi.better is None else (" better" if (change > 0) == (kpi.better == "up") else " worse")
    return f"{arrow} {size}{word}"
