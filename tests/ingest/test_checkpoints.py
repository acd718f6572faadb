"""Signing what the ledger is, keeping it, and handing it to places outside."""

from __future__ import annotations

import hashlib
import http.client
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pydantic import ValidationError

from ingest import publication
from ingest.checkpointer import Checkpointer, root_of
from ingest.errors import CheckpointError
from ingest.ledger import checkpoints as files
from ingest.ledger.checkpoints import CheckpointSettings, read_kept, read_outside
from ingest.ledger.keys import make_keys, signer_key
from ingest.ledger.note import Checkpoint, VerifierKey, open_note

LEAVES = [hashlib.sha256(b"\x00%d" % number).hexdigest() for number in range(9)]


def state(size: int) -> tuple[int, str]:
    """What a pipeline says of a ledger with so many chunks."""
    return size, root_of(LEAVES[:size])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data directory with a key."""
    make_keys(tmp_path / "data" / "keys", "log")
    return tmp_path / "data"


@pytest.fixture
def key(data: Path) -> VerifierKey:
    """Its public key."""
    return VerifierKey.parse((data / "keys" / "signing.pub").read_text().strip())


def sizes(data: Path) -> list[int]:
    """The checkpoints that the ledger keeps."""
    kept = read_kept(data / "ledger")
    assert kept.damage is None
    return [signed.checkpoint.size for signed in kept.signed]


def test_signed_when_the_tree_grew(data: Path, key: VerifierKey) -> None:
    checkpointer = Checkpointer(data)
    assert checkpointer.sign(state(0)) is None
    first = checkpointer.sign(state(3))
    assert first is not None
    assert (first.size, first.root.hex()) == state(3)
    assert first.origin == (data / "ledger" / "origin").read_text().strip()
    assert checkpointer.sign(state(3)) is None
    again = Checkpointer(data)
    assert again.last == first
    assert again.sign(state(3)) is None
    assert again.sign(state(5)) is not None
    assert sizes(data) == [3, 5]
    for signed in read_kept(data / "ledger").signed:
        open_note(signed.note, [key])


def test_without_a_key_nothing_happens(tmp_path: Path) -> None:
    checkpointer = Checkpointer(tmp_path / "data")
    assert (checkpointer.enabled, checkpointer.due(), checkpointer.last) == (False, False, None)
    assert (checkpointer.sign(state(3)), checkpointer.publish()) == (None, [])
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("settings", [{"files": ["x"]}, {"key": "gone.key"}])
def test_a_wish_without_a_key_is_an_error(settings: dict[str, object], tmp_path: Path) -> None:
    """Whoever wrote down where checkpoints go must not learn years later that none was ever made."""
    with pytest.raises(CheckpointError, match="key"):
        Checkpointer(tmp_path, CheckpointSettings.model_validate(settings))


def test_due_at_once_and_then_on_the_interval(data: Path) -> None:
    clock = [1000.0]
    checkpointer = Checkpointer(
        data,
        CheckpointSettings.model_validate({"interval": "10m", "files": [data / "gone" / "x"]}),
        now=lambda: clock[0],
    )
    assert checkpointer.due()
    checkpointer.sign(state(1))
    assert not checkpointer.due()
    clock[0] += 599
    assert not checkpointer.due()
    clock[0] += 1
    assert checkpointer.due()
    checkpointer.sign(state(2))
    assert len(checkpointer.publish()) == 1
    clock[0] += 60
    assert checkpointer.due(), "what did not arrive is tried again earlier"


@pytest.mark.parametrize(
    ("size", "root"),
    [
        pytest.param(4, None, id="shorter"),
        pytest.param(5, "00" * 32, id="another root"),
        pytest.param(7, None, id="rewritten"),
    ],
)
def test_what_does_not_continue_what_was_signed_is_not_signed(size: int, root: str | None, data: Path) -> None:
    """A log must not sign two histories: the second signature would make the forgery look like ours."""
    assert Checkpointer(data).sign(state(5)) is not None
    checkpointer = Checkpointer(data)
    forged = [*LEAVES[:2], "00" * 32, *LEAVES[3:]]
    known = root_of(LEAVES[:size]) if size != 7 else root_of(forged[:size])
    assert checkpointer.sign((size, root or known), prefix=lambda first: root_of(forged[:first])) is None
    assert checkpointer.sign_problem is not None
    assert "the ledger does not continue what was signed before (5 chunks" in checkpointer.sign_problem
    assert sizes(data) == [5]


def test_every_way_an_append_can_be_torn(data: Path) -> None:
    """Whatever a crash leaves of the last note is no checkpoint and no damage, and the next one takes its place."""
    checkpointer = Checkpointer(data)
    checkpointer.sign(state(3))
    path = data / "ledger" / "checkpoints"
    whole = path.stat().st_size
    checkpointer.sign(state(5))
    content = path.read_bytes()
    for end in range(whole, len(content)):
        for torn in (content[:end], content[:end] + bytes(len(content) - end)):
            path.write_bytes(torn)
            assert sizes(data) == [3], end
    path.write_bytes(content[: whole + 50])
    assert Checkpointer(data).sign(state(6)) is not None
    assert sizes(data) == [3, 6]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: "\n" + text, id="an empty line before"),
        pytest.param(lambda text: text + "\n", id="an empty line behind"),
        pytest.param(lambda text: text + "a line\n\nand more\n", id="a line behind"),
        pytest.param(lambda text: text.replace("— log", "- log", 1), id="another dash"),
        pytest.param(lambda text: text.replace("\n3\n", "\n03\n"), id="another spelling"),
        pytest.param(lambda text: text + text.rpartition("\n\n")[2], id="another signature"),
    ],
)
def test_a_changed_file_is_damage_and_nothing_is_signed(change: Callable[[str], str], data: Path) -> None:
    checkpointer = Checkpointer(data)
    checkpointer.sign(state(3))
    checkpointer.sign(state(5))
    path = data / "ledger" / "checkpoints"
    path.write_text(change(path.read_text()))
    assert read_kept(data / "ledger").damage is not None
    again = Checkpointer(data)
    again.sign(state(6))
    assert again.sign_problem is not None
    assert "put back from a backup or moved away" in again.sign_problem or "does not continue" in again.sign_problem


def test_a_write_that_fails_is_told_and_leaves_what_was_there(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpointer = Checkpointer(data)
    checkpointer.sign(state(3))

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        assert checkpointer.sign(state(5)) is None
        assert checkpointer.sign_problem is not None
        assert "no space left while writing" in checkpointer.sign_problem
    assert checkpointer.sign(state(5)) is not None
    assert sizes(data) == [3, 5]


class Hook(BaseHTTPRequestHandler):
    """Answers with what the server was told, and keeps what it got."""

    def do_POST(self) -> None:
        """One checkpoint."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, self.headers["Content-Type"], body))  # type: ignore[attr-defined]
        self.send_response(self.server.code)  # type: ignore[attr-defined]
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def hook() -> Iterator[HTTPServer]:
    """A webhook on the loopback address."""
    server = HTTPServer(("127.0.0.1", 0), Hook)
    server.code, server.got = 204, []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def url(server: HTTPServer) -> str:
    """Its address, whose path is a secret."""
    return f"http://127.0.0.1:{server.server_port}/secret"


