"""A ledger alone, without database and lock: a copy somewhere else, or one that is being written to meanwhile."""

from __future__ import annotations

import time
from pathlib import Path

from ingest.errors import LedgerError
from ingest.ledger.chunks import Place
from ingest.ledger.recovery import in_sequence
from ingest.ledger.segments import Segments
from ingest.progress import Progress, Report, silent
from ingest.rebuild import LEDGER
from ingest.tree_check import NOTHING, Outside, TreeCheck
from ingest.verify import VerifyReport, is_torn, take_over

STATEMENT = "internally consistent only: without a checkpoint from outside, a ledger that was rewritten looks the same"

_PAUSE_SECONDS = 0.2
_PATIENCE = 5
"""After so many looks without anything new, what is unfinished at the end is not being written any more."""


def verify_copy(folder: Path, report: Report = silent, outside: Outside = NOTHING) -> VerifyReport:
    """Hash every chunk of the ledger in a folder, or in the data directory that it is; hold it against checkpoints.

    Where `outside` brings no public keys, `keys/*.pub` beside the folder of segments is used. Writes nothing.
    Raises LedgerError when there is no ledger.
    """
    directory = folder / LEDGER if (folder / LEDGER).is_dir() else folder
    if not any(directory.glob("*.ndjson*")):
        raise LedgerError(f"{folder} holds no ledger: name the folder of its segments, or the data directory")
    found = VerifyReport(statement=STATEMENT)
    # The checkpoints first: then a ledger that grows meanwhile has all that they count.
    tree = TreeCheck(directory, outside, data=directory.parent, copied=True)
    take_over(found, tree, _read(Segments(directory), found, tree, report))
    return found


def _read(ledger: Segments, found: VerifyReport, tree: TreeCheck, report: Report) -> bool:
    """Every chunk, at least up to where the ledger ended at first; whether that could be done."""
    try:
        enough = max(ledger.sizes().items())
    except (LedgerError, OSError) as error:
        found.problems.append(str(error))
        return False
    place, after, looks, done = Place(), (1, 0), 0, 0
    while True:
        begun = after
        try:
            size = sum(ledger.sizes().values())
            for stored in in_sequence(ledger.read(*after), ledger, place):
                place, after = stored.chunk.after, stored.location.end
                tree.add(stored)
                found.chunks += 1
                found.lines += len(stored.chunk.lines)
                done += stored.location.length
                report(Progress("ledger", done, size, found.lines))
            return True
        except (LedgerError, OSError) as error:
            # Perhaps somebody is writing there: a commit is half done, or a segment has just been sealed.
            looks = 0 if after > begun else looks + 1
            if after >= enough and is_torn(ledger, after, place.leaf):
                found.unfinished = True
                return True
            if looks < _PATIENCE:
                if looks:
                    time.sleep(_PAUSE_SECONDS)
                continue
            if isinstance(error, OSError) or not is_torn(ledger, after, place.leaf):
                found.problems.append(str(error))
                return False
            found.unfinished = True
            return True
