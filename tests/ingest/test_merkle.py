"""The tree of RFC 6962: published vectors, and a second, recursive definition written down as the RFC has it."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.ledger import merkle
from ingest.ledger.chunks import leaf_hash
from ingest.ledger.merkle import BadProof, Frontier

VECTORS = json.loads((Path(__file__).parent / "vectors" / "merkle.json").read_text(encoding="utf-8"))
LEAVES = [bytes.fromhex(leaf_hash(bytes.fromhex(leaf))) for leaf in VECTORS["leaves"]]
ROOTS = [bytes.fromhex(found) for found in VECTORS["roots"]]


def named(vectors: list[dict[str, Any]]) -> list[Any]:
    """Vectors as parameters under their published names, with the base64 read."""
    return [
        pytest.param({key: _read(value) for key, value in vector.items() if key != "desc"}, id=vector["desc"])
        for vector in vectors
    ]


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return [_read(item) for item in value]
    return base64.b64decode(value) if isinstance(value, str) else value


def test_hashes() -> None:
    assert merkle.EMPTY_ROOT.hex() == VECTORS["emptyRoot"] == Frontier().root().hex()
    for leaf, expected in VECTORS["leafHashes"].items():
        assert leaf_hash(bytes.fromhex(leaf)) == expected
    node = VECTORS["nodeHash"]
    assert merkle.node_hash(bytes.fromhex(node["left"]), bytes.fromhex(node["right"])).hex() == node["hash"]


def test_roots() -> None:
    growing = Frontier()
    for size, expected in enumerate(ROOTS, start=1):
        growing.append(LEAVES[size - 1])
        assert growing.size == size
        assert growing.root() == expected == merkle.root(LEAVES[:size])


@pytest.mark.parametrize("vector", named(VECTORS["inclusion"]))
def test_inclusion(vector: dict[str, Any]) -> None:
    """A wrong proof that passed would let somebody show a line that the ledger never held."""
    given = vector["leafHash"], vector["leafIdx"], vector["treeSize"], vector["proof"], vector["root"]
    if vector["wantErr"]:
        with pytest.raises(BadProof):
            merkle.check_inclusion(*given)
        return
    merkle.check_inclusion(*given)
    if vector["leafHash"] in LEAVES:
        assert merkle.inclusion_proof(LEAVES[: vector["treeSize"]], vector["leafIdx"]) == vector["proof"]


@pytest.mark.parametrize("vector", named(VECTORS["consistency"]))
def test_consistency(vector: dict[str, Any]) -> None:
    """A wrong proof that passed would let a rewritten ledger pass for a longer one."""
    given = vector["size1"], vector["root1"], vector["size2"], vector["root2"], vector["proof"]
    if vector["wantErr"]:
        with pytest.raises(BadProof):
            merkle.check_consistency(*given)
        return
    merkle.check_consistency(*given)
    if vector["root2"] in ROOTS:
        assert merkle.consistency_proof(LEAVES[: vector["size2"]], vector["size1"]) == vector["proof"]


def naive_root(leaves: list[bytes]) -> bytes:
    """MTH of RFC 6962, 2.1, over leaf hashes."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    if len(leaves) == 1:
        return leaves[0]
    half = naive_half(len(leaves))
    return hashlib.sha256(b"\x01" + naive_root(leaves[:half]) + naive_root(leaves[half:])).digest()


def naive_half(size: int) -> int:
    """The largest power of two below `size`."""
    half = 1
    while 2 * half < size:
        half *= 2
    return half


def naive_path(index: int, leaves: list[bytes]) -> list[bytes]:
    """PATH of RFC 6962, 2.1.1."""
    if len(leaves) == 1:
        return []
    half = naive_half(len(leaves))
    if index < half:
        return [*naive_path(index, leaves[:half]), naive_root(leaves[half:])]
    return [*naive_path(index - half, leaves[half:]), naive_root(leaves[:half])]


def naive_proof(size: int, leaves: list[bytes], whole: bool = True) -> list[bytes]:
    """SUBPROOF of RFC 6962, 2.1.2."""
    if size == len(leaves):
        return [] if whole else [naive_root(leaves)]
    half = naive_half(len(leaves))
    if size <= half:
        return [*naive_proof(size, leaves[:half], whole), naive_root(leaves[half:])]
    return [*naive_proof(size - half, leaves[half:], False), naive_root(leaves[:half])]


def numbered(size: int) -> list[bytes]:
    """Leaf hashes that all differ."""
    return [hashlib.sha256(b"\x00%d" % number).digest() for number in range(size)]


@given(st.integers(1, 70), st.data())
def test_as_the_rfc_defines_it(size: int, data: st.DataObject) -> None:
    leaves = numbered(size)
    whole = merkle.root(leaves)
    assert whole == naive_root(leaves)
    index, first = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size))
    path = merkle.inclusion_proof(leaves, index)
    assert path == naive_path(index, leaves)
    merkle.check_inclusion(leaves[index], index, size, path, whole)
    proof = merkle.consistency_proof(leaves, first)
    assert proof == naive_proof(first, leaves)
    merkle.check_consistency(first, naive_root(leaves[:first]), size, whole, proof)


@given(st.integers(2, 70), st.data())
def test_a_changed_leaf_is_no_consistent_history(size: int, data: st.DataObject) -> None:
    """Whatever proof is made from the rewritten leaves, the old root does not fit."""
    leaves = numbered(size)
    first = data.draw(st.integers(1, size - 1))
    before = merkle.root(leaves[:first])
    leaves[data.draw(st.integers(0, first - 1))] = bytes(32)
    with pytest.raises(BadProof):
        merkle.check_consistency(first, before, size, merkle.root(leaves), merkle.consistency_proof(leaves, first))


@pytest.mark.parametrize(("size", "of"), [(0, 3), (4, 3), (1, 0)])
def test_no_proof_of_what_is_not_there(size: int, of: int) -> None:
    with pytest.raises(BadProof, match="does not extend"):
        merkle.consistency_proof(numbered(of), size)
    with pytest.raises(BadProof, match="there is no leaf"):
        merkle.inclusion_proof(numbered(of), of)


def test_a_large_tree_is_a_few_hashes() -> None:
    """What a service keeps in memory must not grow with the ledger."""
    growing = Frontier(numbered(5_000))
    assert len(growing._subtrees) == (5_000).bit_count()
    assert growing.root() == naive_root(numbered(5_000))
