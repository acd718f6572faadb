"""An own rule to be varied, the calls that it is about, and what is said of a file that cannot be used."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.policy_file import parse_policy
from transforms.errors import OwnRuleError
from transforms.rule_folder import load_rules

HEAD = (
    "-- One row is one call that took long.\n-- @rule slow_call low\n--   means: It took long.\n"
    "--   do: Find out why.\n--   satisfied by: a quick call.\n"
)
COLUMNS = {
    "rule": "'slow_call'", "status": "'open'", "subject": "e.event_id", "occurrence": "''",
    "correlation_id": "e.correlation_id", "run_id": "e.run_id", "tenant": "e.tenant", "caller": "e.caller",
    "tool": "e.tool", "gate": "NULL", "event_ts": "e.ts", "evidence": "ARRAY[e.event_id]", "message": "'It took long.'",
}  # fmt: skip
ENDLESS = (
    f"SELECT {', '.join(f'min({sql}) AS {name}' for name, sql in COLUMNS.items() if name != 'evidence')}, "
    f"ARRAY[min(e.event_id)] AS evidence FROM {', '.join(f'scope_events AS {name}' for name in 'abcdefghijklmnop')} "
    "HAVING min(concat(a.event_id, p.event_id)) = ''"
)
"""A rule that would compare every 16 events with each other."""
POLICY = parse_policy('name = "p"\nversion = 1\n')


def select(more: str = "WHERE e.duration_ms > 1000", source: str = "scope_events AS e", **changes: str) -> str:
    """A whole rule; `changes` replace the expressions of columns."""
    return f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in (COLUMNS | changes).items())} FROM {source} {more}"


def refusal(folder: Path, text: str | bytes, name: str = "slow.sql") -> str:
    """What is said of a file of this text, after the file's name."""
    raw = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(raw)
    with pytest.raises(OwnRuleError) as raised:
        load_rules(folder)
    said = str(raised.value)
    assert "\n" not in said
    assert said.startswith(f"own rule {folder / name}: ")
    return said.removeprefix(f"own rule {folder / name}: ")


def call(event_id: str, milliseconds: float, **changes: Any) -> dict[str, Any]:
    """One successful call."""
    return {
        "kind": "tool.invocation", "event_id": event_id, "ts": datetime(2026, 6, 3, 12, tzinfo=UTC),
        "correlation_id": "T-1", "caller": "hestia", "tool": "kb_search", "privilege": "read", "side_effects": "none",
        "outcome": "success", "duration_ms": milliseconds, **changes,
    }  # fmt: skip
