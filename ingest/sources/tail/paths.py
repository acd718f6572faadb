"""The files that patterns stand for just now, and whether a file that is gone would be one of them.

Not `glob`: that passes over folders it may not list without a word, and lists a folder once for each pattern.
"""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.errors import source_error
from ingest.sources.paths import JSONL_NAMES

_HIDDEN = fnmatch.translate(".")[:6]
"""How a translated pattern begins that asks for hidden files."""


class _AnyDepth:
    """Stands for the part `**`: any folders, or none."""


_Matcher = str | re.Pattern[str] | _AnyDepth


class Listing:
    """Folders as they were at one moment, each listed at most once; `faults` says which could not be."""

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}
        self._folders: dict[str, dict[str, os.DirEntry[str]]] = {}
        self._inodes: dict[str, dict[int, str]] = {}

    def entries(self, folder: str) -> dict[str, os.DirEntry[str]]:
        """What is in a folder, by name; nothing when it does not exist or cannot be read."""
        found = self._folders.get(folder)
        if found is None:
            found = self._folders[folder] = self._scanned(folder)
        return found

    def _scanned(self, folder: str) -> dict[str, os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return {entry.name: entry for entry in entries}
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            self.faults[folder] = str(source_error(error, folder))
            return {}

    def path_of(self, folder: str, inode: int) -> str | None:
        """The file in a folder that has this inode number."""
        names = self._inodes.get(folder)
        if names is None:
            entries = self.entries(folder).items()
            names = self._inodes[folder] = {entry.inode(): name for name, entry in entries if not entry.is_symlink()}
        name = names.get(inode)
        return None if name is None else os.path.join(folder, name)  # noqa: PTH118 - not UTF-8, it stays as it is


class Pattern:
    """One entry of `paths`, made absolute."""

    def __init__(self, text: str) -> None:
        self.text = os.path.abspath(text)  # noqa: PTH100 - a link keeps its own name
        *folders, name = self.text.split("/")[1:]
        self._matchers = [*map(_matcher, folders), _matcher(name, last=True)]
        self._literal = all(isinstance(matcher, str) for matcher in self._matchers)
        parts = self.text.split("/")
        magic = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
        self.named = self.text if os.path.lexists(self.text) else "/".join(parts[:magic]) or "/"
        """What it names without a doubt: the file or folder itself, or the folder that holds all that it may match."""

    def matches(self, path: str) -> bool:
        """Whether a file at this absolute path is meant, if there is one."""
        inside = path.startswith(self.text + "/") and path.lower().endswith(JSONL_NAMES)
        return path == self.text or inside or _matched(self._matchers, path.split("/")[1:])

    def paths(self, listing: Listing) -> Iterator[str]:
        """What matches just now, in an order that only names decide. Not only regular files."""
        if self._literal or os.path.lexists(self.text):
            if Path(self.text).is_dir():
                yield from _json_lines_below(self.text, listing)
            elif os.path.lexists(self.text):
                yield self.text
            return
        yield from _below("", self._matchers, listing)


def _matcher(part: str, last: bool = False) -> _Matcher:
    if part == "**" and not last:
        return _AnyDepth()
    return re.compile(fnmatch.translate(part)) if glob.has_magic(part) else part


def _below(folder: str, matchers: Sequence[_Matcher], listing: Listing) -> Iterator[str]:
    """The paths under a folder that the rest of a pattern matches."""
    first, rest = matchers[0], matchers[1:]
    if isinstance(first, _AnyDepth):
        yield from _below(folder, rest, listing)
        for name, entry in sorted(listing.entries(folder or "/").items()):
            if not name.startswith(".") and _is_folder(entry):
                yield from _below(f"{folder}/{name}", matchers, listing)
    elif isinstance(first, str) and rest:
        yield from _below(f"{folder}/{first}", rest, listing)  # not looked up: it need not be listable
    else:
        for name, entry in sorted(listing.entries(folder or "/").items()):
            if _fits(first, name) and (not rest or entry.is_dir()):
                path = f"{folder}/{name}"
                yield from _below(path, rest, listing) if rest else (path,)


def _matched(matchers: Sequence[_Matcher], names: Sequence[str]) -> bool:
    """Whether the names of a path are what the parts of a pattern ask for, one by one."""
    if not matchers:
        return not names
    first, rest = matchers[0], matchers[1:]
    if isinstance(first, _AnyDepth):
        deeper = bool(names) and not names[0].startswith(".") and _matched(matchers, names[1:])
        return _matched(rest, names) or deeper
    return bool(names) and _fits(first, names[0]) and _matched(rest, names[1:])


def _fits(matcher: str | re.Pattern[str], name: str) -> bool:
    """Whether a name is the one asked for; a star does not stand for the dot of a hidden file."""
    if isinstance(matcher, str):
        return matcher == name
    return matcher.fullmatch(name) is not None and (matcher.pattern.startswith(_HIDDEN) or not name.startswith("."))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _json_lines_below(folder: str, listing: Listing) -> Iterator[str]:
    for name, entry in sorted(listing.entries(folder).items()):
        path = f"{folder}/{name}"
        if _is_folder(entry):
            yield from _json_lines_below(path, listing)
        elif name.lower().endswith(JSONL_NAMES):
            yield path
