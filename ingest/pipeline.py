"""The loop of ingest: source -> redaction -> ledger (append, fsync) -> validation -> one transaction in the store.

    with Pipeline(Path("gatewatch-data")) as pipeline:
        accounting = pipeline.ingest_paths(["events.jsonl", "records/"])
        pipeline.connection      # the DuckDB connection, for the layers above

`rebuild` makes the store again from the ledger, `verify` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from ingest.accounting import Accounting
from ingest.dialects import READ
from ingest.errors import SourceError
from ingest.ledger.chunks import chunk_of
from ingest.ledger.recovery import recover
from ingest.ledger.segments import Segments, Stored
from ingest.ledger.store import Store
from ingest.lines import Received, Source
from ingest.lock import DataLock, hold
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER, STORE, rebuild
from ingest.redact import redact_lines
from ingest.sentences import short
from ingest.sources import paths
from ingest.sources.decision_records import read_records
from ingest.sources.jsonl import read_file, read_stdin
from ingest.sources.streams import Stream
from ingest.validate import RowValidator, Validated, Validator
from ingest.verify import VerifyReport, verify

__all__ = ["Accounting", "Pipeline", "Progress", "Report", "VerifyReport", "rebuild", "verify"]


class _Applier:
    """Brings one chunk at a time into the store, in the background: the next is read and judged meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, "apply")
        self._running: Future[Accounting] | None = None

    def submit(self, stored: Stored, validated: Validated) -> Accounting:
        """Start with a chunk once the one before is done, whose accounting this is. Raises what that one raised."""
        before = self.wait()
        self._running = self._pool.submit(self._store.apply, stored, validated)
        return before

    def wait(self) -> Accounting:
        """The accounting of the chunk that was running, if any. Raises what it raised."""
        running, self._running = self._running, None
        return running.result() if running is not None else Accounting()

    def close(self) -> None:
        """Wait until nothing runs any more; what failed is brought into the store by the next start."""
        self._pool.shutdown()


@dataclass(frozen=True, slots=True)
class _Opened:
    lock: DataLock
    ledger: Segments
    store: Store
    applier: _Applier


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
        self._validator = validator or RowValidator()
        self._at = at
        self._now = now
        self._opened: _Opened | None = None
        self._next_seq = 1
        self._recovered = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection to the work database. Raises LockedError, LedgerError, StoreError or DiskError."""
        return self._open().store.connection

    def _open(self) -> _Opened:
        if self._opened is None:
            lock = hold(self.data)
            ledger = Segments(self.data / LEDGER, self._at)
            try:
                store = Store(self.data / STORE, self._at)
            except BaseException:
                lock.release()
                raise
            self._opened = _Opened(lock, ledger, store, _Applier(store))
            try:
                self._next_seq, self._recovered = recover(ledger, store, self._validator)
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
        planned = paths.plan(arguments)
        store = self._open().store
        total = Accounting(recovered=self._recovered)
        self._recovered = 0
        faults: list[SourceError] = []
        for entry in planned:
            before = total.lines
            try:
                for received in self._chunks(entry, dialect, store, total, report):
                    total.add(self._commit(received))
                total.add(self._settle())
                if total.lines == before:
                    total.unchanged.append(str(entry))
            except SourceError as error:
                faults.append(error)
                total.add(self._settle())
        if faults:
            more = f" (and {len(faults) - 1} more sources failed)" if len(faults) > 1 else ""
            raise SourceError(f"{faults[0]}{more}", total)
        return total

    def take(self, received: Received) -> Accounting:
        """Bring what a source has just given into the ledger and the store: one chunk, all the way.

        Raises DiskError, StoreError, LedgerError or LockedError.
        """
        total = self._commit(received)
        total.add(self._settle())
        return total

    def tick(self, source: Source) -> None:
        """Keep that a source was looked at and nothing had come: a chunk without lines, after which it is where it was.

        So silence is a fact of the ledger, with a time, and not the wall clock's word. Raises what `take` raises.
        """
        self.take(Received(source, [], {}, {}, final=False))

    def _chunks(
        self, entry: paths.Entry, dialect: str, store: Store, total: Accounting, report: Report
    ) -> Iterator[Received]:
        def watch(stream: Stream) -> None:
            report(Progress(stream.name, stream.taken, stream.size, total.lines))

        if isinstance(entry, paths.Records):
            return read_records(entry.folder, entry.files, store, total.skipped.append)
        if entry.path == paths.STDIN:
            return read_stdin(dialect, store, watch)
        return read_file(entry.path, dialect, store, watch)

    def _commit(self, received: Received) -> Accounting:
        """One chunk into the ledger, durably, and only then on its way into the store: the accounting of the last."""
        opened = self._open()
        redacted = redact_lines(received.lines, received.source.dialect)
        chunk = chunk_of(received, redacted, self._next_seq, self._now())
        try:
            stored = opened.ledger.append(chunk)
            self._next_seq = chunk.next_seq
            validated = self._validator.validate(chunk.lines, chunk.seq, chunk.source.dialect)
            return opened.applier.submit(stored, validated)
        except BaseException:
            self.close()  # the next use opens, and thereby recovers, what this chunk left
            raise

    def _settle(self) -> Accounting:
        """Wait for the chunk that is still on its way into the store."""
        try:
            return self._open().applier.wait()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close everything and give the data directory back."""
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.applier.close()
            opened.store.close()
            opened.ledger.close()
            opened.lock.release()
