"""What the configuration says about files that are followed: one `[[sources]]` table with ``type = "jsonl"``."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from schemas.policy import Duration

_PathPattern = Annotated[str, Field(min_length=1)]


class TailSettings(BaseModel):
    """Files of JSON lines that grow, each matched by one of the patterns.

    `paths` are files, globs (``**`` goes through folders, links to folders excepted) and folders (every file of JSON
    lines in them); they need not exist yet. `name` is what the tables call all of them; without it each file is a
    source under its own path. A file that did not grow for `close_after` is finished, until it grows again: use it
    where files are written once, or nobody can tell a finished file from a producer that fell silent.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Literal["jsonl"] = "jsonl"
    paths: Annotated[list[_PathPattern], Field(min_length=1)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    dialect: Literal["auto", "native", "xenia", "decision_record"] = "auto"
    close_after: Duration | None = None

    @field_validator("paths")
    @classmethod
    def _no_null(cls, paths: list[str]) -> list[str]:
        if any("\0" in path for path in paths):
            raise ValueError("a path cannot hold a NUL character")
        return paths

    @field_validator("close_after")
    @classmethod
    def _not_at_once(cls, value: timedelta | None) -> timedelta | None:
        if value is not None and value < timedelta(seconds=1):
            raise ValueError('must be at least "1s": a producer needs time between two lines')
        return value
