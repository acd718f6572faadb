"""Signed notes (c2sp.org/signed-note) and checkpoints (c2sp.org/tlog-checkpoint), with Ed25519 keys.

A note is a text, an empty line, and a line ``— <key name> <base64 of key id and signature>`` for each signature. A
checkpoint is a note whose text has an origin, a tree size, a root hash, and perhaps more lines. Keys are written as
Go's ``golang.org/x/mod/sumdb/note`` does: ``PRIVATE+KEY+<name>+<key id>+<base64>``, ``<name>+<key id>+<base64>``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

MAX_NOTE_BYTES = 1 << 20
MAX_SIGNATURES = 100
"""As Go's implementation; a note with more is refused before any is checked."""

_ED25519 = b"\x01"
_KEY_ID_BYTES = 4
_DASH = "— "
_PRIVATE = "PRIVATE+KEY+"
_MAX_SIZE_DIGITS = 19  # 2**63 - 1 leaves


class BadNote(ValueError):
    """A text that is no note, no checkpoint or no key, or a signature that is not right; the message says why."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed: the key's name and id (4 bytes); and what they made of the text."""

    name: str
    key_id: bytes
    signature: bytes

    @property
    def key(self) -> str:
        """The key's name and id, as people compare them."""
        return f"{self.name}+{self.key_id.hex()}"


@dataclass(frozen=True, slots=True)
class Note:
    """A text (with its last newline) and its signatures, none of which has been checked."""

    text: str
    signatures: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log says of itself: who it is, how many leaves it has, and the root (32 bytes) over them."""

    origin: str
    size: int
    root: bytes
    extensions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text to be signed."""
        root = base64.b64encode(self.root).decode("ascii")
        return "".join(f"{line}\n" for line in (self.origin, str(self.size), root, *self.extensions))


class VerifierKey:
    """A public key with its name: what signatures are checked with."""

    def __init__(self, name: str, public: bytes) -> None:
        self.name = _name(name)
        try:
            self._key = Ed25519PublicKey.from_public_bytes(public)
        except ValueError:
            raise BadNote("an Ed25519 public key has 32 bytes") from None
        self._public = public
        self.key_id = hashlib.sha256(name.encode() + b"\n" + _ED25519 + public).digest()[:_KEY_ID_BYTES]

    @classmethod
    def parse(cls, text: str) -> VerifierKey:
        """The key written as ``<name>+<key id>+<base64>``. Raises BadNote."""
        name, key_id, encoded = _parts(text)
        key = cls(name, encoded)
        if key.key_id.hex() != key_id:
            raise BadNote(f"the key's id is {key.key_id.hex()}, not {key_id}")
        return key

    def __str__(self) -> str:
        """The key as ``<name>+<key id>+<base64>``."""
        return f"{self.name}+{self.key_id.hex()}+{base64.b64encode(_ED25519 + self._public).decode('ascii')}"

    def signed(self, signature: Signature) -> bool:
        """Whether the signature says that it is by this key; it may still be wrong."""
        return (signature.name, signature.key_id) == (self.name, self.key_id)

    def check(self, text: str, signature: Signature) -> None:
        """Raise BadNote when the signature is not this key's for the text."""
        try:
            self._key.verify(signature.signature, text.encode())
        except InvalidSignature:
            raise BadNote(f"the signature by {signature.key} is wrong") from None


