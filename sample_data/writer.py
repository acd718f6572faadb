"""The files of a generated data set: the lines, and beside them the truth and the accounting."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

TRUTH_NAME = "truth.jsonl"
SUMMARY_NAME = "summary.json"
_SLICE = 50_000


@dataclass(frozen=True)
class Summary:
    """What was written. ``lines`` = ``accepted`` + ``duplicate`` + the sum of ``quarantined`` + ``blank``.

    ``events`` is the number of different valid events (equal to ``accepted``), ``truth`` the number of findings by
    rule; ``policy`` names the policy under which the truth holds. ``end`` is the instant up to which the times were
    moved (RFC 3339), if they were.
    """

    scenario: str
    policy: str
    seed: int
    end: str | None
    events: int
    runs: int
    lines: int
    accepted: int
    duplicate: int
    quarantined: dict[str, int]
    blank: int
    truth: dict[str, int]

    @property
    def conflicts(self) -> int:
        """Lines under an event id that another event already has."""
        return self.quarantined.get("event_conflict", 0)

    @property
    def malformed(self) -> int:
        """Quarantined lines that are no events."""
        return sum(self.quarantined.values()) - self.conflicts


def write(out: Path, lines: pl.Series, truth: Iterable[str], summary: Summary) -> None:
    """Write ``out``, and ``truth.jsonl`` and ``summary.json`` into the same folder, which is made if needed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("wb") as file:
        for start in range(0, len(lines), _SLICE):
            file.write(b"\n".join([*lines.slice(start, _SLICE).to_list(), b""]))
    (out.parent / TRUTH_NAME).write_text("".join(f"{line}\n" for line in truth), encoding="utf-8")
    text = json.dumps(asdict(summary), indent=2, ensure_ascii=False)
    (out.parent / SUMMARY_NAME).write_text(text + "\n", encoding="utf-8")
