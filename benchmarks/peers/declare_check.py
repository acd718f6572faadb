"""PM4Py's DECLARE conformance of one log. Prints [seconds, processor seconds, cases, cases that deviate, constraints].

    declare_check.py log.parquet '[["quality", "ship"], …]' [events]

The log has PM4Py's own column names. Every pair is a precedence constraint: the second activity only after the first.
With a number of events the model is the one that PM4Py discovers from so many at the log's beginning. Neither reading
the log nor discovering is timed.
"""

import json
import sys
import time
from importlib.metadata import version

import duckdb
import pm4py  # type: ignore[import-not-found, unused-ignore]


def main() -> None:
    """Check once."""
    log = duckdb.execute("SELECT * FROM read_parquet($path)", {"path": sys.argv[1]}).df()
    pairs = {tuple(pair): {"support": 1, "confidence": 1} for pair in json.loads(sys.argv[2])}
    model = {"precedence": pairs}
    if len(sys.argv) > 3:
        model = pm4py.discover_declare(log.head(int(sys.argv[3])))
    begin, cpu = time.perf_counter(), time.process_time()
    found = pm4py.conformance_declare(log, model)
    took = time.perf_counter() - begin, time.process_time() - cpu
    print(f"PM4Py {version('pm4py')}", file=sys.stderr)
    deviating = sum(1 for case in found if case["deviations"])
    print(json.dumps([*took, len(found), deviating, sum(len(constraints) for constraints in model.values())]))


if __name__ == "__main__":
    main()
