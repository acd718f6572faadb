"""The user's own rules: which folders, files and declarations are let in."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

from tests.support.own_rules import COLUMNS, HEAD, refusal, select
from transforms.catalogue import RULE_COLUMNS, relations, rules
from transforms.errors import OwnRuleError
from transforms.own_rules import NO_RULES
from transforms.rule_folder import MAX_BYTES, MAX_FILES, load_rules, readable


def test_a_file_becomes_a_relation_and_its_rules(two_calls: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """With exactly the columns of a rule, whatever their order; other files are left alone."""
    shuffled = dict(reversed(COLUMNS.items()))
    body = f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in shuffled.items())} FROM scope_events AS e;\n-- end\n"
    (folder / "slow.sql").write_text("\ufeff" + HEAD + body, encoding="utf-8")
    (folder / "README.md").write_text("Ours.")
    (folder / "old").mkdir()
    own = load_rules(folder)
    (relation,) = own.relations
    assert (relation.name, relation.layer, relation.unit) == ("rule_own_slow", "rule", "group")
    assert relation.reads == {"scope_events"}
    assert relation.grain == "One row is one call that took long."
    (rule,) = own.rules.values()
    assert (rule.name, rule.severity, rule.family) == ("slow_call", "low", "own_slow")
    assert (rule.means, rule.do, rule.satisfied_by) == ("It took long.", "Find out why.", "a quick call.")
    described = two_calls.execute(f"DESCRIBE {relation.sql}").fetchall()
    assert [row[0] for row in described] == list(RULE_COLUMNS)
    assert {row[0]: row[1] for row in described} == dict.fromkeys(RULE_COLUMNS, "VARCHAR") | {
        "event_ts": "TIMESTAMP",
        "evidence": "VARCHAR[]",
    }


def test_every_shipped_rule_is_one_that_a_user_could_have_written(folder: Path) -> None:
    """They are what people copy from: under another name each has to pass as an own one."""
    for relation in relations():
        if relation.layer == "rule":
            text = relation.sql.replace("-- @rule ", "-- @rule my_")
            (folder / f"{relation.name}.sql").write_text(text, encoding="utf-8")
    own = load_rules(folder)
    assert set(own.rules) == {f"my_{name}" for name in rules()}


def test_what_a_rule_can_read_is_there_and_of_one_run() -> None:
    """Totals over many runs, and what is made from findings, are not there when rules are judged."""
    assert {
        "tool_calls",
        "gate_checks",
        "claims",
        "evidence",
        "scope_events",
        "scope_clock",
        "policy_tools",
    } <= readable()
    assert not readable() & {
        "events",
        "findings",
        "finding_history",
        "runs",
        "kpis",
        "outcome_rates",
        "sources",
        "meta",
    }
    assert {"sources", "quarantine", "scope_all_events", "policy_time"} <= readable(whole=True)
    assert not readable(whole=True) & {"events", "scope_events", "tool_calls"}


def test_an_empty_folder_holds_no_rules(folder: Path) -> None:
    """It is what is left when the last rule was taken out."""
    assert load_rules(folder) is NO_RULES


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A mistyped folder must not look like one without rules."""
    with pytest.raises(OwnRuleError, match=r"^rules .*missing: no such folder; make it"):
        load_rules(tmp_path / "missing")
    (tmp_path / "file").write_text("")
    with pytest.raises(OwnRuleError, match=r"^rules .*file: is no folder; name the folder"):
        load_rules(tmp_path / "file")


def test_a_folder_with_far_too_many_files_is_some_other_folder(folder: Path) -> None:
    """Somebody named a folder of migrations."""
    for number in range(MAX_FILES + 1):
        (folder / f"r{number}.sql").write_text("")
    with pytest.raises(OwnRuleError, match=f"holds {MAX_FILES + 1} files, more than {MAX_FILES}"):
        load_rules(folder)


