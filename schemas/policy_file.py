"""Reading a policy: TOML or YAML text in, a `Policy` or one line that names the table, the key and the fix out."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from schemas.errors import PolicyError
from schemas.policy import Policy
from schemas.policy import suggestion as suggestion


def parse_policy(text: str, *, name: str = "policy", yaml_syntax: bool = False) -> Policy:
    """Validate a policy's text. Raises PolicyError with the position of the mistake and the nearest right key."""
    try:
        raw = yaml.safe_load(text) if yaml_syntax else tomllib.loads(text)
    except (ValueError, yaml.YAMLError) as error:  # a number of 5,000 digits is a plain ValueError for both
        syntax = "YAML" if yaml_syntax else "TOML"
        raise PolicyError(f"policy {name}: not valid {syntax}: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise PolicyError(f"policy {name}: must be a table of settings that starts with name and version")
    try:
        return Policy.model_validate(raw)
    except ValidationError as error:
        # A misspelt key shows up twice, as unknown and as missing: the first of the two is the one to mend.
        problems = sorted(error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden")
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise PolicyError(f"policy {name}: {_sentence(problems[0], raw)}{more}") from None


def policy_digest(policy: Policy) -> str:
    """``sha256:`` + hex of the policy's meaning; comments and spelling of the file do not change it."""
    canonical = json.dumps(policy.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()


def check_rule_names(policy: Policy, known: Iterable[str], *, name: str = "policy") -> None:
    """Raise PolicyError when `[severity]` speaks of a rule that does not exist."""
    rules = sorted(known)
    for rule in policy.severity:
        if rule not in rules:
            raise PolicyError(f'policy {name}: [severity] knows no rule "{rule}"{suggestion(rule, rules)}')


def _sentence(problem: Any, raw: dict[str, Any]) -> str:
    location = list(problem["loc"])
    if problem["type"] == "extra_forbidden":
        table, key = location[:-1], str(location[-1])
        known = _known_keys(table)
        hint = suggestion(key, known) or f"; known keys: {', '.join(known)}"
        return f'{_where(table, raw)} has no key "{key}"{hint}'
    # An element of a list of values is a mistake of the list's key.
    while len(location) > 1 and isinstance(location[-1], int) and not isinstance(problem["input"], dict):
        location.pop()
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "missing":
        return f'{_where(location[:-1], raw)} needs the key "{location[-1]}"'
    if not location:
        return message
    if problem["type"] == "literal_error" and location[-1] == "[key]":
        near = suggestion(
            str(location[-2]), problem["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        )
        hint = near or f"; one of: {problem['ctx']['expected']}"
        return f'{_where(location[:-2], raw)} has no table "{location[-2]}"{hint}'
    if problem["type"] == "literal_error":
        message = f"must be one of {problem['ctx']['expected']}, not {problem['input']!r}"
    return f"{_where(location[:-1], raw)} {location[-1]}: {message}"


def _where(location: list[Any], raw: dict[str, Any]) -> str:
    """`[time]`, or `[[tools]] "issue_refund"` for an element of a list of tables."""
    if not location:
        return "the top level"
    names = [str(part) for part in location if not isinstance(part, int)]
    index = next((part for part in location if isinstance(part, int)), None)
    if index is None or not isinstance(raw.get(names[0]), list):
        return f"[{'.'.join(names)}]"
    element = raw[names[0]][index]
    label = element.get("name", f"number {index + 1}") if isinstance(element, dict) else f"number {index + 1}"
    return f'[[{names[0]}]] "{label}"' + "".join(f" {part}" for part in names[1:])


def _known_keys(location: list[Any]) -> list[str]:
    """The keys that the model at this place of the file knows."""
    model: type[BaseModel] = Policy
    for part in location:
        if isinstance(part, str) and part in model.model_fields:
            nested = _model_in(model.model_fields[part].annotation)
            model = nested or model
    return sorted(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None
