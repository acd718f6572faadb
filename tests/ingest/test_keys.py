"""Keys and the ledger's name: made once, durably, never overwritten, never shown."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from ingest.errors import CheckpointError, LedgerError
from ingest.ledger.keys import make_keys, own_keys, signer_key, verifier_keys
from ingest.ledger.note import SignerKey
from ingest.ledger.origin import ensure_origin, read_origin


def test_a_pair_that_fits(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "keys", "example.com/log")
    assert stat.S_IMODE((tmp_path / "keys" / "signing.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700
    assert signer_key(tmp_path / "keys" / "signing.key").secret() == made.secret()
    public = tmp_path / "keys" / "signing.pub"
    for given in (str(public), public.read_text().strip()):
        assert [str(key) for key in verifier_keys(given)] == [str(made.verifier)]
    assert [str(key) for key in own_keys(tmp_path)] == [str(made.verifier)]


@pytest.mark.parametrize("there", ["signing.key", "signing.pub"])
def test_nothing_is_overwritten(there: str, tmp_path: Path) -> None:
    """A lost private key cannot be had again, and with another public key nobody can check what was signed."""
    (tmp_path / there).write_text("precious")
    with pytest.raises(CheckpointError, match=f"{there} is there already and is not overwritten"):
        make_keys(tmp_path, "log")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(there, "precious")]


def test_a_name_that_no_note_can_hold_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="'two words' cannot be used"):
        make_keys(tmp_path / "keys", "two words")
    assert not (tmp_path / "keys").exists()


def test_a_key_that_was_replaced_still_checks(tmp_path: Path) -> None:
    """Under another name of its file: what it signed must not look forged afterwards."""
    first = make_keys(tmp_path / "keys", "log")
    (tmp_path / "keys" / "signing.key").unlink()
    (tmp_path / "keys" / "signing.pub").rename(tmp_path / "keys" / "until-2026-06.pub")
    second = make_keys(tmp_path / "keys", "log")
    assert {str(key) for key in own_keys(tmp_path)} == {str(first.verifier), str(second.verifier)}


def test_a_key_elsewhere_has_its_public_key_beside_it(tmp_path: Path) -> None:
    made = make_keys(tmp_path / "vault", "log")
    assert [str(key) for key in own_keys(tmp_path, tmp_path / "vault" / "signing.key")] == [str(made.verifier)]


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "does not exist"), ("nonsense", "holds no private key"), ("", "holds no private key")],
)
def test_an_unusable_private_key(content: str | None, told: str, tmp_path: Path) -> None:
    path = tmp_path / "signing.key"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CheckpointError, match=told):
        signer_key(path)


def test_no_message_shows_a_private_key(tmp_path: Path) -> None:
    secret = SignerKey.generate("log").secret()
    path = tmp_path / "signing.key"
    path.write_text(f"{secret[:-1]}\n")
    for read in (lambda: signer_key(path), lambda: verifier_keys(str(path))):
        with pytest.raises(CheckpointError) as caught:
            read()
        assert secret[20:40] not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("gone.pub", "gone.pub does not exist: name the file of the public key"),
        ("log+00000000+AAAA", "log.00000000.… is neither a file nor a public key"),
        ("empty.pub", "empty.pub holds no public key"),
        ("other.txt", "other.txt holds no public key"),
    ],
)
def test_an_unusable_public_key(given: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.pub").write_text("\n")
    Path("other.txt").write_text("nothing of the kind")
    with pytest.raises(CheckpointError, match=told) as caught:
        verifier_keys(given)
    assert "\n" not in str(caught.value)


def test_a_private_key_in_the_place_of_the_public_one_is_not_shown(tmp_path: Path) -> None:
    """`--key "$(cat signing.key)"`: what a terminal or the log of a CI run shows, others read."""
    made = make_keys(tmp_path, "log")
    secret = made.secret()
    said = "the public key is wanted: give the file signing.pub, or what it says"
    for given in (secret, f" {secret}\n", secret.lower(), f"x{secret}", str(tmp_path / "signing.key")):
        with pytest.raises(CheckpointError) as caught:
            verifier_keys(given)
        assert said in str(caught.value)
        assert secret[-20:].lower() not in str(caught.value).lower()
    for read in (lambda: verifier_keys(secret[5:]), lambda: signer_key(tmp_path / secret)):
        with pytest.raises(CheckpointError) as caught:
            read()
        assert secret[-20:] not in str(caught.value)


@pytest.mark.parametrize(
    ("mode", "fits"), [(0o600, True), (0o400, True), (0o640, True), (0o660, False), (0o604, False)]
)
def test_a_private_key_that_others_can_open_is_refused(mode: int, fits: bool, tmp_path: Path) -> None:
    """Whoever has read it can sign another history; a group may read it, as where a secret is mounted for a service."""
    made = make_keys(tmp_path, "log")
    path = tmp_path / "signing.key"
    path.chmod(mode)
    if fits:
        assert signer_key(path).secret() == made.secret()
        return
    with pytest.raises(CheckpointError) as caught:
        signer_key(path)
    assert str(caught.value).startswith(f"{path} is open to other users (mode 0{mode:o})")
    assert f"`chmod 600 {path}`" in str(caught.value)


def test_a_ledger_has_one_name(tmp_path: Path) -> None:
    assert read_origin(tmp_path / "ledger") is None
    origin = ensure_origin(tmp_path / "ledger")
    assert re.fullmatch(r"gatewatch/[0-9a-f]{32}", origin)
    assert ensure_origin(tmp_path / "ledger") == read_origin(tmp_path / "ledger") == origin
    assert ensure_origin(tmp_path / "other") != origin
    assert [path.name for path in (tmp_path / "ledger").iterdir()] == ["origin"]


@pytest.mark.parametrize("content", ["", "gatewatch/1\n", "x" * 5000, "gatewatch/" + "0" * 32])
def test_another_name_is_not_taken_for_one(content: str, tmp_path: Path) -> None:
    (tmp_path / "origin").write_text(content)
    with pytest.raises(LedgerError, match="does not hold the name of a ledger: put the file back from a backup"):
        ensure_origin(tmp_path)
    assert (tmp_path / "origin").read_text() == content


def test_a_crash_before_the_name_was_there(tmp_path: Path) -> None:
    (tmp_path / "origin.new").write_text("gatewatch/12")
    assert ensure_origin(tmp_path) == read_origin(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["origin"]
