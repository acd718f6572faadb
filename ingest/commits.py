"""Commits: the chunks that go into the ledger with one fsync and into the store with one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ingest.accounting import Accounting
from ingest.ledger.segments import Stored
from ingest.ledger.store import Store
from ingest.lines import MAX_COMMIT_BYTES, MAX_COMMIT_LINES, MAX_COMMIT_SECONDS, Position, Received
from ingest.validate import Validated

Commit = Sequence[tuple[Stored, Validated]]
"""The chunks of a commit as they are in the ledger, and the verdicts on their lines."""


@dataclass(slots=True)
class Gathered:
    """Chunks that wait for their commit, and the positions that will hold after it."""

    received: list[Received] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    _lines: int = 0
    _bytes: int = 0
    _since: float = 0.0

    def has_room(self, more: Received) -> bool:
        """Whether a chunk fits into the same commit; into an empty one it always does."""
        lines, size = self._lines + len(more.lines), self._bytes + more.size
        return not self.received or (lines <= MAX_COMMIT_LINES and size <= MAX_COMMIT_BYTES)

    def add(self, received: Received) -> None:
        """Let a chunk wait with the others."""
        if not self.received:
            self._since = self.clock()
        self.received.append(received)
        self.positions.update(received.positions)
        self._lines += len(received.lines)
        self._bytes += received.size

    @property
    def is_due(self) -> bool:
        """Whether the oldest chunk has waited for as long as it may."""
        return bool(self.received) and self.clock() - self._since >= MAX_COMMIT_SECONDS

    def take(self) -> list[Received]:
        """What waited; now nothing does."""
        taken, self.received, self.positions = self.received, [], {}
        self._lines = self._bytes = 0
        return taken


class Applier:
    """Brings one commit at a time into the store, in the background: the next is read and judged meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(1, "apply")
        self._running: Future[Accounting] | None = None

    def submit(self, commit: Commit) -> Accounting:
        """Start with a commit once the one before is done, whose accounting this is. Raises what that one raised."""
        before = self.wait()
        self._running = self._pool.submit(self._store.apply, commit)
        return before

    def wait(self) -> Accounting:
        """The accounting of the commit that was running, if any. Raises what it raised."""
        running, self._running = self._running, None
        return running.result() if running is not None else Accounting()

    @property
    def is_done(self) -> bool:
        """Whether `wait` would return at once."""
        return self._running is None or self._running.done()

    def close(self) -> Accounting:
        """Wait until nothing runs any more; the accounting of what the store has then and nobody was told.

        What failed is brought into the store by the next start.
        """
        self._pool.shutdown()
        running, self._running = self._running, None
        failed = running is None or running.exception() is not None
        return Accounting() if failed or running is None else running.result()


class Stages:
    """Commits on their way: one is judged and made durable while the one before goes into the store, and the caller
    reads a third."""

    def __init__(self, judge: Callable[[Sequence[Received]], Commit], store: Store) -> None:
        """`judge` brings what was received into the ledger, in the order of the calls, and says what it is."""
        self._judge = judge
        self._applier = Applier(store)
        self._pool = ThreadPoolExecutor(1, "judge")
        self._judging: Future[None] | None = None
        self._done = Accounting()  # added to by the thread of `_judge`, taken when that is done

    def begin(self, received: Sequence[Received]) -> Accounting:
        """Start with a commit, once the one before is in the ledger; the accounting of those that the store has by now.

        Raises what an earlier one raised.
        """
        self._await_judge()
        done, self._done = self._done, Accounting()
        self._judging = self._pool.submit(self._bring, received)
        return done

    def _bring(self, received: Sequence[Received]) -> None:
        commit = self._judge(received)
        self._done.add(self._applier.submit(commit))

    def _await_judge(self) -> None:
        judging, self._judging = self._judging, None
        if judging is not None:
            judging.result()

    def wait(self) -> Accounting:
        """The accounting of everything that was on its way. Raises what it raised."""
        self._await_judge()
        done, self._done = self._done, Accounting()
        done.add(self._applier.wait())
        return done

    @property
    def is_done(self) -> bool:
        """Whether `wait` would return at once."""
        return (self._judging is None or self._judging.done()) and self._applier.is_done

    def close(self) -> Accounting:
        """Wait until nothing runs any more; the accounting of what the store has then and nobody was told.

        What is only in the ledger is brought into the store by the next start.
        """
        self._pool.shutdown()
        self._done.add(self._applier.close())
        return self._done
