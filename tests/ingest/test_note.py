"""Signed notes and checkpoints, against the keys and notes that Go's implementation is tested with.

The keys, the text and the signatures of PeterNeumann and EnochRoot, and the lists of what must be refused, are those of
golang.org/x/mod/sumdb/note (note_test.go). Copyright 2019 The Go Authors; BSD-style licence, https://go.dev/LICENSE.
"""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.ledger.note import (
    MAX_NOTE_BYTES,
    BadNote,
    Checkpoint,
    Note,
    Signature,
    SignerKey,
    VerifierKey,
    open_note,
    parse_note,
    read_checkpoint,
    write_note,
)

VKEY = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
SKEY = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
ENOCH_KEY = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
PETER_SIG = (
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
)
ENOCH_SIG = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n"
PETER, ENOCH = VerifierKey.parse(VKEY), VerifierKey.parse(ENOCH_KEY)


def note(*signatures: str, text: str = TEXT) -> bytes:
    """The text with these signature lines."""
    return f"{text}\n{''.join(signatures)}".encode()


def test_signing_as_go_does() -> None:
    """Ed25519 has one signature for a text: every byte must be the same."""
    key = SignerKey.parse(SKEY)
    assert write_note(key.sign(TEXT)) == note(PETER_SIG)
    assert key.secret() == SKEY
    assert str(key.verifier) == VKEY


def test_the_key_id_is_that_of_the_specification() -> None:
    public = base64.b64decode(VKEY.rpartition("+")[2])[1:]
    assert hashlib.sha256(b"PeterNeumann\n\x01" + public).hexdigest()[:8] == "c74f20a3" == PETER.key_id.hex()


def test_one_known_signature_is_enough_and_the_others_are_ignored() -> None:
    opened = open_note(note(PETER_SIG, ENOCH_SIG), [PETER])
    assert opened.text == TEXT
    assert [signature.key for signature in opened.signatures] == ["PeterNeumann+c74f20a3", "EnochRoot+af0cfe78"]
    assert open_note(note(PETER_SIG, ENOCH_SIG), [PETER, ENOCH]) == opened
    open_note(note(PETER_SIG, PETER_SIG), [PETER])


