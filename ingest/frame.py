"""Accepted events as one Polars frame with exactly the columns of `schemas.columns.POLARS_SCHEMA`.

Built column by column and kind by kind: only the columns that a kind has are ever filled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
from pydantic_core import to_json

from ingest.contract import Judged
from schemas.columns import POLARS_SCHEMA, column_value
from schemas.common import Event
from schemas.events import EVENT_MODELS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Filler:
    """How one column of one kind is filled from the events' attributes."""

    column: str
    attribute: str
    convert: Callable[[Any], Any] | None


def _fillers(model: type[Event]) -> tuple[_Filler, ...]:
    fillers = []
    for attr, info in model.model_fields.items():
        column = info.alias or attr
        nested = POLARS_SCHEMA[column].is_nested()
        fillers.append(_Filler(column, attr, column_value if nested else None))
    if "correlation_id" not in model.model_fields:
        fillers.append(_Filler("correlation_id", "ticket_id", None))  # what a xenia record is about is its ticket
    return tuple(fillers)


_FILLERS: dict[type[Event], tuple[_Filler, ...]] = {model: _fillers(model) for model in EVENT_MODELS}


def _column(filler: _Filler, fields: Sequence[dict[str, Any]]) -> pl.Series:
    attribute = filler.attribute
    values: list[Any] = [field[attribute] for field in fields]
    dtype = POLARS_SCHEMA[filler.column]
    if dtype == pl.Datetime:
        micros = [None if value is None else (value - _EPOCH) // _MICROSECOND for value in values]
        return pl.Series(filler.column, micros, dtype=pl.Int64()).cast(dtype)
    if filler.convert is not None:
        values = [None if value is None else filler.convert(value) for value in values]
    return pl.Series(filler.column, values, dtype=dtype)


def _of_one_kind(model: type[Event], found: Sequence[tuple[int, Judged]]) -> pl.DataFrame:
    fields = [judged.event.__dict__ for _, judged in found]
    columns = [_column(filler, fields) for filler in _FILLERS[model]]
    extras = [to_json(dict(sorted(judged.extra.items()))).decode() if judged.extra else None for _, judged in found]
    warnings = [list(judged.warnings) or None for _, judged in found]
    columns += [
        pl.Series("seq", [seq for seq, _ in found], dtype=pl.Int64()),
        pl.Series("dialect", [judged.dialect for _, judged in found], dtype=pl.String()),
        pl.Series("extra", extras, dtype=pl.String()),
        pl.Series("warnings", warnings, dtype=POLARS_SCHEMA["warnings"]),
    ]
    return pl.DataFrame(columns)


def event_frame(found: Sequence[tuple[int, Judged]]) -> pl.DataFrame:
    """The events with their ledger sequence numbers, in that order, as rows of the `events` table."""
    kinds: dict[type[Event], list[tuple[int, Judged]]] = {}
    for item in found:
        kinds.setdefault(type(item[1].event), []).append(item)
    frames = [_of_one_kind(model, members) for model, members in kinds.items()]
    frame = pl.concat([pl.DataFrame(schema=POLARS_SCHEMA), *frames], how="diagonal")
    return frame.sort("seq") if len(frames) > 1 else frame
