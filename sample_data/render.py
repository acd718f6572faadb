"""From stories to lines, many runs at once: a run is a row of the frame that `cast_runs` makes, a token a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import polars as pl

from sample_data.chance import draw, mix
from sample_data.story import TOKEN, Story, to_truth_line

TENANTS = ("acme", "globex", "initech", None)
"""Labels recur across tenants, and null is a tenant of its own: whoever forgets the tenant in a join finds out."""

FIRST_DAY = datetime(2026, 3, 2, tzinfo=UTC)
"""A Monday."""

_HOUR_WEIGHTS = (1, 1, 1, 1, 1, 1, 2, 4, 8, 12, 13, 12, 9, 10, 12, 12, 11, 8, 5, 4, 3, 3, 2, 1)
_DAY_WEIGHTS = (6, 6, 5, 5, 5, 2, 1)
_HOUR_MS = 3_600_000
_LOCAL_OFFSETS = {"initech": ("+02:00", 2 * _HOUR_MS)}
"""Producers of this tenant write their times with an offset; everybody else in UTC."""


class Rendered(NamedTuple):
    """The events (columns ``line``, ``ts`` in epoch milliseconds) and the sorted lines of the truth."""

    events: pl.DataFrame
    truth: pl.Series


def cast_runs(count: int, seed: int, days: int) -> pl.DataFrame:
    """``count`` runs with their label, tenant, start, pace, amounts and identities, spread over ``days`` days.

    More begin on working days and at office hours. Neighbouring rows are far apart in label and in time.
    """
    stride = next(step for step in range(max(1, int(count * 0.618)), 2 * count + 2) if _coprime(step, count))
    frame = pl.DataFrame({"n": pl.Series(range(count), dtype=pl.Int64)})
    frame = frame.with_columns(
        root=mix(pl.col("n").cast(pl.UInt64) + pl.lit(seed % 2**32 * 2**32, dtype=pl.UInt64)),
        place=pl.col("n") * stride % count,
    )
    slots = [
        24 * day + hour
        for day, busy in enumerate(_DAY_WEIGHTS)
        for hour, weight in enumerate(_HOUR_WEIGHTS)
        for _ in range(busy * weight)
    ]
    usable = pl.Series([slot for slot in slots if slot < days * 24], dtype=pl.Int64)
    hours = usable.gather(frame.select(slot=draw(pl.col("root"), 0, 0, len(usable)))["slot"])
    weeks = max(1, days // 7)
    tenant = pl.Series([name or "" for name in TENANTS])
    zone = pl.Series([_LOCAL_OFFSETS.get(name or "", ("Z", 0))[0] for name in TENANTS])
    shift = pl.Series([_LOCAL_OFFSETS.get(name or "", ("Z", 0))[1] for name in TENANTS], dtype=pl.Int64)
    seat = frame["place"] % len(TENANTS)
    return (
        frame.with_columns(
            uid=pl.col("n").cast(pl.String).str.zfill(6),
            run=(pl.col("place") // len(TENANTS) + 1000).cast(pl.String),
            hex=pl.Series([f"{value:016x}" for value in frame["root"]], dtype=pl.String),
            start=pl.lit(hours) * _HOUR_MS
            + draw(pl.col("root"), 1, 0, weeks) * 7 * 24 * _HOUR_MS
            + draw(pl.col("root"), 2, 0, _HOUR_MS)
            + int(FIRST_DAY.timestamp() * 1000),
            pace=draw(pl.col("root"), 3, 650, 1700),
            cents=draw(pl.col("root"), 4, 500, 25_000),
            name=pl.lit(tenant.gather(seat)),
            zone=pl.lit(zone.gather(seat)),
            shift=pl.lit(shift.gather(seat)),
        )
        .with_columns(
            tenant=pl.when(pl.col("name") == "").then(pl.lit("")).otherwise(',"tenant":"' + pl.col("name") + '"'),
            tenant_or_null=pl.when(pl.col("name") == "").then(pl.lit("null")).otherwise('"' + pl.col("name") + '"'),
            amount=_money(pl.col("cents")),
            amount_over=_money(pl.col("cents") + 4_000),
            amount_part=_money(pl.col("cents") // 2),
        )
        .drop("n", "place", "cents", "name")
    )


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


def render(plan: Sequence[tuple[Story, int]], seed: int, days: int) -> Rendered:
    """The events and the truth of ``plan``: each story with the number of its runs."""
    runs = cast_runs(sum(count for _, count in plan), seed, days)
    events: list[_Template] = []
    truth: list[_Template] = []
    first = 0
    for story, count in plan:
        events += [_Template(step.line, step.slow, step.fixed, first, count) for step in story.steps]
        truth += [_Template(to_truth_line(item), 0, 0, first, count) for item in story.truth]
        first += count
    findings = _fill(truth, runs)["line"].sort() if truth else pl.Series(dtype=pl.String)
    return Rendered(_fill(events, runs), findings)
