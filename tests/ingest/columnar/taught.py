"""Lines of producers whose shape a validator was taught, and what it then makes of other lines."""

from __future__ import annotations

from typing import Any

from ingest.columnar import ColumnarValidator
from ingest.lines import OverLong
from ingest.validate import Batch, Validated

PLAIN: dict[str, str] = {
    "event_id": '"e"', "ts": '"2026-06-03T10:00:00Z"', "kind": '"tool.invocation"', "correlation_id": '"c"',
    "caller": '"hermes"', "tool": '"mail"', "privilege": '"write"', "side_effects": '"reversible"',
    "outcome": '"success"',
    "attempt": "1", "target": '"t"', "amount": "1.5", "tokens": '{"in":1,"out":2}', "verified": "true", "note": '"n"',
    "x": "1",
}  # fmt: skip
"""A line of a producer that also sends a field that the contract does not know, by the text of its values."""
GATE: dict[str, str] = {
    "event_id": '"e"', "ts": '"2026-06-03T10:00:00Z"', "kind": '"gate.decision"', "correlation_id": '"c"',
    "gate": '"g"',
    "subject": '"s"', "decision": '"passed"', "by": '"b"', "scores": '{"tone":1}',
}  # fmt: skip
RECORD: dict[str, str] = {
    "event_id": '"e"', "ts": '"2026-06-03T10:00:00Z"', "kind": '"decision.record"', "correlation_id": '"c"',
    "decision_id": '"d"', "terminal_state": '"RESOLVED"',
    "actions_attempted": '[{"action":"a","executed":true,"amount":1.5}]',
    "heads_dispatched": '["h"]', "sla": '{"resolved_at":"2026-06-03T10:00:00Z","state":"ok"}',
    "tokens": '{"in":1,"out":2}',
}  # fmt: skip
DIALECT = "auto"


def line(base: dict[str, str] = PLAIN, **values: str | None) -> bytes:
    """The line with other values (None: without that key), in the producer's order of keys."""
    pairs = {**base, **values}
    return ("{" + ",".join(f'"{name}":{text}' for name, text in pairs.items() if text is not None) + "}").encode()


def judged(*lines: bytes | OverLong, learn: dict[str, str] = PLAIN) -> Validated:
    """The verdicts of a validator that has seen this producer before."""
    validator = ColumnarValidator(least=1)
    taught = [line(learn, event_id=f'"l{number}"') for number in range(40)]
    (known,) = validator.validate_all([Batch(taught, 1, DIALECT)])
    assert known.accepted.height == 40
    before = validator.fast
    (again,) = validator.validate_all([Batch(taught, 1, DIALECT)])
    assert again.accepted.height == 40
    assert validator.fast == before + 40  # the shape is learnt: what follows meets the fast road
    (found,) = validator.validate_all([Batch(list(lines), 1, DIALECT)])
    assert found.accepted.height + len(found.rejects) + found.blank == len(lines)
    return found


def value(content: bytes, column: str, learn: dict[str, str] = PLAIN) -> Any:
    """What an accepted line has in a column."""
    found = judged(content, learn=learn)
    assert not found.rejects, found.rejects
    return found.accepted[column].to_list()[0]


def reason(content: bytes, learn: dict[str, str] = PLAIN) -> tuple[str, str]:
    """Why a line is refused: the reason, and the field or the whole sentence."""
    found = judged(content, learn=learn)
    assert found.accepted.height == 0
    (reject,) = found.rejects
    assert reject.line == content
    return reject.reason, reject.errors.split(":")[0]
