"""The wiring: ledger and store below, SQL above, a snapshot for readers at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click
import duckdb

from gatewatch import __version__
from gatewatch.errors import InputError
from gatewatch.policies import current_policy, keep_policy
from gatewatch.times import utc_now
from ingest.accounting import Accounting
from ingest.errors import SourceError
from ingest.ledger.store import store_error
from ingest.pipeline import Pipeline, Progress
from ingest.rebuild import LEDGER, STORE, rebuild
from schemas.export import SCHEMA_VERSION
from schemas.policy import Policy
from transforms.publish import About, publish
from transforms.refresh import refresh


class Meter:
    """A progress line on a terminal's stderr; silent elsewhere. Use as a context manager."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._last = 0.0
        self._dirty = False

    def __call__(self, progress: Progress) -> None:
        """Show how far the work is, at most ten times a second."""
        now = time.monotonic()
        if not self._shown or now - self._last < 0.1:
            return
        self._last, self._dirty = now, True
        share = f"{100 * progress.done / progress.total:3.0f} %" if progress.total else f"{progress.done:,} bytes"
        click.echo(f"\r\x1b[K{progress.source[-60:]}  {share}  {progress.lines:,} lines", err=True, nl=False)

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        if self._dirty:
            click.echo("\r\x1b[K", err=True, nl=False)


def ingest_and_publish(
    data: Path, arguments: Sequence[str], *, dialect: str, choice: str | None
) -> tuple[Accounting, str, Path]:
    """Read what is new, judge everything by the policy, publish. Returns the accounting, the policy's origin, the file.

    A source that cannot be read to its end does not keep the rest from being judged; its SourceError comes last.
    Raises the errors of `schemas`, `ingest` and `transforms`.
    """
    policy, origin = current_policy(data, choice)
    fault: SourceError | None = None
    with Pipeline(data) as pipeline, Meter() as meter:
        try:
            accounting = pipeline.ingest_paths(arguments, dialect, meter)
        except SourceError as error:
            if error.accounting is None:
                raise
            fault, accounting = error, error.accounting
        if choice is not None:
            keep_policy(data, choice)
        snapshot = judge_and_publish(pipeline, policy)
    if fault is not None:
        fault.accounting = accounting
        raise fault
    return accounting, origin, snapshot


def rebuild_and_publish(data: Path, *, choice: str | None, force: bool = False) -> tuple[Accounting, str, Path]:
    """Make the work database again from the ledger, judge everything, publish."""
    require_ledger(data)
    policy, origin = current_policy(data, choice)
    with Meter() as meter:
        accounting = rebuild(data, meter, force=force)
    with Pipeline(data) as pipeline:
        if choice is not None:
            keep_policy(data, choice)
        snapshot = judge_and_publish(pipeline, policy)
    return accounting, origin, snapshot


def require_ledger(data: Path) -> None:
    """Raise InputError when the data directory holds no ledger: most likely it is the wrong one."""
    if not (data / LEDGER).is_dir():
        raise InputError(f"{data} holds no ledger; name the right folder with --data, or `gatewatch ingest` into it")


def judge_and_publish(pipeline: Pipeline, policy: Policy) -> Path:
    """Refresh every table of the work database and publish a snapshot of it."""
    con, now = pipeline.connection, utc_now()
    work = pipeline.data / STORE
    try:
        refresh(con, policy, now=now)
    except duckdb.Error as error:
        raise store_error(error, work) from None
    size = sum(file.stat().st_size for file in (pipeline.data / LEDGER).glob("*.ndjson*"))
    return publish(con, work, pipeline.data, About(now, SCHEMA_VERSION, __version__, size, None))
