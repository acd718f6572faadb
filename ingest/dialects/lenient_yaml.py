"""YAML as people and agents really write it: what is valid is read, and each line that is not is left out and named.

Only the tree of nodes is taken from PyYAML; no tag ever constructs anything. Aliases are refused (one alias can stand
for a gigabyte), nesting is bounded. Nodes keep their place in the text, so that redaction can change a value there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml
from yaml.reader import Reader

_MAX_DEPTH = 40
_MAX_TRIES = 20
_RETRY_BUDGET = 1 << 19
"""Characters that may be read again while looking for broken lines: PyYAML reads about 200 kB/s."""

_INVALID = "is not valid YAML"
_BREAKS = "\r\n\x85\u2028\u2029"
_LINE_ENDS = re.compile(r"(?<=\n)|(?<=\r)(?!\n)|(?<=[\x85\u2028\u2029])")
_CONTINUES = re.compile(r"[ \t#\r\n]|-[ \t\r\n]|-$|$")


class _Refused(yaml.MarkedYAMLError):
    """Valid YAML that is not read; the problem completes the sentence "line 7 ... and was left out"."""


class _Loader(yaml.SafeLoader):
    """PyYAML's composer, without aliases, with bounded nesting, and with tabs for spaces, except to indent with."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        mark: yaml.Mark = event.start_mark  # type: ignore[assignment]
        if isinstance(event, yaml.AliasEvent) or event.anchor in self.anchors:
            raise _Refused(problem="uses a YAML anchor or alias, which is not read,", problem_mark=mark)
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Refused(problem="is nested too deeply", problem_mark=mark)
        node: yaml.Node | None = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.peek() == "\t":
            length = self._blanks()
            if self._indents() and self.peek(length) not in f"\0#{_BREAKS}":
                return
            self.forward(length)
            super().scan_to_next_token()

    def scan_plain_spaces(self, indent: int, start_mark: yaml.Mark) -> list[str] | None:
        length = self._blanks()
        if "\t" in self.prefix(length):
            self.forward(length)
            if self.peek() not in _BREAKS:
                return [" " * length]
        chunks: list[str] | None = super().scan_plain_spaces(indent, start_mark)
        return chunks

    def _blanks(self) -> int:
        length = 0
        while self.peek(length) in " \t":
            length += 1
        return length

    def _indents(self) -> bool:
        """Whether nothing but blanks stands before the present place in its line."""
        before = self.pointer - 1
        while before >= 0 and self.buffer[before] in " \t":
            before -= 1
        return before < 0 or self.buffer[before] in _BREAKS


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``key: value`` of the top level; `offset` is what its nodes' marks are short of, in characters."""

    key: yaml.Node
    value: yaml.Node
    offset: int


@dataclass(slots=True)
class Document:
    """A top-level mapping, and of each line that had to be left out the number (from 0), the reason and the text."""

    entries: list[Entry] = field(default_factory=list)
    dropped: list[tuple[int, str, str]] = field(default_factory=list)


def read(text: str) -> Document:
    """Read a YAML mapping leniently; never raises."""
    document = Document()
    lines = [line for line in _LINE_ENDS.split(text) if line]
    for number, line in enumerate(lines):
        if Reader.NON_PRINTABLE.search(line):
            document.dropped.append((number, _INVALID, line.strip()))
            lines[number] = _blank(line)
    try:
        root = _compose("".join(lines))
        if root is None or isinstance(root, yaml.MappingNode):
            document.entries = [Entry(key, value, 0) for key, value in (root.value if root else ())]
            return document
    except yaml.YAMLError:
        pass  # read block by block below
    budget = _RETRY_BUDGET
    offset = 0
    for first, block in _blocks(lines):
        nodes, lost, spent = _read_block(block, budget)
        document.entries += [Entry(key, value, offset) for key, value in nodes]
        document.dropped += [(first + index, reason, block[index].strip()) for index, reason in lost.items()]
        budget -= spent
        offset += sum(map(len, block))
    document.dropped.sort()
    return document


def _compose(text: str) -> yaml.Node | None:
    loader = _Loader(text)
    try:
        node: yaml.Node | None = loader.get_single_node()
        return node
    finally:
        loader.dispose()


def _blank(line: str) -> str:
    content = line.rstrip(_BREAKS)
    return " " * len(content) + line[len(content) :]


def _blocks(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of each top-level entry: a line at the margin and what belongs under it."""
    first = 0
    for number, line in enumerate(lines):
        if number > first and not _CONTINUES.match(line):
            yield first, lines[first:number]
            first = number
    if first < len(lines):
        yield first, lines[first:]


_Pairs = list[tuple[yaml.Node, yaml.Node]]


def _read_block(block: list[str], budget: int) -> tuple[_Pairs, dict[int, str], int]:
    """The pairs of one block, why which lines were left out, and the characters spent on looking for them."""
    lines = list(block)
    lost: dict[int, str] = {}
    refused: dict[int, str] = {}
    size = sum(map(len, lines))
    spent = 0
    while True:
        pairs, suspects, refusal = _try(lines)
        if pairs is not None:
            return pairs, lost, spent
        refused |= refusal
        if not suspects or len(lost) >= _MAX_TRIES or spent + size * len(suspects) > budget:
            break
        spent += size * len(suspects)
        worst = _best_to_drop(lines, suspects)
        if not lines[worst].strip() or worst == _head(lines):
            break  # what stands under a lost head line would move to where it does not belong
        lost[worst] = refused.get(worst, _INVALID)
        lines[worst] = _blank(lines[worst])
    other = next((f"belongs to an entry that {reason}" for reason in refused.values()), _INVALID)
    content = [index for index, line in enumerate(block) if line.strip() and not line.lstrip().startswith("#")]
    return [], {index: refused.get(index, other) for index in content}, spent


def _head(lines: list[str]) -> int:
    return next((index for index, line in enumerate(lines) if not _CONTINUES.match(line)), 0)


def _try(lines: list[str]) -> tuple[_Pairs | None, list[int], dict[int, str]]:
    """The pairs of a block that can be read, else the indices of the lines that may be at fault, likeliest first.

    Last, the line that is valid but refused, with the reason.
    """
    try:
        node = _compose("".join(lines))
    except yaml.MarkedYAMLError as error:
        problem = error.problem_mark.line if error.problem_mark else 0
        context = error.context_mark.line if error.context_mark else problem
        likely = dict.fromkeys((context, problem, problem - 1))
        refusal = {problem: str(error.problem)} if isinstance(error, _Refused) else {}
        return None, [index for index in likely if 0 <= index < len(lines) and lines[index].strip()], refusal
    except yaml.YAMLError:
        return None, [], {}
    if node is None:
        return [], [], {}
    if isinstance(node, yaml.MappingNode):
        return node.value, [], {}
    return None, [], {}


def _best_to_drop(lines: list[str], suspects: list[int]) -> int:
    """The suspect without which the block can be read, else the one without which the next fault comes latest."""
    reach: dict[int, int] = {}
    for index in suspects:
        trial = [*lines[:index], _blank(lines[index]), *lines[index + 1 :]]
        pairs, next_suspects, _ = _try(trial)
        if pairs is not None and index != _head(lines):
            return index
        reach[index] = max(next_suspects, default=-1)
    return max(suspects, key=lambda index: reach[index])
