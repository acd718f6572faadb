"""What outsiders wrote is shown as it is, on one line, and cannot pretend to be something else."""

from __future__ import annotations

from datetime import timedelta

import polars as pl
import pytest

from dashboard.numbers import age, percent, wilson
from dashboard.text import plain, plain_frame


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("kb_search", "kb_search"),
        ("Zoë ✓ 日本語", "Zoë ✓ 日本語"),
        ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>"),
        ("first\nsecond\r\nthird\u2028fourth", "first ↵ second ↵ third ↵ fourth"),
        ("refund\u202efdp.exe", "refund[U+202E]fdp.exe"),
        ("a\x00b\x1bc", "a[U+0000]b[U+001B]c"),
        ("ad\u00admin", "ad[U+00AD]min"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        (None, "unknown"),
        ("", ""),
    ],
    ids=["name", "letters", "html", "lines", "bidi", "controls", "soft hyphen", "emoji", "null", "empty"],
)
def test_plain(value: object, expected: str) -> None:
    assert plain(value) == expected


def test_a_long_value_is_cut_and_says_so() -> None:
    assert plain("x" * 1_500, limit=10) == "xxxxxxxxxx … (1,490 more characters)"


def test_only_text_columns_of_a_frame_change_and_null_stays_null() -> None:
    frame = pl.DataFrame({"a": ["x\ny", None], "n": [1, 2]})

    assert plain_frame(frame).to_dict(as_series=False) == {"a": ["x ↵ y", None], "n": [1, 2]}
    assert plain_frame(frame, missing="unknown")["a"].to_list() == ["x ↵ y", "unknown"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "unknown"),
        (0.0, "0.0 %"),
        (0.0001, "< 0.1 %"),
        (0.98338, "98.3 %"),
        (0.99951, "> 99.9 %"),
        (1.0, "100.0 %"),
    ],
)
def test_a_share_is_never_rounded_to_all_or_nothing(value: float | None, expected: str) -> None:
    assert percent(value).replace("\u202f", " ") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(-5, "0 s"), (59, "59 s"), (60, "1 min"), (7_199, "1 h"), (86_400, "24 h"), (3 * 86_400, "3 days")],
)
def test_age_is_told_in_its_largest_unit(seconds: int, expected: str) -> None:
    assert age(timedelta(seconds=seconds)).replace("\u202f", " ") == expected


def test_wilson_stays_within_0_and_1_at_the_ends() -> None:
    frame = wilson(pl.DataFrame({"k": [0, 5], "n": [5, 5]}), "k", "n")

    assert frame["ci_low"][0] == 0
    assert frame["ci_high"][1] == 1
    # 0 of 5: z² / (n + z²).
    assert frame["ci_high"][0] == pytest.approx(3.841459 / 8.841459)
