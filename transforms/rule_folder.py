"""Reading the user's own rules: every file of the folder is checked before anything of it runs.

A rule runs in the writer's process, so a file may do no more than a rule has to: one SELECT of the portable subset over
the relations that a rule may read. What runs is not the file's text but what the check has read in it, written anew;
and DuckDB's own parser has to find the same tables in that. So nothing can hide between two ways of reading one text.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from functools import cache
from pathlib import Path

from sqlglot import exp

from schemas.policy import Policy
from schemas.policy_file import suggestion
from schemas.policy_tables import policy_tables
from transforms.catalogue import Relation, Rule, in_order, parse_relation, parse_rules, relations, rules
from transforms.errors import CatalogueError, OwnRuleError
from transforms.own_rules import NO_RULES, PREFIX, OwnRules, family_of
from transforms.portable import outside, parse_select, sql_of
from transforms.rule_order import unordered
from transforms.rule_trial import Trial

MAX_BYTES = 1 << 20
"""A hundred times the largest shipped rule file; reading it all is cheap, and more is no rule."""

MAX_FILES = 100
"""Each file is one more query in every refresh."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")
# Control characters steer terminals, and NUL ends a text for some readers and not for others.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_MARK = re.compile(r"@rule [a-z][a-z0-9_]* [a-z]+|@scope all")


def load_rules(folder: Path) -> OwnRules:
    """Read and check every ``*.sql`` file of a folder; other files, and subfolders, are none of ours.

    A file is written like those in `transforms/rules/`. Raises OwnRuleError: one line with file, cause and fix.
    """
    paths = _files(folder)
    if not paths:
        return NO_RULES
    digest = hashlib.sha256()
    own: list[Relation] = []
    known: dict[str, Rule] = {}
    with Trial() as trial:
        for path in paths:
            try:
                raw = _bytes(path, folder)
                relation, declared = _checked(path, raw, trial)
                for rule in declared:
                    if rule.name in rules():
                        raise CatalogueError(f"{rule.name} comes with Gatewatch; give yours another name")
                    if rule.name in known:
                        raise CatalogueError(f"{rule.name} is declared twice; give one of the two another name")
                    known[rule.name] = rule
            except CatalogueError as error:
                raise OwnRuleError(f"own rule {path}: {error}") from None
            own.append(relation)
            digest.update(f"{path.name}\n{hashlib.sha256(raw).hexdigest()}\n".encode())
    return OwnRules(tuple(own), known, digest.hexdigest())


def _files(folder: Path) -> list[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() == ".sql")
    except FileNotFoundError:
        raise OwnRuleError(f"rules {folder}: no such folder; make it, or take `rules` out of the settings") from None
    except NotADirectoryError:
        raise OwnRuleError(f"rules {folder}: is no folder; name the folder that holds the .sql files") from None
    except OSError as error:
        raise OwnRuleError(f"rules {folder}: cannot be read ({error.strerror}); mend its permissions") from None
    if len(paths) > MAX_FILES:
        raise OwnRuleError(f"rules {folder}: holds {len(paths)} files, more than {MAX_FILES}; put several rules in one")
    for path in paths:
        if path.suffix != ".sql" or not _NAME.fullmatch(path.stem):
            raise OwnRuleError(
                f"own rule {path}: a file's name is lower-case letters, digits and _, at most 60, and .sql; rename it"
            )
    return paths


