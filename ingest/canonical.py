"""When two events with one id have the same content: told by the columns, and by RFC 8785 for unknown fields.

Content is the *normalised* event: defaults filled in, slugs lower-cased, timestamps in UTC, nulls left out, unknown
fields included. That is what the typed columns hold, so that two events have one content when these do not differ; the
unknown fields are kept as text, in which 1 and 1.0 or another order of keys are no difference. How an event came here
(its dialect, its warnings, its place in the ledger) is no content; nor is the time of a decision record that was taken
from its file, since a copy of the file is the same record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
import rfc8785
from pydantic_core import from_json

from ingest.dialects import DECISION_RECORD
from ingest.dialects.decision_record import TIMES_OF_FILES, TS_SOURCE
from schemas.columns import fields_of
from schemas.events import KINDS

_SAFE_INTEGER = 2**53 - 1


def content_columns(kinds: Iterable[str]) -> list[str]:
    """The columns in which events of these kinds can hold anything, `kind` first; and those that say how to compare."""
    fields = dict.fromkeys(name for kind in sorted(set(kinds)) for name in fields_of(KINDS[kind]))
    return list(dict.fromkeys(["kind", "event_id", "ts", *fields, "extra", "dialect"]))


def same_content(one: pl.DataFrame, other: pl.DataFrame) -> pl.Series:
    """Row by row whether two frames hold the same content; both have the `content_columns` of all kinds in `one`.

    Rows of `other` may be of other kinds: the kind is content, so it does not matter what else they hold.
    """
    names = [name for name in content_columns(one["kind"].unique()) if name not in ("ts", "extra", "dialect")]
    pairs = pl.concat([one, other.rename({name: f"{name}/other" for name in other.columns})], how="horizontal")
    found = pairs.select(
        fields=pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{name}/other")) for name in names),
        ts=pl.col("ts") == pl.col("ts/other"),
        extra=pl.col("extra").eq_missing(pl.col("extra/other")),
        record=pl.any_horizontal(pl.col("dialect", "dialect/other").eq_missing(pl.lit(DECISION_RECORD))),
    )
    same = found["fields"] & found["ts"] & found["extra"]
    slow = found.select((pl.col("fields") & (pl.col("record") | ~pl.col("extra"))).arg_true()).to_series()
    if slow.is_empty():
        return same
    sides = pairs.select("ts", "extra", "dialect", "ts/other", "extra/other", "dialect/other")[slow]
    verdicts = [_rest(*row[:3]) == _rest(*row[3:]) for row in sides.iter_rows()]
    return same.scatter(slow, verdicts)


def _rest(ts: Any, extra: str | None, dialect: str) -> tuple[Any, bytes]:
    """The time and the unknown fields of an event as far as they are content."""
    unknown = {} if extra is None else from_json(extra)
    if dialect == DECISION_RECORD and unknown.get(TS_SOURCE) in TIMES_OF_FILES:
        del unknown[TS_SOURCE]
        ts = None
    return ts, canonical_json(unknown)


def canonical_json(fields: dict[str, Any]) -> bytes:
    """The RFC 8785 form, UTF-8, of an object without its null members, at any depth.

    An integer beyond 2**53 - 1, which RFC 8785 cannot express, becomes the string ``int:<digits>``.
    """
    return rfc8785.dumps(_plain(fields))


def _plain(value: Any) -> Any:
    writer = _WRITERS.get(type(value))
    return value if writer is None else writer(value)


def _mapping(value: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(item) for name, item in value.items() if item is not None}


def _integer(value: int) -> int | str:
    return value if -_SAFE_INTEGER <= value <= _SAFE_INTEGER else f"int:{value}"


_WRITERS: dict[type, Callable[[Any], Any]] = {
    int: _integer,
    dict: _mapping,
    list: lambda value: [_plain(item) for item in value],
}
