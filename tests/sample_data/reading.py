"""A generated file as a test reads it: by nothing but `json` and the schemas."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from schemas.events import KINDS

Event = dict[str, Any]


class Reading:
    """A generated file read line by line, by nothing but `json` and the schemas."""

    def __init__(self, path: Path) -> None:
        self.events: dict[str, Event] = {}
        self.arrivals: list[Event] = []
        self.duplicate = self.blank = self.conflicts = self.malformed = 0
        self.lines = path.read_bytes().split(b"\n")
        assert self.lines.pop() == b""
        for line in self.lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            self.blank += 1
            return
        try:
            event = json.loads(line.decode())
            KINDS[event["kind"]].model_validate(event)
        except (ValueError, TypeError, KeyError):
            self.malformed += 1
            return
        known = self.events.setdefault(event["event_id"], event)
        if known is event:
            self.arrivals.append(event)
        elif known == event:
            self.duplicate += 1
        else:
            self.conflicts += 1

    def runs(self) -> dict[tuple[str | None, str], list[Event]]:
        grouped: dict[tuple[str | None, str], list[Event]] = defaultdict(list)
        for event in self.events.values():
            correlation = event.get("correlation_id") or event.get("ticket_id")
            if correlation:
                grouped[event.get("tenant"), correlation].append(event)
        return grouped


def truth_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (path.parent / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
