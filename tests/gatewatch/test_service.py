"""The loop of the service: what it does when, and what it does when something fails. No real time passes here."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from gatewatch.errors import OperationError
from gatewatch.service import fleet as fleet_module
from gatewatch.service.engine import Engine
from gatewatch.service.fleet import Member
from ingest.errors import CheckpointError, DiskError, LedgerError, LockedError, StoreError
from ingest.lines import Received, Source
from ingest.pipeline import Pipeline
from schemas.errors import PolicyError
from tests.gatewatch.desk import Desk
from tests.support.live import Abort, Ahead, Away, Call, Lines, Pause
from transforms.errors import OwnRuleError, PublishError

FULL = DiskError("no space left while writing ledger/00000001.ndjson: free some space, then run again")


def ending(desk: Desk) -> Call:
    """The last step of a script: SIGTERM."""
    return Call(desk.stop)


class Late:
    """A step that is filled in when the desk is there."""

    def __init__(self) -> None:
        self.desk: Desk | None = None

    def stop(self) -> None:
        assert self.desk is not None
        self.desk.stop()


def desk_of(script: list[object], others: dict[str, list[object]] | None = None, **options: object) -> Desk:
    """A desk with the source `a` (and others), which gets SIGTERM when the script of `a` is over."""
    late = Late()
    desk = Desk({"a": [*script, Call(late.stop)], **(others or {})}, **options)
    late.desk = desk
    return desk


# --- what becomes one commit


def test_a_trickle_is_gathered_for_half_a_second() -> None:
    """A line every 100 ms: polls at 0, 100, … 500 ms are one commit, and not one each."""
    desk = desk_of([Lines([b"x"]) for _ in range(30)]).run()
    assert sum(map(len, desk.engine.commits)) == 30
    assert {len(commit) for commit in desk.engine.commits} == {6}


def test_a_commit_is_full_at_49_152_lines() -> None:
    """Of polls of 20,000 lines two fit; the third, polled already, is the first of the next commit."""
    desk = desk_of([Lines([b"x"] * 20_000) for _ in range(5)] + [Lines([b"x"] * 9_152)]).run()
    assert [[len(one.lines) for one in commit] for commit in desk.engine.commits] == [
        [20_000, 20_000],
        [20_000, 20_000],
        [20_000, 9_152],
    ]


def test_what_did_not_fit_is_kept_when_its_source_cannot_go_on() -> None:
    desk = desk_of([*(Lines([b"%d" % poll] * 20_000) for poll in range(3)), Abort("lost")])
    with pytest.raises(OperationError, match="no source is left: jsonl:a: lost"):
        desk.run()
    assert desk.engine.stored == [b"0"] * 20_000 + [b"1"] * 20_000 + [b"2"] * 20_000


def test_what_did_not_fit_is_read_again_after_a_failed_commit() -> None:
    """What was held back is dropped with everything else that was polled: sources begin again where the store says."""
    desk = desk_of([Lines([b"%d" % poll] * 20_000) for poll in range(5)])
    desk.engine.faults["commit"] = [DiskError("no space left")]
    desk.run()
    assert desk.engine.stored == [b"%d" % poll for poll in range(5) for _ in range(20_000)]


def test_a_commit_is_full_at_64_mib() -> None:
    """Four polls of 16 MiB each, newlines included."""
    much = bytes((16 << 20) - 1)
    desk = desk_of([Lines([much]) for _ in range(8)]).run()
    assert [len(commit) for commit in desk.engine.commits] == [4, 4]


def test_a_slow_poll_ends_the_gathering() -> None:
    """A poll that takes 0.6 s leaves no room for another, so that what it brought is not kept waiting."""
    desk = desk_of([Lines([b"1"]), Lines([b"2"], takes=0.6), Lines([b"3"])]).run()
    assert [[one.lines for one in commit] for commit in desk.engine.commits] == [[[b"1"], [b"2"]], [[b"3"]]]


def test_no_source_waits_for_a_busy_one() -> None:
    """One source always has more; the other's line is in the first commit."""
    busy = [Lines([b"x"] * 20_000) for _ in range(20)]
    desk = desk_of(busy, {"b": [Lines([b"rare"])]}).run()
    assert b"rare" in {line for one in desk.engine.commits[0] for line in one.lines}


