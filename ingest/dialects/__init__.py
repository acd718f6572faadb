"""Dialects: which way of spelling events a line uses, told by the shape of the parsed object alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NATIVE = "native"
XENIA = "xenia"
DECISION_RECORD = "decision_record"
READ = (NATIVE, XENIA, DECISION_RECORD)

_OTLP = ("resourceSpans", "resource_spans", "resourceLogs", "resourceMetrics")
_TRANSCRIPT = ("sessionId", "message", "leafUuid", "messageId", "agentId", "uuid")


def recognise(event: Mapping[str, Any]) -> str:
    """The name of the dialect that this object is written in; ``native`` when nothing speaks for another.

    ``otlp``, ``cloudevents`` and ``claude-code`` are told apart so that they can be refused by name; they are not
    read yet.
    """
    kind = event.get("kind")
    if isinstance(kind, str):
        return XENIA if kind.startswith("xenia.") else NATIVE
    if any(name in event for name in _OTLP):
        return "otlp"
    if "specversion" in event and "type" in event:
        return "cloudevents"
    if isinstance(event.get("type"), str) and any(name in event for name in _TRANSCRIPT):
        return "claude-code"
    return NATIVE