@pytest.mark.parametrize(
    "name", ["Slow.sql", "slow call.sql", "1st.sql", "a;b.sql", "slow.SQL", "ä.sql", "x" * 61 + ".sql"]
)
def test_a_name_that_is_no_identifier_is_refused(folder: Path, name: str) -> None:
    """The name becomes part of the name of a table."""
    assert refusal(folder, HEAD + select(), name).startswith("a file's name is lower-case letters")


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ((HEAD + select()).encode("utf-16"), "is not UTF-8 (byte 0)"),
        (HEAD.encode() + b"-- \xe4\n" + select().encode(), "is not UTF-8"),
        (b"-- " + b"x" * MAX_BYTES, "is larger than 1 MiB"),
        (HEAD.replace("long", "l\x1b[31mong") + select(), "holds the control character U+001B"),
        (HEAD + select() + "\x00; DROP TABLE events", "holds the control character U+0000"),
        (HEAD + select().replace("SELECT", "SELECT\u2028"), "holds the control character U+2028"),
    ],
)
def test_bytes_that_are_no_text_are_refused(folder: Path, raw: str | bytes, said: str) -> None:
    """Before anything reads them as SQL."""
    assert refusal(folder, raw).startswith(said)


def test_a_link_out_of_the_folder_is_refused(folder: Path) -> None:
    """Who may write the folder must not thereby read other files; a link within it is how config maps swap files."""
    outside = folder.parent / "secret.txt"
    outside.write_text("password: hunter2")
    (folder / "slow.sql").symlink_to(outside)
    with pytest.raises(OwnRuleError, match="is a link that leads out of the folder") as raised:
        load_rules(folder)
    assert "hunter2" not in str(raised.value)
    (folder / "slow.sql").unlink()
    (folder / "..data").mkdir()
    (folder / "..data" / "slow.sql").write_text(HEAD + select())
    (folder / "slow.sql").symlink_to(Path("..data") / "slow.sql")
    assert set(load_rules(folder).rules) == {"slow_call"}


def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path) -> None:
    """A pipe would hold the pipeline up until somebody writes into it."""
    os.mkfifo(folder / "slow.sql")
    with pytest.raises(OwnRuleError, match="is no regular file"):
        load_rules(folder)
    (folder / "slow.sql").unlink()
    (folder / "slow.sql").symlink_to("slow.sql")
    with pytest.raises(OwnRuleError, match="cannot be read"):
        load_rules(folder)
    (folder / "slow.sql").unlink()
    (folder / "slow.sql").mkdir()
    with pytest.raises(OwnRuleError, match="is no regular file"):
        load_rules(folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("-- One row is one call that took long.\n", "", 'must start with "-- One row is'),
        ("-- @rule slow_call low\n", "", 'declares no rule; write "-- @rule'),
        ("slow_call low", "slow_call fatal", "slow_call has severity 'fatal'"),
        ("slow_call low", "Slow-Call low", 'cannot use "@rule Slow-Call low"; write "-- @rule <name> <severity>"'),
        ("-- @rule", "-- @rul", 'cannot use "@rul slow_call low"'),
        ("-- @rule", "-- @by hour\n-- @rule", 'cannot use "@by hour"'),
        ("--   do: Find out why.\n", "", 'slow_call lacks "do: …"'),
        ("slow_call low", "gate_missing low", "gate_missing comes with Gatewatch; give yours another name"),
        (HEAD, HEAD + HEAD, "slow_call is declared twice"),
    ],
)
def test_a_declaration_that_cannot_be_used_is_refused(folder: Path, old: str, new: str, said: str) -> None:
    """A misspelt line would otherwise be a comment, and its rule one that nobody declared."""
    assert refusal(folder, (HEAD + select()).replace(old, new)).startswith(said)


def test_two_files_may_not_declare_one_rule(folder: Path) -> None:
    """The second file is named, after all of the first was well."""
    (folder / "fast.sql").write_text(HEAD + select())
    assert refusal(folder, HEAD + select()).startswith("slow_call is declared twice")
