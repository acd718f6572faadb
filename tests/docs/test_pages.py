"""A page that names something which is not there sends its reader nowhere: links, paths, commands, keys, tables."""

from __future__ import annotations

import re
import shlex
from typing import Any, get_args

import click
import pytest
from pydantic import BaseModel

from gatewatch.cli import cli
from ingest.ledger.tables import QUARANTINE
from schemas.export import markdown
from schemas.policy import MATCH_FIELDS, RUN_FIELDS, Policy
from schemas.policy_file import parse_policy
from tests.docs.pages import NAMES, ROOT, anchors, blocks, commands, inline, links, read
from transforms.catalogue import relations
from transforms.manual import rules_page
from transforms.publish import public_tables
from transforms.views import views

_FOLDERS = "schemas|ingest|transforms|dashboard|gatewatch|sample_data|tests|docs|[.]ci"
_PATH = re.compile(rf"(?<![\w./-])(?:{_FOLDERS})/[^\s`)\]|,;:*]+")
_CHOSEN_BY_THE_READER = ("--help",)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    for link in links(name):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), f"{name}: {link}"
        if anchor:
            assert anchor in anchors(target.resolve().relative_to(ROOT).as_posix()), f"{name}: {link}"


@pytest.mark.parametrize("name", NAMES)
def test_every_path_of_the_repository_exists(name: str) -> None:
    for path in _PATH.findall(read(name)):
        if re.search("[…<>]", path):
            continue
        there = ROOT / path.rstrip("./'\"")
        assert there.exists() or there.with_suffix(".py").exists(), f"{name}: {path}"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_exists(name: str) -> None:
    for shown in commands(name):
        _check(shown.replace("…", ""))


def _check(shown: str) -> None:
    words = shlex.split(shown.split(" > ")[0])[1:]
    command: click.Command = cli
    while words and isinstance(command, click.Group):
        word = words.pop(0)
        if word in ("--data", "--config"):
            words.pop(0)
        else:
            assert word in command.commands, f"no command {word}: {shown}"
            command = command.commands[word]
    known = {option for parameter in command.params for option in parameter.opts}
    for word in words:
        if word.startswith("--") and word not in _CHOSEN_BY_THE_READER:
            assert word in known, f"no option {word}: {shown}"


def test_the_operators_page_names_every_command() -> None:
    named = {shown.split()[1] for shown in commands("docs/operate.md")}
    assert set(cli.commands) <= named


def test_the_readme_names_both_commands_and_the_makefile_has_them() -> None:
    makefile = read("Makefile")
    for target in ("demo", "test"):
        assert f"make {target}" in read("README.md")
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_the_event_reference_is_up_to_date() -> None:
    """Mend with: gatewatch schema export --format markdown > docs/events.md"""
    assert read("docs/events.md") == markdown()


def test_the_rule_book_is_up_to_date() -> None:
    """Mend with the command in CONTRIBUTING.md, under "Adding a rule"."""
    assert read("docs/rules.md") == rules_page()


def test_the_analysts_page_names_every_table_and_view() -> None:
    named = set(inline("docs/query.md"))
    tables = {name for name in public_tables() if not name.startswith("policy_")}
    assert tables | {view.name for view in views()} | {"about"} <= named


def test_the_producers_page_names_every_reason_for_quarantine() -> None:
    (reasons,) = [column.comment for column in QUARANTINE if column.name == "reason"]
    assert set(re.findall(r"\w+", reasons)) <= set(inline("docs/emit.md"))


def _policy_models() -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()

    def visit(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in found:
            found.add(annotation)
            for info in annotation.model_fields.values():
                visit(info.annotation)
        for argument in get_args(annotation):
            visit(argument)

    visit(Policy)
    return found


def test_the_policy_page_names_every_key() -> None:
    text = read("docs/policy.md")
    tables = set(Policy.model_fields) - {"name", "version"}
    for table in tables:
        assert f"`[{table}" in text or f"`[[{table}" in text, table
    keys = {name for model in _policy_models() - {Policy} for name in model.model_fields}
    assert keys | MATCH_FIELDS | set(RUN_FIELDS) <= set(inline("docs/policy.md"))


def test_the_policy_example_is_valid() -> None:
    before = 'name = "mine"\nversion = 1\n[[gates]]\nname = "duty-lead"\n'
    settings, *examples = reversed(blocks("docs/policy.md", "toml"))
    assert settings == 'rules = "rules"\n'
    assert examples
    for example in examples:
        parse_policy(before + example)


def test_what_is_not_judged_yet_is_read_by_no_sql() -> None:
    """Once a rule reads one of these, the policy page must stop saying that none does."""
    sql = "\n".join(line for relation in relations() for line in relation.sql.splitlines() if not line.startswith("--"))
    unread = ("preconditions", "idle_after_us", "role")
    assert [word for word in unread if re.search(rf"\b{word}\b", sql)] == []
    assert not re.search(r"policy_tools.*\bfallback\b", sql)
