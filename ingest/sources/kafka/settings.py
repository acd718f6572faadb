"""What a configuration says about Kafka: the connection (table ``[kafka]``) and a source (``[[sources]]``).

    [kafka]
    bootstrap_servers = ["kafka1:9093", "kafka2:9093"]
    security_protocol = "SASL_SSL"
    sasl_mechanism = "SCRAM-SHA-512"
    sasl_username = "gatewatch"            # the password better from GATEWATCH_KAFKA__SASL_PASSWORD
    ssl_cafile = "ca.pem"

    [[sources]]
    type = "kafka"
    topics = ["tool-events"]

Secrets are `SecretStr`: no repr, no log and no error shows them. `client_options` is the only place that opens them.

A password travels in the clear with SASL_PLAINTEXT and PLAIN, and SCRAM there can be guessed offline by who listens, so
SASL_PLAINTEXT has to be asked for with ``sasl_without_tls = true``. It is never what a forgotten key leads to: whoever
names a mechanism and no protocol gets SASL_SSL, and whoever names neither gets PLAINTEXT, where no secret is sent.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, model_validator

Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"]
Choice = Literal["stop", "earliest", "latest"]

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_NAME = re.compile(r"[^\s:/]{1,100}")
_SERVER = re.compile(r"(\[[0-9A-Fa-f:]+\]|[^\s:,/\[\]]+):([0-9]{1,5})")
_MAX_PORT = 65_535


def _server(value: str) -> str:
    match = _SERVER.fullmatch(value)
    if match is None or not 0 < int(match[2]) <= _MAX_PORT:
        raise ValueError('must be host and port, like "kafka1.example:9092"')
    return value


def _topic(value: str) -> str:
    if _TOPIC.fullmatch(value) is None or value in {".", ".."}:
        raise ValueError("must be the name of a topic: letters, digits, dot, underscore and hyphen, at most 249")
    return value


def _name(value: str) -> str:
    if _NAME.fullmatch(value) is None:
        raise ValueError("must be a name without spaces, colons and slashes, at most 100 characters long")
    return value


def _filled(value: str) -> str:
    if not value:
        raise ValueError("must not be empty")
    return value


Filled = Annotated[str, AfterValidator(_filled)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class KafkaConnection(_Table):
    """How to reach a cluster. Certificates and keys are PEM files; `ssl_password` opens the key file."""

    bootstrap_servers: Annotated[list[Annotated[str, AfterValidator(_server)]], Field(min_length=1)]
    security_protocol: Protocol | None = None
    sasl_mechanism: Mechanism | None = None
    sasl_username: Filled | None = None
    sasl_password: SecretStr | None = None
    sasl_oauth_token: SecretStr | None = None
    sasl_oauth_token_file: Path | None = None
    sasl_without_tls: bool = False
    ssl_cafile: Path | None = None
    ssl_certfile: Path | None = None
    ssl_keyfile: Path | None = None
    ssl_password: SecretStr | None = None
    ssl_check_hostname: bool = True
    client_id: Filled = "gatewatch"

    @property
    def protocol(self) -> Protocol:
        """The protocol that holds: what is written, else SASL_SSL with a mechanism, else PLAINTEXT."""
        return self.security_protocol or ("SASL_SSL" if self.sasl_mechanism else "PLAINTEXT")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for problem in (self._protocol_problem(), self._sasl_problem(), self._tls_problem()):
            if problem is not None:
                raise ValueError(problem)
        return self

    def _protocol_problem(self) -> str | None:
        sasl = self.protocol.startswith("SASL_")
        if sasl and self.sasl_mechanism is None:
            return f"security_protocol {self.protocol} needs sasl_mechanism, one of {', '.join(get_args(Mechanism))}"
        if not sasl and self.sasl_mechanism is not None:
            return f'sasl_mechanism has no effect with security_protocol {self.protocol}: write "SASL_SSL"'
        if self.protocol == "SASL_PLAINTEXT" and not self.sasl_without_tls:
            return (
                "security_protocol SASL_PLAINTEXT sends the login over the network without TLS: "
                'write "SASL_SSL", or sasl_without_tls = true if that is meant'
            )
        if self.sasl_without_tls and self.protocol != "SASL_PLAINTEXT":
            return f"sasl_without_tls has no effect with security_protocol {self.protocol}: leave it out"
        return None

    def _sasl_problem(self) -> str | None:
        password = {"sasl_username": self.sasl_username, "sasl_password": self.sasl_password}
        token = {"sasl_oauth_token": self.sasl_oauth_token, "sasl_oauth_token_file": self.sasl_oauth_token_file}
        given = [name for name, value in (password | token).items() if value is not None]
        if self.sasl_mechanism is None:
            return f"{given[0]} has no effect without sasl_mechanism: name one" if given else None
        if self.sasl_mechanism == "OAUTHBEARER":
            for name in password:
                if name in given:
                    return f"{name} has no effect with sasl_mechanism OAUTHBEARER: leave it out"
            if len(given) != 1:
                return "sasl_mechanism OAUTHBEARER needs either sasl_oauth_token or sasl_oauth_token_file"
        else:
            for name in token:
                if name in given:
                    return f"{name} has no effect with sasl_mechanism {self.sasl_mechanism}: leave it out"
            for name, value in password.items():
                if value is None:
                    return f"sasl_mechanism {self.sasl_mechanism} needs {name}"
        for name in ("sasl_password", "sasl_oauth_token"):
            if (secret := getattr(self, name)) is not None and not secret.get_secret_value():
                return f"{name} must not be empty"
        return None

    def _tls_problem(self) -> str | None:
        names = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password")
        given = [name for name in names if getattr(self, name) is not None]
        given += [] if self.ssl_check_hostname else ["ssl_check_hostname"]
        if given and not self.protocol.endswith("SSL"):
            sasl = "SASL_" if self.sasl_mechanism else ""
            return f'{given[0]} has no effect with security_protocol {self.protocol}: write "{sasl}SSL"'
        if self.ssl_keyfile is not None and self.ssl_certfile is None:
            return "ssl_keyfile needs ssl_certfile, the certificate that the key belongs to"
        if self.ssl_password is not None and self.ssl_certfile is None:
            return "ssl_password needs ssl_certfile, whose key it opens"
        return None


class KafkaSettings(_Table):
    """Topics to be read.

    `start` is for a partition that was never read before, `on_lost` for one whose next record the broker does not have
    any more: stop and tell, or go on at the earliest or the latest record and keep the gap as a finding. `partitions`
    restricts this process to some, so that several processes, each with its own data directory, can share a topic.
    """

    type: Literal["kafka"]
    topics: Annotated[list[Annotated[str, AfterValidator(_topic)]], Field(min_length=1)]
    name: Annotated[str, AfterValidator(_name)] | None = None
    partitions: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)] | None = None
    group_id: Filled = "gatewatch"
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed"
    start: Literal["earliest", "latest"] = "earliest"
    on_lost: Choice = "stop"
    dialect: Literal["auto", "native", "xenia", "decision_record"] = "auto"

    @model_validator(mode="after")
    def _once(self) -> Self:
        for name in ("topics", "partitions"):
            values = getattr(self, name) or []
            if twice := [value for value in values if values.count(value) > 1]:
                raise ValueError(f"{name} names {twice[0]} more than once")
        return self


class _Secret(str):
    """Text that prints as stars in a dictionary of options, which is how kafka-python logs them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "'**********'"


