"""The validator of the fast road: a gate for many lines at once, a columnar reader for those that pass, and the event
models for the rest, whose verdicts and values stand.

Nothing is decided by what was learnt but the road that a line takes: a line that passes a gate is one that the models
accept, and reads alike everywhere (`ingest.columnar.grammar`).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from queue import SimpleQueue
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl
from pydantic_core import from_json

from ingest.columnar.plan import Plan, Road
from ingest.columnar.reading import Read, connect, contains, read, suspicious
from ingest.frame import event_frame
from ingest.lines import Line
from ingest.redact import Redacted, redact_all
from ingest.texts import texts_of
from ingest.validate import Batch, Validated, Verdicts, judge_numbered
from schemas.events import KINDS

_KIND = r'"kind": ?"([a-z_.]{1,40})"'
WORTHWHILE = 64
"""Lines of one kind for which one query costs less than as many models."""

_REST = 0.02
"""The share of a kind's lines that may go row by row without anything being learnt from them."""

_SAMPLE = 48
"""Most lines of a kind from which is learnt at once."""

_ROUNDS = 3
"""Most times that the lines of a kind are looked at again with what was learnt from them."""

_FEW_OTHERS = 0.1
"""Where only so many lines of a commit are of other kinds, the gate of the usual one is tried before kinds are asked
for, which would take a tenth as long as everything else here."""

_KINDS_AT_ONCE = 2
"""Kinds whose lines are read side by side: each by itself has stretches that keep only one core busy."""

_Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class _Commit:
    """The lines of a commit one behind the other, their ledger numbers, where each batch ends, and the rows found."""

    lines: list[Line]
    seqs: _Numbers
    ends: list[int]
    batches: Sequence[Batch]
    fast: list[pl.DataFrame] = field(default_factory=list)


