"""Rules of the user's own, as the rest of the package sees them; `transforms.rule_folder` reads and checks them.

`refresh` treats their relations like shipped ones, with three additions: `blaming` around the computation of each, so
that an error in the user's SQL names the user's file and a SELECT that does not end is stopped; `check_rows` once they
are computed, before anything of them gets into `findings`; and `judged_by` as the digest, so that a changed rule counts
as another policy.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import duckdb

from schemas.policy import Policy
from schemas.policy_file import policy_digest
from schemas.policy_tables import PolicyTable
from transforms.catalogue import Relation, Rule, rules
from transforms.errors import OwnRuleError
from transforms.scope import group_key

PREFIX = "rule_own_"
"""A relation `rule_own_<x>` is the user's file `<x>.sql`."""

LIMIT_S = 60.0
"""Seconds that one own relation may take. A SELECT that stays within runs takes a few, even when a whole history is
judged anew; one that takes a minute compares everything with everything, and the writer would hang on it every time.
"""


@dataclass(frozen=True, slots=True)
class OwnRules:
    """The user's rule files: their relations, the rules that they declare, and a digest of their contents.

    The digest is empty when there are no files.
    """

    relations: tuple[Relation, ...]
    rules: Mapping[str, Rule]
    digest: str


NO_RULES = OwnRules((), MappingProxyType({}), "")


def judged_by(policy: Policy, own: OwnRules) -> str:
    """``sha256:`` + hex of all that judges: the policy's own digest, unless there are own rules to be covered too."""
    digest = policy_digest(policy)
    if not own.digest:
        return digest
    return "sha256:" + hashlib.sha256(f"{digest}\n{own.digest}".encode()).hexdigest()


def known_rules(own: OwnRules) -> dict[str, Rule]:
    """Every rule that can fire, by name: the shipped ones, then the user's."""
    return {**rules(), **own.rules}


def rule_texts(own: OwnRules) -> PolicyTable:
    """The table `rule_texts`: what each rule says about itself, so that readers need neither files nor this package.

    `severity` is the rule's own; what the policy makes of it is in `policy_severity`.
    """
    columns = ("rule", "family", "severity", "means", "action", "satisfied_by")
    rows = [(r.name, r.family, r.severity, r.means, r.do, r.satisfied_by) for r in known_rules(own).values()]
    return PolicyTable("a rule and what it says about itself", tuple((name, "VARCHAR") for name in columns), rows)


def family_of(relation: str) -> str:
    """The family of the rules that an own relation returns: ``own_<file>``, so that it is none of the shipped ones."""
    return relation.removeprefix("rule_")


def file_of(relation: str) -> str:
    """The user's file behind a relation's name."""
    return relation.removeprefix(PREFIX) + ".sql"


@contextlib.contextmanager
def blaming(con: duckdb.DuckDBPyConnection, relation: Relation) -> Iterator[None]:
    """Turn an error that only the user's own SQL can have caused into an OwnRuleError that names the file.

    What `con` runs inside is interrupted after `LIMIT_S`, which is such an error too. Does nothing for a shipped
    relation, nor for errors of the machine (disk, memory, an interruption by somebody else).
    """
    if not relation.name.startswith(PREFIX):
        yield
        return
    limit, late = LIMIT_S, threading.Event()

    def stop() -> None:
        late.set()
        con.interrupt()

    timer = threading.Timer(limit, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    except duckdb.InterruptException:
        if not late.is_set():
            raise
        raise OwnRuleError(
            f"own rule {file_of(relation.name)}: took longer than {limit:g} s; join its tables on correlation_id and "
            "tenant so that it compares fewer rows, or take it out of the folder"
        ) from None
    except (duckdb.DataError, duckdb.ProgrammingError, duckdb.NotSupportedError) as error:
        said = " ".join(str(error).split())[:300]
        raise OwnRuleError(
            f"own rule {file_of(relation.name)}: its SELECT failed on the stored events ({said}); "
            "mend the file or take it out of the folder"
        ) from None
    finally:
        # A timer that is just firing is waited for: the next statement, which is not the user's, must not be hit.
        timer.cancel()
        timer.join()


# What would make a finding that nobody can read, or tell from another, or clear again. Findings are replaced together
# with the runs that are judged again, so a row of a run that was not looked at would stay for ever.
_STRAYS = f"""
SELECT CASE
    WHEN f.rule IS NULL OR NOT list_contains($declared, f.rule)
        THEN 'returns the rule ' || coalesce('"' || f.rule || '"', 'NULL') || ', which no "-- @rule" line declares'
    WHEN f.status IS NULL OR f.status NOT IN ('open', 'pending')
        THEN 'returns the status ' || coalesce('"' || f.status || '"', 'NULL') || '; it must be open or pending'
    WHEN f.subject IS NULL THEN 'returns a row without subject'
    WHEN f.event_ts IS NULL THEN 'returns a row without event_ts'
    WHEN f.message IS NULL THEN 'returns a row without message'
    WHEN f.evidence IS NULL THEN 'returns a row without evidence; an empty list is one'
    WHEN f.times > 1
        THEN 'returns one finding twice (rule, tenant, correlation_id, subject, gate and occurrence are equal)'
    WHEN $whole AND f.correlation_id IS NOT NULL
        THEN 'returns a correlation_id, although "-- @scope all" says that it looks at no single run'
    WHEN NOT $whole AND g.group_key IS NULL
        THEN 'returns a row of the run "' || f.run || '", which is not the run of what it has read'
    END AS problem
FROM (
    SELECT *, {group_key("event_ts")} AS run,
        count(*) OVER (
            PARTITION BY rule, tenant, correlation_id, subject, gate, coalesce(occurrence, '')
        ) AS times
    FROM {{relation}}
) AS f
LEFT JOIN scope_groups AS g ON g.tenant_key = coalesce(f.tenant, '') AND g.group_key = f.run
WHERE problem IS NOT NULL
ORDER BY problem
LIMIT 1
"""  # noqa: S608 - the relation's name is a file's name, of letters, digits and _ only


def check_rows(con: duckdb.DuckDBPyConnection, own: OwnRules) -> None:
    """Raise OwnRuleError when a computed own relation has a row that must not become a finding.

    `con` holds every relation of `own`, and `scope_groups`. The error names the file and the first problem. Nothing is
    dropped silently: a finding that is left out looks like one that does not exist.
    """
    for relation in own.relations:
        declared = [rule.name for rule in own.rules.values() if rule.family == family_of(relation.name)]
        found = con.execute(
            _STRAYS.format(relation=relation.name), {"declared": declared, "whole": relation.unit == "all"}
        ).fetchone()
        if found:
            raise OwnRuleError(f"own rule {file_of(relation.name)}: {found[0]}; nothing was judged, mend the file")
