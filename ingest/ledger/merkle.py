"""The Merkle tree of RFC 6962 (and 9162) over the ledger's chunks: roots, inclusion proofs, consistency proofs.

A leaf is the hash of a chunk (`ingest.ledger.chunks.leaf_hash`), a node is SHA-256(0x01 || left || right), and the left
half of n leaves is the largest power of two below n. Hashes are 32 bytes. Nothing here is of our own invention; the
vectors of transparency-dev/merkle test it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256().digest()
"""The root of a tree without leaves."""


class BadProof(ValueError):
    """A proof that does not prove what it is given for; the message says why."""


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node above two others."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class Frontier:
    """A tree that grows leaf by leaf, as the hashes of its complete subtrees only: as many as `size` has bits set."""

    def __init__(self, leaves: Iterable[bytes] = ()) -> None:
        self.size = 0
        self._subtrees: list[bytes] = []  # from the largest, which is leftmost, to the smallest
        for leaf in leaves:
            self.append(leaf)

    def append(self, leaf: bytes) -> None:
        """Add the hash of one more leaf. Amortised one node hash."""
        size, joined = self.size, leaf
        while size & 1:  # a complete subtree of this height is there already: the two make one of the next height
            joined = node_hash(self._subtrees.pop(), joined)
            size >>= 1
        self._subtrees.append(joined)
        self.size += 1

    def root(self) -> bytes:
        """The root over all leaves so far. About as many node hashes as `size` has bits."""
        if not self._subtrees:
            return EMPTY_ROOT
        joined = self._subtrees[-1]
        for subtree in reversed(self._subtrees[:-1]):
            joined = node_hash(subtree, joined)
        return joined


def root(leaves: Iterable[bytes]) -> bytes:
    """The root over these leaf hashes."""
    return Frontier(leaves).root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The path from leaf `index` (from 0) to the root over all leaves: PATH of RFC 6962, 2.1.1. Raises BadProof."""
    if not 0 <= index < len(leaves):
        raise BadProof(f"there is no leaf {index} in a tree of {len(leaves)}")
    proof: list[bytes] = []
    begin, end = 0, len(leaves)
    while end - begin > 1:
        middle = begin + _left(end - begin)
        if index < middle:
            proof.append(root(leaves[middle:end]))
            end = middle
        else:
            proof.append(root(leaves[begin:middle]))
            begin = middle
    return proof[::-1]


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """What shows that the tree over all leaf hashes begins with the first `size`: PROOF of RFC 6962, 2.1.2.

    Raises BadProof when there are not that many; a tree without leaves says nothing, so that `size` is at least 1.
    """
    if not 1 <= size <= len(leaves):
        raise BadProof(f"a tree of {len(leaves)} leaves does not extend one of {size}")
    proof: list[bytes] = []
    begin, end, known = 0, len(leaves), True  # known: who checks has the hash of this part already, it is the old root
    while size != end:
        middle = begin + _left(end - begin)
        if size <= middle:
            proof.append(root(leaves[middle:end]))
            end = middle
        else:
            proof.append(root(leaves[begin:middle]))
            begin, known = middle, False
    if not known:
        proof.append(root(leaves[begin:end]))
    return proof[::-1]


def check_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], against: bytes) -> None:
    """Check that `leaf` (its hash) is leaf `index` of the tree with `size` leaves and this root. Raises BadProof.

    RFC 9162, 2.1.3.2.
    """
    if not 0 <= index < size:
        raise BadProof(f"there is no leaf {index} in a tree of {size}")
    _hashes(leaf, against, *proof)
    place, last, found = index, size - 1, leaf
    for step in proof:
        if last == 0:
            raise BadProof("the proof is too long")
        if place & 1 or place == last:
            found = node_hash(step, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, step)
        place, last = place >> 1, last >> 1
    if last:
        raise BadProof("the proof is too short")
    if found != against:
        raise BadProof("the leaf is not in the tree with this root")


def check_consistency(size1: int, root1: bytes, size2: int, root2: bytes, proof: Sequence[bytes]) -> None:
    """Check that the tree (`size2`, `root2`) begins with all of the tree (`size1`, `root1`). Raises BadProof.

    RFC 9162, 2.1.4.2.
    """
    if not 1 <= size1 <= size2:
        raise BadProof(f"a tree of {size2} leaves does not extend one of {size1}")
    if size1 == size2:
        if proof or root1 != root2:
            raise BadProof("two trees of one size are not the same")
        return
    if not proof:
        raise BadProof("the proof is empty")
    _hashes(root1, root2, *proof)
    # A complete subtree of which the old tree consists is no part of the proof: it is the old root.
    path = [root1, *proof] if size1 & (size1 - 1) == 0 else list(proof)
    place, last = size1 - 1, size2 - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for step in path[1:]:
        if last == 0:
            raise BadProof("the proof is too long")
        if place & 1 or place == last:
            old, new = node_hash(step, old), node_hash(step, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, step)
        place, last = place >> 1, last >> 1
    if last:
        raise BadProof("the proof is too short")
    if old != root1 or new != root2:
        raise BadProof("the one tree does not begin with the other")


def _left(size: int) -> int:
    """Leaves in the left half of a tree with `size` (at least 2): the largest power of two below it."""
    return 1 << (size - 1).bit_length() - 1


def _hashes(*given: bytes) -> None:
    if any(len(found) != HASH_BYTES for found in given):
        raise BadProof(f"a hash has {HASH_BYTES} bytes")
