"""Matching lines with a gate, and reading those that passed into columns by DuckDB, in memory; both on all cores."""

from __future__ import annotations

from typing import NamedTuple

import duckdb
import polars as pl
from pydantic_core import from_json, to_json

from ingest.columnar.plan import Road
from ingest.parts import in_parts
from ingest.redact import CUSTOMER_REF, suspects
from schemas.columns import POLARS_SCHEMA

_AS_IT_STANDS = r'^(?:"[^"\\]*"|0|-?[1-9][0-9]*|true|false|null)$'
"""JSON that pydantic would write the same way."""


PART_LINES = 16_384
"""Lines that one core looks at while another looks at the next: a quarter of the largest commit, so that more than two
cores have something to do, and enough for each."""


def contains(texts: pl.Series, expression: str) -> pl.Series:
    """Which texts match; on all cores, where there are many."""
    if len(texts) <= PART_LINES:
        return texts.str.contains(expression)
    parts = (texts.slice(begin, PART_LINES) for begin in range(0, len(texts), PART_LINES))
    matches = pl.col("l").str.contains(expression)
    found = pl.collect_all([pl.LazyFrame({"l": part}).select(matches) for part in parts])
    return pl.concat(found, rechunk=True).to_series()


def connect(count: int) -> list[duckdb.DuckDBPyConnection]:
    """Connections, each for one thread at a time, to a database in memory for nothing but reading JSON."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return [connection, *(connection.cursor() for _ in range(count - 1))]


class Read(NamedTuple):
    """The events in lines: ``i`` and the columns of their kind, and (``i``, ``text``) of what people wrote in them."""

    rows: pl.DataFrame
    texts: pl.DataFrame


def read(connection: duckdb.DuckDBPyConnection, lines: pl.DataFrame, road: Road, dialect: str) -> Read:
    """The events in lines (columns ``i``, ``l``) that passed the gate, but those at which a model has to look."""
    connection.register("lines", in_parts(lines, PART_LINES))
    try:
        found: pl.DataFrame = pl.from_arrow(connection.sql(road.query).to_arrow_table())  # type: ignore[assignment]
    except duckdb.Error:  # then they are read one by one
        return Read(lines.clear().select("i"), pl.DataFrame(schema={"i": pl.Int64(), "text": pl.String()}))
    finally:
        connection.unregister("lines")
    raw = found["e"].struct.unnest().hstack(found.drop("i", "e").get_columns())
    rows = raw.select(found["i"], *road.columns, dialect=pl.lit(dialect))
    if road.unknown:
        rows = rows.with_columns(extra=_extra(raw, road.unknown))
    texts = _texts(found["i"], raw, road)
    fine = _fine(raw, road)
    if not fine.all():
        rows = rows.filter(fine)
    return Read(rows.with_columns(pl.col(n).cast(POLARS_SCHEMA[n]) for n in rows.columns if n != "i"), texts)


def _texts(numbers: pl.Series, raw: pl.DataFrame, road: Road) -> pl.DataFrame:
    written = [raw[name] for name in road.free]
    if "=free" in raw.columns:
        written.append(raw["=free"])
    # As they were written, not as they are kept: what a later equal name inside hides is in the line all the same.
    written += [pl.select(pl.lit(f'"{name}":') + raw[name].cast(pl.String)).to_series() for name in road.unknown]
    found = [pl.DataFrame({"i": numbers, "text": texts}).drop_nulls() for texts in written]
    return pl.concat([pl.DataFrame(schema={"i": pl.Int64(), "text": pl.String()}), *found])


def suspicious(texts: pl.DataFrame) -> pl.Series:
    """The ``i`` of texts that may hold personal data."""
    named = texts["text"].str.contains(f'"{CUSTOMER_REF}"', literal=True)
    return texts.filter(suspects(texts["text"]) | named)["i"].unique()


def _fine(raw: pl.DataFrame, road: Road) -> pl.Series:
    """Which lines no model has to look at."""
    sizes = {name: pl.col(name).str.len_bytes() for name in road.lengths}
    found = raw.select(
        *(size.min().alias(f"{name}/min") for name, size in sizes.items()),
        *(size.max().alias(f"{name}/max") for name, size in sizes.items()),
    ).row(0, named=True)  # of every event there is at least the id
    conditions: list[pl.Expr] = []
    for name, (least, most) in road.lengths.items():
        if (shortest := found[f"{name}/min"]) is not None and shortest < least:
            conditions.append(sizes[name] < least)
        if most is not None and (longest := found[f"{name}/max"]) is not None and longest > most:
            conditions.append(sizes[name] > most)
    conditions += [pl.col(name).is_not_null() & pl.col(f"={name}").is_null() for name in road.times]
    if "=bad" in raw.columns:
        conditions.append(pl.col("=bad"))
    conditions.append(pl.col("event_id").is_null())
    return ~raw.select(pl.any_horizontal(condition.fill_null(value=False) for condition in conditions)).to_series()


def _extra(raw: pl.DataFrame, unknown: tuple[str, ...]) -> pl.Series:
    """The unknown fields as one JSON object, by their names in order; NULL where there are none."""
    members = []
    for name in unknown:
        values = raw[name].cast(pl.String)
        if (~values.str.contains(_AS_IT_STANDS)).any():
            values = pl.Series([None if value is None else _normal(value) for value in values], dtype=pl.String)
        if f"={name}" in raw.columns:
            values = raw.select(pl.when(f"={name}").then(pl.lit("null")).otherwise(values)).to_series()
        members.append(pl.lit(f'"{name}":') + values)
    joined = pl.select(pl.concat_str(members, separator=",", ignore_nulls=True)).to_series()
    return pl.select(pl.when(joined != "").then("{" + joined + "}")).to_series()


def _normal(value: str) -> str:
    return to_json(from_json(value)).decode()