def test_to_a_file_and_a_webhook_once_each(data: Path, tmp_path: Path, hook: HTTPServer, key: VerifierKey) -> None:
    outside = tmp_path / "mount" / "checkpoint"
    outside.parent.mkdir()
    checkpointer = Checkpointer(data, CheckpointSettings(files=[outside], webhooks=[url(hook)]))
    assert checkpointer.publish() == []
    for size in (3, 5):
        checkpointer.sign(state(size))
        assert checkpointer.publish() == []
        assert checkpointer.publish() == []
    (signed,) = read_outside(outside)
    assert signed == read_kept(data / "ledger").signed[-1]
    open_note(signed.note, [key])
    assert [path.name for path in outside.parent.iterdir()] == ["checkpoint"]
    got = hook.got  # type: ignore[attr-defined]
    assert [(path, kind) for path, kind, _ in got] == [("/secret", "text/plain; charset=utf-8")] * 2
    assert got[1][2] == outside.read_bytes()


@pytest.mark.parametrize(
    ("code", "told"), [(500, "it answered 500"), (302, "it answered 302 (a redirect, which is not followed)")]
)
def test_an_answer_that_is_no_thanks(code: int, told: str, data: Path, hook: HTTPServer) -> None:
    """And no message shows the path, which is often all that keeps others from posting there."""
    hook.code = code  # type: ignore[attr-defined]
    checkpointer = Checkpointer(data, CheckpointSettings(webhooks=[url(hook)]))
    checkpointer.sign(state(3))
    place = f"http://127.0.0.1:{hook.server_port}"
    assert checkpointer.publish() == [f"the checkpoint did not reach {place}: {told}"]
    assert len(hook.got) == 1  # type: ignore[attr-defined]
    hook.code = 200  # type: ignore[attr-defined]
    checkpointer.sign(state(5))
    assert checkpointer.publish() == []
    assert b"\n5\n" in hook.got[-1][2]  # type: ignore[attr-defined]


