"""What an own rule must not depend on: the order in which lines arrived.

The same events in another order have to lead to the same findings, so what tells the order is hidden from own rules
(`hidden`), and what would be left to the order in which rows happen to come is refused (`unordered`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

ARRIVAL = ("floor_ts", "group_no", "rowid", "seq")
"""Columns that tell the order of arrival; ``rowid`` is DuckDB's own, of every stored table."""

_RANKING = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead)
_LIST = "evidence"


def hidden(sql: str, reads: Mapping[str, list[str]]) -> str:
    """The same SELECT over its relations without the columns that are listed for each, and without ``rowid``.

    `sql` is written by `transforms.portable.sql_of`. A column that is not there cannot be reached by a star, another
    name or a position either. Not materialized: DuckDB would otherwise copy what is read twice, with all columns.
    """
    if not reads:
        return sql
    parts = []
    for name, columns in sorted(reads.items()):
        but = f" EXCLUDE ({', '.join(columns)})" if columns else ""
        parts.append(f"{name} AS NOT MATERIALIZED (SELECT *{but} FROM {name})")  # noqa: S608 - names of our relations
    rest = f", {sql.removeprefix('WITH ')}" if sql.startswith("WITH ") else f" {sql}"
    return f"WITH {', '.join(parts)}{rest}"


def unordered(tree: exp.Query) -> list[str]:
    """What in a rule leaves the order of rows open, each with its fix; empty when all is well."""
    found: list[str] = []
    evidence = list(_evidence(tree))
    for node in tree.walk(bfs=False):
        if isinstance(node, exp.Window) and not _ordered(node):
            if isinstance(node.this, _RANKING):
                found.append(f"{node.this.sql_name()} without ORDER BY a column; write OVER (… ORDER BY ts, event_id)")
            elif node.args.get("spec") or _named(node, "spec"):
                found.append("a window of neighbouring rows without ORDER BY a column; write ORDER BY ts, event_id")
        elif isinstance(node, exp.ArrayAgg) and not _sorted(node, evidence):
            found.append("ARRAY_AGG in the order of arrival; write list_sort(array_agg(…))")
    return found


def _ordered(window: exp.Window) -> bool:
    """Whether rows are put into an order by what they hold; a constant leaves it open."""
    order = window.args.get("order") or _named(window, "order")
    return order is not None and order.find(exp.Column) is not None


def _named(window: exp.Window, part: str) -> exp.Expr | None:
    """What the window that this one goes by the name of says of a part; such names belong to the SELECT around."""
    select, name = window.find_ancestor(exp.Select), window.alias.lower()
    for other in (select.args.get("windows") or []) if select is not None and name else []:
        if other.name.lower() == name and other is not window:
            said: exp.Expr | None = other.args.get(part)
            return said
    return None


def _sorted(node: exp.Expr, evidence: list[exp.Expr]) -> bool:
    """Whether a list is sorted at once: by the rule, or as evidence by whoever makes findings of its rows."""
    while isinstance(node.parent, exp.Filter | exp.Window | exp.Paren) and node.parent.this is node:
        node = node.parent
    return isinstance(node.parent, exp.ArraySort) or any(node is one for one in evidence)


def _evidence(tree: exp.Query) -> Iterator[exp.Expr]:
    """What the rule returns as evidence and looks at no further, in each SELECT that it adds up."""
    names = [name.lower() for name in tree.named_selects]
    waiting: list[exp.Expr] = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, exp.Union) and not one.args.get("distinct"):
            waiting += [one.this, one.expression]
        elif isinstance(one, exp.Select) and not one.args.get("distinct"):
            reused = any(column.name.lower() == _LIST and not column.table for column in one.find_all(exp.Column))
            for place, column in enumerate(one.expressions if not reused else []):
                # A UNION goes by the places of the first SELECT's columns, whatever the others are called.
                if isinstance(column, exp.Alias) and [column.alias.lower(), *names[place : place + 1]] == [_LIST] * 2:
                    yield column.this