def test_sources_hear_that_their_lines_are_kept_after_each_commit() -> None:
    """Kafka's offsets go back to the broker only then."""
    desk = desk_of([Lines([b"1"]), Pause(2), Lines([b"2"])]).run()
    assert desk.events == ["made at 0", "kept 1", "kept 2", "closed"]


# --- judging and publishing


def test_judging_takes_half_of_the_time_at_most() -> None:
    """3 s for each refresh, lines all the time: at least 3 s between the end of one and the beginning of the next."""
    desk = desk_of([Lines([b"x"], takes=0.25) for _ in range(100)])
    desk.engine.takes["judge"] = 3.0
    desk.run()
    ends = desk.engine.times("judge")[:-1]  # the last one is the shutdown's
    assert len(ends) > 3
    assert all(later - 3.0 - earlier >= 3.0 for earlier, later in pairwise(ends))


def test_copying_takes_a_twentieth_of_the_time_at_most() -> None:
    """1 s for each snapshot: 19 s until the next may begin; and no more often than the interval when it takes none."""
    desk = desk_of([Lines([b"x"], takes=0.25) for _ in range(400)])
    desk.engine.takes["publish"] = 1.0
    desk.run()
    ends = desk.engine.times("publish")[:-1]
    assert len(ends) > 3
    assert all(later - 1.0 - earlier >= 19.0 for earlier, later in pairwise(ends))
    quick = desk_of([Lines([b"x"], takes=0.25) for _ in range(100)], publish=5.0).run().engine.times("publish")[:-1]
    assert len(quick) > 3
    assert all(later - earlier >= 5.0 for earlier, later in pairwise(quick))


def test_only_what_was_judged_is_published() -> None:
    """Between a commit and a snapshot there is always a refresh."""
    steps = desk_of([Lines([b"x"], takes=0.3) for _ in range(50)]).run().engine.steps
    for number, step in enumerate(steps):
        if step == "publish":
            judged = max(at for at in range(number) if steps[at] == "judge")
            assert "commit" not in steps[judged:number]


def test_at_the_start_readers_get_a_snapshot_only_if_theirs_says_less() -> None:
    desk = desk_of([Pause(1)])
    desk.engine.snapshot_of = desk.clock.utc()
    assert "publish" not in desk.run().engine.steps
    assert desk_of([Pause(1)]).run().engine.steps[:3] == ["open", "judge", "publish"]


# --- nothing comes


def test_silence_is_noted_and_judged() -> None:
    """100 s of nothing: after 30, 60 and 90 s the ledger says so, and what waits is judged each time."""
    desk = desk_of([Lines([b"x"]), Pause(100)]).run()
    assert desk.engine.times("tick") == pytest.approx([30.5, 60.5, 90.5], abs=0.6)
    assert desk.engine.steps.count("judge") == 1 + 1 + 3  # start, lines, ticks; nothing is left for the end
    assert desk.counted("ticks_total") == 3


def test_lines_put_the_note_off() -> None:
    """A line every 20 s is no silence of 30 s."""
    desk = desk_of([step for _ in range(5) for step in (Lines([b"x"]), Pause(20))]).run()
    assert "tick" not in desk.engine.steps


def test_silence_alone_is_published_every_five_minutes_unless_it_opens_a_finding() -> None:
    """Copying the database every half minute, for nothing, would wear the disk."""
    desk = desk_of([Pause(1_000)])
    desk.engine.snapshot_of = desk.clock.utc()
    times = desk.run().engine.times("publish")
    assert [round(time, -1) for time in times] == [300, 600, 900, 1_000]
    desk = desk_of([Pause(100)])
    desk.engine.snapshot_of, desk.engine.changed = desk.clock.utc(), True
    assert [round(time, -1) for time in desk.run().engine.times("publish")] == [30, 60, 90]


