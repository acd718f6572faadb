"""The portable subset: SQL that DuckDB and Spark both run, so that marts and rules can move without being rewritten.

What is allowed is listed, and everything else refused, since own rules (`transforms.rule_folder`) run with the writer's
rights: nothing in the lists reads a file, a clock or a setting, writes anything, or goes on for ever. A LIMIT, a sample
or the first row of an unordered group depends on which runs are looked at together, so those are left out as well.
"""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from transforms.errors import CatalogueError

FUNCTIONS = frozenset({
    "ABS", "AND", "ARRAY", "ARRAY_AGG", "ARRAY_APPEND", "ARRAY_CONTAINS", "ARRAY_SIZE", "ARRAY_SORT", "AVG", "CASE",
    "CAST", "CEIL", "COALESCE", "CONCAT", "CONCAT_WS", "COUNT", "DENSE_RANK", "EXISTS", "FLOOR", "GREATEST", "IF",
    "LAG", "LEAD", "LEAST", "LENGTH", "LOGICAL_AND", "LOGICAL_OR", "LOWER", "MAX", "MIN", "NULLIF", "OR", "RANK",
    "REPLACE",    "ROUND", "ROW_NUMBER", "SQRT", "STARTS_WITH", "SUBSTRING", "SUM", "TIMESTAMP_TRUNC", "TRIM", "UPPER",
})  # fmt: skip
"""What the files may call, as sqlglot spells it; it knows how to say each of them in Spark's SQL."""

_PARTS: tuple[type[exp.Expr], ...] = (
    exp.Add, exp.Alias, exp.Between, exp.Boolean, exp.Column, exp.CTE, exp.DataType, exp.DataTypeParam,
    exp.Distinct, exp.Div, exp.DPipe, exp.EQ, exp.Except, exp.Filter, exp.From, exp.Group, exp.GT, exp.GTE,
    exp.Having, exp.Identifier, exp.In, exp.Interval, exp.Intersect, exp.Is, exp.Join, exp.Like, exp.Literal,
    exp.LT, exp.LTE, exp.Mod, exp.Mul, exp.Neg, exp.NEQ, exp.Not, exp.Null, exp.NullSafeEQ, exp.NullSafeNEQ,
    exp.Order, exp.Ordered, exp.Paren, exp.Select, exp.Star, exp.Sub, exp.Subquery, exp.Table, exp.TableAlias,
    exp.Tuple, exp.Union, exp.Values, exp.Var, exp.Where, exp.Window, exp.WindowSpec, exp.With,
)  # fmt: skip
"""What a SELECT may be made of, beside functions."""

# sqlglot warns on stderr about statements that it only copies; here they are refused, which says it better.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_select(sql: str) -> exp.Query:
    """The one SELECT (or UNION of several) that a text consists of. Raises CatalogueError with what it is instead."""
    try:
        parsed = sqlglot.parse(sql, dialect="duckdb")
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        where = f" in line {first['line']}" if first.get("line") else ""
        raise CatalogueError(f"is no SQL that can be read{where}: {first.get('description') or error}") from None
    except SqlglotError as error:
        raise CatalogueError(f"is no SQL that can be read: {error}") from None
    except RecursionError:
        raise CatalogueError("is nested too deeply to be read") from None
    # A comment behind the last semicolon counts as a statement of its own for sqlglot.
    statements = [
        statement for statement in parsed if statement is not None and not isinstance(statement, exp.Semicolon)
    ]
    if len(statements) != 1:
        raise CatalogueError(f"holds {len(statements)} statements instead of one SELECT")
    if not isinstance(statements[0], exp.Select | exp.SetOperation):
        word = sql_of(statements[0]).split(maxsplit=1)[0].upper()
        raise CatalogueError(f"is a {word} statement; only a SELECT reads and nothing else")
    return statements[0]


def sql_of(tree: exp.Expr) -> str:
    """A tree as DuckDB's SQL again, without the comments."""
    return tree.sql(dialect="duckdb", comments=False)


def outside(tree: exp.Expr) -> list[str]:
    """What a statement uses that is outside the subset, in the order of the text; empty when all is well."""
    found: list[str] = []
    for node in tree.walk(bfs=False):
        if isinstance(node, exp.Func):
            name = node.name.upper() if isinstance(node, exp.Anonymous) else node.sql_name()
            if name not in FUNCTIONS:
                found.append(f"the function {name}")
        elif not isinstance(node, exp.Var) and type(node) not in _PARTS:
            found.append(f"{type(node).__name__}: {sql_of(node)[:60]}")
        found += _details(node)
    return found


def _details(node: exp.Expr) -> list[str]:
    """What is outside the subset although the kind of node is not."""
    if isinstance(node, exp.Join) and node.args.get("method"):
        return [f"{node.args['method']} JOIN: {sql_of(node)[:60]}"]
    if isinstance(node, exp.With) and node.args.get("recursive"):
        return ["WITH RECURSIVE"]
    if isinstance(node, exp.Distinct) and node.args.get("on"):
        return ["DISTINCT ON"]
    if isinstance(node, exp.ArrayAgg) and node.find(exp.Order):
        return ["an ordered list"]
    return []


def complaints(sql: str) -> list[str]:
    """What a text uses that is outside the subset; empty when it can run on both engines."""
    try:
        return outside(parse_select(sql))
    except CatalogueError as error:
        return [str(error)]
