"""Findings = truth: precision and recall of every rule over generated files whose lines arrive in any order.

Prints, over all seeds and scenarios, how many findings each rule should have, has, and has rightly. Ends with 1 when
one differs.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

import duckdb

from benchmarks.results import Figure, keep
from gatewatch.work import ingest_and_publish
from sample_data.generate import generate
from sample_data.plan import SCENARIOS, Scenario

Rows = Counter[tuple[str, str, str | None, str | None]]


def judged(folder: Path, events: int, seed: int, scenario: Scenario, fault_rate: float) -> tuple[Rows, Rows]:
    """(truth, findings) of one shuffled file."""
    file = folder / "events.jsonl"
    summary = generate(events, seed, file, scenario=scenario, fault_rate=fault_rate)
    lines = file.read_bytes().splitlines(keepends=True)
    # Which of two different events under one id is first is the one thing that arrival decides: those stay in order.
    reused = reused_ids(folder)
    forged = [n for n, line in enumerate(lines) if json_id(line) in reused]
    order = list(range(len(lines)))
    random.Random(seed).shuffle(order)
    where = {number: place for place, number in enumerate(order)}
    places = sorted(where[n] for n in forged)
    for place, number in zip(places, forged, strict=True):
        order[place] = number
    file.write_bytes(b"".join(lines[n] for n in order))
    _, _, snapshot = ingest_and_publish(folder / "data", [str(file)], dialect="auto", choice=summary.policy)
    told = (json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines())
    truth = Counter((row["rule"], row["subject"], row["correlation_id"], row["tenant"]) for row in told)
    with duckdb.connect(str(snapshot), read_only=True) as con:
        found = Counter(con.execute("SELECT rule, subject, correlation_id, tenant FROM findings").fetchall())
    return truth, found


def json_id(line: bytes) -> str | None:
    """The event id of a line, where it has one."""
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event.get("event_id") if isinstance(event, dict) else None


def reused_ids(folder: Path) -> set[str]:
    """The event ids that the truth says were reused."""
    rows = (json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["subject"] for row in rows if row["rule"] == "event_conflict"}


def main() -> None:
    """Print the table by rule."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--fault-rate", type=float, default=0.06)
    parser.add_argument("--keep", action="store_true", help="keep the figures in results.json for the report")
    arguments = parser.parse_args()
    wanted: Counter[str] = Counter()
    found: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for seed in range(1, arguments.seeds + 1):
        scenario = SCENARIOS[seed % len(SCENARIOS)]
        with tempfile.TemporaryDirectory() as folder:
            truth, says = judged(Path(folder), arguments.events, seed, scenario, arguments.fault_rate)
        for rows, sums in ((truth, wanted), (says, found), (truth & says, right)):
            for (rule, *_), count in rows.items():
                sums[rule] += count
        print(f"seed {seed}, {scenario}: truth {truth.total()}, findings {says.total()}", file=sys.stderr, flush=True)
    print(f"{'rule':32} {'truth':>7} {'found':>7} precision recall")
    for rule in sorted(wanted | found):
        precision = right[rule] / found[rule] if found[rule] else 0.0
        recall = right[rule] / wanted[rule] if wanted[rule] else 0.0
        print(f"{rule:32} {wanted[rule]:7} {found[rule]:7} {precision:9.4f} {recall:6.4f}")
    print(f"{'all rules':32} {wanted.total():7} {found.total():7}")
    detail = (
        f"{wanted.total():,} findings of {len(wanted)} rules over {arguments.seeds} seeds × {arguments.events:,} events"
    )
    sides = (("precision", right.total() / max(found.total(), 1)), ("recall", right.total() / max(wanted.total(), 1)))
    keep("truth", [Figure(f"truth/{name}", f"{name}, all rules", value, bar=1, detail=detail) for name, value in sides],
         arguments.keep)  # fmt: skip
    sys.exit(0 if wanted == found == right else 1)


if __name__ == "__main__":
    main()
