"""The TLS context of a Kafka client: from the files of the configuration, and nothing it opened stays open."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from ingest.sources.kafka.errors import Kind, fault_of
from ingest.sources.kafka.mending import tls_context
from ingest.sources.kafka.settings import KafkaConnection, client_options
from tests.support.certificates import make_certificates


def connection(folder: Path, password: str | None) -> KafkaConnection:
    """A connection with a client's certificate whose key is locked with "k3y"."""
    made = make_certificates(folder)
    key = serialization.load_pem_private_key(made.broker.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"k3y")
    )
    (folder / "key.pem").write_bytes(locked)
    return KafkaConnection(
        bootstrap_servers=["a:1"],
        security_protocol="SSL",
        ssl_cafile=made.authority,
        ssl_certfile=made.broker,
        ssl_keyfile=folder / "key.pem",
        ssl_password=password,
    )


def test_a_context_from_files(tmp_path: Path) -> None:
    options = client_options(connection(tmp_path, "k3y"))
    context = tls_context(options)
    assert not [name for name in options if name.startswith("ssl_")]
    assert [found["subject"] for found in context.get_ca_certs()] == [((("commonName", "test authority"),),)]
    assert (context.check_hostname, context.verify_mode) == (True, ssl.CERT_REQUIRED)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    ours, theirs = socket.socketpair()
    with theirs:
        wrapped = context.wrap_socket(ours, server_hostname="a", do_handshake_on_connect=False)
        assert wrapped.fileno() >= 0
        context.close()
        assert wrapped.fileno() == -1


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_key_that_does_not_open(tmp_path: Path, password: str | None) -> None:
    """An error at once, and no question on the terminal."""
    with pytest.raises(ssl.SSLError) as caught:
        tls_context(client_options(connection(tmp_path, password)))
    fault = fault_of(caught.value)
    assert fault.kind is Kind.REFUSED
    assert fault.sentence.startswith("TLS with the broker failed: check ssl_cafile, ssl_certfile, ssl_keyfile")
