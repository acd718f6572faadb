"""`explain` on time: until when evidence is awaited, by which clock, how far apart events are, and old snapshots."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from gatewatch.times import spell_length, spell_offset
from schemas.policy import Policy
from tests.gatewatch.terminal import gatewatch
from tests.oracle.cases import NOON, at, attempt, claim, decide, event, policy, record, ship
from tests.support.stored import Stored


@pytest.mark.parametrize(
    ("judge", "events", "rule", "until", "grace"),
    [
        (policy(), [ship("s1", 0)], "gate_missing", at(60), 60),
        (policy(), [record("r1", 0, claim())], "phantom_execution", at(60), 60),
        (policy(), [attempt("t1", 0)], "approval_missing", at(60), 60),
        # Starts at noon, last heard of 10 s later, and a day may pass.
        (policy(), [event("agent.dispatch", "g1", 0, command="x", agent="y", caller="z"), decide("g2", 10, "quality")],
         "terminal_state_missing", at(86410), 86400),
        # The key was used at noon and again 7 s later; from then on a minute.
        (policy(), [attempt("t1", 0, idempotency_key="k", amount=1), attempt("t2", 7, idempotency_key="k", amount=2)],
         "key_conflict", at(67), 60),
    ],
)  # fmt: skip
def test_a_pending_finding_says_what_is_awaited_and_until_when(
    judge: dict[str, Any], events: list[dict[str, Any]], rule: str, until: str, grace: int, tmp_path: Path
) -> None:
    """An open source stands at noon + 30 s: `s`, which holds the watermark back."""
    with Stored(tmp_path / "data") as stored:
        stored.judge(Policy.model_validate(judge), events, watermark=NOON + timedelta(seconds=30))
    listed = gatewatch("--data", tmp_path / "data", "findings", "--rule", rule, "--status", "pending", "--json")
    wanted = listed.json["findings"][0]["finding_id"]
    found = gatewatch("--data", tmp_path / "data", "explain", wanted, "--json").json["pending"]
    assert found == {
        "grace_seconds": grace,
        "until": until.replace("Z", ".000000Z"),
        "watermark": at(30).replace("Z", ".000000Z"),
        "held_back_by": "s",
    }
    text = gatewatch("--data", tmp_path / "data", "explain", wanted).out
    moment = until.replace("T", " ").removesuffix("Z")
    assert (
        "Pending:       what would satisfy the rule may still come, until the watermark has passed "
        f"{moment} UTC (a grace of {spell_length(timedelta(seconds=grace))}); it stands at 2026-06-03 12:00:30 UTC, "
        "held back by s."
    ) in text


@pytest.mark.parametrize(
    ("length", "spelt"),
    [
        (timedelta(0), "0 s"),
        (timedelta(microseconds=1), "+0.000001 s"),
        (timedelta(seconds=-24), "-24 s"),
        (timedelta(seconds=59.5), "+59.5 s"),
        (timedelta(seconds=243), "+4m 03s"),
        (timedelta(hours=-2, minutes=-5), "-2h 05m"),
        (timedelta(days=3, hours=4), "+3d 04h"),
    ],
)
def test_offsets_are_short_and_exact_below_a_minute(length: timedelta, spelt: str) -> None:
    assert spell_offset(length) == spelt


def test_a_snapshot_of_a_version_without_the_words_of_rules_is_one_line(tmp_path: Path) -> None:
    """Made by another version: the fix is named."""
    with Stored(tmp_path / "data") as stored:
        file = stored.judge(Policy.model_validate(policy()), [ship("s1", 0)])
    with duckdb.connect(str(file)) as con:
        con.execute("DROP TABLE rule_texts")
        ((wanted,),) = con.execute("SELECT min(finding_id) FROM findings").fetchall()
    result = gatewatch("--data", tmp_path / "data", "explain", wanted)
    assert result.code == 3
    assert result.complaint.endswith("was made by another version of gatewatch; run `gatewatch rebuild`")
