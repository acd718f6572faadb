"""From stories to lines, many runs at once: a run is a row of the frame that `cast_runs` makes, a token a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import polars as pl

from sample_data.chance import draw, mix
from sample_data.story import PACE, TOKEN, Story, to_truth_line

TENANTS = ("acme", "globex", "initech", None)
"""Labels recur across tenants, and null is a tenant of its own: whoever forgets the tenant in a join finds out."""

FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
"""A Monday."""

_HOUR_WEIGHTS = (1, 1, 1, 1, 1, 1, 2, 4, 8, 12, 13, 12, 9, 10, 12, 12, 11, 8, 5, 4, 3, 3, 2, 1)
_DAY_WEIGHTS = (6, 6, 5, 5, 5, 2, 1)
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
_LOCAL_OFFSETS = {"initech": ("+02:00", 2 * _HOUR_MS)}
"""Producers of this tenant write their times with an offset; everybody else in UTC."""


_OPINIONS = {
    "deflection": (0, (2, 4, 24, 70)),
    "grounded": (0, (1, 4, 10, 85)),
    "solved": (0, (1, 6, 28, 65)),
    "tone": (0, (1, 7, 30, 62)),
    "clarity": (0, (1, 6, 33, 60)),
    "csat": (1, (7, 8, 13, 27, 45)),
}
"""Scores of a run: the lowest value, and how many in a hundred get it, the next one, and so on."""


class Rendered(NamedTuple):
    """The events (columns ``line``, ``ts`` in epoch milliseconds) and the lines of the truth, in no order."""

    events: pl.DataFrame
    truth: list[str]


def cast_runs(plan: Sequence[tuple[Story, int]], seed: int, days: int, end: datetime | None) -> pl.DataFrame:
    """The runs of ``plan`` with their label, tenant, start, pace, amounts, scores and identities.

    They end within ``days`` days (up to a week, or whole weeks) from `FIRST_DAY`; what would go on for longer begins
    as many weeks earlier as it takes. More begin on working days and at office hours. Neighbouring rows are far apart
    in label and in time. With an ``end`` all of it is moved by whole days, so that the newest event is not after it
    and less than a day before.
    """
    count = sum(runs for _, runs in plan)
    stride = next(step for step in range(max(1, int(count * 0.618)), 2 * count + 2) if _coprime(step, count))
    lengths = pl.DataFrame(
        {
            "slow": pl.Series([story.steps[-1].slow for story, _ in plan], dtype=pl.Int64),
            "fixed": pl.Series([story.steps[-1].fixed for story, _ in plan], dtype=pl.Int64),
            "runs": pl.Series([runs for _, runs in plan], dtype=pl.Int64),
        }
    )
    frame = lengths.select(pl.exclude("runs").repeat_by("runs").explode()).with_columns(n=pl.int_range(pl.len()))
    frame = frame.with_columns(
        root=mix(pl.col("n").cast(pl.UInt64) + pl.lit(seed % 2**32 * 2**32, dtype=pl.UInt64)),
        place=pl.col("n") * stride % count,
    ).with_columns(pace=draw(pl.col("root"), 3, *PACE), cents=draw(pl.col("root"), 4, 500, 25_000))
    tenant = pl.Series([name or "" for name in TENANTS])
    zone = pl.Series([_LOCAL_OFFSETS.get(name or "", ("Z", 0))[0] for name in TENANTS])
    shift = pl.Series([_LOCAL_OFFSETS.get(name or "", ("Z", 0))[1] for name in TENANTS], dtype=pl.Int64)
    seat = frame["place"] % len(TENANTS)
    return (
        frame.with_columns(
            uid=pl.col("n").cast(pl.String).str.zfill(6),
            run=(pl.col("place") // len(TENANTS) + 1000).cast(pl.String),
            hex=pl.Series([f"{value:016x}" for value in frame["root"]], dtype=pl.String),
            start=pl.lit(_starts(frame, days, end)),
            name=pl.lit(tenant.gather(seat)),
            zone=pl.lit(zone.gather(seat)),
            shift=pl.lit(shift.gather(seat)),
            **{
                name: _opinion(5 + number, low, weights)
                for number, (name, (low, weights)) in enumerate(_OPINIONS.items())
            },
        )
        .with_columns(
            tenant=pl.when(pl.col("name") == "").then(pl.lit("")).otherwise(',"tenant":"' + pl.col("name") + '"'),
            tenant_or_null=pl.when(pl.col("name") == "").then(pl.lit("null")).otherwise('"' + pl.col("name") + '"'),
            amount=_money(pl.col("cents")),
            amount_over=_money(pl.col("cents") + 4_000),
            amount_part=_money(pl.col("cents") // 2),
        )
        .drop("n", "place", "cents", "name", "slow", "fixed")
    )


def _starts(frame: pl.DataFrame, days: int, end: datetime | None) -> pl.Series:
    """When each run begins (epoch milliseconds), from its ``root``, its ``pace`` and its length."""
    slots = [
        24 * day + hour
        for day, busy in enumerate(_DAY_WEIGHTS)
        for hour, weight in enumerate(_HOUR_WEIGHTS)
        for _ in range(busy * weight)
    ]
    usable = pl.Series([slot for slot in slots if slot < days * 24], dtype=pl.Int64)
    hours = usable.gather(frame.select(slot=draw(pl.col("root"), 0, 0, len(usable)))["slot"])
    weeks = max(1, days // 7)
    begins = (
        pl.lit(hours) * _HOUR_MS
        + draw(pl.col("root"), 1, 0, weeks) * 7 * _DAY_MS
        + draw(pl.col("root"), 2, 0, _HOUR_MS)
    )
    times = frame.select(begin=begins, length=pl.col("slow") * pl.col("pace") // 1000 + pl.col("fixed"))
    too_long = pl.col("begin") + pl.col("length") - min(days, weeks * 7) * _DAY_MS
    earlier = pl.max_horizontal(pl.lit(0), (too_long + 7 * _DAY_MS - 1) // (7 * _DAY_MS)) * 7 * _DAY_MS
    times = times.with_columns(begin=pl.col("begin") - earlier + int(FIRST_DAY.timestamp() * 1000))
    if end is None:
        return times["begin"]
    newest = times.select((pl.col("begin") + pl.col("length")).max()).item()
    moved = (end - datetime.fromtimestamp(0, UTC) - timedelta(milliseconds=newest)) // timedelta(days=1)
    return times["begin"] + moved * _DAY_MS


def _opinion(position: int, low: int, weights: Sequence[int]) -> pl.Expr:
    """The run's own value, ``low`` or one of those after it, each as often in a hundred as its weight says."""
    luck, below = draw(pl.col("root"), position, 0, 100), 0
    value = pl.lit(low)
    for weight in weights[:-1]:
        below += weight
        value = value + (luck >= below).cast(pl.Int32)
    return value.cast(pl.String)


