"""Looks at the files that patterns stand for, again and again, and keeps up with what happens to them.

A file is followed by device and inode under whatever name it has in its folder. Found under its path is

* the same file: it is read on;
* the same file with other content (emptied by copytruncate, or its inode used again): what was not read of the old
  content is looked for in the folder, in a copy or a compressed file, and read there first; then the new content;
* another file (rotation by rename, a link that was switched, a replaced file): the old one is read until it has not
  grown for `GRACE_SECONDS`, then the new one; and the old one stays followed, should its producer be late;
* none: the old one is read on while it is open, or looked for in a compressed file, and is finished after the grace.

What cannot be read any more, and is known to have been there, is told as a gap.
"""

from __future__ import annotations

import os

from ingest.errors import SourceError, source_error
from ingest.lines import Position
from ingest.sources.jsonl import Positions
from ingest.sources.paths import OwnFiles
from ingest.sources.tail.copies import Copies, Kind
from ingest.sources.tail.endings import Endings
from ingest.sources.tail.file import Replaced
from ingest.sources.tail.files import FileId, Moved, id_of, key_of, regular
from ingest.sources.tail.packed import PackedFile, is_packed, unpacked_begins, version_of
from ingest.sources.tail.paths import Listing, Pattern
from ingest.sources.tail.state import LEAST_TO_RECOGNISE, NO_FILE, PAST, Followed, State

_Found = dict[FileId, tuple[str, os.stat_result]]


