"""A mutation as a story knows it, and the keys under which a record or an approval may name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sample_data.casts import Tool

ClaimKey = Literal["receipt_id", "idempotency_key", "call_id", "target", "action"]
ApprovalLink = Literal["approval_id", "proposal_id", "target", "action"]


@dataclass(frozen=True)
class Deed:
    """One mutation as the story knows it: its keys and the events that are the evidence for it."""

    tool: Tool
    call_id: str | None
    key: str | None
    target: str
    amount: str | None
    attempt_event: str | None = None
    receipt_id: str | None = None
    receipt_event: str | None = None

    @property
    def effect_event(self) -> str:
        """The event that names the effect in the reconciliation: the receipt's if there is one."""
        return self.receipt_event or self.attempt_event or ""

    @property
    def approval_subject(self) -> str:
        """The event that names the effect among the approvals: the attempt's if there is one."""
        return self.attempt_event or self.receipt_event or ""
