"""Whether the ledger still is what was signed: its chunks as a tree, held against its own and others' checkpoints.

What is reported is one sentence for each kind of fault, about the first checkpoint that has it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ingest.errors import CheckpointError, LedgerError
from ingest.ledger import merkle
from ingest.ledger.checkpoints import CHECKPOINTS, Kept, Signed, read_kept
from ingest.ledger.keys import own_keys
from ingest.ledger.note import BadNote, Checkpoint, VerifierKey, open_note
from ingest.ledger.origin import ORIGIN, read_origin
from ingest.ledger.segments import Stored


@dataclass(frozen=True, slots=True)
class Outside:
    """What somebody brings along who trusts nothing here: public keys, and checkpoints that were kept elsewhere.

    With `keys`, only these count, also for what the ledger signed itself; without, the keys that lie in the data
    directory, and beside the private key `private` where that is elsewhere.
    """

    keys: Sequence[VerifierKey] = ()
    checkpoints: Sequence[Signed] = ()
    private: Path | None = None


NOTHING = Outside()


@dataclass(slots=True)
class TreeReport:
    """The tree over the ledger's chunks, what was held against it, and every fault in a sentence.

    `outside` has one entry for each checkpoint from outside: size, root, whether it holds, and the proof (RFC 6962,
    2.1.2) that the tree of now extends it. Roots and hashes are base64, as in a checkpoint.
    """

    size: int = 0
    root: str = ""
    origin: str | None = None
    own: int = 0
    outside: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    shown: str | None = None
    """What the newest checkpoint from outside that holds shows; None without one."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """Where the tree had so many leaves: the last line (from 1) and when its chunk was received."""

    line: int
    received_at: datetime


class TreeCheck:
    """Read the checkpoints first, `add` every chunk, then ask for the `report`.

    In this order no ledger that grows meanwhile looks as if its end had been cut off. `copied`: the folder is a copy,
    which may be older than the checkpoints from outside, and need not have its origin.
    """

    def __init__(self, directory: Path, outside: Outside, *, data: Path | None, copied: bool) -> None:
        self._directory = directory
        self._outside = outside
        self._copied = copied
        self._faults: dict[str, str] = {}
        self._origin: str | None = None
        self._kept = Kept()
        self._keys = list(outside.keys)
        try:
            self._origin = read_origin(directory)
        except LedgerError as error:
            self._faults["origin"] = str(error)
        try:
            self._kept = read_kept(directory)
            if not self._keys and data is not None:
                self._keys = own_keys(data, outside.private)
        except CheckpointError as error:
            self._faults["kept"] = str(error)
        self._leaves: list[bytes] = []
        self._tree = merkle.Frontier()
        self._wanted = {signed.checkpoint.size for signed in (*self._kept.signed, *outside.checkpoints)}
        self._roots: dict[int, bytes] = {0: merkle.EMPTY_ROOT}
        self._reached: dict[int, _Reached] = {}

    def add(self, stored: Stored) -> None:
        """The next chunk of the ledger."""
        leaf = bytes.fromhex(stored.leaf)
        self._tree.append(leaf)
        if self._outside.checkpoints:
            self._leaves.append(leaf)
        if self._tree.size in self._wanted:
            self._roots[self._tree.size] = self._tree.root()
            self._reached[self._tree.size] = _Reached(stored.chunk.next_seq - 1, stored.chunk.received_at)

    def report(self, *, whole: bool) -> TreeReport:
        """What was found; `whole` says that the ledger was read to its end, where another problem did not stop it."""
        found = TreeReport(self._tree.size, _text(self._tree.root()), self._origin, len(self._kept.signed))
        self._check_own(whole)
        holding = [signed.checkpoint for signed in self._outside.checkpoints if self._holds(signed, found, whole)]
        if (self._kept.signed or self._outside.checkpoints) and self._origin is None and not self._copied:
            missing = f"{self._directory / ORIGIN} is missing, so that nothing says which ledger this is"
            self._faults.setdefault("origin", missing)
        if self._kept.signed and not self._keys:
            found.left_out.append("the signatures of the ledger's own checkpoints: no public key is known")
        found.problems = list(self._faults.values())
        if holding:
            newest = max(holding, key=lambda checkpoint: checkpoint.size)
            found.shown = self._statement(newest)
        return found

    def _check_own(self, whole: bool) -> None:
        before = 0
        if self._kept.damage is not None:
            self._fault("damage", self._kept.damage)
        for signed in self._kept.signed:
            size = signed.checkpoint.size
            if size <= before:
                self._fault("order", f"the ledger's own checkpoint of {size} chunks stands behind that of {before}")
            before = max(before, size)
            if self._keys:
                self._check_signature(signed, f"the ledger's own checkpoint of {size} chunks")
            if self._origin is not None and signed.checkpoint.origin != self._origin:
                self._fault("own origin", f"the ledger is {self._origin}, but signed as {signed.checkpoint.origin}")
            if size > self._tree.size:
                if whole:
                    self._fault(
                        "own cut", f"the ledger was cut: it signed {size} chunks, and there are {self._tree.size}"
                    )
            elif self._roots[size] != signed.checkpoint.root:
                self._fault("own root", f"the ledger was rewritten: its first {size} chunks are not those it signed")

    def _holds(self, signed: Signed, found: TreeReport, whole: bool) -> bool:
        """Whether a checkpoint from outside is of this ledger and its root that of the ledger's first chunks."""
        checkpoint = signed.checkpoint
        size, name = checkpoint.size, f"the checkpoint of {checkpoint.size} chunks"
        good = self._check_signature(signed, name)
        if self._origin not in (None, checkpoint.origin):
            good = self._fault(
                "origin outside",
                f"{name} is of {checkpoint.origin}, but this ledger is {self._origin}: it was begun anew, or the "
                "checkpoint belongs to another",
            )
        proof: list[bytes] | None = None
        if size > self._tree.size:
            good = False
            if whole:
                self._fault("cut", f"the ledger was cut: it has {self._tree.size} chunks, and {name} counts more")
        else:
            try:
                proof = self._proof(checkpoint)
            except merkle.BadProof:
                good = self._fault("root", f"the ledger was rewritten: its first {size} chunks are not those of {name}")
        if good and not self._is_kept(checkpoint):
            self._fault("missing", f"{name} is missing from {self._directory / CHECKPOINTS}, which was changed or cut")
        found.outside.append(
            {
                "origin": checkpoint.origin,
                "size": size,
                "root": _text(checkpoint.root),
                "holds": good,
                "proof": None if proof is None else [_text(step) for step in proof],
            }
        )
        return good

    def _proof(self, checkpoint: Checkpoint) -> list[bytes]:
        """That the tree of now extends the checkpoint's, checked as somebody would who has the two roots only.

        Raises BadProof.
        """
        if checkpoint.size == 0:  # extended by every tree: there is nothing to prove
            if checkpoint.root != merkle.EMPTY_ROOT:
                raise merkle.BadProof("a tree without leaves has another root")
            return []
        proof = merkle.consistency_proof(self._leaves, checkpoint.size)
        merkle.check_consistency(checkpoint.size, checkpoint.root, self._tree.size, self._tree.root(), proof)
        return proof

    def _is_kept(self, checkpoint: Checkpoint) -> bool:
        """Whether the ledger's own list has it; a copy that was made before it was signed need not."""
        if self._copied and all(signed.checkpoint.size <= checkpoint.size for signed in self._kept.signed):
            return True
        return any(signed.checkpoint == checkpoint for signed in self._kept.signed)

    def _check_signature(self, signed: Signed, name: str) -> bool:
        try:
            open_note(signed.note, self._keys)
        except BadNote as error:
            return self._fault(f"signature {name.split(' of ')[0]}", f"{name} cannot be trusted: {error}")
        return True

    def _fault(self, kind: str, sentence: str) -> bool:
        self._faults.setdefault(kind, sentence)
        return False

    def _statement(self, newest: Checkpoint) -> str:
        if newest.size == 0:
            return "the checkpoint from outside is of an empty ledger: everything is internally consistent only"
        reached = self._reached[newest.size]
        when = reached.received_at.astimezone(UTC).isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
        behind = self._tree.size - newest.size
        rest = (
            "nothing came after it"
            if behind == 0
            else f"the {behind} chunks after it are internally consistent only"
            if behind > 1
            else "the chunk after it is internally consistent only"
        )
        return (
            f"up to line {reached.line}, chunk {newest.size}, received {when} UTC, the ledger is what it was when the "
            f"checkpoint from outside was signed; {rest}"
        )


def _text(digest: bytes) -> str:
    return base64.b64encode(digest).decode("ascii")
