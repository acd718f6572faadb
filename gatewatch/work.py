"""The wiring: ledger and store below, SQL above, a snapshot for readers at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from gatewatch import __version__
from gatewatch.errors import InputError
from gatewatch.meter import Meter
from gatewatch.output import count_of, say
from gatewatch.policies import current_policy, keep_policy, own_rules
from gatewatch.times import utc_now
from ingest.accounting import Accounting
from ingest.checkpointer import Checkpointer, key_to_sign_with, root_of
from ingest.errors import IngestError, SourceError
from ingest.ledger.checkpoints import CheckpointSettings
from ingest.ledger.database import store_error
from ingest.ledger.merkle import Frontier
from ingest.pipeline import Pipeline
from ingest.rebuild import LEDGER, STORE, rebuild
from ingest.retry import Rejected, retry
from ingest.sources.kafka.settings import KafkaConnection
from schemas.export import SCHEMA_VERSION
from schemas.policy import Policy
from transforms.own_rules import NO_RULES, OwnRules
from transforms.publish import About, publish
from transforms.refresh import refresh


@dataclass(frozen=True, slots=True)
class Signing:
    """How the ledger is signed, and how to reach Kafka with it."""

    checkpoints: CheckpointSettings
    kafka: KafkaConnection | None = None


def ingest_and_publish(
    data: Path,
    arguments: Sequence[str],
    *,
    dialect: str,
    choice: str | None,
    rules: Path | None = None,
    signing: Signing | None = None,
) -> tuple[Accounting, str, Path]:
    """Read what is new, judge everything by the policy, publish. Returns the accounting, the policy's origin, the file.

    `rules` is the folder of the user's own rules; without one only the shipped ones judge. With `signing`, the ledger
    is signed at the end, when there is a key; what then stands in the way is said, and no error.
    A source that cannot be read to its end does not keep the rest from being judged; its SourceError comes last.
    Raises the errors of `schemas`, `ingest` and `transforms`.
    """
    own = own_rules(rules)
    policy, origin = current_policy(data, choice, own)
    fault: SourceError | None = None
    if signing is not None:
        key_to_sign_with(data, signing.checkpoints)  # a key that cannot be used is an error before anything is read
    with Pipeline(data) as pipeline, Meter() as meter:
        try:
            accounting = pipeline.ingest_paths(arguments, dialect, meter)
        except SourceError as error:
            if error.accounting is None:
                raise
            fault, accounting = error, error.accounting
        if choice is not None:
            keep_policy(data, choice)
        meter.step("judging")
        snapshot = judge_and_publish(pipeline.connection, data, policy, own)
        if signing is not None:
            meter.clear()
            _sign(pipeline, data, signing)
    if fault is not None:
        fault.accounting = accounting
        raise fault
    return accounting, origin, snapshot


def _sign(pipeline: Pipeline, data: Path, signing: Signing) -> None:
    """Sign what the ledger is now, and hand the newest checkpoint to every place that has not got it."""
    try:
        checkpointer = Checkpointer(data, signing.checkpoints, signing.kafka)
    except IngestError as error:
        say(f"warning: no checkpoint was signed: {error}")
        return
    store = pipeline.connection

    def root_of_first(size: int) -> str:
        leaves = store.execute("SELECT leaf_hash FROM batches ORDER BY batch_id LIMIT $size", {"size": size}).fetchall()
        return root_of([leaf for (leaf,) in leaves])

    checkpointer.sign(pipeline.ledger_state(), root_of_first)
    if checkpointer.sign_problem is not None:
        say(f"warning: no checkpoint was signed: {checkpointer.sign_problem}")
    for problem in checkpointer.publish():
        say(f"warning: {problem}")


def retry_and_publish(
    data: Path,
    choose: Callable[[duckdb.DuckDBPyConnection], list[Rejected]],
    *,
    dialect: str | None,
    choice: str | None,
    rules: Path | None = None,
    signing: Signing | None = None,
) -> Accounting:
    """Try rejected lines again, judge everything, publish; what became of them.

    `choose` picks them from the work database; `rules` and `signing` as in `ingest_and_publish`. Raises what `choose`
    raises, and the errors of `schemas`, `ingest` and `transforms`.
    """
    require_ledger(data)
    own = own_rules(rules)
    policy, _ = current_policy(data, choice, own)
    with Pipeline(data) as pipeline, Meter() as meter:
        try:
            rejected = choose(pipeline.connection)
        except duckdb.Error as error:
            raise store_error(error, data / STORE) from None
        accounting = retry(pipeline, rejected, dialect, meter)
        meter.step("judging")
        judge_and_publish(pipeline.connection, data, policy, own)
        if signing is not None:
            meter.clear()
            _sign(pipeline, data, signing)
    return accounting


def rebuild_and_publish(
    data: Path, *, choice: str | None, force: bool = False, rules: Path | None = None
) -> tuple[Accounting, str, Path]:
    """Make the work database again from the ledger, judge everything, publish; `rules` as in `ingest_and_publish`."""
    require_ledger(data)
    own = own_rules(rules)
    policy, origin = current_policy(data, choice, own)
    with Meter() as meter:

        def resumed(lines: int) -> None:
            meter.clear()
            say(f"going on with an interrupted rebuild, which has {count_of(lines, 'line')} already")

        accounting = rebuild(data, meter, force=force, resumed=resumed)
        meter.step("judging")
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
    judge(con, data, policy, own)
    return publish_snapshot(con, data)


def judge(con: duckdb.DuckDBPyConnection, data: Path, policy: Policy, own: OwnRules = NO_RULES) -> None:
    """Refresh every table of the work database, which `con` writes. Raises IngestError or TransformError."""
    try:
        refresh(con, policy, now=utc_now(), own=own)
    except duckdb.Error as error:
        raise store_error(error, data / STORE) from None


def publish_snapshot(con: duckdb.DuckDBPyConnection, data: Path, root: str | None = None) -> Path:
    """Publish what `con`, between transactions, has written to the work database. Raises PublishError.

    `root` is the root hash (hex) of the tree over all chunks, where that is known already: a Pipeline knows it.
    """
    about = About(utc_now(), SCHEMA_VERSION, __version__, ledger_bytes(data), root or _root(con))
    return publish(con, data / STORE, data, about)


def _root(con: duckdb.DuckDBPyConnection) -> str:
    leaves = con.execute("SELECT leaf_hash FROM batches ORDER BY batch_id").fetchall()
    return Frontier(bytes.fromhex(leaf) for (leaf,) in leaves).root().hex()


def ledger_bytes(data: Path) -> int:
    """Bytes of the ledger's segments on disk."""
    return sum(file.stat().st_size for file in (data / LEDGER).glob("*.ndjson*"))
