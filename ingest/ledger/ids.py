"""A filter over the ids of all stored events: which ids of a commit may be there already, and whereabouts.

Each id is one 64-bit word: 39 bits of a hash, and 25 bits for the block of 32,768 ledger numbers that its event is in.
The words are in sorted runs; runs of about one size are merged when there are several, so that there are few at any
time and each word is moved only a few times. What the filter says is *maybe*: whoever asks looks into the blocks that
it names. So colliding hashes cost time and no verdict, and an id that was used before is found where it is, however
long ago that was.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO

import numpy as np
import polars as pl
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Hash = Callable[[pl.Series], pl.Series]

_BLOCK_BITS = 25
BLOCK_LINES_BITS = 15
"""A block is as long as a row group of the store, roughly: the least that can be read of it."""

_LAST_BLOCK = (1 << _BLOCK_BITS) - 1
_PLACE = np.uint64(_LAST_BLOCK)
_HASH = ~_PLACE
_FAN_OUT = 4
MEMORY_WORDS = 1 << 20
"""A run of more words (8 MiB) is in a file. Smaller ones stay in memory, all of them together about as much again."""

_PIECE = 1 << 16


def keyed_hash() -> Hash:
    """A 64-bit hash of texts under a key that nobody knows: no producer can prepare ids that collide.

    Collisions would never change a verdict, but make each of them expensive. The key lives as long as the process,
    and so does the filter.
    """
    seed = secrets.randbits(64)
    return lambda ids: ids.hash(seed)


class _Run:
    """Words in order: in memory, or in a file without a name, which is read piece by piece.

    Read rather than mapped: pages of a mapping would count as memory of the process, and a failing disk would kill it.
    """

    def __init__(self, words: Words, file: IO[bytes] | None = None, size: int = 0) -> None:
        self._words = words
        self._file = file
        self.size = size or len(words)

    @classmethod
    def merged(cls, runs: list[_Run], folder: Path) -> _Run:
        """One run with the words of several. Raises OSError when the disk is full."""
        size = sum(run.size for run in runs)
        if size <= MEMORY_WORDS:
            return cls(_sorted([run._words for run in runs]))
        file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - the run closes it
        fences: list[int] = []
        rest = np.empty(0, np.uint64)
        for words in _merge(runs):
            rest = np.concatenate([rest, words])
            whole = len(rest) // _PIECE * _PIECE
            fences += rest[:whole:_PIECE].tolist()
            _write(file, rest[:whole])
            rest = rest[whole:]
        fences += rest[:1].tolist()
        _write(file, rest)
        return cls(np.array(fences, np.uint64), file, size)

    def pieces(self, low: Words, high: Words) -> Iterator[tuple[Words, slice]]:
        """Words among which those from `low[i]` to `high[i]` are, with the slice of i that they are for.

        Both are in order.
        """
        if self._file is None:
            yield self._words, slice(0, len(low))
            return
        first = np.maximum(self._words.searchsorted(low, "left"), 1) - 1
        last = np.maximum(self._words.searchsorted(high, "right"), 1) - 1
        for piece in np.flatnonzero(_covered(first, last, len(self._words))):
            yield (
                self.read(int(piece)),
                slice(int(last.searchsorted(piece, "left")), int(first.searchsorted(piece, "right"))),
            )

    def read(self, piece: int) -> Words:
        """The words of one piece of a run; the only piece of one in memory is all of it."""
        if self._file is None:
            return self._words
        self._file.seek(piece * _PIECE * 8)
        return np.frombuffer(self._file.read(_PIECE * 8), np.uint64)

    def all(self) -> Iterator[Words]:
        """Every word in order, piece by piece."""
        for piece in range(1 if self._file is None else len(self._words)):
            yield self.read(piece)

    def close(self) -> None:
        """Give the file back, if there is one."""
        if self._file is not None:
            self._file.close()


def _covered(first: NDArray[np.int64], last: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """Which of `size` numbers are in any of the intervals from `first` to `last`, both inclusive."""
    steps = np.bincount(first, minlength=size + 1) - np.bincount(last + 1, minlength=size + 1)
    return np.cumsum(steps)[:size] > 0


def _sorted(parts: list[Words]) -> Words:
    words = np.concatenate(parts)
    words.sort(kind="stable")  # which merges what is in order already
    return words


def _merge(runs: list[_Run]) -> Iterator[Words]:
    """The words of several runs in order, a few pieces in memory at a time."""
    sources = [run.all() for run in runs]
    heads = [next(source) for source in sources]
    while heads:
        # Up to the smallest of the last words that were read, no run can bring another one.
        limit = min(head[-1] for head in heads)
        ends = [int(head.searchsorted(limit, "right")) for head in heads]
        yield _sorted([head[:end] for head, end in zip(heads, ends, strict=True)])
        left = [head[end:] for head, end in zip(heads, ends, strict=True)]
        pairs = [
            (head if len(head) else next(source, None), source) for head, source in zip(left, sources, strict=True)
        ]
        heads = [head for head, _ in pairs if head is not None]
        sources = [source for head, source in pairs if head is not None]


def _write(file: IO[bytes], words: Words) -> None:
    left = memoryview(words.view(np.uint8))  # type: ignore[arg-type]  # numpy has the protocol
    while left:
        left = left[file.write(left) :]


class StoredIds:
    """The filter; `folder` is where a large one keeps its files, which have no name there."""

    def __init__(self, folder: Path, hashed: Hash | None = None) -> None:
        self._folder = folder
        self._hash = hashed or keyed_hash()
        self._runs: list[_Run] = []
        self.size = 0
        """How many ids were counted in."""

    def add(self, ids: pl.Series, seqs: pl.Series) -> None:
        """Count these ids in, with the ledger numbers of their events. Raises OSError when the disk is full."""
        if ids.is_empty():
            return
        blocks = np.minimum(seqs.to_numpy() >> BLOCK_LINES_BITS, _LAST_BLOCK).astype(np.uint64)
        words = (self._hash(ids).to_numpy() & _HASH) | blocks
        words.sort()
        self._runs.append(_Run(words))
        self.size += len(words)
        while len(self._runs) >= _FAN_OUT and self._runs[-_FAN_OUT].size < _FAN_OUT * self._runs[-1].size:
            newest = self._runs[-_FAN_OUT:]
            self._runs[-_FAN_OUT:] = [_Run.merged(newest, self._folder)]
            for run in newest:
                run.close()

    def candidates(self, ids: pl.Series) -> tuple[pl.Series, list[int]]:
        """Which of the ids may be there already (a mask), and the blocks that they would be in, in order.

        Raises OSError when a file cannot be read.
        """
        hashes = self._hash(ids).to_numpy() & _HASH
        order = np.argsort(hashes)
        low = hashes[order]
        high = low | _PLACE
        maybe = np.zeros(len(low), np.bool_)
        blocks: set[int] = set()
        for run in self._runs:
            for words, part in run.pieces(low, high):
                begin = words.searchsorted(low[part], "left")
                inside = begin < len(words)
                inside[inside] = words[begin[inside]] <= high[part][inside]
                if not inside.any():
                    continue
                maybe[part] |= inside
                end = words.searchsorted(high[part][inside], "right")
                found = _covered(begin[inside], end - 1, len(words))
                blocks.update(np.unique(words[found] & _PLACE).tolist())
        mask = np.empty_like(maybe)
        mask[order] = maybe
        return pl.Series(mask), sorted(blocks)

    def close(self) -> None:
        """Give the files back."""
        for run in self._runs:
            with suppress(OSError):
                run.close()


def ranges_of(blocks: list[int]) -> list[tuple[int, int]]:
    """The ledger numbers of blocks in order, as (first, last) of stretches without a gap."""
    ranges: list[tuple[int, int]] = []
    for block in blocks:
        first = block << BLOCK_LINES_BITS
        last = (1 << 63) - 1 if block == _LAST_BLOCK else first + (1 << BLOCK_LINES_BITS) - 1
        if ranges and ranges[-1][1] + 1 == first:
            ranges[-1] = (ranges[-1][0], last)
        else:
            ranges.append((first, last))
    return ranges