class ColumnarValidator:
    """Judges like `RowValidator`; `fast` and `slow` count the lines that went either way."""

    def __init__(self, least: int = WORTHWHILE) -> None:
        """`least`: fewer lines of a kind than that in one commit are not worth the fast road."""
        self._least = least
        self.fast = 0
        self.slow = 0
        self._plans = {kind: Plan(kind, model) for kind, model in KINDS.items()}
        self._usual: Plan | None = None
        self._pool = ThreadPoolExecutor(_KINDS_AT_ONCE, "kind")
        self._connections: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()
        for connection in connect(_KINDS_AT_ONCE):
            self._connections.put(connection)

    def validate_all(self, batches: Sequence[Batch]) -> list[Validated]:
        """The verdicts on lines as they are in the ledger, batch by batch."""
        return [validated for _, validated in self._judge(batches, receive=False)]

    def receive_all(self, batches: Sequence[Batch]) -> list[tuple[Redacted, Validated]]:
        """Lines as a source gave them without what may not be kept, and the verdicts on what is left of them."""
        return self._judge(batches, receive=True)

    def _judge(self, batches: Sequence[Batch], receive: bool) -> list[tuple[Redacted, Validated]]:
        commit = _gathered(batches)
        taken = self._take(commit, receive)
        slow = np.flatnonzero(~taken)
        self.fast += len(taken) - len(slow)
        self.slow += len(slow)
        places = [
            (slow[np.searchsorted(slow, begin) : np.searchsorted(slow, end)] - begin).tolist()
            for begin, end in pairwise([0, *commit.ends])
        ]
        redacted = _redacted(batches, places) if receive else [Redacted(list(batch.lines)) for batch in batches]
        verdicts = [
            judge_numbered([(batch.first_seq + place, clean.lines[place]) for place in among], batch.dialect)
            for batch, clean, among in zip(batches, redacted, places, strict=True)
        ]
        return list(zip(redacted, _apart(batches, commit.fast, verdicts), strict=True))

    def _take(self, commit: _Commit, receive: bool) -> npt.NDArray[np.bool_]:
        """Which lines took the fast road; their rows are in `commit.fast`."""
        texts = texts_of(commit.lines)
        frame = pl.DataFrame({"i": pl.int_range(len(texts), eager=True), "l": texts})
        usual, whole = self._usual, frame.height
        kinds: list[Future[list[Read]]] = []
        if usual is not None and usual.road is not None and _asked_for(commit, usual.dialect) is None:
            passes = contains(frame["l"], usual.road.gate).fill_null(value=False)
            kinds.append(self._pool.submit(self._read, usual.dialect, [(frame.filter(passes), usual.road)]))
            frame = frame.filter(~passes)
        self._usual = usual if usual is not None and frame.height < _FEW_OTHERS * whole else None
        frame = frame.with_columns(frame["l"].str.extract(_KIND, 1).alias("kind")).drop_nulls()
        for (kind,), lines in frame.partition_by("kind", as_dict=True, include_key=False).items():
            plan = self._plans.get(kind)
            if plan is None:
                continue
            wanted = _asked_for(commit, plan.dialect)
            if wanted is not None:
                lines = lines.filter(pl.Series(wanted[lines["i"].to_numpy()]))
            if lines.height > (1 - _FEW_OTHERS) * whole:
                self._usual = plan
            if lines.height >= self._least:
                among = whole if plan is usual else lines.height
                kinds.append(self._pool.submit(self._judge_kind, plan, lines, among))
        found = [one for kind in kinds for one in kind.result()]
        taken = np.zeros(len(commit.lines), dtype=bool)
        for one in found:
            taken[one.rows["i"].to_numpy()] = True
        if receive and found:  # for all kinds at once: the first text costs as much as thousands of others
            taken[suspicious(pl.concat(one.texts for one in found)).to_numpy()] = False
        for one in found:
            places = one.rows["i"].to_numpy()
            rows = one.rows.drop("i").with_columns(seq=pl.Series(commit.seqs[places]))
            commit.fast.append(rows if taken[places].all() else rows.filter(pl.Series(taken[places])))
        return taken

    def _judge_kind(self, plan: Plan, lines: pl.DataFrame, among: int) -> list[Read]:
        return self._read(plan.dialect, self._passed(plan, lines, among))

    def _read(self, dialect: str, passed: list[tuple[pl.DataFrame, Road]]) -> list[Read]:
        connection = self._connections.get()
        try:
            return [read(connection, lines, road, dialect) for lines, road in passed]
        finally:
            self._connections.put(connection)

    def _passed(self, plan: Plan, lines: pl.DataFrame, among: int) -> list[tuple[pl.DataFrame, Road]]:
        """The lines that pass a gate of their kind, each with the road behind it; the plan learns from the others,
        unless they are few `among` so many lines of the kind."""
        found: list[tuple[pl.DataFrame, Road]] = []
        left, learning, begun = lines, plan.may_learn(), 0
        for _ in range(_ROUNDS):
            if plan.road is not None:
                passes = contains(left["l"], plan.road.gate)
                if passes.any():
                    found.append((left.filter(passes), plan.road))
                    left = left.filter(~passes)
            if not learning or left.height <= _REST * among:
                break
            sample = left["l"].gather_every(max(left.height // _SAMPLE, 1))
            parsed = [event for text in sample if (event := _parsed(text)) is not None]
            if not plan.learn(parsed, anew=plan.is_full and 2 * left.height > among):
                break
            begun = begun or left.height
        if begun:
            plan.weigh(begun, begun - left.height)
        return found


def _gathered(batches: Sequence[Batch]) -> _Commit:
    lines = [line for batch in batches for line in batch.lines]
    numbers = [np.arange(batch.first_seq, batch.first_seq + len(batch.lines)) for batch in batches]
    ends = np.cumsum([len(batch.lines) for batch in batches], dtype=np.int64).tolist()
    return _Commit(lines, np.concatenate(numbers) if numbers else np.zeros(0, np.int64), ends, batches)


def _asked_for(commit: _Commit, dialect: str) -> npt.NDArray[np.bool_] | None:
    """Which lines may be in a dialect, by what was asked for; None: all."""
    asked = [batch.dialect in ("auto", dialect) for batch in commit.batches]
    if all(asked):
        return None
    return np.repeat(asked, [len(batch.lines) for batch in commit.batches])


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        found = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _redacted(batches: Sequence[Batch], places: list[list[int]]) -> list[Redacted]:
    """The batches without what may not be kept, which can only be in the lines at these places."""
    among = redact_all(
        [([batch.lines[place] for place in here], batch.dialect) for batch, here in zip(batches, places, strict=True)]
    )
    found = []
    for batch, here, changed in zip(batches, places, among, strict=True):
        clean = Redacted(list(batch.lines))
        for index, redaction in changed.redactions.items():
            clean.lines[here[index]] = changed.lines[index]
            clean.redactions[here[index]] = redaction
        found.append(clean)
    return found


def _apart(batches: Sequence[Batch], fast: list[pl.DataFrame], verdicts: list[Verdicts]) -> list[Validated]:
    """What was found in a commit, batch by batch, in the order of the ledger."""
    accepted = [found for verdict in verdicts for found in verdict.accepted]
    frame = pl.concat([event_frame(accepted), *fast], how="diagonal")
    if not frame["seq"].is_sorted():
        frame = frame.sort("seq")
    seqs = frame["seq"].to_numpy()
    apart = []
    for batch, verdict in zip(batches, verdicts, strict=True):
        begin, end = np.searchsorted(seqs, [batch.first_seq, batch.first_seq + len(batch.lines)]).tolist()
        apart.append(Validated(frame.slice(begin, end - begin), verdict.rejects, verdict.blank))
    return apart
