"""The accounting of lines: each is accepted, duplicate, quarantined or blank, and the four add up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

COUNTS = ("lines", "accepted", "duplicate", "quarantined", "blank", "warnings", "drift", "redacted")


@dataclass(slots=True)
class Accounting:
    """What became of the lines of a chunk, a source or a run.

    `warnings` counts what could not be read of accepted events, `drift` accepted events with unknown fields,
    `redacted` lines from which personal data was taken, `reasons` quarantined lines by reason. `recovered` counts
    lines that an interrupted run had left in the ledger and this one brought into the store; they are not in `lines`.
    `skipped` names files in a folder that are no decision records, `unchanged` sources without anything new.
    """

    lines: int = 0
    accepted: int = 0
    duplicate: int = 0
    quarantined: int = 0
    blank: int = 0
    warnings: int = 0
    drift: int = 0
    redacted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    recovered: int = 0
    skipped: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)

    def add(self, other: Accounting) -> None:
        """Count another part as well."""
        for name in (*COUNTS, "recovered"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.reasons.update(other.reasons)
        self.skipped += other.skipped
        self.unchanged += other.unchanged

    @property
    def balanced(self) -> bool:
        """The law: lines = accepted + duplicate + quarantined + blank."""
        return self.lines == self.accepted + self.duplicate + self.quarantined + self.blank
