"""What every event carries, whatever its kind."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from schemas.fields import Id, Model, Ref, SpanId, TraceId, Ts


class Event(Model):
    """What every event carries, whatever its kind."""

    event_id: Annotated[Id, Field(description="Identity of the event; the dedupe key.")]
    ts: Annotated[Ts, Field(description="When it happened, by the producer's clock.")]
    run_id: Annotated[Id | None, Field(description="The agent run.")] = None
    turn_id: Annotated[Id | None, Field(description="The turn in the run.")] = None
    tenant: Annotated[Id | None, Field(description="Whose data it is; null is a tenant of its own.")] = None
    source: Annotated[Ref | None, Field(description="Which service emitted it.")] = None
    trace_id: Annotated[TraceId | None, Field(description="W3C trace id.")] = None
    span_id: Annotated[SpanId | None, Field(description="W3C span id.")] = None
