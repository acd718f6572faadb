"""Rejected lines that were tried again: what a chunk of them says, as rows of `retries`.

Such a chunk has the source kind `retry`, and `end["retries"]` holds the ledger number of the rejected line that each of
its lines was. So a rebuild finds the same rows, and trying again is in the ledger like all that was ever received.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ingest.ledger.chunks import Chunk
from ingest.ledger.tables import naive

RETRY = "retry"
"""Kind and name of the source of lines that are tried again."""


def is_retry(chunk: Chunk) -> bool:
    """Whether the chunk's lines are rejected ones, tried again, and it says which."""
    retried = chunk.end.get("retries")
    return chunk.source.kind == RETRY and isinstance(retried, list) and len(retried) == len(chunk.lines) > 0


def quarantine_id(seq: int) -> str:
    """The stable name of the rejected line with this ledger number."""
    return f"q{seq}"


def retry_rows(chunk: Chunk, accepted: Set[int], quarantined: Set[int]) -> list[dict[str, Any]]:
    """The rows of `retries` for a chunk; none for any other kind. The sets are ledger numbers of its lines."""
    if not is_retry(chunk):
        return []
    return [
        {
            "quarantine_id": quarantine_id(retried),
            "seq": seq,
            "received_at": naive(chunk.received_at),
            "dialect": chunk.source.dialect,
            "outcome": "accepted" if seq in accepted else "quarantined" if seq in quarantined else "duplicate",
        }
        for seq, retried in enumerate(chunk.end["retries"], start=chunk.seq)
    ]
