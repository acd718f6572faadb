"""The files that the benchmarks read, made once and kept outside the checkout.

`clean` is one kind, tool calls with all usual fields, about 620 bytes each. `bad1` and `bad20` are the same calls of
which 1 % or 20 % were broken, in seven ways by turns. `mixed` is sample data: every kind, about 1 % of the lines bad
or repeated. A file is found again by its parameters and by the code that makes it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

from sample_data.generate import generate

NAMES = ("clean", "bad1", "bad20", "mixed")
SHARES = {"clean": 0.0, "bad1": 0.01, "bad20": 0.2}
"""How many of the tool calls are broken."""

_FIRST = datetime(2026, 3, 1, tzinfo=UTC)

Call = dict[str, Any]


def folder() -> Path:
    """Where made files are kept: a cache folder of the user's."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "gatewatch-benchmarks"


def made(name: str, events: int, seed: int = 1) -> Path:
    """The file of so many events, made now if it is not there. Raises ValueError for a name that is none of NAMES."""
    if name not in NAMES:
        raise ValueError(f"no input is called {name}: it is one of {', '.join(NAMES)}")
    path = folder() / f"{name}-{events}-{_digest(name, events, seed)}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"draft-{os.getpid()}-{path.name}")
        if name == "mixed":
            _mixed(draft, events, seed)
        else:
            with draft.open("wb") as out:
                out.writelines(tool_calls(events, SHARES[name], seed))
        draft.rename(path)
    return path


def _digest(name: str, events: int, seed: int) -> str:
    """Short hash of the parameters and of the code that a file follows from."""
    sources = [Path(__file__)]
    if name == "mixed":
        sources += sorted(Path(str(files("sample_data"))).glob("*.py"))
    digest = hashlib.sha256(json.dumps([name, events, seed]).encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _mixed(path: Path, events: int, seed: int) -> None:
    beside = path.with_suffix(".folder")
    beside.mkdir()
    generate(events, seed, beside / "events.jsonl")
    (beside / "events.jsonl").rename(path)
    for told in beside.iterdir():  # the truth and the summary, which nobody asks for here
        told.unlink()
    beside.rmdir()


def tool_calls(events: int, share: float, seed: int) -> Iterator[bytes]:
    """Lines of tool calls of which about `share` (0..1) are broken: which ones, and how, follows from the seed."""
    chance = random.Random(seed)
    broken = 0
    for number in range(events):
        call = _call(number, chance)
        if chance.random() < share:
            yield _BROKEN[broken % len(_BROKEN)](call)
            broken += 1
        else:
            yield _line(call)


def _call(number: int, chance: random.Random) -> Call:
    ts = _FIRST + timedelta(microseconds=number * 1_700_000 + chance.randrange(10**6))
    digest = hashlib.sha256(f"{number}".encode()).hexdigest()
    return {
        "event_id": f"ev-{digest[:16]}-{number:08d}",
        "ts": ts.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "kind": "tool.invocation",
        "correlation_id": f"TICKET-{number // 7}",
        "run_id": f"run-{number // 7:08d}",
        "turn_id": f"turn-{number % 7}",
        "tenant": chance.choice(("acme", "globex")),
        "source": "agent-gateway-eu-1",
        "caller": chance.choice(("iris", "themis", "hestia")),
        "tool": chance.choice(("order_lookup", "kb_search", "refund_execute", "crm_update")),
        "privilege": chance.choice(("read", "write")),
        "side_effects": chance.choice(("none", "reversible")),
        "outcome": chance.choice(("success", "success", "failed")),
        "call_id": f"call-{number:08d}",
        "attempt": 1 + (number % 5 == 0),
        "operation": "lookup",
        "layer": "agent",
        "input_digest": "sha256:" + digest,
        "duration_ms": chance.randrange(5, 4000),
        "tokens": {"in": chance.randrange(2000), "out": chance.randrange(800)},
        "cost_usd": round(chance.random() * 0.1, 5),
        "model": "small-model-2026",
        "note": "looked up the order and found it; "
        + chance.choice(("nothing else to do", "will check again", "asked for more")),
    }


def _line(call: Call) -> bytes:
    return json.dumps(call, separators=(",", ":")).encode() + b"\n"


def _without(call: Call, field: str) -> Call:
    return {name: value for name, value in call.items() if name != field}


# One of each way in which lines go bad; none of them is JSON that the contract accepts.
_BROKEN: tuple[Callable[[Call], bytes], ...] = (
    lambda call: _line(call | {"attempt": str(call["attempt"])}),  # a number as text
    lambda call: _line(_without(call, "tool")),  # a field that is missing
    lambda call: _line(call | {"privilege": "superuser"}),  # a word that is not in the list
    lambda call: _line(call)[:-20] + b"\n",  # a line that was cut off
    lambda call: _line(call | {"ts": call["ts"].replace("2026-", "2026-13-", 1)}),  # a time that is none
    lambda call: _line(call).replace(b"the order", b"the \xff order"),  # bytes that are no UTF-8
    lambda call: _line(call | {"duration_ms": -1}),  # a number out of range
)


def main() -> None:
    """Make files and say where they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES, metavar="name", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--events", type=int, default=500_000)
    arguments = parser.parse_args()
    for name in arguments.names:
        path = made(name, arguments.events)
        print(f"{path} ({path.stat().st_size / arguments.events:.0f} bytes per event)")


if __name__ == "__main__":
    main()
