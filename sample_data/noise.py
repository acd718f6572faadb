"""What transport does to events: delays, repeated and mangled lines, reused identities, blank lines.

Every event arrives within the policy's allowed lateness, so that nothing of this changes what is true of the runs. Only
a reused identity is a finding of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random

import polars as pl

from sample_data.chance import draw

MAX_DELAY_MS = 28_000
"""Below the 30 seconds of lateness that both policies allow."""

ONE_IN = {"duplicate": 90, "malformed": 1_500, "conflict": 8_000, "blank": 4_000}
"""One such line for so many events; at least one of each."""

CONFLICT = "event_conflict"
"""The rule that a reused identity breaks, and the reason for which its line ends in quarantine."""

_FORGERIES = (
    ('"outcome":"success"', '"outcome":"denied"'),
    ('"decision":"passed"', '"decision":"blocked"'),
    ('"agent":"', '"agent":"not-'),
)
"""Content that a second event under a known identity replaces: it would change findings if it were believed."""

_NOT_OBJECTS = (b"[1,2,3]", b'"restarted"', b"42", b"null")
_SCHEMA_BREAKS = (
    '"kind":"tool.invocation","correlation_id":"odd","caller":"iris","tool":"kb_search"',
    '"kind":"gate.decision","correlation_id":"odd","gate":"quality","subject":"s","decision":"maybe","by":"x"',
    '"kind":"agent.dispatch","correlation_id":"","command":"c","caller":"iris","agent":"metis"',
    '"kind":"safety.supersession","correlation_id":"odd","policy":7',
)


@dataclass(frozen=True)
class Delivery:
    """The lines in the order of their arrival (``line``, bytes without newline) and what they consist of.

    ``truth`` holds the lines of the findings that the reused identities lead to, in no order.
    """

    lines: pl.Series
    duplicates: int
    blank: int
    truth: list[str]
    quarantined: dict[str, int] = field(default_factory=dict)


def _how_many(events: int, what: str) -> int:
    return max(1, events // ONE_IN[what])


def deliver(events: pl.DataFrame, seed: int) -> Delivery:
    """Put the events (``line``, ``ts``) in order of arrival and add what a transport adds."""
    size = events.height
    rng = Random(f"noise:{seed}")
    arrived = _delayed(events, seed)
    repeated = _repeated(arrived, seed, rng)
    forged = _forged(arrived, rng)
    odd, reasons = _malformed(arrived, rng)
    blank = _lines_at([(b"", b"  ")[int(rng.random() * 2)] for _ in range(_how_many(size, "blank"))], arrived, rng)
    parts = [part.select(pl.col("line").cast(pl.Binary), "arrival") for part in (arrived, repeated, forged, odd, blank)]
    everything = pl.concat(parts).with_row_index("n").sort("arrival", "n")
    quarantined = dict(sorted((reasons + Counter({CONFLICT: forged.height})).items()))
    truth = [_conflict(line) for line in forged["line"]]
    return Delivery(everything["line"], repeated.height, blank.height, truth, quarantined)


def _delayed(events: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Most events arrive within half a second, some within five, a few as late as is allowed."""
    frame = events.with_row_index("n").with_columns(
        root=pl.col("n").cast(pl.UInt64) + pl.lit(seed % 2**32 * 2**32, dtype=pl.UInt64)
    )
    late = draw(pl.col("root"), 1, 0, 100)
    delay = (
        pl.when(late < 90)
        .then(draw(pl.col("root"), 2, 5, 500))
        .when(late < 98)
        .then(draw(pl.col("root"), 3, 500, 5_000))
        .otherwise(draw(pl.col("root"), 4, 5_000, MAX_DELAY_MS))
    )
    return frame.with_columns(arrival=pl.col("ts") + delay)