def test_a_place_that_is_not_there_does_not_keep_others_from_getting_it(data: Path, tmp_path: Path) -> None:
    good = tmp_path / "good"
    checkpointer = Checkpointer(data, CheckpointSettings(files=[tmp_path / "no" / "folder", good]))
    checkpointer.sign(state(3))
    (problem,) = checkpointer.publish()
    assert problem == (
        f"the checkpoint did not reach {tmp_path / 'no' / 'folder'}: there is no folder {tmp_path / 'no'}: make it, or "
        "mount what belongs there"
    )
    assert read_outside(good)[0].checkpoint.size == 3


def test_a_place_that_never_answers_is_left_alone(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mount that hangs must stop neither the service nor the other places, nor pile up threads."""
    release, entered = threading.Event(), []

    def hang(self: publication.FilePlace, *_: object) -> None:
        entered.append(1)
        release.wait()

    monkeypatch.setattr(publication, "_PATIENCE_SECONDS", 0.05)
    monkeypatch.setattr(publication.FilePlace, "hand_over", hang)
    checkpointer = Checkpointer(data, CheckpointSettings(files=[tmp_path / "x"]))
    for size in (3, 5):
        checkpointer.sign(state(size))
        assert checkpointer.publish() == [f"the checkpoint did not reach {tmp_path / 'x'}: no answer yet"]
    assert len(entered) == 1
    release.set()


@pytest.mark.parametrize("case", ["another ledger's", "a longer history of ours", "no checkpoint"])
def test_evidence_outside_is_never_overwritten(case: str, data: Path, tmp_path: Path) -> None:
    """An old copy of the data directory that goes on signing must not wipe out what shows it."""
    outside = tmp_path / "checkpoint"
    settings = CheckpointSettings(files=[outside])
    if case == "no checkpoint":
        outside.write_text("somebody's file")
    else:
        other = tmp_path / "other" if case == "another ledger's" else data
        if other != data:
            make_keys(other / "keys", "log")
        first = Checkpointer(other, settings)
        first.sign(state(3))
        before = (other / "ledger" / "checkpoints").read_bytes()
        first.sign(state(5))
        assert first.publish() == []
        (other / "ledger" / "checkpoints").write_bytes(before)
    there = outside.read_bytes()
    checkpointer = Checkpointer(data, settings)
    checkpointer.sign(state(7))
    (problem,) = checkpointer.publish()
    assert "did not sign" in problem or "something else than checkpoints" in problem
    assert outside.read_bytes() == there


@pytest.mark.parametrize("name", ["checkpoint.new", "checkpoint"])
def test_no_link_is_followed(name: str, data: Path, tmp_path: Path) -> None:
    """Who can write the folder of a checkpoint must not be able to have another file of the service overwritten."""
    victim, outside = tmp_path / "victim", tmp_path / "out" / "checkpoint"
    outside.parent.mkdir()
    victim.write_text("precious")
    (outside.parent / name).symlink_to(victim)
    checkpointer = Checkpointer(data, CheckpointSettings(files=[outside]))
    checkpointer.sign(state(3))
    problems = checkpointer.publish()
    assert victim.read_text() == "precious"
    if name == "checkpoint":
        assert [problem.partition(": ")[2] for problem in problems] == [
            "it is a symbolic link, which is not followed: name the file that it leads to"
        ]
    else:
        assert problems == []
        assert not outside.is_symlink()
        assert read_outside(outside)[0].checkpoint.size == 3


def test_a_write_that_fails_leaves_nothing_behind(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "out" / "checkpoint"
    outside.parent.mkdir()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(CheckpointError, match=r"no space left in .*out: free some"):
        publication.FilePlace(outside).hand_over(_signed(data), lambda _: True)
    assert list(outside.parent.iterdir()) == []


def _signed(data: Path) -> files.Signed:
    note = signer_key(data / "keys" / "signing.key").sign(Checkpoint("log", 3, bytes(32)).text)
    return files.Signed(Checkpoint("log", 3, bytes(32)), note)


@pytest.mark.parametrize(
    "error",
    [
        http.client.InvalidURL("URL can't contain '/hook/SECRET abc'"),
        http.client.BadStatusLine("/hook/SECRET"),
        ValueError("unknown url type: '/hook/SECRET'"),
        OSError("https://example.com/hook/SECRET"),
        urllib.error.URLError("https://example.com/hook/SECRET"),
        RuntimeError("https://example.com/hook/SECRET"),
    ],
)
def test_no_message_shows_the_path_of_a_webhook(error: Exception, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a library, or the other side, puts into its words."""

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", fail)
    checkpointer = Checkpointer(data, CheckpointSettings(webhooks=["https://example.com:8443/hook/SECRET"]))
    checkpointer.sign(state(3))
    (problem,) = checkpointer.publish()
    assert problem.startswith("the checkpoint did not reach https://example.com:8443: ")
    assert "SECRET" not in problem


def test_a_topic_needs_brokers(data: Path) -> None:
    with pytest.raises(CheckpointError, match=r"\[checkpoints\] topic needs a \[kafka\] table"):
        Checkpointer(data, CheckpointSettings(topic="checkpoints"))


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/x",
        "ftp://example.com/x",
        "https://",
        "https://user:password@example.com/",
        "example.com/x",
        "http://127.0.0.1:99999/",
        "http://[::1/",
    ],
)
def test_addresses_that_are_refused(address: str) -> None:
    with pytest.raises(ValidationError, match=r"must begin with https://|is no address"):
        CheckpointSettings(webhooks=[address])


