"""Sample data with ground truth: a believable file of events, and every finding that it must lead to.

The truth follows from how each fault is written (`squad_gates`, `workbench_gates`, `faults_*`) and from the identities
that transport forged (`noise`); nothing here knows how the project ingests, joins or decides.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from sample_data.noise import deliver
from sample_data.plan import SCENARIOS, Scenario, make_plan
from sample_data.render import render
from sample_data.writer import Summary, write


def generate(
    events: int,
    seed: int,
    out: Path,
    *,
    scenario: Scenario = "support-squad",
    fault_rate: float = 0.06,
    days: int = 28,
    end: datetime | None = None,
) -> Summary:
    """Write ``events`` different events to ``out`` (JSON lines), ``truth.jsonl`` and ``summary.json`` beside it.

    The files are a pure function of the arguments. About ``fault_rate`` (0..1) of the events belong to runs with an
    injected fault, though a small file shows each rule once where it can; the runs end within ``days`` days (up to a
    week, or whole weeks; a few begin earlier). With an ``end`` (any offset) all times are moved by whole days, so that
    the newest event lies within the 24 hours up to it; without one the dates are always the same. The truth holds
    under the policy that the summary names (`sample_data.policy_path`). Duplicates, malformed lines, reused identities
    (each of them a finding, whatever the ``fault_rate``) and blank lines come on top of ``events``. Raises ValueError
    for arguments out of range, OSError when the files cannot be written.
    """
    if events < 1:
        raise ValueError(f"events must be at least 1, not {events}")
    if scenario not in SCENARIOS:
        raise ValueError(f"unknown scenario {scenario!r}: it is one of {', '.join(SCENARIOS)}")
    if not 0 <= fault_rate <= 1:
        raise ValueError(f"fault_rate is a share between 0 and 1, not {fault_rate}")
    if days < 1:
        raise ValueError(f"days must be at least 1, not {days}")
    if end is not None and end.utcoffset() is None:
        raise ValueError(f"end needs an offset from UTC, {end.isoformat()} has none")
    plan = make_plan(events, seed, scenario, fault_rate)
    rendered = render(plan, seed, days, end)
    delivery = deliver(rendered.events, seed)
    truth = sorted([*rendered.truth, *delivery.truth])
    summary = Summary(
        scenario=scenario,
        policy=scenario,
        seed=seed,
        end=end.astimezone(UTC).isoformat().replace("+00:00", "Z") if end else None,
        events=events,
        runs=sum(story.tickets * count for story, count in plan if len(story.steps) > 1),
        lines=len(delivery.lines),
        accepted=rendered.events.height,
        duplicate=delivery.duplicates,
        quarantined=delivery.quarantined,
        blank=delivery.blank,
        truth=_count_truth(truth),
    )
    write(out, delivery.lines, truth, summary)
    return summary


def _count_truth(lines: Sequence[str]) -> dict[str, int]:
    return dict(sorted(Counter(str(json.loads(line)["rule"]) for line in lines).items()))
