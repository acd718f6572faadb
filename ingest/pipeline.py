"""The loop of ingest: source -> redaction -> ledger (append, fsync) -> validation -> one transaction in the store.

    with Pipeline(Path("gatewatch-data")) as pipeline:
        accounting = pipeline.ingest_paths(["events.jsonl", "records/"])
        pipeline.connection      # the DuckDB connection, for the layers above

`rebuild` makes the store again from the ledger, `verify` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from ingest.accounting import Accounting
from ingest.columnar import ColumnarValidator
from ingest.commits import Commit, Gathered, Stages
from ingest.dialects import READ
from ingest.errors import SourceError
from ingest.ledger.chunks import Place, chunks_of
from ingest.ledger.merkle import Frontier
from ingest.ledger.recovery import recover
from ingest.ledger.segments import Segments
from ingest.ledger.store import Store
from ingest.lines import Chunks, Position, Received, Source
from ingest.lock import DataLock, hold
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER, STORE, rebuild
from ingest.sentences import short
from ingest.sources import paths
from ingest.sources.decision_records import read_records
from ingest.sources.jsonl import Positions, read_file, read_stdin
from ingest.sources.streams import Stream
from ingest.validate import Batch, Validator
from ingest.verify import VerifyReport, verify

__all__ = ["Accounting", "Pipeline", "Progress", "Report", "VerifyReport", "rebuild", "verify"]


@dataclass(frozen=True, slots=True)
class _Opened:
    lock: DataLock
    ledger: Segments
    store: Store
    stages: Stages


class Pipeline:
    """The only writer of a data directory.

    Opened by the first thing that needs it: takes the lock, makes the directory, cuts off a torn chunk at the ledger's
    end, and brings chunks that the ledger has and the store has not into the store. `at` is told every point at which
    a crash could matter; tests crash there. `now` is the clock (with a time zone) that dates what is received.
    """

    def __init__(
        self,
        data: Path,
        validator: Validator | None = None,
        at: Callable[[str], None] = lambda point: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.data = data
        self._validator = validator or ColumnarValidator()
        self._at = at
        self._now = now
        self._opened: _Opened | None = None
        self._place = Place()
        self._gathered = Gathered()
        self._done = Accounting()
        self._tree: Frontier | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection to the work database, which has all that was committed. Raises what `commit` raises."""
        return self._settle().connection

    def _open(self) -> _Opened:
        if self._opened is None:
            lock = hold(self.data)
            ledger = Segments(self.data / LEDGER, self._at)
            try:
                store = Store(self.data / STORE, self._at)
            except BaseException:
                lock.release()
                raise
            self._opened = _Opened(lock, ledger, store, Stages(self._judge, store))
            try:
                self._place, recovered = recover(ledger, store, self._validator)
                self._done.recovered += recovered
            except BaseException:
                self.close()
                raise
        return self._opened

    def ingest_paths(self, arguments: Sequence[str], dialect: str = "auto", report: Report = silent) -> Accounting:
        """Read what is new in files, globs, folders of decision records and standard input (`-`).

        A path that does not exist, or that holds nothing to read, is a SourceError before anything is written. A
        source that cannot be read to its end does not keep the others from being read; its SourceError comes last.
        """
        if dialect not in ("auto", *READ):
            raise SourceError(f"the dialect {short(dialect)} is not read: choose auto or one of {', '.join(READ)}")
        planned = paths.plan(arguments, self.data)
        self._open()
        faults: list[SourceError] = []
        for entry in planned:
            lines = 0
            try:
                with closing(self._chunks(entry, dialect, report)) as chunks:  # whatever fails, the file is let go
                    for received in chunks:
                        lines += len(received.lines)
                        self._gather(received)
            except SourceError as error:
                faults.append(error)
                continue
            if not lines:
                self._done.unchanged.append(str(entry))
        total = self._finish()
        if faults:
            more = f" (and {len(faults) - 1} more sources failed)" if len(faults) > 1 else ""
            raise SourceError(f"{faults[0]}{more}", total)
        return total

    def commit(self, received: Sequence[Received]) -> Accounting:
        """Bring chunks that sources have just given into the ledger and the store, all the way, together.

        Returns what became of their lines, and of those that an interrupted run had left. Raises DiskError, StoreError,
        LedgerError or LockedError; then sources have to be made anew, from what `positions` says.
        """
        done = self.begin(received)
        done.add(self.settle())
        return done

    def begin(self, received: Sequence[Received]) -> Accounting:
        """Start to do what `commit` does; meanwhile the caller may read on. One commit is on its way at a time.

        Returns what became of earlier ones since this was asked last. Raises what `commit` raises, also for those.
        """
        for one in received:
            self._gather(one)
        self._begin()
        return self._told()

    def settle(self) -> Accounting:
        """Wait for what `begin` started, and return what became of it. Raises what `commit` raises."""
        self._settle()
        return self._told()

    @property
    def settled(self) -> bool:
        """Whether `settle` would not have to wait."""
        return self._opened is None or self._opened.stages.is_done

    def tick(self, source: Source | None = None) -> None:
        """Keep that a source was looked at and nothing had come: a chunk without lines, after which it is where it was.

        So silence is a fact of the ledger, with a time, and not the wall clock's word. None: the source heard last, and
        nothing while there is none. Raises what `commit` raises.
        """
        source = source or self._settle().newest_source()
        if source is not None:
            self.commit([Received(source, [], {}, {}, final=False)])

    @property
    def positions(self) -> Positions:
        """Where sources were left, counting what was gathered and is not stored yet."""
        return _Known(self._gathered, self._settle)

    def ledger_state(self) -> tuple[int, str]:
        """Size and root hash (hex) of the RFC 6962 tree over all chunks."""
        store = self._settle()
        if self._tree is None:
            self._tree = Frontier()
        for leaf in store.leaves(self._tree.size):
            self._tree.append(bytes.fromhex(leaf))
        return self._tree.size, self._tree.root().hex()

    def _chunks(self, entry: paths.Entry, dialect: str, report: Report) -> Chunks:
        def watch(stream: Stream) -> None:
            report(Progress(stream.name, stream.taken, stream.size, self._done.lines))

        if isinstance(entry, paths.Records):
            return read_records(entry.folder, entry.files, self.positions, self._done.skipped.append)
        if entry.path == paths.STDIN:
            return read_stdin(dialect, self.positions, watch)
        return read_file(entry.path, dialect, self.positions, watch)

    def _gather(self, received: Received) -> None:
        """Let a chunk wait for its commit, which begins when enough waits, or for long enough."""
        if not self._gathered.has_room(received):
            self._begin()
        self._gathered.add(received)
        if self._gathered.is_due:
            self._begin()

    def _begin(self) -> None:
        """What was gathered on its way into the ledger, and from there into the store."""
        opened = self._open()
        received = self._gathered.take()
        if not received:
            return
        try:
            self._done.add(opened.stages.begin(received))
        except BaseException:
            self.close()  # the next use opens, and thereby recovers, what this commit left
            raise

    def _judge(self, received: Sequence[Received]) -> Commit:
        """Bring what was received into the ledger, durably; the verdicts on it. Runs in a thread of its own."""
        opened = self._opened
        if opened is None:
            raise RuntimeError("the pipeline was closed while a commit was on its way")
        batches, seq = [], self._place.seq
        for one in received:
            batches.append(Batch(one.lines, seq, one.source.dialect))
            seq += len(one.lines)
        judged = self._validator.receive_all(batches)
        redacted = [(one, clean) for one, (clean, _) in zip(received, judged, strict=True)]
        stored = opened.ledger.append(chunks_of(redacted, self._place, self._now()))
        self._place = stored[-1].chunk.after
        return [(one, validated) for one, (_, validated) in zip(stored, judged, strict=True)]

    def _settle(self) -> Store:
        """Wait for the commits that are still on their way; the store, which then nothing else uses."""
        opened = self._open()
        try:
            self._done.add(opened.stages.wait())
        except BaseException:
            self.close()
            raise
        return opened.store

    def _finish(self) -> Accounting:
        """Commit what was gathered, all the way; what became of all lines since this was asked last."""
        self._begin()
        return self.settle()

    def _told(self) -> Accounting:
        done, self._done = self._done, Accounting()
        return done

    def close(self) -> None:
        """Close everything and give the data directory back; what was gathered is read again from its sources."""
        self._gathered.take()
        opened, self._opened = self._opened, None
        if opened is not None:
            self._done.add(opened.stages.close())
            opened.store.close()
            opened.ledger.close()
            opened.lock.release()


@dataclass(frozen=True, slots=True)
class _Known:
    """The positions of the store, with those that will hold after the next commit."""

    gathered: Gathered
    settle: Callable[[], Store]

    def position(self, key: str) -> Position | None:
        """The position stored or gathered under a key."""
        waiting = self.gathered.positions.get(key)
        return self.settle().position(key) if waiting is None else waiting

    def positions(self, prefix: str) -> dict[str, Position]:
        """Every position stored or gathered whose key begins with `prefix`, by the rest of its key."""
        waiting = {
            key.removeprefix(prefix): place for key, place in self.gathered.positions.items() if key.startswith(prefix)
        }
        return self.settle().positions(prefix) | waiting
