"""The quick first look for personal data: it finds all that the plain expression finds, on whatever text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.forms import GLANCE, HINTS, SUSPECT
from ingest.lines import Line, OverLong
from ingest.redact import redact_all, redact_lines, suspects
from tests.ingest.test_patterns import LOOK_ALIKES
from tests.ingest.test_patterns import POSITIVES as SHORT
from tests.ingest.test_redaction_corpus import LOOKALIKES, POSITIVES

CORPUS = [entry["text"] for entry in POSITIVES + LOOKALIKES] + [text for text, *_ in SHORT] + LOOK_ALIKES
# What stands between digits, at edges and in escapes; the last ones are letters, blanks and marks beyond ASCII, among
# them the two that are an "s" and a "k" when case does not count.
GLUE = [*" -.,/\\()+@%:=\"'_[]\n\t\0", *"0123456789", *"aZnuSk", "00", "%40", "\\u00e9", "\\u2011", "\\n", "sk-"]
GLUE += [*"é\u00a0\u2007\u2009\u202f\u2010\u2015\u2212\u017f\u212a、😀"]


def _mutated(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text) + 1)
    glue = chance.choice(GLUE)
    return chance.choice(
        (
            lambda: text[:at] + glue + text[at:],
            lambda: text[:at] + glue + text[at + 1 :],
            lambda: text[:at] + text[at + 1 :],
            lambda: text[:at] + chance.choice(CORPUS)[chance.randrange(4) :],
            lambda: glue + text + chance.choice(GLUE),
            text.swapcase,
        )
    )()


def _many(seed: int, copies: int) -> list[str]:
    """The corpus as it is, and mutated up to six times; in half of the cases as JSON, escaped or not."""
    chance = random.Random(seed)
    found = list(CORPUS)
    for text in CORPUS * copies:
        for _ in range(chance.randrange(1, 7)):
            text = _mutated(text, chance)
        put: Callable[[str], str] = chance.choice((str, str, json.dumps, lambda it: json.dumps(it, ensure_ascii=False)))
        found.append(put(text))
    return found


@pytest.mark.parametrize("seed", range(2))
def test_the_quick_look_finds_what_the_plain_one_finds(seed: int) -> None:
    texts = pl.Series(_many(seed, 6))
    plain, quick = texts.str.contains(SUSPECT), texts.str.contains(GLANCE)
    assert texts.filter(plain & ~quick).to_list() == []
    assert suspects(texts).to_list() == plain.to_list()
    # The texts try every type by itself, and the quick look is one: without it half of the texts would go through.
    others = {name: "|".join(hint for other, hint in HINTS.items() if other != name) for name in HINTS}
    for name, hint in HINTS.items():
        alone = texts.filter(texts.str.contains(hint) & ~texts.str.contains(others[name]))
        assert len(alone) > 100, name
    assert (quick & ~plain).sum() < 0.2 * len(texts)


@given(
    st.lists(st.one_of(st.sampled_from(CORPUS), st.sampled_from(GLUE), st.text(max_size=5)), max_size=6).map("".join)
)
def test_the_quick_look_overlooks_nothing(text: str) -> None:
    texts = pl.Series([text, json.dumps(text), json.dumps(text, ensure_ascii=False)], dtype=pl.String)
    plain = texts.str.contains(SUSPECT)
    assert (suspects(texts) | ~plain).all()
    many = pl.concat([texts, pl.Series(["@"] * 300)])  # then they are looked at more closely
    assert suspects(many).to_list() == [*plain, *[False] * 300]


def test_null_is_no_suspect() -> None:
    texts = pl.Series([None, "jane@example.com", "nothing", None, ""], dtype=pl.String)
    assert suspects(texts).to_list() == [False, True, False, False, False]
    assert suspects(texts.clear()).to_list() == []
    assert suspects(texts[:1]).to_list() == [False]


def test_lines_that_are_no_text_are_looked_at_among_those_that_are() -> None:
    plain = b'{"kind":"nope"}'
    lines: list[Line] = [
        plain,
        OverLong(2_000_000, "0" * 64),
        b'{"what":"caf\xe9 jane@example.com"}',  # Latin-1
        "jane@example.com".encode("utf-16-le"),
        b'{"customer_ref":"Jane Doe"}',
        b'{"customer_ref":"customer:7f3a9c21","customer_ref":null}',
        b"\xff\xfe\0",
    ]
    found = redact_lines(lines * 40, "auto")
    assert {index: redaction.counts for index, redaction in found.redactions.items()} == {
        7 * turn + place: {kind: 1}
        for turn in range(40)
        for place, kind in ((2, "email"), (3, "email"), (4, "customer_ref"))
    }
    assert [found.lines[place] for place in (0, 1, 5, 6)] == [lines[place] for place in (0, 1, 5, 6)]


def test_chunks_that_are_redacted_together_are_so_each_in_its_dialect() -> None:
    mail = b'{"what":"jane@example.com"}'
    record = b"text: {jane@example.com"  # broken in any dialect, where it is looked at as it stands
    chunks: list[tuple[list[Line], str]] = [
        ([mail, b"{}"], "auto"),
        ([], "xenia"),
        ([b"{}", record, mail], "decision_record"),
        ([OverLong(9, "0" * 64)], "native"),
    ]
    together = redact_all(chunks)
    assert [sorted(one.redactions) for one in together] == [[0], [], [1, 2], []]
    assert together == [redact_lines(lines, dialect) for lines, dialect in chunks]
    assert together[2].lines == [b"{}", b"text: {[email]", b'{"what":"[email]"}']
