"""While one commit is on its way into the store, the next one is gathered; it is told of when it is there."""

from __future__ import annotations

import pytest

from gatewatch.service.under_way import UnderWay
from ingest.accounting import Accounting
from ingest.errors import DiskError
from ingest.lines import Received, Source
from tests.gatewatch.desk import Desk
from tests.support.live import Call, Lines, Pause, Step

FULL = DiskError("no space left while writing ledger/00000001.ndjson: free some space, then run again")
SELDOM = {"refresh": 900.0, "publish": 900.0}
"""Judging waits for the store; here it is not to."""


def slow(script: list[Step], **options: float) -> Desk:
    """A desk whose store is never done by itself, so that somebody has to wait for it; SIGTERM ends the script."""
    late: list[Desk] = []
    desk = Desk({"a": [*script, Call(lambda: late[0].stop())]}, **{**SELDOM, **options})
    late.append(desk)
    desk.engine.settled = False
    return desk


def received(lines: int) -> Received:
    return Received(Source("a", "tail", "a", "auto"), [b"x"] * lines, {}, {"lines": lines}, final=False)


def test_commits_are_in_the_store_in_their_order_as_a_whole() -> None:
    """100, 0 and 50 lines, of which 60, 40 and 50 arrive; then 0 lines alone, which only the end of all tells."""
    under_way = UnderWay()
    assert not under_way
    for number, lines in enumerate((100, 0, 50)):
        under_way.begin([received(lines)], float(number))
    assert under_way.stored(60) == []
    assert [(one.lines, one.at) for one in under_way.stored(40)] == [(100, 0.0)]
    assert under_way.stored(0) == []
    assert [(one.lines, one.at) for one in under_way.stored(50)] == [(0, 1.0), (50, 2.0)]
    assert not under_way
    under_way.begin([received(0)], 9.0)
    assert under_way.stored(0) == []
    assert [one.at for one in under_way.clear()] == [9.0]
    assert not under_way


def test_the_lines_themselves_are_not_kept_in_memory() -> None:
    under_way = UnderWay()
    under_way.begin([received(3)], 0.0)
    ((one,),) = [begun.received for begun in under_way.clear()]
    assert (one.lines, one.end) == ([], {"lines": 3})


def test_lines_are_gathered_while_others_are_under_way() -> None:
    """Polls of 0.6 s each make a commit of two; when the third comes, the first commit is neither stored nor told."""
    late: list[Desk] = []
    seen: list[tuple[list[bytes], list[str]]] = []

    def look() -> None:
        seen.append((list(late[0].engine.stored), list(late[0].events)))

    lines: list[Step] = [Lines([b"%d" % number], takes=0.6) for number in range(1, 7)]
    desk = slow([Pause(1), *lines[:3], Call(look), *lines[3:5], Call(look), lines[5]])
    late.append(desk)
    desk.run()
    assert seen == [([], ["made at 0"]), ([b"1", b"2"], ["made at 0", "kept 2"])]
    assert desk.engine.stored == [b"1", b"2", b"3", b"4", b"5", b"6"]
    assert desk.events == ["made at 0", "kept 2", "kept 4", "kept 6", "closed"]
    assert desk.counted("commit_duration_seconds_count") == 3
    assert desk.counted("lines_total", verdict="accepted") == 6


def test_judging_waits_for_what_is_under_way() -> None:
    """A refresh every second: it always sees everything that was begun, and it is told before."""
    late: list[Desk] = []
    told: list[tuple[int, int]] = []
    desk = slow([Lines([b"x"], takes=0.3) for _ in range(40)], refresh=1.0)
    late.append(desk)
    judge = desk.engine.judge

    def judged() -> object:
        told.append((len(desk.engine.begun), desk.service.total.lines - len(desk.engine.stored)))
        return judge()

    desk.engine.judge = judged  # type: ignore[assignment, method-assign]
    desk.run()
    assert len(told) > 4
    assert set(told) == {(0, 0)}


def test_when_nothing_comes_silence_is_noted_only_behind_what_is_under_way() -> None:
    """The store takes its time until 50 s: a note of silence after it, 30 s later."""
    late: list[Desk] = []

    def done() -> None:
        late[0].engine.settled = True

    desk = slow([Lines([b"1"]), Pause(4.0), Call(done), Pause(60)], tick=30.0)
    late.append(desk)
    desk.run()
    assert desk.engine.steps.index("commit") < desk.engine.steps.index("tick")
    (first, *_) = desk.engine.times("tick")
    assert first == pytest.approx(desk.engine.times("commit")[0] + 30.0, abs=0.6)


def test_a_commit_that_fails_when_the_next_one_has_begun_loses_nothing() -> None:
    """Both are read again from what is stored, once."""
    desk = slow([Lines([b"%d" % number], takes=0.6) for number in range(1, 9)] + [Pause(20)])
    desk.engine.faults["commit"] = [None, FULL, FULL]
    desk.run()
    assert desk.engine.stored == [b"%d" % number for number in range(1, 9)]
    assert [event for event in desk.events if event.startswith("made")] == ["made at 0", "made at 2", "made at 2"]
    assert desk.service.total.lines == desk.counted("lines_total", verdict="accepted") == 8


def test_told_to_stop_it_waits_for_what_is_under_way() -> None:
    desk = slow([Lines([b"1"])])
    desk.run()
    assert desk.events == ["made at 0", "kept 1", "closed"]
    assert desk.engine.steps == ["open", "judge", "publish", "commit", "judge", "publish", "sign", "close", "close"]
    assert desk.lines("info")[-1].startswith("stopped by SIGTERM: 1 line = 1 accepted")


def test_a_chunk_without_lines_is_told_as_well() -> None:
    """A gap of a partition: nothing to count, and still to be said once it is stored."""
    gap = {"from": "offset 1", "to": "offset 9", "why": "it was removed"}
    desk = slow([Lines([], gap=gap), Pause(3), Lines([b"1"]), Pause(3)])
    desk.run()
    assert desk.counted("gaps_total") == 1
    assert "kept 1" in desk.events


def test_lines_that_were_stored_when_a_later_commit_failed_are_counted_once_the_store_is_open_again() -> None:
    """The database has 3 lines that nobody was told of, and 2 more of which only the ledger knew."""
    desk = slow([Lines([b"1"]), Pause(20)])
    desk.engine.faults["commit"] = [FULL]
    opened = desk.engine.open

    def open_again() -> Accounting:
        found = opened()
        if desk.engine.steps.count("open") == 2:
            found.add(Accounting(lines=3, accepted=3, recovered=2))
        return found

    desk.engine.open = open_again  # type: ignore[method-assign]
    desk.run()
    assert desk.counted("lines_total", verdict="accepted") == 3 + 1
    assert desk.counted("recovered_lines_total") == 2
    assert "4 lines = 4 accepted" in desk.lines("info")[-1]
