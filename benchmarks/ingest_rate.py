"""How near does checking everything come to the rate of loading without any check?

For clean tool calls, the same with 1 % and 20 % bad lines, and sample data of all kinds: validate + load, row-by-row
pydantic + load, and all of `gatewatch ingest` but judging, as shares of the rate at which DuckDB loads the same file
bare. dlt loads the beginning of the mixed file, in an environment of its own and in two ways: as it does by default, by
INSERT statements, and by Parquet files, its fastest way here; rates are compared, since the file would take it minutes.
Every run has a process of its own, and the sides take turns.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from benchmarks import loading
from benchmarks.inputs import NAMES, folder, made
from benchmarks.measuring import Times, by_turns, medians, own_side
from benchmarks.peers import peer_script
from benchmarks.results import Figure, keep, number, options

BARS = {"clean": 0.50, "bad1": 0.42, "bad20": 0.30, "mixed": 0.35}
WORDS = {"clean": "clean", "bad1": "1 % bad", "bad20": "20 % bad", "mixed": "mixed kinds, 1 % bad"}
SIDES = ("bare", "bare_kind", "validated", "rows", "whole")


def main() -> None:
    """Print the ratios."""
    parser = options(__doc__)
    parser.add_argument("--events", type=int, default=500_000, help="events of each file")
    parser.add_argument("--inputs", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument(
        "--dlt-lines", type=int, default=50_000, help="lines for dlt, by default a tenth; 0: without dlt"
    )
    parser.add_argument("--side", choices=SIDES, help="run this side alone, once, and print its seconds as JSON")
    parser.add_argument("--file", type=Path, help="with --side: the file")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(_side(arguments.side, arguments.file, arguments.inputs[0])))
        return
    figures = []
    for name in arguments.inputs:
        figures += compare(name, arguments.events, arguments.rounds, arguments.dlt_lines)
    keep("ingest_rate", figures, arguments.keep)


def _side(side: str, path: Path, name: str) -> Times:
    ignore = name != "clean"
    work: dict[str, Callable[[], Times]] = {
        "bare": lambda: loading.bare(path, loading.wide_columns(), ignore_errors=ignore),
        "bare_kind": lambda: loading.bare(path, loading.kind_columns("tool.invocation"), ignore_errors=ignore),
        "validated": lambda: loading.validate_and_load(path),
        "rows": lambda: loading.row_by_row(path),
        "whole": lambda: loading.end_to_end(path),
    }
    return work[side]()


def compare(name: str, events: int, rounds: int, dlt_lines: int) -> list[Figure]:
    """The figures of one input."""
    path = made(name, events)
    print(f"{WORDS[name]}: {path.stat().st_size / events:.0f} bytes per event", flush=True)
    wanted = [
        side for side in SIDES if (side != "bare_kind" or name == "clean") and (side != "rows" or name != "bad20")
    ]
    sides = {side: own_side("benchmarks.ingest_rate", side, "--file", path, "--inputs", name) for side in wanted}
    if name == "mixed" and dlt_lines:
        sides |= {f"dlt_{form}": _dlt(form, _beginning(path, lines)) for form, lines in _dlt_lines(dlt_lines).items()}
    took = {side: medians(runs) for side, runs in by_turns(sides, rounds).items()}
    bare, word = took["bare"], WORDS[name]

    def share(key: str, what: str, own: Times, than: Times, bar: float | None = None) -> Figure:
        by = f"{events / own.wall:,.0f} events/s; by processor time {than.cpu / own.cpu:.2f}"
        return Figure(f"{key}/{name}", f"{what}, {word}", than.wall / own.wall, bar=bar, detail=by)

    figures = [share("validated", "validate + load ÷ bare load", took["validated"], bare, BARS[name])]
    if "bare_kind" in took:
        harder = "validate + load ÷ bare load of only the columns that the kind has"
        figures.append(share("validated_kind", harder, took["validated"], took["bare_kind"]))
    whole_bar = 0.30 if name == "mixed" else None
    figures.append(share("whole", "`gatewatch ingest` ÷ bare load", took["whole"], bare, whole_bar))
    if "rows" in took:
        figures.append(share("rows", "row-by-row pydantic + load ÷ bare load", took["rows"], bare))
        three = 3.0 if name == "mixed" else None
        figures.append(
            share("whole_rows", "`gatewatch ingest` ÷ row-by-row pydantic + load", took["whole"], took["rows"], three)
        )
    if "dlt_default" in took:
        for form, lines in _dlt_lines(dlt_lines).items():
            figures += _beside_dlt(form, events / took["whole"].wall, lines / took[f"dlt_{form}"].wall, lines)
    if name == "mixed":
        for key, what in (("bare", "bare DuckDB"), ("whole", "`gatewatch ingest`"), ("rows", "row-by-row pydantic")):
            figures.append(Figure(f"rate/{key}", what, events / took[key].wall, " events/s"))
    return figures


def _dlt_lines(lines: int) -> dict[str, int]:
    """How many lines dlt is given: by default it takes ten times as long for each."""
    return {"default": max(lines // 10, 1), "parquet": lines}


def _dlt(form: str, path: Path) -> Callable[[], Times]:
    return lambda: Times(*peer_script("dlt_load", path, json.dumps(loading.dlt_columns()), form))


def _beside_dlt(form: str, ours: float, theirs: float, lines: int) -> list[Figure]:
    how = "by default" if form == "default" else "by Parquet"
    detail = f"{number(ours)} events/s ÷ {number(theirs)} events/s over the first {lines:,} lines"
    what = f"`gatewatch ingest` ÷ dlt {how}, {WORDS['mixed']}"
    return [
        Figure(f"whole_dlt_{form}/mixed", what, ours / theirs, bar=50, detail=detail),
        Figure(f"rate/dlt_{form}", f"dlt → DuckDB {how}", theirs, " events/s"),
    ]


def _beginning(path: Path, lines: int) -> Path:
    part = folder() / f"{path.stem}-first-{lines}.jsonl"
    if not part.exists():
        with path.open("rb") as all_lines:
            part.write_bytes(b"".join(islice(all_lines, lines)))
    return part


if __name__ == "__main__":
    main()
