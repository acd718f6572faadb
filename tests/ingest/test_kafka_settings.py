"""The configuration of Kafka: what fits together, what it becomes for the client, and that secrets stay secret."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings, client_options, token_of

SERVERS = ["kafka1.example:9092"]
LOGIN = {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "u", "sasl_password": "s3cret"}


def connection(**fields: Any) -> KafkaConnection:
    return KafkaConnection.model_validate({"bootstrap_servers": SERVERS, **fields})


@pytest.mark.parametrize(
    ("fields", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"security_protocol": "SSL", "ssl_cafile": "ca.pem"}, "SSL"),
        (LOGIN, "SASL_SSL"),
        ({**LOGIN, "sasl_mechanism": "PLAIN"}, "SASL_SSL"),
        ({**LOGIN, "security_protocol": "SASL_PLAINTEXT", "sasl_without_tls": True}, "SASL_PLAINTEXT"),
        ({"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": "t"}, "SASL_SSL"),
        ({"bootstrap_servers": ["[::1]:9092", "a:1"]}, "PLAINTEXT"),
    ],
)
def test_what_fits(fields: dict[str, Any], protocol: str) -> None:
    made = connection(**fields)
    assert made.protocol == protocol
    assert client_options(made)["security_protocol"] == protocol


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"bootstrap_servers": []}, "at least 1 item"),
        ({"bootstrap_servers": ["kafka1"]}, 'must be host and port, like "kafka1.example:9092"'),
        ({"bootstrap_servers": ["kafka1:99999"]}, "must be host and port"),
        ({"bootstrap_server": "x"}, "Extra inputs are not permitted"),
        ({"security_protocol": "TLS"}, "Input should be 'PLAINTEXT', 'SSL', 'SASL_PLAINTEXT' or 'SASL_SSL'"),
        ({"sasl_mechanism": "GSSAPI"}, "Input should be"),
        ({"security_protocol": "SASL_SSL"}, "security_protocol SASL_SSL needs sasl_mechanism, one of PLAIN, SCRAM"),
        ({**LOGIN, "security_protocol": "SSL"}, "sasl_mechanism has no effect with security_protocol SSL"),
        ({**LOGIN, "security_protocol": "SASL_PLAINTEXT"}, "sends the login over the network without TLS"),
        ({"sasl_without_tls": True}, "sasl_without_tls has no effect with security_protocol PLAINTEXT"),
        ({"sasl_username": "u"}, "sasl_username has no effect without sasl_mechanism"),
        ({"sasl_mechanism": "PLAIN", "sasl_password": "s3cret"}, "sasl_mechanism PLAIN needs sasl_username"),
        ({"sasl_mechanism": "PLAIN", "sasl_username": "u"}, "sasl_mechanism PLAIN needs sasl_password"),
        ({**LOGIN, "sasl_password": ""}, "sasl_password must not be empty"),
        ({**LOGIN, "sasl_username": ""}, "must not be empty"),
        ({**LOGIN, "sasl_oauth_token": "s3cret"}, "sasl_oauth_token has no effect with sasl_mechanism SCRAM-SHA-512"),
        ({"sasl_mechanism": "OAUTHBEARER"}, "needs either sasl_oauth_token or sasl_oauth_token_file"),
        (
            {"sasl_mechanism": "OAUTHBEARER", "sasl_oauth_token": "s3cret", "sasl_oauth_token_file": "f"},
            "needs either sasl_oauth_token or sasl_oauth_token_file",
        ),
        ({**LOGIN, "sasl_mechanism": "OAUTHBEARER"}, "sasl_username has no effect with sasl_mechanism OAUTHBEARER"),
        ({"ssl_cafile": "ca.pem"}, 'ssl_cafile has no effect with security_protocol PLAINTEXT: write "SSL"'),
        ({"ssl_check_hostname": False}, "ssl_check_hostname has no effect"),
        ({"security_protocol": "SSL", "ssl_keyfile": "k"}, "ssl_keyfile needs ssl_certfile"),
        ({"security_protocol": "SSL", "ssl_password": "s3cret"}, "ssl_password needs ssl_certfile"),
    ],
)
def test_what_does_not_fit(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        connection(**fields)
    assert said in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    made = connection(**LOGIN, ssl_certfile="c", ssl_keyfile="k", ssl_password="k3y")
    options = client_options(made)
    for text in (repr(made), str(made), made.model_dump_json(), repr(options), f"{options}"):
        assert "s3cret" not in text
        assert "k3y" not in text
    assert options["sasl_plain_password"] == "s3cret"  # what the client uses is the secret itself
    assert "\0".join(["u", options["sasl_plain_password"]]) == "u\0s3cret"
    assert options["ssl_password"] == "k3y"


def test_a_token_file_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = connection(sasl_mechanism="OAUTHBEARER", sasl_oauth_token_file=path)
    with pytest.raises(FileNotFoundError):
        token_of(made)
    for token in ("first", "second"):
        path.write_text(f"{token}\n")
        assert token_of(made) == token
    for bad in ("", "two words"):
        path.write_text(bad)
        with pytest.raises(ValueError, match="does not hold one bearer token"):
            token_of(made)
    assert token_of(connection(sasl_mechanism="OAUTHBEARER", sasl_oauth_token="direct")) == "direct"


def test_a_source() -> None:
    made = KafkaSettings(type="kafka", topics=["tool-events"])
    assert (made.isolation, made.start, made.on_lost, made.group_id) == (
        "read_committed",
        "earliest",
        "stop",
        "gatewatch",
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"topics": []}, "at least 1 item"),
        ({"topics": ["a b"]}, "must be the name of a topic"),
        ({"topics": [".."]}, "must be the name of a topic"),
        ({"topics": ["a", "b", "a"]}, "topics names a more than once"),
        ({"partitions": []}, "at least 1 item"),
        ({"partitions": [-1]}, "greater than or equal to 0"),
        ({"partitions": [1, 1]}, "partitions names 1 more than once"),
        ({"name": "a/b"}, "must be a name without spaces, colons and slashes"),
        ({"group_id": ""}, "must not be empty"),
        ({"start": "now"}, "Input should be 'earliest' or 'latest'"),
        ({"on_lost": "ignore"}, "Input should be 'stop', 'earliest' or 'latest'"),
        ({"topic": "x"}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_no_source(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        KafkaSettings.model_validate({"type": "kafka", "topics": ["t"], **fields})
    assert said in str(caught.value)


def test_kafka_python_is_imported_when_it_is_used() -> None:
    """It takes most of a second, which no command without Kafka should pay for."""
    code = (
        "import sys, ingest.sources.kafka.source, ingest.sources.kafka.publish, ingest.sources.kafka.settings;"
        "sys.exit('kafka' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
