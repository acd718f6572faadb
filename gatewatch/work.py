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
from gatewatch.policies import current_policy, keep_policy, own_rules
from gatewatch.times import utc_now
from ingest.accounting import Accounting
from ingest.errors import SourceError
from ingest.ledger.store import store_error
from ingest.pipeline import Pipeline, Progress
from ingest.rebuild import LEDGER, STORE, rebuild
from schemas.export import SCHEMA_VERSION
from schemas.policy import Policy
from transforms.own_rules import NO_RULES, OwnRules
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
        self.clear()

    def clear(self) -> None:
        """Take the line away, so that something else can be printed."""
        if self._dirty:
            click.echo("\r\x1b[K", err=True, nl=False)
            self._dirty = False


def ingest_and_publish(
    data: Path, arguments: Sequence[str], *, dialect: str, choice: str | None, rules: Path | None = None
) -> tuple[Accounting, str, Path]:
    """Read what is new, judge everything by the policy, publish. Returns the accounting, the policy's origin, the file.

    `rules` is the folder of the user's own rules; without one only the shipped ones judge.
    A source that cannot be read to its end does not keep the rest from being judged; its SourceError comes last.
    Raises the errors of `schemas`, `ingest` and `transforms`.
    """
    own = own_rules(rules)
    policy, origin = current_policy(data, choice, own)
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
        snapshot = judge_and_publish(pipeline.connection, data, policy, own)
    if fault is not None:
        fault.accounting = accounting
        raise fault
    return accounting, origin, snapshot


def rebuild_and_publish(
    data: Path, *, choice: str | None, force: bool = False, rules: Path | None = None
) -> tuple[Accounting, str, Path]:
    """Make the work database again from the ledger, judge everything, publish; `rules` as in `ingest_and_publish`."""
    require_ledger(data)
    own = own_rules(rules)
    policy, origin = current_policy(data, choice, own)
    with Meter() as meter:
        accounting = rebuild(data, meter, force=force)
    with Pipeline(data) as pipeline:
        if choice is not None:
            keep_policy(data, choice)
        snapshot = judge_and_publish(pipeline.connection, data, policy, own)
    return accounting, origin, snapshot


def require_ledger(data: Path) -> None:
    """Raise InputError when the data directory holds no ledger: most likely it is the wrong one."""
    if not (data / LEDGER).is_dir():
        raise InputError(f"{data} holds no ledger; name the right folder with --data, or `gatewatch ingest` into it")


def judge_and_publish(con: duckdb.DuckDBPyConnection, data: Path, policy: Policy, own: OwnRules = NO_RULES) -> Path:
    """Refresh every table of the work database, which `con` writes, and publish a snapshot of it."""
    now, work = utc_now(), data / STORE
    try:
        refresh(con, policy, now=now, own=own)
    except duckdb.Error as error:
        raise store_error(error, work) from None
    size = sum(file.stat().st_size for file in (data / LEDGER).glob("*.ndjson*"))
    return publish(con, work, data, About(now, SCHEMA_VERSION, __version__, size, None))
