"""The files of keys: `signing.key` (private, readable by its owner only) and `signing.pub` (what checks signatures)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ingest.errors import CheckpointError, disk_error
from ingest.ledger.files import fsync_path
from ingest.ledger.note import BadNote, SignerKey, VerifierKey

KEYS = "keys"
"""Folder of keys in the data directory."""

PRIVATE, PUBLIC = "signing.key", "signing.pub"
_MOST_BYTES = 64 << 10
_SECRET = "PRIVATE+KEY"  # noqa: S105 - what a key begins with
_LONGEST_PATH = 4096
_WANTED = f"give the file {PUBLIC}, or what it says"

_TOO_OPEN = stat.S_IWGRP | stat.S_IRWXO
"""A group may read the key, as it has to where a secret is mounted for a service; nobody else, and nobody may write."""


def make_keys(folder: Path, name: str) -> SignerKey:
    """A new key pair in this folder, which is made if need be. Never overwrites. Raises CheckpointError, DiskError."""
    private, public = folder / PRIVATE, folder / PUBLIC
    for path in (private, public):
        if path.exists():
            raise CheckpointError(
                f"{path} is there already and is not overwritten: with another key nobody could check what it signed; "
                "move it away, or name another folder with --out"
            )
    try:
        key = SignerKey.generate(name)
    except BadNote as error:
        raise CheckpointError(f"the name {name[:80]!r} cannot be used: {error}") from None
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(private, f"{key.secret()}\n", 0o600)
        _write(public, f"{key.verifier}\n", 0o644)
        fsync_path(folder)
    except OSError as error:
        raise disk_error(error, folder) from None
    return key


def _write(path: Path, content: str, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "w") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def signer_key(path: Path) -> SignerKey:
    """The private key in a file that only its owner (and its group, to read) can open.

    Raises CheckpointError, whose text never shows the key.
    """
    try:
        key = SignerKey.parse(_content(path, "private key").strip())
    except BadNote as error:
        raise CheckpointError(f"{path} holds no private key ({error}): `gatewatch keys init` makes one") from None
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _TOO_OPEN:
        raise CheckpointError(
            f"{path} is open to other users (mode {mode:04o}), who could sign another history: `chmod 600 {path}`, "
            "and make a new key if somebody may have read it"
        )
    return key


def verifier_keys(given: str) -> list[VerifierKey]:
    """The public keys that this is: one written out, or a file with one on each line.

    Raises CheckpointError, whose text shows no key: what was given may be a private one by mistake.
    """
    if _SECRET in given.upper() and not os.path.exists(given):  # noqa: PTH110 - a key is no path
        raise CheckpointError(f"that is a private key, and the public key is wanted: {_WANTED}")
    try:
        return [VerifierKey.parse(given)]
    except BadNote as error:
        if given.count("+") >= 2 and not os.path.exists(given):  # noqa: PTH110 - a key is no path
            shown = "+".join(given[:200].split("+")[:2])
            raise CheckpointError(f"{shown}+… is neither a file nor a public key ({error}): {_WANTED}") from None
    content = _content(Path(given), "public key")
    if _SECRET in content.upper():
        raise CheckpointError(f"{given} holds a private key, and the public key is wanted: {_WANTED}")
    lines = content.split()
    try:
        keys = [VerifierKey.parse(line) for line in lines]
    except BadNote as error:
        raise CheckpointError(f"{given} holds no public key ({error}): {_WANTED}") from None
    if not keys:
        raise CheckpointError(f"{given} holds no public key: {_WANTED}")
    return keys


def own_keys(data: Path, private: Path | None = None) -> list[VerifierKey]:
    """The public keys that lie in the data directory (`keys/*.pub`) and beside its private key elsewhere.

    So a key that was replaced goes on checking what it signed, under another name of its file. Raises CheckpointError.
    """
    folders = [data / KEYS] if private is None else [data / KEYS, private.parent]
    found: list[VerifierKey] = []
    for path in sorted({path for folder in folders for path in folder.glob("*.pub")}):
        found += verifier_keys(str(path))
    return found


def _content(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        if _SECRET in str(path).upper():
            raise CheckpointError(f"a private key stands where the file of the {what} has to be named") from None
        raise CheckpointError(f"{path} does not exist: name the file of the {what}") from None
    except (OSError, ValueError) as error:
        why = (error.strerror or type(error).__name__).lower() if isinstance(error, OSError) else "it is no path"
        if _SECRET in str(path).upper() or len(str(path)) > _LONGEST_PATH:
            raise CheckpointError(f"what stands for the file of the {what} cannot be read ({why})") from None
        raise CheckpointError(f"{path} cannot be read ({why})") from None
