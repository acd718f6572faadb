"""A second, independent implementation of the rules: plain Python, slow and obvious, to hold the SQL against.

Start at `engine.evaluate`. One module per rule family; `history` reads events, `rulebook` reads the policy,
`effects` decides what took effect. Nothing here knows DuckDB, Polars or anything under `transforms/`.
"""

from tests.oracle.engine import Result, evaluate
from tests.oracle.rows import Finding, GateCheck, ReconciliationRow, Verdict, sort_rows

__all__ = ["Finding", "GateCheck", "ReconciliationRow", "Result", "Verdict", "evaluate", "sort_rows"]
