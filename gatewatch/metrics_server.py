"""The HTTP side of `/metrics` and `/healthz`: reads only, on loopback unless told otherwise, and cannot be held up.

A connection gets ten seconds in all, is cut off after one second without a byte, and 64 are served at a time: no client
can take the service's memory or threads, and some that say nothing do not keep others out for long. Pages of other
origins cannot read it through a name that they point at this machine: on loopback only its own names are answered.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
from collections.abc import Callable, Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread, Timer
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from gatewatch.errors import InputError, OperationError

_DEADLINE_SECONDS = 10.0
_IDLE_SECONDS = 1.0
_AT_A_TIME = 64
"""More than there are scrapers and probes by far; a thread of its own takes some 100 KB."""

_LONGEST_PATH = 2_000
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

Health = Callable[[], dict[str, Any]]


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _Handler(BaseHTTPRequestHandler):
    server: MetricsServer
    timeout = _IDLE_SECONDS

    def version_string(self) -> str:
        """Of the `Server` header: not which Python runs here."""
        return "gatewatch"

    def do_GET(self) -> None:
        """Answer with the page."""
        self._answer(body=True)

    def do_HEAD(self) -> None:
        """Answer with the page's header only."""
        self._answer(body=False)

    def _refuse(self) -> None:
        self._send(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain; charset=utf-8", b"GET or HEAD only\n", body=True)

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse

    def _answer(self, *, body: bool) -> None:
        path = self.path[:_LONGEST_PATH].partition("?")[0]
        if not self.server.answers(self.headers.get("Host", "")):
            self._send(HTTPStatus.FORBIDDEN, "text/plain; charset=utf-8", b"not a name of this machine\n", body=body)
        elif path == "/metrics":
            encode, kind = choose_encoder(self.headers.get("Accept", ""))
            self._send(HTTPStatus.OK, kind, encode(self.server.registry), body=body)
        elif path == "/healthz":
            health = self.server.health()
            code = HTTPStatus.SERVICE_UNAVAILABLE if health["status"] == "failing" else HTTPStatus.OK
            document = json.dumps(health, ensure_ascii=True, indent=2).encode() + b"\n"
            self._send(code, "application/json", document, body=body)
        else:
            self._send(HTTPStatus.NOT_FOUND, "text/plain; charset=utf-8", b"/metrics or /healthz\n", body=body)

    def _send(self, code: HTTPStatus, kind: str, content: bytes, *, body: bool) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        if code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: a scrape every few seconds is no news, and its text is the client's."""


class MetricsServer(ThreadingHTTPServer):
    """Serves in threads of its own until it is closed. `address` is where: port 0 becomes the one that was free."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], registry: CollectorRegistry, health: Health) -> None:
        self.registry = registry
        self.health = health
        self.local_only = is_loopback(address[0])
        self._slots = BoundedSemaphore(_AT_A_TIME)
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)

    @property
    def url(self) -> str:
        """Where it answers, without a path."""
        host, port = self.socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    def answers(self, host: str) -> bool:
        """Whether a request's `Host` is one that this server goes by."""
        name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
        return not self.local_only or name.lower() in _LOCAL_NAMES or is_loopback(name)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, or close it when too many are served already."""
        if self._slots.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve one connection, which is cut off at its deadline whatever it sends."""
        timer = Timer(_DEADLINE_SECONDS, _cut, [request])
        timer.daemon = True
        timer.start()
        try:
            super().process_request_thread(request, client_address)
        finally:
            timer.cancel()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away or was cut off is nobody's news."""


def _cut(request: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it may just have ended by itself
        request.shutdown(socket.SHUT_RDWR)


def refuse_remote(host: str, *, allow_remote: bool) -> None:
    """Raises InputError for an address that other machines reach although that is not allowed."""
    if not allow_remote and not is_loopback(host):
        raise InputError(
            f"metrics.listen: {host} can be reached from other machines; listen on 127.0.0.1, or write "
            "allow_remote = true in [metrics] if that is meant"
        )


@contextlib.contextmanager
def serving(
    address: tuple[str, int], registry: CollectorRegistry, health: Health, *, allow_remote: bool
) -> Iterator[MetricsServer]:
    """Serve for as long as the block runs. Raises InputError or OperationError: one line with the cause and the fix."""
    host, port = address
    refuse_remote(host, allow_remote=allow_remote)
    try:
        server = MetricsServer(address, registry, health)
    except OSError as error:
        raise OperationError(
            f"cannot serve metrics on {host}:{port} ({(error.strerror or str(error)).lower()}); choose another address "
            'with listen in [metrics], or "" for none'
        ) from None
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.2}, name="metrics", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