def test_a_quiet_moment_is_a_good_one_to_sign() -> None:
    """So that what came before it is not left to the next interval; once."""
    desk = desk_of([Lines([b"x"]), Pause(200)]).run()
    assert desk.engine.steps.count("sign") == 2  # the quiet moment, the end
    assert desk.engine.times("sign")[0] == pytest.approx(30.5, abs=0.6)


# --- what fails


def test_a_full_disk_loses_nothing_and_is_said_once() -> None:
    """Three commits fail: sources are made anew from what is stored, and then all lines are there, once."""
    desk = desk_of([Lines([b"1"]), Pause(2), Lines([b"2"]), Lines([b"3"]), Pause(20)])
    desk.engine.faults["commit"] = [None, FULL, FULL, FULL]
    desk.run()
    assert desk.engine.stored == [b"1", b"2", b"3"]
    assert [event for event in desk.events if event.startswith("made")] == ["made at 0", *["made at 1"] * 3]
    assert desk.lines("error") == [f"{FULL}; trying again until it works"]
    assert len([line for line in desk.lines("info") if "can be written again" in line]) == 1
    assert desk.counted("commit_failures_total") == 3
    assert desk.status.health(desk.clock.utc())["status"] == "ok"


def test_while_nothing_can_be_written_the_health_is_failing() -> None:
    desk = Desk({"a": [Lines([b"1"])]})
    seen: list[dict[str, object]] = []

    def look(seconds: float) -> None:
        seen.append(desk.status.health(desk.clock.utc()))
        desk.clock.seconds += seconds
        if len(seen) == 3:
            desk.stop()

    desk.engine.faults["commit"] = [FULL] * 9
    desk.report.clock.wait = look
    with pytest.raises(OperationError, match="the last steps failed: no space left"):
        desk.run()
    assert seen[-1]["status"] == "failing"
    assert seen[-1]["reasons"] == [str(FULL)]


def test_waits_grow_to_a_minute_and_no_longer() -> None:
    desk = Desk({"a": [Lines([b"1"]), Pause(1_000)]})
    desk.engine.faults["commit"] = [FULL] * 9
    waits: list[float] = []

    def wait(seconds: float) -> None:
        if seconds >= 1:
            waits.append(seconds)
        desk.clock.seconds += seconds
        if len(waits) == 9:
            desk.stop()

    desk.report.clock.wait = wait
    with pytest.raises(OperationError):
        desk.run()
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_another_process_that_takes_the_directory_meanwhile_is_waited_for() -> None:
    """`gatewatch verify` from a timer, say, in the moment in which a failed commit had given it back."""
    desk = desk_of([Lines([b"1"]), Pause(20)])
    desk.engine.faults = {"commit": [FULL], "open": [None, LockedError("data is in use by process 7"), None]}
    assert desk.run().engine.stored == [b"1"]


@pytest.mark.parametrize("fault", [LockedError("data is in use by process 7"), FULL, LedgerError("damaged")])
def test_at_the_start_the_same_is_the_end(fault: Exception) -> None:
    """Nothing was read yet, and somebody is there to read the line."""
    desk = desk_of([])
    desk.engine.faults["open"] = [fault]
    with pytest.raises(type(fault)):
        desk.run()
    assert desk.engine.steps == ["open", "close"]


def test_a_database_that_fails_is_opened_once_more() -> None:
    """DuckDB shuts a database after a fatal error; one that fails again is for a person."""
    desk = desk_of([Lines([b"1"]), Pause(9)])
    desk.engine.faults["judge"] = [None, StoreError("work.duckdb cannot be used (invalidated)")]
    assert desk.run().engine.stored == [b"1"]
    desk = desk_of([Lines([b"1"]), Pause(9)])
    desk.engine.faults["commit"] = [StoreError("work.duckdb cannot be used (corrupt)")] * 2
    with pytest.raises(StoreError):
        desk.run()
    assert desk.engine.steps[-2:] == ["commit", "close"]


