"""The progress bar: what it says, that it fits, and that nobody sees it who does not sit at a terminal."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from gatewatch.meter import Meter, bar
from gatewatch.output import width
from ingest.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_percent_rate_lines_and_time_left() -> None:
    """A quarter of 80 MB at 2 MB a second: 60 MB are left, which take 30 seconds."""
    shown = bar(Progress("events.jsonl", 20_000_000, 80_000_000, 41_000), 2_000_000, 100)
    assert shown == "events.jsonl  [#####...............]  25 %  2.0 MB/s  41,000 lines  0:30 left"


def test_an_hour_is_more_than_sixty_minutes() -> None:
    shown = bar(Progress("x", 0, 4_000, 0), 1.0, 100)
    assert shown.endswith("1:06:40 left")


def test_of_a_stream_nobody_knows_the_end() -> None:
    """Bytes instead of a share, and no time left."""
    assert bar(Progress("stdin", 1_234_567, None, 9), 512.0, 100) == "stdin  1.2 MB  512 B/s  9 lines"


@pytest.mark.parametrize("columns", [0, 1, 10, 20, 33, 34, 40, 60, 79])
def test_it_fits_into_one_line(columns: int) -> None:
    """A line that wraps could not be taken away again; the share is what stays longest."""
    shown = bar(Progress("a/very/long/folder/and/票票票/a-file-with-a-name.jsonl", 1, 3, 12_345), 1_000.0, columns)
    assert width(shown) <= columns
    if columns >= 30:
        assert "33 %" in shown
    if columns >= 60:
        assert "name.jsonl" in shown


def test_a_name_cannot_steer_the_terminal() -> None:
    assert "\x1b" not in bar(Progress("\x1b[2J.jsonl", 1, 2, 1), None, 100)


def test_done_is_done() -> None:
    """A file that grows while it is read is not done by more than 100 %."""
    assert "100 %" in bar(Progress("x", 30, 20, 1), 10.0, 100)
    assert "left" not in bar(Progress("x", 20, 20, 1), 10.0, 100)


def draw(steps: list[tuple[float, Progress]], stderr: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    times = iter([at for at, _ in steps])
    with contextlib.redirect_stderr(stderr), Meter(clock=lambda: next(times)) as meter:
        for _, progress in steps:
            meter(progress)
    return stderr.getvalue()


def test_at_most_ten_times_a_second_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen reports in a second are eight bars; what is printed next begins on a clean line."""
    steps = [(number / 16, Progress("x", number, 100, number)) for number in range(16)]
    shown = draw(steps, Terminal(), monkeypatch)
    assert shown.count("%") == 8
    assert shown.endswith("\r\x1b[K")


def test_the_rate_is_that_of_the_last_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow beginning, a minute ago, does not make the rest look slow: 1 kB a second now, 3,000 bytes left."""
    steps = [(0.0, Progress("x", 0, 24_060, 1))]
    steps += [(float(60 + second), Progress("x", 60 + 1_000 * second, 24_060, 1)) for second in range(22)]
    shown = draw(steps, Terminal(), monkeypatch)
    assert shown.split("\r\x1b[K")[-2].endswith("0:03 left")


def test_off_a_terminal_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert draw([(0.0, Progress("x", 1, 2, 1))], io.StringIO(), monkeypatch) == ""
