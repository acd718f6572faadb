"""What the service does to a data directory: commit, judge, publish, sign, verify. The loop says when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from gatewatch import __version__
from gatewatch.errors import GatewatchError
from gatewatch.policies import current_policy, keep_policy, own_rules
from gatewatch.reading import snapshot
from gatewatch.service.notary import Notary
from gatewatch.witness import verify_and_record
from gatewatch.work import judge, ledger_bytes, publish_snapshot
from ingest.accounting import Accounting
from ingest.checkpointer import Checkpointer, root_of
from ingest.ledger.checkpoints import CheckpointSettings
from ingest.ledger.database import store_error
from ingest.lines import Received
from ingest.pipeline import Pipeline, Progress, VerifyReport
from ingest.rebuild import STORE
from ingest.sources.jsonl import Positions
from ingest.sources.kafka.settings import KafkaConnection
from ingest.tree_check import Outside
from schemas.policy import Policy
from transforms.own_rules import OwnRules
from transforms.refresh import NO_WATERMARK_US

_BEHIND = """
SELECT (SELECT max(batch_id) FROM batches), (SELECT count(*) FROM verifications), (SELECT digest FROM policy_about)
"""

_OPEN = "SELECT severity, count(*) FROM findings WHERE status = 'open' GROUP BY severity"


@dataclass(frozen=True, slots=True)
class Judged:
    """What holds after a refresh: open findings by severity, the watermark (naive UTC; None: nothing is awaited)."""

    findings: dict[str, int]
    watermark: datetime | None
    changed: bool
    """Whether a finding has opened, cleared or ripened since the refresh before."""


class _GivenUp(Exception):
    """Ends a verification that nobody waits for any more."""


class Engine:
    """The only writer of `data`, judged by the policy `choice` (None: the kept one) and the own rules in `rules`."""

    def __init__(
        self,
        data: Path,
        *,
        choice: str | None = None,
        rules: Path | None = None,
        checkpoints: CheckpointSettings | None = None,
        kafka: KafkaConnection | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Raises PolicyError or OwnRuleError before anything is written."""
        self.data = data
        self.notary: Notary | None = None
        self._checkpoints = checkpoints
        self._kafka = kafka
        self._choice = choice
        self._rules = rules
        self._pipeline = Pipeline(data, now=now)
        self._policy, self._own, self.origin = self._read_policy()
        self._changes = -1

    def _read_policy(self) -> tuple[Policy, OwnRules, str]:
        own = own_rules(self._rules)
        policy, origin = current_policy(self.data, self._choice, own)
        return policy, own, origin

    @property
    def policy(self) -> str:
        """The policy that judges, as people call it."""
        return f"{self._policy.name} version {self._policy.version} ({self.origin})"

    def reload_policy(self) -> bool:
        """Read policy and own rules again; whether they have changed.

        Raises PolicyError, OwnRuleError, OperationError or DiskError; then the former ones stay.
        """
        policy, own, origin = self._read_policy()
        if self._choice is not None:
            keep_policy(self.data, self._choice)
        changed = policy != self._policy or own.digest != self._own.digest
        self._policy, self._own, self.origin = policy, own, origin
        return changed

    def open(self) -> Accounting:
        """Take the lock and recover; how many lines only the ledger had until now, and what `close` found in the store.

        Raises LockedError, LedgerError, StoreError, DiskError, OperationError; CheckpointError when the key to sign
        with cannot be used.
        """
        found = self._pipeline.commit([])
        if self.notary is None:  # for the first time
            if self._choice is not None:
                keep_policy(self.data, self._choice)
            self.notary = Notary(Checkpointer(self.data, self._checkpoints, self._kafka))
        return found

    @contextmanager
    def _database(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The connection, whose errors become ours."""
        con = self._pipeline.connection
        try:
            yield con
        except duckdb.Error as error:
            raise store_error(error, self.data / STORE) from None

    @property
    def checkpoints(self) -> str:
        """Whether checkpoints are signed, in words."""
        if self.notary is not None and self.notary.enabled:
            return "checkpoints are signed"
        return "no key to sign checkpoints with (`gatewatch keys init` makes one)"

    def close(self) -> None:
        """Give the data directory back; the next use opens it again."""
        self._pipeline.close()

    @property
    def positions(self) -> Positions:
        """Where sources were left."""
        return self._pipeline.positions

    def begin(self, received: Sequence[Received]) -> Accounting:
        """Start to bring all of it into ledger and store; what has become of earlier ones since this was asked last.

        Raises as `open`, for earlier ones too; then sources have to be made anew.
        """
        return self._pipeline.begin(received)

    def settle(self) -> Accounting:
        """Wait for what was begun; what has become of it. Raises as `begin`."""
        return self._pipeline.settle()

    @property
    def settled(self) -> bool:
        """Whether `settle` would not have to wait. Raises as `begin`."""
        return self._pipeline.settled

    def tick(self) -> None:
        """Keep that nothing had come. Raises as `begin`."""
        self._pipeline.tick()

    def ledger_size(self) -> tuple[int, int]:
        """(chunks, bytes on disk)."""
        with self._database():
            return self._pipeline.ledger_state()[0], ledger_bytes(self.data)

    def judge(self) -> Judged:
        """Refresh. Raises IngestError, or TransformError: an own rule that cannot judge what has come."""
        with self._database() as con:
            judge(con, self.data, self._policy, self._own)
            counted = con.execute(_OPEN).fetchall()
            ((watermark_us,),) = con.execute("SELECT watermark_us FROM clock").fetchall()
            ((changes,),) = con.execute("SELECT count(*) FROM finding_history").fetchall()
        changed, self._changes = changes != self._changes, changes
        awaited = watermark_us is not None and watermark_us != NO_WATERMARK_US
        watermark = datetime(1970, 1, 1) + timedelta(microseconds=watermark_us) if awaited else None  # noqa: DTZ001
        return Judged(dict(counted), watermark, changed)

    def published_at(self) -> datetime | None:
        """When the snapshot that readers see was published; None when it says less than the database, or is missing."""
        with self._database() as con:
            mine = con.execute(_BEHIND).fetchall()
        try:
            with snapshot(self.data) as published:
                if published.execute(_BEHIND).fetchall() != mine:
                    return None
                ((at, version),) = published.execute("SELECT published_at, software_version FROM about").fetchall()
        except (GatewatchError, duckdb.Error):
            return None
        return at if version == __version__ and isinstance(at, datetime) else None

    def publish(self) -> Path:
        """Publish what was judged. Raises PublishError, and as `open` after `close`."""
        with self._database() as con:
            return publish_snapshot(con, self.data, self._pipeline.ledger_state()[1])

    def sign(self) -> bool:
        """Sign the ledger as it is, when it has grown, and begin to hand the checkpoint out; whether one was signed.

        Raises CheckpointError, and as `begin`.
        """
        if self.notary is None:
            return False
        with self._database():
            return self.notary.sign(self._pipeline.ledger_state(), self._root_of_first)

    def _root_of_first(self, chunks: int) -> str:
        """Root (hex) of the tree over the first so many chunks."""
        query = "SELECT leaf_hash FROM batches ORDER BY batch_id LIMIT $chunks"
        with self._database() as con:
            return root_of([leaf for (leaf,) in con.execute(query, {"chunks": chunks}).fetchall()])

    def sign_is_due(self) -> bool:
        """Whether the interval of the checkpoints is over, or an outside place is to be tried once more."""
        return self.notary is not None and self.notary.is_due()

    def verify(self, stopping: Callable[[], bool]) -> tuple[VerifyReport, str | None] | None:
        """`gatewatch.witness.verify_and_record`, for which the data directory is given back.

        None when `stopping` said so while the ledger was hashed, which takes longest of all.
        """

        def progress(_: Progress) -> None:
            if stopping():
                raise _GivenUp

        self.close()
        try:
            key = None if self._checkpoints is None else self._checkpoints.key
            return verify_and_record(self.data, progress=progress, own=self._own, outside=Outside(private=key))
        except _GivenUp:
            return None