class SignerKey:
    """A private key with its name."""

    def __init__(self, name: str, seed: bytes) -> None:
        try:
            self._key = Ed25519PrivateKey.from_private_bytes(seed)
        except ValueError:
            raise BadNote("an Ed25519 private key has 32 bytes") from None
        self._seed = seed
        self.verifier = VerifierKey(name, self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))

    @classmethod
    def generate(cls, name: str) -> SignerKey:
        """A new random key. Raises BadNote for a name that a note cannot hold."""
        return cls(name, Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def parse(cls, text: str) -> SignerKey:
        """The key written as ``PRIVATE+KEY+<name>+<key id>+<base64>``. Raises BadNote, which never shows the key."""
        if not text.startswith(_PRIVATE):
            raise BadNote(f"a private key begins with {_PRIVATE}")
        name, key_id, encoded = _parts(text.removeprefix(_PRIVATE))
        key = cls(name, encoded)
        if key.verifier.key_id.hex() != key_id:
            raise BadNote(f"the key's id is {key.verifier.key_id.hex()}, not {key_id}")
        return key

    def secret(self) -> str:
        """The key as ``PRIVATE+KEY+<name>+<key id>+<base64>``: for its file only."""
        encoded = base64.b64encode(_ED25519 + self._seed).decode("ascii")
        return f"{_PRIVATE}{self.verifier.name}+{self.verifier.key_id.hex()}+{encoded}"

    def sign(self, text: str) -> Note:
        """The text with this key's signature. Raises BadNote when no note can hold the text."""
        _text(text)
        signature = Signature(self.verifier.name, self.verifier.key_id, self._key.sign(text.encode()))
        return Note(text, (signature,))


def write_note(note: Note) -> bytes:
    """The note as it is kept and sent."""
    lines = (
        f"{_DASH}{signature.name} {base64.b64encode(signature.key_id + signature.signature).decode('ascii')}\n"
        for signature in note.signatures
    )
    return f"{note.text}\n{''.join(lines)}".encode()


def parse_note(content: bytes) -> Note:
    """The note in these bytes, strictly. Raises BadNote."""
    if len(content) > MAX_NOTE_BYTES:
        raise BadNote(f"a note has at most {MAX_NOTE_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise BadNote("it is not UTF-8") from None
    body, empty, signed = text.rpartition("\n\n")
    if not empty:
        raise BadNote("no empty line separates a text from signatures")
    body += "\n"
    _text(body)
    if not signed.endswith("\n"):
        raise BadNote("its last line has no end" if signed else "nobody has signed it")
    lines = signed[:-1].split("\n")
    if len(lines) > MAX_SIGNATURES:
        raise BadNote(f"a note has at most {MAX_SIGNATURES} signatures")
    return Note(body, tuple(_signature(line) for line in lines))


def open_note(content: bytes | Note, keys: Sequence[VerifierKey]) -> Note:
    """The note, signed by one of these keys at least; signatures by others are ignored.

    Raises BadNote when it is none, when no key of ours signed it, or when a signature that says it is ours is wrong.
    """
    note = content if isinstance(content, Note) else parse_note(content)
    known = [(key, signature) for signature in note.signatures for key in keys if key.signed(signature)]
    if not known:
        names = ", ".join(signature.key for signature in note.signatures)
        raise BadNote(f"it is signed by {names}, which is no key that was given")
    for key, signature in known:
        key.check(note.text, signature)
    return note


def read_checkpoint(text: str) -> Checkpoint:
    """The checkpoint that a note's text is. Raises BadNote."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < 3 or not text.endswith("\n") or "" in lines:
        raise BadNote("a checkpoint has an origin, a size and a root hash, each on a line of its own")
    origin, size, root, *extensions = lines
    if not (size.isascii() and size.isdigit()) or (size[0] == "0" and size != "0") or len(size) > _MAX_SIZE_DIGITS:
        raise BadNote("the second line of a checkpoint is its size in decimal digits")
    decoded = _base64(root)
    if len(decoded) != hashlib.sha256().digest_size:
        raise BadNote("the third line of a checkpoint is a root hash of 32 bytes")
    return Checkpoint(origin, int(size), decoded, tuple(extensions))


def _text(text: str) -> None:
    if not text.endswith("\n"):
        raise BadNote("the text of a note ends with a newline")
    if any(char < " " and char != "\n" for char in text):
        raise BadNote("it holds a control character")


def _signature(line: str) -> Signature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise BadNote("after the empty line there is something else than signatures")
    decoded = _base64(encoded)
    if len(decoded) <= _KEY_ID_BYTES:
        raise BadNote("a signature is too short")
    return Signature(_name(name), decoded[:_KEY_ID_BYTES], decoded[_KEY_ID_BYTES:])


def _name(name: str) -> str:
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise BadNote("a key has a name without spaces and without +")
    return name


def _parts(text: str) -> tuple[str, str, bytes]:
    """Name, key id and the 32 bytes of a written key."""
    name, _, rest = text.partition("+")
    key_id, _, encoded = rest.partition("+")
    decoded = _base64(encoded)
    if not name or len(key_id) != 2 * _KEY_ID_BYTES or decoded[:1] != _ED25519:
        raise BadNote("an Ed25519 key is written <name>+<key id>+<base64>")
    return name, key_id, decoded[1:]


def _base64(text: str) -> bytes:
    """Base64 in its one canonical spelling: two spellings of a signature would be two notes."""
    try:
        decoded = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadNote("it holds bad base64") from None
    if base64.b64encode(decoded).decode("ascii") != text:
        raise BadNote("it holds bad base64")
    return decoded
