"""Signing what the ledger is, on an interval, and handing the newest checkpoint to outside places until it is there.

    checkpointer = Checkpointer(data, settings, connection)
    if checkpointer.due():
        checkpointer.sign(pipeline.ledger_state(), pipeline.prefix_root)
        for problem in checkpointer.publish(): ...

Without a key nothing is signed: `enabled` is False, and every call is cheap and does nothing.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ingest.errors import CheckpointError, IngestError
from ingest.ledger import merkle
from ingest.ledger.checkpoints import CheckpointSettings, append_kept, read_kept
from ingest.ledger.keys import KEYS, PRIVATE, signer_key
from ingest.ledger.note import Checkpoint, SignerKey
from ingest.ledger.origin import ensure_origin
from ingest.publication import Publisher, places
from ingest.rebuild import LEDGER

RETRY_SECONDS = 60.0
"""After a place did not get a checkpoint, it is tried again so soon, or at the next interval when that is sooner."""


class Checkpointer:
    """Signs and publishes for one data directory. Only for the process that holds its lock.

    `connection` is how to reach Kafka, for a topic; `now` is a clock in seconds that never goes back. Making one reads
    the key and what was signed before. Raises CheckpointError, LedgerError, DiskError.
    """

    def __init__(
        self,
        data: Path,
        settings: CheckpointSettings | None = None,
        connection: Any | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        settings = settings or CheckpointSettings()
        self._directory = data / LEDGER
        self._now = now
        self._interval = settings.interval.total_seconds()
        self._next = now()
        self._checked = False
        self.sign_problem: str | None = None
        """Why the last `sign` could not sign; None when it could, or had nothing to sign."""
        self._signer = key_to_sign_with(data, settings)
        found = places(settings, connection)
        self.places = len(found)
        """How many outside places there are."""
        self._publisher = Publisher(found, self._is_ours)
        if self._signer is not None:
            self._origin = ensure_origin(self._directory)
            self._kept = read_kept(self._directory)
            self._roots = {signed.checkpoint.size: signed.checkpoint.root for signed in self._kept.signed}
            del self._kept.signed[:-1]

    @property
    def enabled(self) -> bool:
        """Whether there is a key to sign with."""
        return self._signer is not None

    @property
    def last(self) -> Checkpoint | None:
        """The newest checkpoint that was signed, in this run or before."""
        return self._kept.signed[-1].checkpoint if self.enabled and self._kept.signed else None

    def due(self) -> bool:
        """Whether it is time to `sign` and `publish` again: at once after the start, then on the interval."""
        return self.enabled and self._now() >= self._next

    def sign(self, state: tuple[int, str], prefix: Callable[[int], str] | None = None) -> Checkpoint | None:
        """Sign this state of the ledger: its number of chunks and the root (hex) over them. Durable when it returns.

        None when there is nothing new to sign, no key, or something speaks against it: then `sign_problem` says what.
        `prefix` gives the root (hex) of the first so many chunks; asked once, so that no ledger is signed that does not
        extend what this one signed before.
        """
        self.sign_problem = None
        self._next = self._now() + self._interval
        if self._signer is None:
            return None
        try:
            checkpoint = self._to_sign(state, prefix)
            if checkpoint is None:
                return None
            append_kept(self._directory, self._kept, self._signer.sign(checkpoint.text))
        except IngestError as error:
            self.sign_problem = str(error)
            return None
        del self._kept.signed[:-1]
        self._roots[checkpoint.size] = checkpoint.root
        return checkpoint

    def _to_sign(self, state: tuple[int, str], prefix: Callable[[int], str] | None) -> Checkpoint | None:
        size, root = state[0], bytes.fromhex(state[1])
        last = self.last
        if last is not None:
            before = root if size == last.size else last.root
            if prefix is not None and not self._checked and size > last.size:
                before = bytes.fromhex(prefix(last.size))
            if size < last.size or before != last.root or last.origin != self._origin:
                raise CheckpointError(
                    f"nothing is signed: the ledger does not continue what was signed before ({last.size} chunks, root "
                    f"{base64.b64encode(last.root).decode('ascii')}); `gatewatch verify` says more"
                )
            self._checked = self._checked or prefix is not None
        if size == 0 or (last is not None and size == last.size):
            return None
        return Checkpoint(self._origin, size, root)

    def publish(self) -> list[str]:
        """Hand the newest checkpoint to every place that has not got it: a sentence for each where it did not arrive.

        Never raises; what did not arrive is tried again by the next call, with the checkpoint that is newest then.
        """
        if not self.enabled or not self._kept.signed:
            return []
        problems = self._publisher.publish(self._kept.signed[-1])
        if problems:
            self._next = min(self._next, self._now() + RETRY_SECONDS)
        return problems

    def _is_ours(self, checkpoint: Checkpoint) -> bool:
        return checkpoint.origin == self._origin and self._roots.get(checkpoint.size) == checkpoint.root


def key_to_sign_with(data: Path, settings: CheckpointSettings) -> SignerKey | None:
    """The private key that the settings name, else the one in the data directory; None when there is none.

    Raises CheckpointError when it cannot be used, or is missing although the settings want checkpoints.
    """
    key = settings.key or data / KEYS / PRIVATE
    if settings.key is not None or key.exists():
        return signer_key(key)
    if settings.files or settings.webhooks or settings.topic is not None:
        raise CheckpointError(
            f"[checkpoints] says where checkpoints go, but there is no key {key}: `gatewatch keys init` makes one"
        )
    return None


def root_of(leaves: Sequence[str]) -> str:
    """The root (hex) over leaf hashes (hex), as `batches.leaf_hash` has them."""
    return merkle.root(bytes.fromhex(leaf) for leaf in leaves).hex()
