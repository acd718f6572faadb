"""The pages as the tests see them: their code blocks, inline code, links and headings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *ROOT.glob("docs/*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

_FENCED = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """One fenced block: its language and its text."""

    language: str
    text: str


def read(name: str) -> str:
    """A page's text."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, *languages: str) -> list[str]:
    """The fenced blocks of a page in these languages."""
    found = [Block(match["language"], match["text"]) for match in _FENCED.finditer(read(name))]
    return [block.text for block in found if block.language in languages]


def prose(name: str) -> str:
    """A page without its fenced blocks."""
    return _FENCED.sub("", read(name))


def inline(name: str) -> list[str]:
    """What stands between single backticks."""
    return _INLINE.findall(prose(name))


def links(name: str) -> list[str]:
    """Where the links and images of a page lead."""
    return _LINK.findall(prose(name))


def anchors(name: str) -> set[str]:
    """The anchors that the headings of a page get on GitHub."""
    headings = re.findall(r"^#+ (.+)$", prose(name), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands(name: str) -> list[str]:
    """Every `gatewatch …` that a page shows, in a shell block or inline."""
    lines = [line.strip().removeprefix("$ ") for text in blocks(name, "sh", "console") for line in text.splitlines()]
    spans = [span.strip() for span in (*lines, *inline(name))]
    return [span for span in spans if span.startswith("gatewatch ")]


class Session(NamedTuple):
    """A command in a console block and what it prints.

    A line of three dots stands for any lines, and YYYY-MM-DD for any date, since the demo ends on the day it is made.
    """

    command: str
    output: str


def sessions(name: str) -> list[Session]:
    """The commands of a page's console blocks with their output."""
    found = []
    for text in blocks(name, "console"):
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Session(command, output))
    return found
