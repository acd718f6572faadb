"""The records of an output-stamp hook's `events.jsonl`: one line for each file that an agent wrote."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.common import Event
from schemas.fields import Amount, CustomerRef, Id, Ref, Tokens


class _Xenia(Event):
    """A line that an output-stamp hook wrote for one file; the ticket is the correlation id."""

    ticket_id: Id | None = None
    agent: Ref | None = None
    phase: Literal["tickets", "escalations", "voc", "quality", "kb-gaps", "other"] | None = None
    severity: Literal["P1", "P2", "P3", "P4", "unknown"] | None = None
    category: Ref | None = None
    customer_ref: Annotated[CustomerRef | None, Field(description="customer:<hash>, never a name.")] = None
    outcome: Literal["delight", "resolved"] | None = None
    path: Ref | None = None
    sla_state: Literal["ok", "warn", "breach", "n/a"] | None = None
    tokens: Tokens | None = None
    cost_usd: Annotated[Amount | None, Field(description="US dollars; null means no data, never zero.")] = None
    model_tier: Ref | None = None


class XeniaTicketCreated(_Xenia):
    """A ticket file was opened."""

    kind: Literal["xenia.ticket_created"]


class XeniaTicketResolved(_Xenia):
    """A reply that resolves the ticket was written."""

    kind: Literal["xenia.ticket_resolved"]


class XeniaEscalated(_Xenia):
    """A reply that escalates the ticket to a human was written."""

    kind: Literal["xenia.escalated"]


class XeniaVocReport(_Xenia):
    """A voice-of-customer report was written."""

    kind: Literal["xenia.voc_report"]


class XeniaOutputWritten(_Xenia):
    """Any other output file was written."""

    kind: Literal["xenia.output_written"]