def _coprime(left: int, right: int) -> bool:
    while right:
        left, right = right, left % right
    return left == 1


def _money(cents: pl.Expr) -> pl.Expr:
    return pl.concat_str(cents // 100, pl.lit("."), (cents % 100).cast(pl.String).str.zfill(2))


@dataclass(frozen=True)
class _Template:
    """A text with tokens, the time that it stands for, and the runs ``first`` <= n < ``first + count`` that fill it."""

    text: str
    slow: int
    fixed: int
    first: int
    count: int


def _instant(slow: str, fixed: str) -> pl.Expr:
    return pl.col("start") + pl.col(slow) * pl.col("pace") // 1000 + pl.col(fixed)


def _rows(templates: Sequence[tuple[int, _Template]], runs: pl.DataFrame) -> pl.DataFrame:
    """One row per filled text: the run's columns, the literal parts (``text0``...) and the tokens' numbers.

    The numbers are ``a`` and ``b`` of the j-th token (``a0``, ``b0``...) and its ``place`` in the random sequence.
    """
    columns: dict[str, list[Any]] = {name: [] for name in ("first", "end", "slow", "fixed", "place")}
    for number, template in templates:
        columns["first"].append(template.first)
        columns["end"].append(template.first + template.count)
        columns["slow"].append(template.slow)
        columns["fixed"].append(template.fixed)
        columns["place"].append(16 + 16 * number)
        end = 0
        for index, token in enumerate(TOKEN.finditer(template.text)):
            columns.setdefault(f"text{index}", []).append(template.text[end : token.start()])
            columns.setdefault(f"a{index}", []).append(int(token[2] or 0))
            columns.setdefault(f"b{index}", []).append(int(token[3] or 0))
            end = token.end()
        columns.setdefault("rest", []).append(template.text[end:])
    spread = pl.DataFrame(columns).with_columns(n=pl.int_ranges("first", "end")).explode("n")
    return pl.concat([spread.drop("n"), runs[spread["n"]]], how="horizontal")


def _filled(shape: Sequence[str]) -> pl.Expr:
    """The text of each of `_rows`: literals and tokens by turns."""
    parts: list[pl.Expr] = []
    for index, name in enumerate(shape):
        parts.append(pl.col(f"text{index}"))
        low, high = pl.col(f"a{index}"), pl.col(f"b{index}")
        if name == "t":
            local = (_instant(f"a{index}", f"b{index}") + pl.col("shift")).cast(pl.Datetime("ms"))
            parts += [local.dt.strftime("%Y-%m-%dT%H:%M:%S%.3f"), pl.col("zone")]
        elif name == "r":
            parts.append(draw(pl.col("root"), pl.col("place") + index % 16, low, high).cast(pl.String))
        else:
            parts.append(pl.col(name))
    return pl.concat_str([*parts, pl.col("rest")])


def _fill(templates: Sequence[_Template], runs: pl.DataFrame) -> pl.DataFrame:
    """Every text of every run (``line``) with its time (``ts``, epoch milliseconds).

    Texts whose tokens follow each other in the same way share one expression, so that the work is a few hundred
    expressions over long columns, however many stories there are.
    """
    shapes: dict[tuple[str, ...], list[tuple[int, _Template]]] = {}
    for number, template in enumerate(templates):
        shape = tuple(token[1] for token in TOKEN.finditer(template.text))
        shapes.setdefault(shape, []).append((number, template))
    return pl.concat(
        _rows(group, runs).select(line=_filled(shape), ts=_instant("slow", "fixed")) for shape, group in shapes.items()
    )


def render(plan: Sequence[tuple[Story, int]], seed: int, days: int, end: datetime | None = None) -> Rendered:
    """The events and the truth of ``plan``: each story with the number of its runs; times as `cast_runs` says."""
    runs = cast_runs(plan, seed, days, end)
    events: list[_Template] = []
    truth: list[_Template] = []
    shared: list[_Template] = []
    first = 0
    for story, count in plan:
        events += [_Template(step.line, step.slow, step.fixed, first, count) for step in story.steps]
        for item in story.truth:
            kind = shared if item.correlation is None else truth
            kind.append(_Template(to_truth_line(item), 0, 0, first, count))
        first += count
    findings = [_fill(truth, runs)["line"].to_list() if truth else []]
    findings.append(_fill(shared, runs)["line"].unique().to_list() if shared else [])
    return Rendered(_fill(events, runs), [line for part in findings for line in part])
