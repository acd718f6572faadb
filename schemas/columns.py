"""From the event models to columns: one walk over the annotations gives DuckDB types, Polars types and row values.

The `events` table is one wide table: the union of all kinds' fields, NULL where a kind does not have the field,
plus the bookkeeping columns of `SYSTEM_COLUMNS`. A dictionary (`scores`, `dims`) is stored as a list of
``{name, value}`` structs in name order, since that reads alike in every SQL engine.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from schemas.common import Event
from schemas.events import EVENT_MODELS
from schemas.words import words_for


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the `events` table."""

    name: str
    duckdb: str
    polars: pl.DataType
    comment: str


SYSTEM_COLUMNS: tuple[Column, ...] = (
    Column("seq", "BIGINT", pl.Int64(), "Number of the line in the ledger; counts every line ever read, from 1."),
    Column("dialect", "VARCHAR", pl.String(), "How the line was spelled: native, xenia, decision_record."),
    Column("extra", "JSON", pl.String(), "Fields that the contract does not know, by path."),
    Column("warnings", "VARCHAR[]", pl.List(pl.String()), "What could not be read without rejecting the event."),
    Column("redacted", "BOOLEAN", pl.Boolean(), "Personal data was taken from the line before it was kept."),
    Column(
        "floor_ts", "TIMESTAMP", pl.Datetime("us"), "Highest event time of the line's source before this delivery, UTC."
    ),
)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _struct(fields: Mapping[str, tuple[str, pl.DataType]]) -> tuple[str, pl.DataType]:
    duckdb = "STRUCT(" + ", ".join(f"{_quoted(name)} {kind}" for name, (kind, _) in fields.items()) + ")"
    return duckdb, pl.Struct({name: dtype for name, (_, dtype) in fields.items()})


def _types(annotation: Any) -> tuple[str, pl.DataType]:
    """The (DuckDB, Polars) type of one annotation. Raises TypeError for one that has no column form."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _types(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in get_args(annotation) if arg is not type(None)]
        return _types(inner)
    if origin is Literal or annotation is str:
        return "VARCHAR", pl.String()
    if origin is list:
        kind, dtype = _types(get_args(annotation)[0])
        return f"{kind}[]", pl.List(dtype)
    if origin is dict:
        kind, dtype = _struct({"name": ("VARCHAR", pl.String()), "value": _types(get_args(annotation)[1])})
        return f"{kind}[]", pl.List(dtype)
    if _is_model(annotation):
        return _struct({name: _types(info.annotation) for name, info in fields_of(annotation).items()})
    simple: dict[Any, tuple[str, pl.DataType]] = {
        bool: ("BOOLEAN", pl.Boolean()),
        int: ("BIGINT", pl.Int64()),
        float: ("DOUBLE", pl.Float64()),
        datetime: ("TIMESTAMP", pl.Datetime("us")),
    }
    if annotation not in simple:
        raise TypeError(f"no column type for {annotation!r}")
    return simple[annotation]


def sql_type(annotation: Any) -> str:
    """The DuckDB type of a column for this annotation. Raises TypeError for one that has no column form."""
    return _types(annotation)[0]


def fields_of(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """A model's fields by the name that they have on the wire (`in`, not `in_`)."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def event_columns() -> tuple[Column, ...]:
    """Every column of `events`: the system columns, then the union of all kinds' fields in the order of 02-events.

    Raises TypeError when two kinds give one name two types, since then one wide table cannot hold both.
    """
    found: dict[str, Column] = {}
    for model in EVENT_MODELS:
        for name, info in fields_of(model).items():
            kind, dtype = _types(info.annotation)
            column = Column(name, kind, dtype, words_for(name, info))
            known = found.setdefault(name, column)
            if known.duckdb != kind:
                raise TypeError(f"{model.__name__}.{name} is {kind}, but another kind has it as {known.duckdb}")
            if not known.comment and column.comment:
                found[name] = column
    first = ("event_id", "ts", "kind", "correlation_id", "run_id", "turn_id", "tenant", "source", "trace_id", "span_id")
    ordered = [found.pop(name) for name in first]
    return (SYSTEM_COLUMNS[0], *ordered, *found.values(), *SYSTEM_COLUMNS[1:])


EVENT_COLUMNS: tuple[Column, ...] = event_columns()
POLARS_SCHEMA: dict[str, pl.DataType] = {column.name: column.polars for column in EVENT_COLUMNS}


def create_table(name: str, columns: tuple[Column, ...] = EVENT_COLUMNS) -> str:
    """The CREATE TABLE statement for a table of these columns."""
    body = ", ".join(f"{_quoted(column.name)} {column.duckdb}" for column in columns)
    return f"CREATE TABLE IF NOT EXISTS {_quoted(name)} ({body})"


def column_value(value: Any) -> Any:
    """A field's value as a column holds it: naive UTC datetimes, structs as dicts, dictionaries as name/value lists."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, BaseModel):
        return {name: column_value(getattr(value, attr)) for attr, name in _wire_names(type(value))}
    if isinstance(value, list):
        return [column_value(item) for item in value]
    if isinstance(value, dict):
        return [{"name": name, "value": value[name]} for name in sorted(value)]
    return value


_WIRE_NAMES: dict[type[BaseModel], tuple[tuple[str, str], ...]] = {}


def _wire_names(model: type[BaseModel]) -> tuple[tuple[str, str], ...]:
    names = _WIRE_NAMES.get(model)
    if names is None:
        names = tuple((name, info.alias or name) for name, info in model.model_fields.items())
        _WIRE_NAMES[model] = names
    return names


def row_of(event: Event) -> dict[str, Any]:
    """The event's fields as column values (naive UTC datetimes, structs as dicts); system columns are not set.

    The correlation id of a xenia record is its ticket.
    """
    row = {name: column_value(getattr(event, attr)) for attr, name in _wire_names(type(event))}
    if "correlation_id" not in row:
        row["correlation_id"] = row["ticket_id"]
    return row


def extra_of(model: BaseModel, path: str = "") -> dict[str, Any]:
    """What the contract does not know, by path: ``{"note2": …, "sla.owner": …, "actions_attempted[0].x": …}``."""
    found = {path + name: value for name, value in (model.__pydantic_extra__ or {}).items()}
    for attr, name in _wire_names(type(model)):
        value = getattr(model, attr)
        if isinstance(value, BaseModel):
            found |= extra_of(value, f"{path}{name}.")
        elif isinstance(value, list) and value and isinstance(value[0], BaseModel):
            for index, item in enumerate(value):
                found |= extra_of(item, f"{path}{name}[{index}].")
    return found
