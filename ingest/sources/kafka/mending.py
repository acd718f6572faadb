"""What kafka-python 3.0 does wrongly where we need it, put right from outside: its inside is touched here only.

Every piece is held by a test on a real broker, which fails when a new version has another inside; the upper bound of
the dependency keeps the next major version away until then.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import ssl
import weakref
from typing import Any

from ingest.sources.kafka.errors import Kind, fault_of

_SCHEME = "gatewatch-direct"
_RECEIVE_BYTES = 1 << 18


def mend(net_client: Any, failures: list[BaseException]) -> None:
    """Mend the network client of one client; `failures` is to hold why its last connection failed, while it does."""
    manager = net_client._manager
    _remember(manager, failures)
    _read_to_the_end(manager)
    # The option allow_auto_create_topics is not handed on: a misspelt topic would come into being by being looked for.
    manager.cluster.config["allow_auto_create_topics"] = False


def _remember(manager: Any, failures: list[BaseException]) -> None:
    """Keep in `failures` why the last connection failed; empty while connections work.

    A refusal ends the attempt to connect: kafka-python would repeat the login several times a second, which locks the
    user's account in some places, and the refusal would be hidden by what the last repetition died of.
    """
    connect = manager._connect

    def failed(error: BaseException) -> None:
        failures[:] = [error]
        if not manager.bootstrapped and fault_of(error).kind is Kind.REFUSED:
            manager.closed = True

    def connect_and_remember(node: Any, conn: Any, **more: Any) -> Any:
        conn.close_future.add_errback(failed)
        conn.init_future.add_callback(lambda _: failures.clear())
        return connect(node, conn, **more)

    manager._connect = connect_and_remember


def _read_to_the_end(manager: Any) -> None:
    """Let an answer be heard that arrives together with the end of its connection, and long ones come in few pieces.

    kafka-python drops the one, and it is how a broker refuses a login: it answers and hangs up. The others it reads
    4 KiB at a time, and each time another thread may take the interpreter for some milliseconds.
    """
    build = manager._build_transport

    async def build_transport(*given: Any, **more: Any) -> Any:
        transport = await build(*given, **more)
        receive = transport._sock_recv

        def received() -> tuple[bytes, BaseException | None]:
            pieces: list[bytes] = []
            with contextlib.suppress(Exception):  # nothing more just now, or what the next attempt meets again
                while piece := transport._sock.recv(_RECEIVE_BYTES):
                    pieces.append(piece)
            return (b"".join(pieces), None) if pieces else receive()

        transport._sock_recv = received
        return transport

    manager._build_transport = build_transport


@functools.cache
def direct_proxy() -> str:
    """A value for the option proxy_url that means no proxy, and sockets that are closed when they cannot connect.

    kafka-python leaves them to the garbage collector; a broker that is away for days would use up the descriptors.
    """
    from kafka.net.inet import KafkaNetSocket

    class DirectSocket(KafkaNetSocket):  # type: ignore[misc]
        SCHEMES = (_SCHEME,)

        async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:
            try:
                return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
            except BaseException:
                sock.close()
                raise

    return f"{_SCHEME}://"


class TlsContext(ssl.SSLContext):
    """A context that can close what was opened with it.

    kafka-python forgets the socket of a handshake that failed or was given up.
    """

    opened: weakref.WeakSet[socket.socket]

    def wrap_socket(self, *given: Any, **more: Any) -> ssl.SSLSocket:
        """As the library's own, and remembered."""
        made = super().wrap_socket(*given, **more)
        self.opened.add(made)
        return made

    def close(self) -> None:
        """Close every socket; nobody may use one any more."""
        for one in list(self.opened):
            one.close()


def tls_context(options: dict[str, Any]) -> TlsContext:
    """What kafka-python makes of its ssl_* options, which are taken out of `options`.

    Raises OSError (ssl.SSLError among them) for files that cannot be used.
    """
    context = TlsContext(ssl.PROTOCOL_TLS_CLIENT)
    context.opened = weakref.WeakSet()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = options.pop("ssl_check_hostname")
    if authority := options.pop("ssl_cafile", None):
        context.load_verify_locations(authority)
    else:
        context.load_default_certs()
    certificate, key = options.pop("ssl_certfile", None), options.pop("ssl_keyfile", None)
    # OpenSSL would ask on the terminal for a password that is needed and not given.
    password = options.pop("ssl_password", "")
    if certificate:
        context.load_cert_chain(certificate, key, password)
    return context
