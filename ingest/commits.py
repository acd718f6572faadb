"""Commits: the chunks that go into the ledger with one fsync and into the store with one transaction."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from ingest.accounting import Accounting
from ingest.ledger.segments import Stored
from ingest.ledger.store import Store
from ingest.lines import MAX_COMMIT_BYTES, MAX_COMMIT_LINES, MAX_COMMIT_SECONDS, Position, Received
from ingest.validate import Validated

_WAITING = 1
"""Commits that may wait for the store. With none of them the judge would often have to wait itself: 3 % of the time."""

Commit = Sequence[tuple[Stored, Validated]]
"""The chunks of a commit as they are in the ledger, and the verdicts on their lines."""


@dataclass(slots=True)
class Gathered:
    """Chunks that wait for their commit, and the positions that will hold after it."""

    received: list[Received] = field(default_factory=list)
    positions: dict[str, Position] = field(default_factory=dict)
    clock: Callable[[], float] = time.monotonic
    size: int = 0
    """Bytes of their lines."""
    _lines: int = 0
    _since: float = 0.0

    def has_room(self, more: Received) -> bool:
        """Whether a chunk fits into the same commit; into an empty one it always does."""
        lines, size = self._lines + len(more.lines), self.size + more.size
        return not self.received or (lines <= MAX_COMMIT_LINES and size <= MAX_COMMIT_BYTES)

    @property
    def is_full(self) -> bool:
        """Whether it is as large as a commit may be."""
        return self._lines >= MAX_COMMIT_LINES or self.size >= MAX_COMMIT_BYTES

    def add(self, received: Received) -> None:
        """Let a chunk wait with the others."""
        if not self.received:
            self._since = self.clock()
        self.received.append(received)
        self.positions.update(received.positions)
        self._lines += len(received.lines)
        self.size += received.size

    @property
    def is_due(self) -> bool:
        """Whether the oldest chunk has waited for as long as it may."""
        return bool(self.received) and self.clock() - self._since >= MAX_COMMIT_SECONDS

    def take(self) -> list[Received]:
        """What waited; now nothing does."""
        taken, self.received, self.positions = self.received, [], {}
        self._lines = self.size = 0
        return taken


class Applier:
    """Brings commits into the store, one after the other, in the background: the next is read and judged meanwhile."""

    def __init__(self, store: Store, waiting: int = 0) -> None:
        """`waiting`: so many commits may wait while one goes into the store."""
        self._store = store
        self._waiting = waiting
        self._pool = ThreadPoolExecutor(1, "apply")
        self._running: deque[Future[Accounting]] = deque()

    def submit(self, commit: Commit) -> Accounting:
        """Let a commit be next, once there is room; the accounting of those that are done. Raises what they raised."""
        done = self._take(self._waiting)
        self._running.append(self._pool.submit(self._store.apply, commit))
        return done

    def wait(self) -> Accounting:
        """The accounting of the commits that were on their way, if any. Raises what they raised."""
        return self._take(0)

    def _take(self, left: int) -> Accounting:
        done = Accounting()
        try:
            while len(self._running) > left:
                done.add(self._running.popleft().result())
        except BaseException:
            for later in self._running:  # what follows one that failed has no place in the store
                later.cancel()
            self._running.clear()
            raise
        return done

    @property
    def is_done(self) -> bool:
        """Whether `wait` would return at once."""
        return all(running.done() for running in self._running)

    def close(self) -> Accounting:
        """Wait until nothing runs any more; the accounting of what the store has then and nobody was told.

        What failed is brought into the store by the next start.
        """
        self._pool.shutdown()
        done = Accounting()
        while self._running and self._running[0].exception() is None:
            done.add(self._running.popleft().result())
        return done


class Stages:
    """Commits on their way: one is judged and made durable while the one before goes into the store, and the caller
    reads a third."""

    def __init__(self, judge: Callable[[Sequence[Received]], Commit], store: Store) -> None:
        """`judge` brings what was received into the ledger, in the order of the calls, and says what it is."""
        self._judge = judge
        self._applier = Applier(store, _WAITING)
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