def _rows(frame: pl.DataFrame, count: int, rng: Random) -> pl.DataFrame:
    """``count`` different rows."""
    picked: dict[int, None] = {}
    while len(picked) < min(count, frame.height):
        picked[int(rng.random() * frame.height)] = None
    return frame[list(picked)]


def _later(frame: pl.DataFrame, seconds: int) -> pl.DataFrame:
    return frame.with_columns(arrival=pl.col("arrival") + draw(pl.col("root"), 5, 1, seconds * 1000))


def _repeated(arrived: pl.DataFrame, seed: int, rng: Random) -> pl.DataFrame:
    """Lines sent again; every eighth with other white space, which does not make it another event."""
    rows = _rows(arrived, _how_many(arrived.height, "duplicate"), rng)
    spaced = pl.col("line").str.replace('{"event_id":', '{ "event_id" : ', literal=True)
    again = rows.with_columns(line=pl.when(draw(pl.col("root"), 6, 0, 8) == 0).then(spaced).otherwise("line"))
    return _later(again, 25)


def _forged(arrived: pl.DataFrame, rng: Random) -> pl.DataFrame:
    """Other content under an identity that has already arrived."""
    count = _how_many(arrived.height, "conflict")
    other = pl.col("line")
    for known, replaced in _FORGERIES:
        other = other.str.replace(known, replaced, literal=True)
    candidates = _rows(arrived, 8 * count, rng)
    forged = candidates.with_columns(other=other).filter(pl.col("other") != pl.col("line")).head(count)
    return _later(forged.with_columns(line="other").drop("other"), 25)


def _conflict(forged: str) -> str:
    """The finding about a reused identity: it belongs to the run of the event that has it."""
    event = json.loads(forged)
    correlation = event.get("correlation_id") or event.get("ticket_id")
    names = {"rule": CONFLICT, "subject": event["event_id"], "correlation_id": correlation}
    return json.dumps(names | {"tenant": event.get("tenant")}, ensure_ascii=False, separators=(",", ":"))


def _lines_at(lines: list[bytes], arrived: pl.DataFrame, rng: Random) -> pl.DataFrame:
    """The lines, each at the arrival of some event."""
    times = [arrived["arrival"][int(rng.random() * arrived.height)] for _ in lines]
    return pl.DataFrame({"line": pl.Series(lines, dtype=pl.Binary), "arrival": pl.Series(times, dtype=pl.Int64)})


def _malformed(arrived: pl.DataFrame, rng: Random) -> tuple[pl.DataFrame, Counter[str]]:
    """Lines that cannot be accepted, by the reason for which they end in quarantine, all reasons by turns."""
    makers = ("not_json", "schema", "unknown_kind", "not_an_object", "encoding")
    lines: list[bytes] = []
    reasons: Counter[str] = Counter()
    for number in range(max(len(makers), _how_many(arrived.height, "malformed"))):
        row = int(rng.random() * arrived.height)
        reason = makers[number % len(makers)]
        when = datetime.fromtimestamp(arrived["ts"][row] / 1000, UTC).isoformat().replace("+00:00", "Z")
        head = f'{{"event_id":"odd-{number}","ts":"{when}"'
        if reason == "not_json":
            text = arrived["line"][row]
            lines.append(text[: 1 + int(rng.random() * (len(text) - 1))].encode())
        elif reason == "schema":
            lines.append(f"{head},{_SCHEMA_BREAKS[number // len(makers) % len(_SCHEMA_BREAKS)]}}}".encode())
        elif reason == "unknown_kind":
            lines.append(f'{head},"kind":"tool.telemetry","correlation_id":"odd","cpu":0.4}}'.encode())
        elif reason == "not_an_object":
            lines.append(_NOT_OBJECTS[number // len(makers) % len(_NOT_OBJECTS)])
        else:
            lines.append(f'{head},"kind":"human.feedback","correlation_id":"odd","by":"'.encode() + b'caf\xe9"}')
        reasons[reason] += 1
    return _lines_at(lines, arrived, rng), reasons
