"""The tables of `<data>/work.duckdb` that ingest fills, beside `events` itself."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime

import polars as pl

from schemas.columns import EVENT_COLUMNS, Column, create_table

STORE_VERSION = 1

_TEXT, _LONG, _BOOL, _TIME = pl.String(), pl.Int64(), pl.Boolean(), pl.Datetime("us")


def _text(name: str, comment: str) -> Column:
    return Column(name, "VARCHAR", _TEXT, comment)


def _long(name: str, comment: str) -> Column:
    return Column(name, "BIGINT", _LONG, comment)


def _time(name: str, comment: str) -> Column:
    return Column(name, "TIMESTAMP", _TIME, comment)


_COUNTS = (
    _long("lines", "Lines read: accepted + duplicate + quarantined + blank."),
    _long("accepted", "Lines that became an event."),
    _long("duplicate", "Lines with an event that was there already, with the same content."),
    _long("quarantined", "Lines that were refused."),
    _long("blank", "Lines with nothing on them."),
    _long("warnings", "Things that could not be read of accepted events."),
    _long("drift", "Accepted events with a field that the contract does not know."),
    _long("redacted", "Lines from which personal data was taken before they were kept."),
)

QUARANTINE = (
    _text("quarantine_id", "Stable name of the rejected line: q and its ledger number."),
    _long("seq", "Number of the line in the ledger."),
    _text("source", "Where the line came from."),
    _text("position", "Where in the source: line number, offset of a message, or the file in a folder."),
    _time("received_at", "When it was read, UTC."),
    _text("reason", "not_json, not_an_object, unknown_kind, schema, event_conflict, line_too_long, encoding, dialect."),
    _text("errors", "What is wrong with it, in one line."),
    _text("line", "The line after redaction; NULL when it was too long to keep."),
    _text("line_sha256", "SHA-256 of the line as it was received."),
    _text("event_id", "The event id that was used before with other content; NULL for any other reason."),
    Column("redacted", "BOOLEAN", _BOOL, "Whether personal data was taken from the line before it was kept."),
)
BATCHES = (
    _long("batch_id", "Number of the chunk in the ledger, from 1."),
    _text("source", "Where the lines came from."),
    _text("dialect", "The dialect that they were read in."),
    _long("first_seq", "Ledger number of the first line."),
    *_COUNTS,
    _time("received_at", "When they were read, UTC; of a chunk without lines, when nothing had come."),
    Column("final", "BOOLEAN", _BOOL, "The source ended with this chunk."),
    _long("segment", "Number of the ledger segment that holds the chunk."),
    _long("segment_offset", "Where the chunk begins in its segment, in bytes."),
    _long("bytes", "Length of the chunk in bytes."),
    _text("leaf_hash", "RFC 6962 leaf hash of the chunk: SHA-256 of a zero byte and the chunk."),
)
SOURCES = (
    _text("source", "Name of the source."),
    _text("kind", "jsonl, stdin, decision_record, tail (a file that grows), kafka or retry."),
    _text("path", "File, folder, or topic/partition; - for standard input."),
    _text("dialect", "The dialect that it is read in."),
    *_COUNTS,
    _time("max_ts", "Highest time of an event that it sent, repeats included, UTC."),
    _time("floor_ts", "The same when the last delivery ended: what the next one is held against. NULL before, UTC."),
    Column("complete", "BOOLEAN", _BOOL, "The source was read to its end, so nothing more is awaited from it."),
    _time("first_received_at", "When the source was first looked at, UTC."),
    _time(
        "last_received_at", "When its newest line was read, UTC; before the first line, when it was first looked at."
    ),
)
POSITIONS = (
    _text(
        "key",
        "What is positioned: a file by device and inode, a partition, the beginning of a pipe, a record.",
    ),
    _text("position", "The position as JSON; only the source that wrote it understands it."),
)
GAPS = (
    _text("source", "Where something could not be read any more."),
    _long("seq", "Ledger number of the first line behind the gap."),
    _time("received_at", "When that was noticed, UTC."),
    _text("from_position", "Where reading should have gone on."),
    _text("to_position", "Where it went on."),
    _text("why", "What was found."),
)
RETRIES = (
    _text("quarantine_id", "The rejected line that was tried again."),
    _long("seq", "Ledger number under which it was tried again."),
    _time("received_at", "When it was tried again, UTC."),
    _text("dialect", "The dialect that it was read in this time."),
    _text("outcome", "accepted (the event with this seq), quarantined (the rejected line with it) or duplicate."),
)
VERIFICATIONS = (
    _time("verified_at", "When the comparison ended, UTC."),
    Column("ok", "BOOLEAN", _BOOL, "The ledger, the database and the snapshot agreed."),
    Column("problems", "VARCHAR[]", pl.List(_TEXT), "What did not agree, a sentence each; empty when all did."),
)
META = (_text("key", "Name of the fact."), _text("value", "The fact."))

TABLES = {
    "events": EVENT_COLUMNS,
    "quarantine": QUARANTINE,
    "batches": BATCHES,
    "sources": SOURCES,
    "positions": POSITIONS,
    "gaps": GAPS,
    "retries": RETRIES,
    "verifications": VERIFICATIONS,
    "meta": META,
}


def create_tables() -> list[str]:
    """The statements that make every table, where it does not exist yet."""
    return [create_table(name, columns) for name, columns in TABLES.items()]


def naive(time: datetime) -> datetime:
    """A time as the tables keep it: UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None)


def layout() -> str:
    """A fingerprint of all columns: a database with another one was made by another version."""
    return hashlib.sha256("\n".join(create_tables()).encode()).hexdigest()