@pytest.mark.parametrize("keys", [[], [ENOCH]])
def test_without_a_known_signature_it_is_refused(keys: list[VerifierKey]) -> None:
    with pytest.raises(BadNote, match=r"signed by PeterNeumann\+c74f20a3, which is no key that was given"):
        open_note(note(PETER_SIG), keys)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(PETER_SIG.replace("x08go/ZJ", "x08go/ZK"), id="another signature"),
        pytest.param(PETER_SIG[:60] + "ABCD" + PETER_SIG[60:], id="too long"),
        pytest.param(PETER_SIG + PETER_SIG.replace("x08go/ZJ", "x08go/ZK"), id="a right one and a wrong one"),
    ],
)
def test_a_wrong_signature_by_a_known_key_refuses_the_whole_note(line: str) -> None:
    with pytest.raises(BadNote, match="is wrong"):
        open_note(note(line), [PETER, ENOCH])


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(PETER_SIG.replace("PeterNeumann", "CarmenSandiego"), id="the id, with another name"),
        pytest.param(PETER_SIG.replace("x08g", "xxxx"), id="the name, with another id"),
    ],
)
def test_a_key_is_known_by_name_and_id_together(line: str) -> None:
    with pytest.raises(BadNote, match="no key that was given"):
        open_note(note(line), [PETER])


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(TEXT.encode(), id="no signatures"),
        pytest.param(note(), id="an empty line and no signatures"),
        pytest.param(note(PETER_SIG)[:-1], id="no last newline"),
        pytest.param(b"\x01" + note(PETER_SIG), id="a control character"),
        pytest.param(b"\xff" + note(PETER_SIG), id="no UTF-8"),
        pytest.param(note(PETER_SIG.replace("PeterNeumann", "Bad Name")), id="a name with a space"),
        pytest.param(note(PETER_SIG.replace("PeterNeumann", "Bad+Name")), id="a name with a plus"),
        pytest.param(note(PETER_SIG, "Unexpected line.\n"), id="a line after the signatures"),
        pytest.param(note(PETER_SIG.replace("—", "-")), id="another dash"),
        pytest.param(note(PETER_SIG.replace("\n", "\t\n")), id="white space behind a signature"),
        pytest.param(note(PETER_SIG.replace("JnAM=", "JnAN=")), id="unused bits of base64"),
        pytest.param(note("— PeterNeumann x08gow==\n"), id="a key id without a signature"),
        pytest.param(note("— PeterNeumann\n"), id="a name alone"),
        pytest.param(note(PETER_SIG * 101), id="too many signatures"),
        pytest.param(note(PETER_SIG, text="a\n" * (MAX_NOTE_BYTES // 2)), id="too long"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_what_is_no_note(content: bytes) -> None:
    for keys in ([PETER], []):
        with pytest.raises(BadNote):
            open_note(content, keys)


def test_sixteen_signatures_must_do() -> None:
    open_note(note(*[ENOCH_SIG] * 15, PETER_SIG), [PETER])


@pytest.mark.parametrize("text", ["abc", "", "a\rb\n", "a\x00\n"])
def test_what_cannot_be_signed(text: str) -> None:
    with pytest.raises(BadNote):
        SignerKey.parse(SKEY).sign(text)


@pytest.mark.parametrize(("key", "parse"), [(VKEY, VerifierKey.parse), (SKEY, SignerKey.parse)])
def test_a_mangled_key_is_refused(key: str, parse: type) -> None:
    """Every part of it, and it with any one character raised by one."""
    parse(key)
    for begin in range(len(key) + 1):
        for end in range(begin + 1, len(key) + 1):
            if (begin, end) != (0, len(key)):
                with pytest.raises(BadNote):
                    parse(key[begin:end])
    for place, char in enumerate(key):
        with pytest.raises(BadNote):
            parse(key[:place] + chr(ord(char) + 1) + key[place + 1 :])


@pytest.mark.parametrize(
    "key",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
    ],
    ids=["a key of another length", "another algorithm"],
)
def test_a_key_with_its_own_id_that_is_none_of_ours(key: str) -> None:
    with pytest.raises(BadNote):
        VerifierKey.parse(key)


@pytest.mark.parametrize("name", ["", "a b", "a+b", "a\u2003b", "a\nb"])
def test_names_that_no_note_can_hold(name: str) -> None:
    with pytest.raises(BadNote):
        SignerKey.generate(name)


def test_a_new_key_signs_and_nobody_elses_fits() -> None:
    one, other = SignerKey.generate("example.com/log"), SignerKey.generate("example.com/log")
    assert one.secret() != other.secret()
    signed = write_note(SignerKey.parse(one.secret()).sign(TEXT))
    open_note(signed, [VerifierKey.parse(str(one.verifier))])
    with pytest.raises(BadNote):
        open_note(signed, [other.verifier])


@given(st.integers(0, 8 * len(note(PETER_SIG)) - 1))
def test_no_single_bit_can_change(bit: int) -> None:
    content = bytearray(note(PETER_SIG))
    content[bit // 8] ^= 1 << bit % 8
    with pytest.raises(BadNote):
        open_note(bytes(content), [PETER])


ROOT = base64.b64decode("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=")
SOFA = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"


def test_the_checkpoint_of_the_specification() -> None:
    """The example of c2sp.org/tlog-checkpoint (CC BY 4.0)."""
    signed = SOFA + (
        "\n— example.com/behind-the-sofa "
        "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
    )
    parsed = parse_note(signed.encode())
    assert write_note(parsed).decode() == signed
    assert read_checkpoint(parsed.text) == Checkpoint("example.com/behind-the-sofa", 20_852_163, ROOT)
    assert Checkpoint("example.com/behind-the-sofa", 20_852_163, ROOT).text == SOFA


def test_extension_lines_are_kept() -> None:
    read = read_checkpoint(f"{SOFA}one\ntwo\n")
    assert read.extensions == ("one", "two")
    assert read.text == f"{SOFA}one\ntwo\n"


def test_an_empty_tree_has_size_zero() -> None:
    assert read_checkpoint(SOFA.replace("20852163", "0")).size == 0


@pytest.mark.parametrize(
    "text",
    [
        SOFA.replace("20852163", "020852163"),
        SOFA.replace("20852163", "-1"),
        SOFA.replace("20852163", "+1"),
        SOFA.replace("20852163", "1 "),
        SOFA.replace("20852163", "²"),
        SOFA.replace("20852163", "9" * 20),
        SOFA.replace("20852163", ""),
        SOFA.replace("example.com/behind-the-sofa", ""),
        SOFA.replace("CsUY", "CsU"),
        SOFA.replace("2I=\n", "2J=\n"),
        SOFA.replace("CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=", "CsUY"),
        SOFA.rpartition("\nCsUY")[0] + "\n",
        SOFA[:-1],
        SOFA + "\nafter an empty line\n",
    ],
)
def test_what_is_no_checkpoint(text: str) -> None:
    with pytest.raises(BadNote):
        read_checkpoint(text)


def test_a_note_has_the_text_up_to_the_last_empty_line() -> None:
    poem = "Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n"
    parsed = parse_note(note(PETER_SIG, text=poem))
    assert parsed == Note(poem, (Signature("PeterNeumann", PETER.key_id, parsed.signatures[0].signature),))