def test_lines_that_only_the_ledger_had_are_said_and_judged() -> None:
    """A commit that had reached the ledger and not the database: the next opening brings it there."""
    desk = desk_of([Pause(3)])
    desk.engine.snapshot_of = desk.clock.utc()
    desk.engine.recovered = [7]
    desk.run()
    assert desk.engine.steps[:2] == ["open", "judge"]
    assert desk.lines("info")[0] == "7 lines that only the ledger had came into the database"
    assert "0 blank, and 7 recovered; " in desk.lines("info")[-1]
    assert desk.counted("recovered_lines_total") == 7


def test_a_damaged_ledger_ends_the_service() -> None:
    """Only a person can mend it; everything is given back first."""
    desk = desk_of([Lines([b"1"]), Pause(9)])
    desk.engine.faults["commit"] = [LedgerError("the ledger is damaged in x")]
    with pytest.raises(LedgerError):
        desk.run()
    assert desk.engine.steps[-1] == "close"
    assert desk.events[-1] == "closed"


def test_a_source_that_cannot_go_on_is_left_alone() -> None:
    """The others are read; health, metrics and log name it."""
    desk = desk_of([Lines([b"1"]), Pause(9), Lines([b"2"])], {"b": [Lines([b"b"]), Abort("its topic was made anew")]})
    desk.run()
    assert sorted(desk.engine.stored) == [b"1", b"2", b"b"]
    health = desk.status.health(desk.clock.utc())
    assert (health["status"], health["reasons"]) == ("failing", ["jsonl:b: its topic was made anew"])
    assert health["sources"] == {"jsonl:a": "up", "jsonl:b": "stopped"}
    assert desk.counted("source_up", source="jsonl:b") == 0
    assert len(desk.lines("error")) == 1
    assert desk.lines("error")[0].startswith("jsonl:b is not read any more: its topic was made anew; ")


def test_without_any_source_left_the_service_ends() -> None:
    """What had come is judged, published and signed first."""
    desk = Desk({"a": [Lines([b"1"]), Abort("gone for good")]})
    with pytest.raises(OperationError, match="no source is left: jsonl:a: gone for good"):
        desk.run()
    assert desk.engine.steps[-6:] == ["commit", "judge", "publish", "sign", "close", "close"]


def test_a_given_up_source_is_not_made_again_after_a_failed_commit() -> None:
    desk = desk_of([Lines([b"1"]), Pause(3), Lines([b"2"]), Pause(9)], {"b": [Abort()]})
    desk.engine.faults["commit"] = [None, FULL]
    desk.run()
    assert [event for event in desk.events if event.startswith("made")] == ["made at 0", "made at 0", "made at 1"]
    assert desk.engine.stored == [b"1", b"2"]


def test_a_broker_that_is_away_is_said_when_it_goes_and_when_it_is_back() -> None:
    desk = desk_of([Away(60), Lines([b"1"]), Pause(9)]).run()
    assert desk.lines("warning") == ["jsonl:a: the broker does not answer"]
    assert [line for line in desk.lines("info") if line.startswith("jsonl:a")] == [
        "jsonl:a: can be read again after 1m 00s"
    ]


def test_each_fault_of_a_source_is_said_when_it_begins_and_when_it_is_over() -> None:
    """A file that stays broken hides neither a second one nor that that is mended; the source is up all the time."""
    one, two = {"/l/1.gz": "/l/1.gz is broken"}, {"/l/2.gz": "/l/2.gz is broken"}
    ups: list[float | None] = []
    late: list[Desk] = []

    def look() -> None:
        ups.append(late[0].counted("source_up", source="jsonl:a"))
        ups.append(late[0].counted("source_unreadable_files", source="jsonl:a"))

    script = [Away(60, faults=one), Away(60, faults=one | two), Call(look), Away(60, faults=one), Lines([b"1"])]
    late.append(desk_of([*script, Call(look)]))
    desk = late[0].run()
    assert desk.lines("warning") == ["jsonl:a: /l/1.gz is broken", "jsonl:a: /l/2.gz is broken"]
    said = [line.split(" after ")[0] for line in desk.lines("info") if line.startswith("jsonl:a")]
    assert said[0] == "jsonl:a: /l/2.gz can be read again"
    assert ups[:2] == [1, 2]


