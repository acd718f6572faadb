"""Settings: the configuration file, then the environment on top; unknown keys are errors that name the right one.

    [run]                           →  GATEWATCH_RUN__REFRESH_INTERVAL=5s
    refresh_interval = "1s"

Two underscores lead into a table. Tables of other layers (`[kafka]`, `[checkpoints]`, `[[sources]]`) are checked by the
models that those layers define.
"""

from __future__ import annotations

import os
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from gatewatch.errors import InputError
from gatewatch.settings_errors import badly_written, sentence, single_underscore, unknown_variable
from ingest.ledger.checkpoints import CheckpointSettings
from ingest.sources.kafka.settings import KafkaConnection, KafkaSettings
from ingest.sources.tail.settings import TailSettings
from schemas.policy import Duration

DEFAULT_CONFIG = Path("gatewatch.toml")
_PREFIX = "GATEWATCH_"
_HIGHEST_PORT = 65_535

_PATHS = {
    ("data",),
    ("rules",),
    ("kafka", "ssl_cafile"),
    ("kafka", "ssl_certfile"),
    ("kafka", "ssl_keyfile"),
    ("kafka", "sasl_oauth_token_file"),
    ("checkpoints", "key"),
    ("checkpoints", "files"),
    ("sources", "paths"),
}
"""Keys that name files or folders; what the file says of them is relative to the file."""


def _not_at_once(value: timedelta) -> timedelta:
    if value < timedelta(seconds=1):
        raise ValueError('is too short; write at least "1s"')
    return value


Pause = Annotated[Duration, AfterValidator(_not_at_once)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSettings(_Table):
    """`[run]`: the intervals of the service."""

    refresh_interval: Duration = timedelta(seconds=1)
    publish_interval: Duration = timedelta(seconds=2)
    tick_interval: Pause = timedelta(seconds=30)
    verify_interval: Pause | None = None


class MetricsSettings(_Table):
    """`[metrics]`: where `/metrics` and `/healthz` listen; an empty text turns them off."""

    listen: str = "127.0.0.1:9464"
    allow_remote: bool = False

    @field_validator("listen")
    @classmethod
    def _has_a_port(cls, value: str) -> str:
        if value:
            listen_address(value)
        return value


def listen_address(listen: str) -> tuple[str, int]:
    """(host, port) of ``127.0.0.1:9464`` or ``[::1]:9464``. Raises ValueError."""
    host, colon, port = listen.rpartition(":")
    if not colon or not host or not port.isascii() or not port.isdigit():
        raise ValueError(f'"{listen}" is no address; write host and port, like "127.0.0.1:9464", or "" for none')
    if len(port) > len("65535") or int(port) > _HIGHEST_PORT:
        raise ValueError(f'"{listen}" is no address; a port is a number from 0 to {_HIGHEST_PORT}')
    return host.removeprefix("[").removesuffix("]"), int(port)


def _not_empty(value: Any) -> Any:
    if value == "":  # would be the current folder
        raise ValueError('must not be empty; leave it out for the default, or write "." for the current folder')
    return value


SourceSettings = Annotated[TailSettings | KafkaSettings, Field(discriminator="type")]


class Settings(BaseSettings):
    """What `gatewatch.toml` may say; variables of the environment (``GATEWATCH_DATA``, …) go before it."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX, env_nested_delimiter="__", extra="forbid", hide_input_in_errors=True
    )

    data: Annotated[Path, BeforeValidator(_not_empty)] = Path("gatewatch-data")
    policy: str | None = None
    rules: Annotated[Path, BeforeValidator(_not_empty)] | None = None
    run: RunSettings = RunSettings()
    metrics: MetricsSettings = MetricsSettings()
    kafka: KafkaConnection | None = None
    checkpoints: CheckpointSettings = CheckpointSettings()
    sources: list[SourceSettings] = []

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before the file, whose values are handed over as keyword arguments."""
        return env_settings, init_settings


def load_settings(path: Path | None) -> Settings:
    """Read the configuration; without `path`, ``gatewatch.toml`` in the current folder when it is there.

    Paths in the file are relative to the file, those of the environment to the current folder. Raises InputError: one
    line with file, key and fix, and never a value that may be a secret.
    """
    file = path or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else None)
    raw = _read(file) if file else {}
    misspelt = single_underscore(_PREFIX, Settings, os.environ) or unknown_variable(_PREFIX, Settings, os.environ)
    if misspelt is not None:
        raise InputError(f"environment: {misspelt}")
    try:
        settings = Settings(**(_anchored(raw, file.parent) if file else {}))
    except ValidationError as error:
        raise InputError(sentence(error, Settings, raw, file, _PREFIX, os.environ)) from None
    except SettingsError as error:
        raise InputError(f"environment: {badly_written(str(error), _PREFIX, Settings)}") from None
    if settings.kafka is None and (reader := _reader_of_kafka(settings)) is not None:
        raise InputError(
            f"configuration {file or 'in the environment'}: {reader} needs Kafka: add a table [kafka] with "
            'bootstrap_servers = ["host:9092"]'
        )
    return settings


def _reader_of_kafka(settings: Settings) -> str | None:
    for number, source in enumerate(settings.sources):
        if isinstance(source, KafkaSettings):
            return f"sources[{number}]"
    return "checkpoints.topic" if settings.checkpoints.topic is not None else None


def _anchored(raw: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The file's values with its paths as seen from the current folder; what is no text is left to the validation."""
    found = dict(_walk(raw, folder, ()))
    # A shipped policy goes by its name; whatever looks like a file is one beside the configuration.
    if isinstance(policy := raw.get("policy"), str) and Path(policy).suffix:
        found["policy"] = str(folder / policy)
    return found


def _walk(table: dict[str, Any], folder: Path, place: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        here = (*place, key)
        if here in _PATHS:
            found[key] = _joined(value, folder)
        elif isinstance(value, dict):
            found[key] = _walk(value, folder, here)
        elif isinstance(value, list):
            found[key] = [_walk(item, folder, here) if isinstance(item, dict) else item for item in value]
        else:
            found[key] = value
    return found


def _joined(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_joined(item, folder) for item in value]
    return str(folder / value) if isinstance(value, str) and value else value


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"configuration {file}: no such file; name an existing TOML file or leave --config out"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"configuration {file}: cannot be read ({error})") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"configuration {file}: not valid TOML: {error}") from None