class Tracker:
    """Keeps `state` up with the files."""

    def __init__(self, state: State, positions: Positions, own: OwnFiles) -> None:
        self._state = state
        self._own = own
        self._is_own: dict[tuple[str, FileId], bool] = {}  # of what was found last, since asking takes time
        self._copies = Copies(state)
        self._endings = Endings(state, self._copies)
        self._patterns = [Pattern(path) for path in state.settings.paths]
        self._at: dict[str, FileId] = {}
        self._found: _Found = {}
        self.ever_found = False
        self._restore(positions, own)

    def _restore(self, positions: Positions, own: OwnFiles) -> None:
        """Go on with what earlier runs left: also files that are under none of the patterns any more."""
        state = self._state
        for known in positions.positions(PAST).values():
            if known["offset"] and self._is_ours(known["path"]) and not own.holds(known["at"]):
                followed = Followed(state.source_of(known["path"]), known["path"], NO_FILE, known["at"], known)
                (state.remember if known.get("done") else state.restore_lost)(followed)
        entries = positions.positions("file:").items()
        # What was at its own path comes after what had been there before and was rotated away.
        for rest, known in sorted(entries, key=lambda entry: entry[1].get("at") == entry[1].get("path")):
            device, _, inode = rest.partition(":")
            file = (int(device), int(inode))
            state.stored[key_of(file)] = known
            slot = known.get("path")
            if slot is None or not self._is_ours(slot) or (known.get("done") and not known["offset"]):
                continue
            source, at = state.source_of(slot), known["at"]
            if own.holds(at):
                continue
            if known.get("done"):
                state.remember(Followed(source, slot, file, at, known))
            elif state.claims.take(file, state):
                if is_packed(at):
                    state.packed[file] = PackedFile(source, slot, file, at, known)
                else:
                    state.begin(file, at, known, slot)

    def look(self) -> None:
        """Look at everything once."""
        listing = Listing()
        self._state.faults.clear()
        self._state.postponed.clear()
        self._copies.begin_look()
        self._match(listing)
        self.ever_found = self.ever_found or bool(self._found)
        for followed in list(self._state.files.values()):
            if self._state.files.get(followed.file) is followed:  # another's look may have found it exchanged
                self._follow(followed, listing)
        self._follow_packed(listing)
        for file, (path, status) in self._found.items():
            if file not in self._state.files and self._state.claims.take(file, self._state):
                self._meet(file, path, status)
        self._endings.recover(listing)
        self._endings.finish()
        self._state.faults.update(listing.faults)
        for file in self._state.claims.of(self._state) - self._found.keys() - self._state.files.keys():
            if file not in self._state.packed:
                self._state.claims.release(file)
                self._copies.forget(file)

    def _match(self, listing: Listing) -> None:
        self._at, self._found = {}, {}
        known, self._is_own = self._is_own, {}
        for pattern in self._patterns:
            for path in pattern.paths(listing):
                if path in self._at:
                    continue
                status = self._status(path)
                if status is None:
                    continue
                file = id_of(status)
                is_own = known.get((path, file))
                is_own = self._is_own[path, file] = self._own.holds(path) if is_own is None else is_own
                if not is_own:
                    self._at[path] = file
                    self._found.setdefault(file, (path, status))

    @property
    def found_own(self) -> bool:
        """Whether patterns match what gatewatch itself keeps."""
        return any(self._is_own.values())

    @property
    def away(self) -> bool:
        """Whether none of the files that are there could be read at the last look."""
        state = self._state
        found = any(file not in state.broken and path not in state.faults for file, (path, _) in self._found.items())
        return not found and all(one.path in state.faults for one in state.files.values())

    def _fault(self, path: str, error: OSError) -> None:
        self._state.faults[path] = str(source_error(error, path))

    def _follow(self, followed: Followed, listing: Listing) -> None:
        """See where a file is now, whether it changed, and whether it still has its content."""
        state, file = self._state, followed.file
        place = self._place(followed, listing)
        if (
            place is not None
            and not followed.offset
            and file not in state.handles
            and not _is_named(followed, place[0])
        ):
            # Nothing was read by which it could be known, and its inode may be used again for quite another file.
            del state.files[file]
            followed.gone = True
            return
        if place is not None:
            path, status = place
            followed.missing_since = None
            if path != followed.path:
                followed.move_to(path)
            followed.look(status, state.clock)
        else:
            if followed.missing_since is None:
                followed.missing_since = state.clock.monotonic()
            if file not in state.handles:
                return
            followed.look(os.fstat(state.handle(followed).descriptor), state.clock)
        if followed.changed:
            self._check(followed)

    def _place(self, followed: Followed, listing: Listing) -> tuple[str, os.stat_result] | None:
        """The path at which a file is now, and its status."""
        file = followed.file
        if file in self._found:
            return (followed.path, self._found[file][1]) if self._at.get(followed.path) == file else self._found[file]
        for path in (followed.path, listing.path_of(followed.home, file[1])):
            status = self._status(path) if path is not None else None
            if path is not None and status is not None and id_of(status) == file:
                return path, status
        return None

    def _check(self, followed: Followed, over: bool = False) -> None:
        state = self._state
        try:
            followed.check(state.handle(followed))
            if followed.fresh:
                self._tell_fresh(followed)
        except Replaced:
            state.lose(followed, over)
        except Moved:
            pass  # the next look finds out where to
        except OSError as error:
            self._fault(followed.path, error)

    def _tell_fresh(self, followed: Followed) -> None:
        """Of a file that was empty when it was found: only now can it be told from a copy. Raises OSError, Moved."""
        state, file = self._state, followed.file
        followed.changed = bool(followed.size)
        if not followed.size:
            return
        if followed.missing_since is not None or followed.size < LEAST_TO_RECOGNISE:
            # A copy that is being made has more in a moment, and nobody makes one just to delete it.
            followed.fresh = followed.missing_since is None and not followed.quiet(state.clock.monotonic())
            return
        kind = self._copies.tell(file, followed.path, os.fstat(state.handle(followed).descriptor))
        followed.fresh = kind is Kind.LATER
        followed.gone = kind in (Kind.COPY, Kind.MOVED)
        if kind is Kind.COPY:
            del state.files[file]

    def _meet(self, file: FileId, path: str, status: os.stat_result) -> None:
        """A file that is not followed yet."""
        try:
            if is_packed(path):
                self._meet_packed(file, path, status)
            elif not self._is_known(file, path, status) and self._copies.tell(file, path, status) is Kind.NEW:
                followed = self._state.begin(file, path)
                followed.fresh = status.st_size < LEAST_TO_RECOGNISE
                followed.look(status, self._state.clock)
        except OSError as error:
            self._fault(path, error)
        except SourceError as error:
            self._state.broken[file] = path, version_of(status), str(error)

    def _is_known(self, file: FileId, path: str, status: os.stat_result) -> bool:
        """Whether a file was followed before, or read by one-shot reading, and still is what it was."""
        known = self._known(file)
        if known is None:
            return False
        slot = known.get("path")
        followed = self._state.begin(file, path, known, slot if slot is not None and self._is_ours(slot) else path)
        followed.look(status, self._state.clock)
        self._check(followed, bool(known.get("done")))
        return not followed.lost

    def _known(self, file: FileId) -> Position | None:
        """The position of a file; of nothing that was read, nothing can be told."""
        known = self._state.stored.get(key_of(file))
        if known is None or (known["offset"] == 0 and (known.get("done") or known["partial"] is None)):
            return None
        return known

    def _is_ours(self, path: str) -> bool:
        return any(pattern.matches(path) for pattern in self._patterns)

    def _meet_packed(self, file: FileId, path: str, status: os.stat_result) -> None:
        state, version = self._state, version_of(status)
        if file in state.packed or file in state.broken or state.stored.get(key_of(file), {}).get("packed") == version:
            return
        known = self._known(file)
        if known is not None and self._copies.is_settled(file, status) and unpacked_begins(path, known):
            slot = known.get("path", path)
            state.packed[file] = PackedFile(state.source_of(slot), slot, file, path, known)
        elif self._copies.tell_packed(file, path, status) is Kind.NEW:
            state.packed[file] = PackedFile(state.source_of(path), path, file, path, None)

    def _follow_packed(self, listing: Listing) -> None:
        """See where compressed files are that were found and are not open yet, and which broken ones were mended."""
        state = self._state
        for file, packed in list(state.packed.items()):
            if not packed.version:
                path = self._path_of(file, packed.path, listing)
                if path is None:
                    del state.packed[file]
                    state.tell(packed.gap())
                else:
                    packed.path = path
        for file, (path, version, _) in list(state.broken.items()):
            status = self._status(path)
            if status is None or id_of(status) != file or version_of(status) != version:
                del state.broken[file]

    def _path_of(self, file: FileId, path: str, listing: Listing) -> str | None:
        """Where a file is that was at `path`, in the same folder."""
        for candidate in (path, listing.path_of(os.path.dirname(path), file[1])):  # noqa: PTH120
            status = self._status(candidate) if candidate is not None else None
            if status is not None and id_of(status) == file:
                return candidate
        return None

    def _status(self, path: str) -> os.stat_result | None:
        try:
            return regular(path)
        except OSError as error:
            self._fault(path, error)
            return None


def _is_named(followed: Followed, path: str) -> bool:
    """Whether a path is that of the file, or one to which it may have been rotated."""
    name = os.path.basename(followed.slot)  # noqa: PTH119 - a name that is not UTF-8 stays as it is
    rotated = os.path.basename(path).startswith(name) and not is_packed(path)  # noqa: PTH119
    return path == followed.path or rotated
