"""The committed sample: small, current, and showing every rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from sample_data import SAMPLE_EVENTS, SAMPLE_SEED, sample_path
from sample_data.generate import generate
from sample_data.plan import rules

FILES = ("events.jsonl", "truth.jsonl", "summary.json")


def test_the_sample_is_small() -> None:
    assert sum(sample_path(name).stat().st_size for name in FILES) <= 200_000


def test_the_sample_shows_every_rule(tmp_path: Path) -> None:
    truth = sample_path("truth.jsonl").read_text(encoding="utf-8")
    assert [rule for rule in rules("support-squad") if f'"rule":"{rule}"' not in truth] == []


@pytest.mark.parametrize("name", FILES)
def test_the_sample_is_what_the_generator_makes_now(name: str, tmp_path: Path) -> None:
    """``python -m sample_data`` writes it anew after a change of the generator."""
    generate(SAMPLE_EVENTS, SAMPLE_SEED, tmp_path / "events.jsonl")
    assert sample_path(name).read_bytes() == (tmp_path / name).read_bytes()