def test_a_source_that_is_given_up_while_it_is_in_trouble_is_said() -> None:
    """Within the same minute; what was wrong before is over, as nothing is known of it any more."""
    desk = desk_of([Lines([b"1"]), Pause(30)], {"b": [Away(5), Abort("it was made anew")]}).run()
    assert desk.lines("warning") == ["jsonl:b: the broker does not answer"]
    assert desk.lines("error")[0].startswith("jsonl:b is not read any more: it was made anew")
    assert desk.status.health(desk.clock.utc())["reasons"] == ["jsonl:b: it was made anew"]


def test_thousands_of_reasons_are_not_all_shown() -> None:
    """What needs a person is shown first, each is in the log."""
    faults = {f"/l/{number}": f"{number} is broken" for number in range(1_000)}
    desk = desk_of([Away(30, faults=faults), Pause(0)], {"b": [Pause(10), Abort("lost")]})
    shown: list[list[str]] = []
    told = desk.report.gave_up

    def gave_up(member: Member) -> None:
        told(member)
        shown.append(desk.status.health(desk.clock.utc())["reasons"])

    desk.fleet._gave_up = gave_up
    desk.run()
    assert len(desk.lines("warning")) == 1_000
    assert (shown[0][0], len(shown[0]), shown[0][-1]) == ("jsonl:b: lost", 101, "901 more, all in the log")


def test_an_own_rule_that_fails_stops_the_judging_and_not_the_reading() -> None:
    """And is tried again, since it may be mended."""
    desk = desk_of([Lines([b"1"]), Pause(5), Lines([b"2"]), Pause(20)])
    desk.engine.faults["judge"] = [None, *[OwnRuleError("rules/mine.sql: bad row")] * 3]
    desk.run()
    assert desk.engine.stored == [b"1", b"2"]
    assert desk.lines("error") == ["nothing is judged: rules/mine.sql: bad row"]
    assert [line for line in desk.lines("info") if "judged again" in line]
    assert desk.status.health(desk.clock.utc())["status"] == "ok"


def test_a_snapshot_that_cannot_be_written_is_tried_again() -> None:
    desk = desk_of([Lines([b"1"]), Pause(9)])
    desk.engine.faults["publish"] = [PublishError("cannot publish a snapshot"), PublishError("no"), None]
    desk.run()
    assert desk.lines("error") == ["cannot publish a snapshot; trying again until it works"]
    assert desk.engine.steps.count("publish") >= 3
    assert desk.counted("publish_duration_seconds_count") == desk.engine.steps.count("publish") - 2


def test_a_checkpoint_that_cannot_be_signed_is_told() -> None:
    desk = desk_of([Lines([b"1"]), Pause(90)])
    desk.engine.faults["sign"] = [CheckpointError("the ledger does not continue what was signed"), None]
    desk.run()
    assert desk.lines("error") == ["no checkpoint could be signed: the ledger does not continue what was signed"]
    assert desk.counted("checkpoints_failed_total") == 1


# --- the end


def test_told_to_stop_it_finishes_what_it_has_begun() -> None:
    """Lines that were gathered are committed, judged, published and signed, in this order; one line adds up."""
    desk = Desk({"a": [Lines([b"1", b"2"])]})
    poll = fleet_module.Fleet._poll

    def stopped_while_polling(self: object, member: object, wait: float) -> object:
        found = poll(self, member, wait)
        if found:
            desk.stop()
        return found

    desk.fleet._poll = stopped_while_polling.__get__(desk.fleet)
    desk.engine.findings = {"high": 3}
    desk.run()
    assert desk.engine.steps == ["open", "judge", "publish", "commit", "judge", "publish", "sign", "close", "close"]
    assert desk.events == ["made at 0", "kept 1", "closed"]
    assert desk.lines("info")[-1] == (
        "stopped by SIGTERM: 2 lines = 2 accepted + 0 duplicate + 0 quarantined + 0 blank; "
        "3 open findings; snapshot gatewatch-7.duckdb"
    )


def test_what_fails_at_the_end_is_an_error() -> None:
    desk = desk_of([Lines([b"1"])])
    desk.engine.faults["publish"] = [None, PublishError("cannot publish a snapshot in published")]
    with pytest.raises(OperationError, match="the last steps failed: cannot publish"):
        desk.run()
    assert desk.engine.steps[-1] == "close"


