"""Tampering by somebody who makes everything fit: only what was kept outside can tell.

These are the tamperings that docs/operate.md lists as undetectable without a checkpoint from outside.
"""

from __future__ import annotations

import shutil

from ingest.checkpointer import Checkpointer
from ingest.ledger import merkle
from ingest.ledger.checkpoints import CHECKPOINTS
from ingest.ledger.chunks import leaf_hash
from ingest.ledger.keys import KEYS, PRIVATE, PUBLIC, make_keys
from ingest.rebuild import rebuild
from tests.faults.tampered import Chunk, Trial, What, all_chunks, encoded, kind, write_all
from tests.ingest.builders import line

Segments = dict[int, list[Chunk]]


def forged(trial: Trial) -> Segments:
    """The ledger's chunks with one line changed, deleted or added, or one chunk gone."""
    found = all_chunks(trial.ledger)
    while True:
        held = found[trial.chance.choice(sorted(found))]
        chunk = trial.chance.choice(held)
        lines = chunk[1]
        if len(lines) < 2:
            continue
        place = trial.chance.randrange(len(lines))
        change = trial.chance.randrange(4)
        if change == 0:
            lines[place] = line(f"forged-{trial.chance.random()}")
        elif change == 1:
            del lines[place]
        elif change == 2:
            lines.insert(place, line(f"forged-{trial.chance.random()}"))
        else:
            held.remove(chunk)
        # What was taken out of a line, or how long one was, is said by its place: a careful forger drops it.
        chunk[0].update({"redactions": {}, "markers": {}})
        return found


def make_it_fit(trial: Trial, found: Segments) -> None:
    """Write the ledger, and make the database again from it."""
    write_all(trial.ledger, found)
    make_the_database_fit(trial)


def make_the_database_fit(trial: Trial) -> None:
    """What `gatewatch rebuild --force` does."""
    if trial.thorough:
        (trial.data / "work.duckdb").unlink()
        rebuild(trial.data, force=True)


def signed_anew(trial: Trial) -> None:
    """Checkpoints as often as before, over what is there now."""
    (trial.ledger / CHECKPOINTS).unlink(missing_ok=True)
    leaves = [bytes.fromhex(leaf_hash(encoded(chunk))) for held in all_chunks(trial.ledger).values() for chunk in held]
    checkpointer = Checkpointer(trial.data)
    for size in sorted({len(leaves) // 3, len(leaves) // 2, len(leaves)} - {0}):
        assert checkpointer.sign((size, merkle.root(leaves[:size]).hex())) is not None


def another_key(trial: Trial) -> None:
    """A new key pair under the name of the old one."""
    for name in (PRIVATE, PUBLIC):
        (trial.data / KEYS / name).unlink()
    make_keys(trial.data / KEYS, trial.base.key.name)


@kind(What.EVERYTHING, 40)
def rewrite_and_drop_the_checkpoints(trial: Trial) -> None:
    make_it_fit(trial, forged(trial))
    (trial.ledger / CHECKPOINTS).unlink()


@kind(What.EVERYTHING, 40)
def rewrite_and_sign_with_the_stolen_key(trial: Trial) -> None:
    make_it_fit(trial, forged(trial))
    signed_anew(trial)


@kind(What.EVERYTHING, 40)
def rewrite_and_sign_with_another_key(trial: Trial) -> None:
    make_it_fit(trial, forged(trial))
    another_key(trial)
    signed_anew(trial)


@kind(What.EVERYTHING, 20)
def sign_with_another_key(trial: Trial) -> None:
    """Nothing but the signatures changes: who checks them by the key that lies there is none the wiser."""
    another_key(trial)
    signed_anew(trial)


@kind(What.EVERYTHING, 40)
def cut_the_tail_and_make_it_fit(trial: Trial) -> None:
    found = all_chunks(trial.ledger)
    gone = trial.chance.randrange(1, sum(map(len, found.values())))
    for number in sorted(found, reverse=True):
        while gone and found[number]:
            found[number].pop()
            gone -= 1
    write_all(trial.ledger, found)
    for number in sorted(found, reverse=True)[:-1]:
        if not found[number]:
            for path in trial.ledger.glob(f"{number:08d}.*"):
                path.unlink()
    make_the_database_fit(trial)
    if trial.chance.random() < 0.5:
        (trial.ledger / CHECKPOINTS).unlink()
    else:
        signed_anew(trial)


@kind(What.EVERYTHING, 20)
def put_an_old_copy_back(trial: Trial) -> None:
    old = trial.base.older[trial.chance.choice(sorted(trial.base.older)[:-1])]
    shutil.rmtree(trial.data)
    shutil.copytree(old, trial.data, symlinks=True)


@kind(What.EVERYTHING, 20, live=True)
def remove_checkpoints(trial: Trial) -> None:
    """All of them, those at the end, or one in the middle: the ledger itself is as it was."""
    path = trial.ledger / CHECKPOINTS
    notes = path.read_text(encoding="utf-8").split("gatewatch/")[1:]
    change = trial.chance.randrange(3)
    if change == 0:
        path.unlink()
    else:
        del notes[-1 if change == 1 else trial.chance.randrange(len(notes)) :]
        path.write_text("".join(f"gatewatch/{note}" for note in notes), encoding="utf-8")


@kind(What.EVERYTHING, 15)
def begin_anew(trial: Trial) -> None:
    """Another ledger with the same lines: its name and all its signatures are new."""
    (trial.ledger / "origin").unlink()
    (trial.ledger / CHECKPOINTS).unlink()
    signed_anew(trial)
