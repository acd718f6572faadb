"""Checkpoints as files: what the ledger signed (`<data>/ledger/checkpoints`, one note after the other), and others'."""

from __future__ import annotations

import ipaddress
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ingest.errors import CheckpointError, disk_error
from ingest.ledger.files import fsync_path
from ingest.ledger.note import BadNote, Checkpoint, Note, parse_note, read_checkpoint, write_note
from schemas.policy import Duration

CHECKPOINTS = "checkpoints"
_DASH = "— ".encode()
_MOST_BYTES = 256 << 20
"""A note every ten minutes is 15 MB a year."""

# What a crash in the middle of an append leaves of `origin, size, root, empty line, signature`.
_TORN = re.compile(rb"(|[^\n]+(\n[0-9]*(\n[A-Za-z0-9+/]*=?(\n(\n[^\n]*)?)?)?)?)")


def _address(url: str) -> str:
    # Not shown, since the path may be a secret. HTTP could not carry it, and a client would say so with the path in it.
    if not url.isascii() or not url.isprintable() or " " in url:
        raise ValueError("holds a space, a control character or a letter outside ASCII; write it as %20 and the like")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("is no address; write https://host/path") from None
    if not host or parts.username is not None or parts.scheme not in ("https", "http"):
        raise ValueError("is no address; write https://host/path")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ValueError("must begin with https://, since anybody on the way could change what is sent")
    return url


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class CheckpointSettings(BaseModel):
    """`[checkpoints]`: what signs the state of the ledger, how often, and where the checkpoints are handed to.

    `key` is the private key's file (None: `<data>/keys/signing.key`, when it is there). Each of `files` is replaced by
    the newest checkpoint, each of `webhooks` gets it by POST, and so does the Kafka topic.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: Path | None = None
    interval: Duration = timedelta(minutes=10)
    files: list[Path] = []
    webhooks: list[Annotated[str, AfterValidator(_address)]] = Field(default=[], repr=False)
    topic: Annotated[str, Field(min_length=1)] | None = None


@dataclass(frozen=True, slots=True)
class Signed:
    """A checkpoint with the note that it came in, whose signatures have not been checked."""

    checkpoint: Checkpoint
    note: Note


@dataclass(slots=True)
class Kept:
    """The checkpoints in a file, how many bytes they take, and what is wrong behind them (None: nothing)."""

    signed: list[Signed] = field(default_factory=list)
    end: int = 0
    damage: str | None = None


def read_kept(directory: Path) -> Kept:
    """What the ledger in this folder signed, up to the first damage; a torn last note is none.

    Raises CheckpointError.
    """
    path = directory / CHECKPOINTS
    try:
        content = _content(path)
    except FileNotFoundError:
        return Kept()
    kept = Kept()
    for piece in _pieces(content):
        if not piece.complete:
            if not _TORN.fullmatch(piece.content.strip(b"\0")):
                kept.damage = f"{path} holds something else than checkpoints at byte {kept.end}"
            break
        try:
            signed = _signed(piece.content)
        except BadNote as error:
            kept.damage = f"{path} holds no checkpoint at byte {kept.end}: {error}"
            break
        if len(signed.note.signatures) != 1 or write_note(signed.note) != piece.content:
            kept.damage = f"{path} holds a checkpoint at byte {kept.end} that was changed"
            break
        kept.signed.append(signed)
        kept.end += len(piece.content)
    return kept


def read_outside(path: Path) -> list[Signed]:
    """The checkpoints in a file of the operator's: one, or several with or without empty lines between them.

    Raises CheckpointError.
    """
    try:
        content = _content(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist: name the file of a checkpoint") from None
    try:
        found = [_signed(piece.content) for piece in _pieces(content, between=True)]
    except BadNote as error:
        raise CheckpointError(f"{path} holds something else than checkpoints: {error}") from None
    if not found:
        raise CheckpointError(f"{path} holds no checkpoint: name a file that `[checkpoints] files` wrote")
    return found


def append_kept(directory: Path, kept: Kept, note: Note) -> None:
    """Add a note durably behind what was read; what a crash left there goes. Raises DiskError, CheckpointError."""
    path = directory / CHECKPOINTS
    if kept.damage:
        raise CheckpointError(
            f"{kept.damage}; nothing is signed until the file is put back from a backup or moved away"
        )
    signed = _signed(content := write_note(note))
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            os.ftruncate(file, kept.end)
            written = os.pwrite(file, content, kept.end)
            while written < len(content):  # a signal or a nearly full disk may split a write
                written += os.pwrite(file, content[written:], kept.end + written)
            os.fsync(file)
        finally:
            os.close(file)
        fsync_path(directory)
    except OSError as error:
        raise disk_error(error, path) from None
    kept.signed.append(signed)
    kept.end += len(content)


def _signed(content: bytes) -> Signed:
    note = parse_note(content)
    return Signed(read_checkpoint(note.text), note)


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read ({error})") from None
    if len(content) > _MOST_BYTES:
        raise CheckpointError(f"{path} is longer than {_MOST_BYTES} bytes: name the file of a checkpoint")
    return content


@dataclass(frozen=True, slots=True)
class _Piece:
    content: bytes
    complete: bool


def _pieces(content: bytes, *, between: bool = False) -> list[_Piece]:
    """A file cut into notes: lines, an empty line, lines with signatures. `between` allows empty lines between notes.

    The last piece may be incomplete; so is one without a signature, and then it is everything that follows.
    """
    pieces: list[_Piece] = []
    begin = at = 0
    text_ended = signed = False
    while at < len(content):
        end = content.find(b"\n", at) + 1
        line = content[at : end or len(content)]
        if signed and not line.startswith(_DASH):
            pieces.append(_Piece(content[begin:at], complete=True))
            begin, text_ended, signed = at, False, False
        if between and begin == at and line == b"\n":
            begin = at = end
            continue
        if not end or (text_ended and not line.startswith(_DASH)):
            signed = False
            break
        signed = text_ended
        text_ended = text_ended or line == b"\n"
        at = end
    if begin < len(content):
        pieces.append(_Piece(content[begin:], complete=signed))
    return pieces