def test_once_ends_when_nothing_more_comes() -> None:
    desk = Desk({"a": [Lines([b"1"]), Lines([b"2"])], "b": [Lines([b"3"])]}, once=True).run()
    assert sorted(desk.engine.stored) == [b"1", b"2", b"3"]
    assert desk.engine.steps[-5:] == ["judge", "publish", "sign", "close", "close"]
    assert desk.lines("info")[-1].startswith("done: 3 lines = 3 accepted")


def test_once_waits_for_a_source_that_is_away_and_not_for_ever() -> None:
    desk = Desk({"a": [Away(30), Lines([b"1"])]}, once=True, unit="messages").run()
    assert desk.engine.stored == [b"1"]
    desk = Desk({"a": [Lines([b"1"]), Away(100_000)]}, once=True, unit="messages")
    with pytest.raises(OperationError, match="not everything was read: jsonl:a: the broker does not answer"):
        desk.run()
    assert desk.clock.monotonic() < 1_100
    assert desk.engine.stored == [b"1"]


def test_once_does_not_take_a_broker_that_is_slow_for_an_empty_one() -> None:
    """No trouble yet, nothing yet, and messages that wait."""
    desk = Desk({"a": [Pause(20), Lines([b"1"])]}, once=True, unit="messages").run()
    assert desk.engine.stored == [b"1"]


def test_once_takes_what_came_while_it_judged() -> None:
    """A source reads ahead in its own thread: after a long chore nothing waits at the broker, yet not all is here."""
    desk = Desk({"a": [Lines([b"1"]), Ahead(5.0), Lines([b"2"])]}, once=True, unit="messages")
    desk.engine.takes["publish"] = 10.0
    desk.run()
    assert desk.engine.stored == [b"1", b"2"]


def test_once_says_what_could_not_be_read() -> None:
    desk = Desk({"a": [Lines([b"1"])], "b": [Abort("lost")]}, once=True)
    with pytest.raises(OperationError, match="jsonl:b: lost"):
        desk.run()
    assert desk.engine.stored == [b"1"]


# --- the policy, and verifying


def test_a_reload_judges_everything_again_and_a_wrong_policy_changes_nothing() -> None:
    late: list[Desk] = []

    def hup() -> None:
        late[0].orders.reload.set()

    desk = desk_of([Lines([b"1"]), Pause(5), Call(hup), Pause(5), Call(hup), Pause(5), Call(hup), Pause(5)])
    late.append(desk)
    desk.engine.faults["reload"] = [None, PolicyError("policy p.toml: [time] has no key"), None]
    desk.run()
    assert desk.lines("warning") == ["the former policy judges on: policy p.toml: [time] has no key"]
    assert [line for line in desk.lines("info") if line.startswith("judged by")] == [
        "judged by p version 1 (p.toml)"
    ] * 2
    assert desk.engine.steps.count("judge") == 2 + 2
    assert desk.engine.steps.count("publish") == 2 + 2


def test_a_verification_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    """SIGTERM while a long ledger is hashed; the data directory is free afterwards."""
    source = Source("a", "tail", "a", "auto")
    with Pipeline(tmp_path) as pipeline:
        pipeline.commit([Received(source, [b"{}"], {}, {}, final=False)])
    engine = Engine(tmp_path)
    assert engine.verify(lambda: True) is None
    assert engine.open().recovered == 0
    engine.close()


def test_it_verifies_on_an_interval_and_shows_what_it_found() -> None:
    desk = desk_of([Pause(100)], verify=40.0)
    desk.engine.problems = ["chunk 3 was changed"]
    desk.run()
    assert desk.engine.times("verify") == pytest.approx([40, 80], abs=1)
    assert desk.status.health(desk.clock.utc())["status"] == "failing"
    assert desk.lines("error") == [
        "verification: 1 problem: chunk 3 was changed; `gatewatch verify` lists all; keep a copy before `rebuild`"
    ]
    assert isinstance(desk.engine.publish(), Path)