@pytest.mark.parametrize("letter", [" ", "\t", "\n", "\x7f", "é", "\u2028"])
def test_an_address_that_http_cannot_carry_is_refused_at_the_start_and_not_shown(letter: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CheckpointSettings(webhooks=[f"https://example.com/hook/SECRET{letter}x"])
    (problem,) = caught.value.errors()
    assert "write it as %20" in problem["msg"]
    assert "SECRET" not in problem["msg"]


@pytest.mark.parametrize(
    "address", ["https://example.com/x", "http://127.0.0.1:8080/", "http://[::1]:1/", "http://localhost/"]
)
def test_addresses_that_are_taken(address: str) -> None:
    assert address not in repr(CheckpointSettings(webhooks=[address]))


def test_several_checkpoints_in_one_file(data: Path, tmp_path: Path) -> None:
    """As an operator collects them: one behind the other, with or without empty lines between."""
    checkpointer = Checkpointer(data)
    for size in (1, 2, 3):
        checkpointer.sign(state(size))
    content = (data / "ledger" / "checkpoints").read_text()
    collected = tmp_path / "collected"
    for text in (content, "\n" + content.replace("gatewatch/", "\n\ngatewatch/") + "\n"):
        collected.write_text(text)
        assert [signed.checkpoint.size for signed in read_outside(collected)] == [1, 2, 3]


@pytest.mark.parametrize("content", ["", "\n", "text\n\nmore\n", "a\n1\nx\n\n— k AAAAAAAA\n"])
def test_a_file_that_holds_none(content: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    with pytest.raises(CheckpointError, match="holds"):
        read_outside(path)
