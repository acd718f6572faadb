"""A data directory whose rows are written straight into the work database, and published: as a reader finds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb

from schemas.policy import Policy
from tests.support.engine import NOW, create, insert, load, set_watermark
from transforms.own_rules import NO_RULES, OwnRules
from transforms.publish import About, publish
from transforms.refresh import refresh


class Stored:
    """Judge and publish as often as the test likes; a context manager that closes the work database."""

    def __init__(self, data: Path, software: str = "1.2.3") -> None:
        data.mkdir(parents=True)
        self.data = data
        self._software = software
        self.con = duckdb.connect(str(data / "work.duckdb"))
        create(self.con)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.con.close()

    def judge(
        self,
        policy: Policy,
        events: Iterable[dict[str, Any]] = (),
        *,
        watermark: datetime | None = None,
        now: datetime = NOW,
        own: OwnRules = NO_RULES,
        facts: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    ) -> Path:
        """Store these events after those that are there, judge everything, and publish; the versioned file.

        `watermark` as in `tests.support.engine.judged`; `facts` are rows of other stored tables, by table.
        """
        load(self.con, events)
        set_watermark(self.con, policy, watermark)
        for table, rows in (facts or {}).items():
            insert(self.con, table, rows)
        refresh(self.con, policy, now=now, own=own)
        return publish(self.con, self.data / "work.duckdb", self.data, About(now, 1, self._software, 0, None))