def client_options(connection: KafkaConnection) -> dict[str, Any]:
    """The keyword arguments for every client of kafka-python: address, protocol, TLS and login.

    The files are read by the client when it connects, the token file by `token_of` each time a login needs it.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": list(connection.bootstrap_servers),
        "security_protocol": connection.protocol,
        "client_id": connection.client_id,
    }
    if connection.protocol.endswith("SSL"):
        options["ssl_check_hostname"] = connection.ssl_check_hostname
        for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile"):
            if (path := getattr(connection, name)) is not None:
                options[name] = str(path)
        if connection.ssl_password is not None:
            options["ssl_password"] = _Secret(connection.ssl_password.get_secret_value())
    if connection.sasl_mechanism is not None:
        options["sasl_mechanism"] = connection.sasl_mechanism
    if connection.sasl_username is not None and connection.sasl_password is not None:
        options["sasl_plain_username"] = connection.sasl_username
        options["sasl_plain_password"] = _Secret(connection.sasl_password.get_secret_value())
    return options


def token_of(connection: KafkaConnection) -> str:
    """The bearer token for a login now; a token file is read anew, so that it can be renewed beside us.

    Raises OSError when the file cannot be read, ValueError when there is no token in it.
    """
    if connection.sasl_oauth_token is not None:
        return connection.sasl_oauth_token.get_secret_value()
    path = connection.sasl_oauth_token_file
    token = path.read_text(encoding="ascii").strip() if path is not None else ""
    if not token or any(character.isspace() for character in token):
        raise ValueError(f"{path} does not hold one bearer token")
    return token
