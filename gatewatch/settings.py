"""Settings: the configuration file, then the environment on top; unknown keys are errors that name the right one."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gatewatch.errors import InputError
from schemas.policy_file import suggestion

DEFAULT_CONFIG = Path("gatewatch.toml")


class Settings(BaseSettings):
    """What `gatewatch.toml` may say; ``GATEWATCH_DATA``, ``GATEWATCH_POLICY`` and ``GATEWATCH_RULES`` go before it."""

    model_config = SettingsConfigDict(env_prefix="GATEWATCH_", extra="forbid")

    data: Path = Path("gatewatch-data")
    policy: str | None = None
    rules: Path | None = None

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

    Paths in the file are relative to the file. Raises InputError: one line with file, key and fix.
    """
    file = path or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else None)
    raw = _read(file) if file else {}
    try:
        settings = Settings(**raw)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            known = list(Settings.model_fields)
            hint = suggestion(key, known) or f"; known keys: {', '.join(known)}"
            raise InputError(f'configuration {file}: knows no key "{key}"{hint}') from None
        said = "must be text in quotes" if problem["type"] in {"path_type", "string_type"} else problem["msg"]
        raise InputError(f"configuration {file or 'in the environment'}: {key}: {said}") from None
    if file is None:
        return settings
    update: dict[str, Any] = {}
    for key in ("data", "rules"):
        # What the environment says goes before the file, and is relative to the current folder.
        if key in raw and getattr(settings, key) == Path(raw[key]):
            update[key] = file.parent / raw[key]
    # A shipped policy goes by its name; whatever looks like a file is one beside the configuration.
    if "policy" in raw and settings.policy == raw["policy"] and Path(raw["policy"]).suffix:
        update["policy"] = str(file.parent / raw["policy"])
    return settings.model_copy(update=update)


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
