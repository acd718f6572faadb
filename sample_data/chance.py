"""Random numbers that are a pure function of seed and position, as Polars expressions.

`splitmix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) written in unsigned
64-bit arithmetic that wraps. Nothing here depends on a library's generator or hash, so a seed gives the same file
under every version of Polars.
"""

from __future__ import annotations

import polars as pl

_MASK = 2**64 - 1
_GAMMA = 0x9E3779B97F4A7C15


def _u64(value: int) -> pl.Expr:
    return pl.lit(value & _MASK, dtype=pl.UInt64)


def mix(values: pl.Expr) -> pl.Expr:
    """The 64 random bits that belong to each (unsigned 64-bit) value."""
    z = values.cast(pl.UInt64) * _u64(_GAMMA) + _u64(_GAMMA)
    z = (z ^ (z // _u64(2**30))) * _u64(0xBF58476D1CE4E5B9)
    z = (z ^ (z // _u64(2**27))) * _u64(0x94D049BB133111EB)
    return z ^ (z // _u64(2**31))


def draw(root: pl.Expr, position: int | pl.Expr, low: int | pl.Expr, high: int | pl.Expr) -> pl.Expr:
    """Whole numbers, ``low`` <= n < ``high`` (64-bit signed), the ``position``-th that follow from each root."""
    place = pl.lit(position, dtype=pl.UInt64) if isinstance(position, int) else position.cast(pl.UInt64)
    span = high - low
    width = pl.lit(span, dtype=pl.UInt64) if isinstance(span, int) else span.cast(pl.UInt64)
    bits = mix(root + (place + _u64(1)) * _u64(0xD1B54A32D192ED03))
    return (bits % width).cast(pl.Int64) + low
