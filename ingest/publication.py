"""Handing a checkpoint to places that the operator trusts: a file on another mount, a webhook, a Kafka topic.

A place that does not answer must not stop the service: each is tried in a thread of its own, and waited for so long.
"""

from __future__ import annotations

import errno
import http.client
import importlib
import os
import secrets
import ssl
import stat
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from ingest.errors import CheckpointError, IngestError
from ingest.ledger.checkpoints import CheckpointSettings, Signed, read_outside
from ingest.ledger.files import fsync_path
from ingest.ledger.note import Checkpoint, write_note

TIMEOUT_SECONDS = 10.0
"""How long one network operation may take; a webhook that is slower is tried again later."""

_PATIENCE_SECONDS = 15.0
"""How long all places together are waited for."""

_ANEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Ours = Callable[[Checkpoint], bool]
"""Whether this ledger signed such a checkpoint."""


class Place(Protocol):
    """Somewhere to hand checkpoints to. `name` is for messages and holds no secret."""

    name: str

    def hand_over(self, signed: Signed, ours: Ours) -> None:
        """Bring the checkpoint there. Raises IngestError, OSError, HTTPException or ValueError."""


class FilePlace:
    """A file that is replaced by the newest checkpoint, atomically.

    Whoever can write its folder must not be able to lead the write elsewhere: no link is followed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def hand_over(self, signed: Signed, ours: Ours) -> None:
        """Replace the file, unless it holds what this ledger never signed: that is evidence, and stays."""
        if self._is_there() and not all(ours(kept.checkpoint) for kept in read_outside(self.path)):
            raise CheckpointError(
                "it holds a checkpoint that this ledger did not sign: it is another ledger's, or this one was put back "
                "from an older copy; `gatewatch verify --checkpoint` with it, then move it away"
            )
        # A name that nobody can have put a link under.
        draft = self.path.with_name(f".gatewatch-{secrets.token_hex(8)}.new")
        try:
            with os.fdopen(os.open(draft, _ANEW, 0o666), "wb") as file:
                file.write(write_note(signed.note))
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path)
            fsync_path(self.path.parent)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            raise self._trouble(error) from None

    def _is_there(self) -> bool:
        try:
            mode = self.path.lstat().st_mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._trouble(error) from None
        if stat.S_ISLNK(mode):
            raise CheckpointError("it is a symbolic link, which is not followed: name the file that it leads to")
        if not stat.S_ISREG(mode):
            raise CheckpointError("it is no file: name one in [checkpoints] files")
        return True

    def _trouble(self, error: OSError) -> CheckpointError:
        """What is wrong and what helps, by the names that the operator knows."""
        folder = self.path.parent
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return CheckpointError(f"there is no folder {folder}: make it, or mount what belongs there")
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return CheckpointError(f"no space left in {folder}: free some")
        why = os.strerror(error.errno).lower() if error.errno else type(error).__name__
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return CheckpointError(f"{why}: let this user make files in {folder}")
        return CheckpointError(f"it cannot be written ({why}): check {folder}")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any, **__: Any) -> None:
        """A checkpoint goes where the operator said, and nowhere else."""


class WebhookPlace:
    """An address that gets the note as the body of a POST."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url = url
        self.name = f"{parts.scheme}://{parts.netloc}"  # the path may be a secret; a user's name was refused
        # No proxy where the address is loopback; TLS is verified as Python does by default.
        handlers = [urllib.request.ProxyHandler({})] if parts.scheme == "http" else []
        self._opener = urllib.request.build_opener(_NoRedirects, *handlers)

    def hand_over(self, signed: Signed, ours: Ours) -> None:
        """POST the note; every answer but 2xx is an error, and the body of the answer is not read.

        Raises CheckpointError. Its words are ours: those of a library or of the other side may hold the URL.
        """
        headers = {"Content-Type": "text/plain; charset=utf-8", "User-Agent": "gatewatch"}
        request = urllib.request.Request(self._url, write_note(signed.note), headers, method="POST")  # noqa: S310 - checked
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS):
                pass
        except urllib.error.HTTPError as error:
            error.close()
            redirected = " (a redirect, which is not followed)" if 300 <= error.code < 400 else ""
            raise CheckpointError(f"it answered {error.code}{redirected}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise CheckpointError(_unreached(error)) from None


def _unreached(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, http.client.RemoteDisconnected):
        return "it ended the connection without an answer"
    if isinstance(reason, http.client.InvalidURL):
        return "its address cannot be used"
    if isinstance(reason, http.client.HTTPException):
        return f"its answer is no HTTP ({type(reason).__name__})"
    if isinstance(reason, TimeoutError):
        return "it cannot be reached (timed out)"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"it cannot be reached (its certificate is not trusted: {reason.verify_message})"
    if isinstance(reason, OSError) and reason.errno is not None and reason.strerror:
        return f"it cannot be reached ({reason.strerror})"
    return f"it cannot be reached ({type(reason).__name__})"


class TopicPlace:
    """A Kafka topic that gets the note as the value of a record, whose key is the origin."""

    def __init__(self, connection: Any, topic: str) -> None:
        self._connection = connection
        self._topic = topic
        self.name = f"the topic {topic}"

    def hand_over(self, signed: Signed, ours: Ours) -> None:
        """Send one record, and wait until the broker has it."""
        kafka = importlib.import_module("ingest.sources.kafka.publish")  # kafka-python is loaded only where it is used
        key = signed.checkpoint.origin.encode()
        kafka.send(self._connection, self._topic, key, write_note(signed.note), TIMEOUT_SECONDS)


def places(settings: CheckpointSettings, connection: Any | None) -> list[Place]:
    """Where the settings want checkpoints to go. Raises CheckpointError for a topic without a connection."""
    found: list[Place] = [FilePlace(path) for path in settings.files]
    found += [WebhookPlace(url) for url in settings.webhooks]
    if settings.topic is not None:
        if connection is None:
            raise CheckpointError("[checkpoints] topic needs a [kafka] table that says where the brokers are")
        found.append(TopicPlace(connection, settings.topic))
    return found


class Publisher:
    """Hands checkpoints to places, each at its own pace, and knows what has not arrived yet."""

    def __init__(self, found: Sequence[Place], ours: Ours) -> None:
        self._attempts = [_Attempt(place, ours) for place in found]

    def publish(self, signed: Signed) -> list[str]:
        """Hand this checkpoint to every place that has not got it: a sentence for each where it has not arrived."""
        for attempt in self._attempts:
            attempt.start(signed)
        until = time.monotonic() + _PATIENCE_SECONDS
        problems = (attempt.outcome(until) for attempt in self._attempts)
        return [problem for problem in problems if problem is not None]


class _Attempt:
    """One place, and the checkpoint that is on its way there."""

    def __init__(self, place: Place, ours: Ours) -> None:
        self._place = place
        self._ours = ours
        self._thread: threading.Thread | None = None
        self._wanted: Signed | None = None
        self._arrived: Signed | None = None
        self._failure: str | None = None

    def start(self, signed: Signed) -> None:
        """Set out with a checkpoint, unless it is there already or an older one is still on its way."""
        self._wanted = signed
        if self._arrived == signed or (self._thread is not None and self._thread.is_alive()):
            return
        self._failure = None
        # A daemon: a mount that hangs for good must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, args=(signed,), name="checkpoint", daemon=True)
        self._thread.start()

    def _run(self, signed: Signed) -> None:
        try:
            self._place.hand_over(signed, self._ours)
            self._arrived = signed
        except (IngestError, OSError, http.client.HTTPException, ValueError) as error:
            text = str(error)
            self._failure = text.splitlines()[0] if text and "://" not in text else type(error).__name__
        except Exception as error:  # whatever a client library thinks of, the service goes on and says so
            text = str(error)
            # Places word what they expect themselves; of anything else, no address is shown.
            self._failure = type(error).__name__ + (f": {text}"[:200] if text and "://" not in text else "")

    def outcome(self, until: float) -> str | None:
        """What went wrong, in a sentence; waits until that moment of the monotonic clock."""
        if self._thread is not None:
            self._thread.join(max(0.0, until - time.monotonic()))
            if self._thread.is_alive():
                return f"the checkpoint did not reach {self._place.name}: no answer yet"
        if self._arrived == self._wanted:
            return None
        return f"the checkpoint did not reach {self._place.name}: {self._failure or 'an older one was on its way'}"