def _bytes(path: Path, folder: Path) -> bytes:
    try:
        # A link within the folder is how some systems swap files; one that leads out shows text that nobody reviewed.
        if not path.resolve(strict=True).is_relative_to(folder.resolve()):
            raise CatalogueError("is a link that leads out of the folder; put the file itself there")
        if not path.is_file():
            raise CatalogueError("is no regular file; a rule is a text file")
        with path.open("rb") as handle:
            raw = handle.read(MAX_BYTES + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or error
        raise CatalogueError(f"cannot be read ({reason}); mend it or take it out") from None
    if len(raw) > MAX_BYTES:
        raise CatalogueError("is larger than 1 MiB; a rule is one SELECT")
    return raw


def _checked(path: Path, raw: bytes, trial: Trial) -> tuple[Relation, tuple[Rule, ...]]:
    """The relation and the rules of one file. Raises CatalogueError without the file's name, or with its bare name."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CatalogueError(f"is not UTF-8 (byte {error.start}); save it as UTF-8") from None
    if strange := _CONTROL.search(text):
        raise CatalogueError(f"holds the control character U+{ord(strange[0]):04X}; take it out")
    header = [line for line in text.splitlines() if line.startswith("--")]
    for line in header:
        mark = line.removeprefix("--").strip()
        if mark.startswith("@") and not _MARK.fullmatch(mark):
            raise CatalogueError(f'cannot use "{mark[:60]}"; write "-- @rule <name> <severity>" or "-- @scope all"')
    name = PREFIX + path.stem
    try:
        relation = parse_relation(path.stem, "rule", text)
        declared = parse_rules(path.stem, text)
    except CatalogueError as error:
        raise CatalogueError(str(error).removeprefix(f"{path.stem}.sql: ")) from None
    tree = parse_select(text)
    if strays := outside(tree):
        raise CatalogueError(f"uses what a rule may not: {strays[0]}; see docs/policy.md, Your own rules")
    if loose := unordered(tree):
        raise CatalogueError(f"uses {loose[0]}: the order of arrival must not change what a rule finds")
    reads = _reads(tree, relation.unit == "all", trial)
    sql = trial.run(sql_of(tree), reads)
    # Readers of the catalogue look at the comments, and the comments are lines that hold nothing else.
    written = "\n".join([*header, sql])
    relation = dataclasses.replace(relation, name=name, sql=written, reads=frozenset(reads))
    return relation, tuple(dataclasses.replace(rule, family=family_of(name)) for rule in declared)


def _reads(tree: exp.Expr, whole: bool, trial: Trial) -> set[str]:
    """The relations that a statement reads. Raises CatalogueError for one that a rule may not read."""
    parts = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    if taken := sorted(parts & trial.names):
        raise CatalogueError(f'calls a part of the query "{taken[0]}", as a table is called; give it another name')
    found: set[str] = set()
    for table in tree.find_all(exp.Table):
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier) or table.args.get("db") or table.args.get("catalog"):
            raise CatalogueError(f"reads {sql_of(table)[:60]}; a rule reads tables, by their bare names")
        if name in parts:
            continue
        if name not in readable(whole=whole):
            raise CatalogueError(f'reads "{table.name[:60]}", {_why_not(name, whole, trial)}')
        found.add(name)
    return found


def readable(*, whole: bool = False) -> frozenset[str]:
    """What the file of a rule may read; `whole` is for one that is marked ``-- @scope all``."""
    always = {*policy_tables(Policy(name="none", version=1)), "policy_severity", "scope_clock"}
    return frozenset(always | (_of_everything() if whole else _of_one_run()))


_STORED = {"sources", "batches", "quarantine", "gaps", "retries", "verifications", "scope_sources", "scope_all_events"}
"""What is stored beside the runs, and the events as a whole."""


@cache
def _of_everything() -> frozenset[str]:
    return frozenset(_STORED | {r.name for r in relations() if r.unit == "all" and r.layer != "rule"})


@cache
def _of_one_run() -> frozenset[str]:
    """Relations each of whose rows comes from runs that are judged together, and that need no findings themselves."""
    late = {"findings"} | {r.name for r in relations() if r.unit != "group"}
    reads = {relation.name: relation.reads for relation in relations()}
    for name in in_order(relations(), {"findings": [r.name for r in relations() if r.layer == "rule"]}):
        if reads.get(name, frozenset()) & late:
            late.add(name)
    layers = ("staging", "intermediate", "fact", "mart")
    found = {r.name for r in relations() if r.layer in layers and r.name not in late}
    return frozenset(found | {"scope_events"})


def _why_not(name: str, whole: bool, trial: Trial) -> str:
    if name == "events":
        other = "scope_all_events" if whole else "scope_events"
        return f'which holds more than is being judged; read "{other}", which has the same columns'
    if whole and name in readable():
        return 'which holds only the runs that are being judged; take "-- @scope all" out to look at runs'
    if name in _STORED:
        return 'which belongs to no run; a rule about it is marked "-- @scope all"'
    if f"fct_{name}" in readable(whole=whole):
        return f'which adds up what "fct_{name}" says of each run; read that'
    if name in trial.names:
        return "which is made after the rules, or of many runs; see docs/policy.md, Your own rules"
    near = suggestion(name, readable(whole=whole))
    return f"which is no table that a rule can read{near or '; see docs/policy.md, Your own rules'}"
