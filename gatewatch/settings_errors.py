"""What is wrong with a configuration, in one line: file or variable, key, mistake, and the nearest right key.

A line never holds a value, which may be a secret, except where the key takes one of a few words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ingest.sentences import short
from schemas.policy_file import suggestion

Place = tuple[int | str, ...]

OTHERS = frozenset({"GATEWATCH_FAULTS", "GATEWATCH_SCREENSHOTS", "GATEWATCH_E2E_EVENTS"})
"""Variables of the tests, which are no settings."""

_OF_A_CLUSTER = re.compile(
    r"GATEWATCH_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
"""Kubernetes gives every container variables of this form for each service: one may be called gatewatch-something."""

_SAID = {
    "path_type": "must be text in quotes",
    "string_type": "must be text in quotes",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "list_type": 'must be a list, like ["…"]',
    "too_short": "must not be empty",
    "missing": "is missing",
}


def sentence(
    error: ValidationError,
    model: type[BaseModel],
    raw: Mapping[str, Any],
    file: Path | None,
    prefix: str,
    environment: Mapping[str, str],
) -> str:
    """The first mistake of a ValidationError of `model`, as one line; `raw` is what `file` said."""
    found = error.errors(include_url=False)
    # A misspelt key shows up twice, as unknown and as missing: the first of the two is the one to mend.
    problem = min(found, key=lambda one: one["type"] != "extra_forbidden")
    place, holder = _resolve(problem["loc"], model)
    if file is None or _is_set(place, prefix, environment) or not _is_said(raw, place[:1]):
        origin, name = "environment", _variable(place, prefix)
    else:
        origin, name = f"configuration {file}", _spelt(place)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"{origin}: {_told(problem, place, name, holder)}{more}"


def single_underscore(prefix: str, model: type[BaseModel], environment: Mapping[str, str]) -> str | None:
    """What is wrong with a variable that leads into a table with one underscore, which nothing would ever read."""
    for table, field in model.model_fields.items():
        for nested in _models(field.annotation):
            for key in nested.model_fields:
                variable, right = f"{prefix}{table}_{key}".upper(), f"{prefix}{table}__{key}".upper()
                if variable in environment:
                    return f"knows no {variable}; write {right}, with two underscores"
    return None


def unknown_variable(prefix: str, model: type[BaseModel], environment: Mapping[str, str]) -> str | None:
    """What is wrong with a variable that begins like a setting and is none, which nothing would ever read.

    What follows a table's two underscores is left to the validation.
    """
    plain = [f"{prefix}{name}".upper() for name in model.model_fields]
    inner = [
        f"{prefix}{name}__{key}".upper()
        for name, field in model.model_fields.items()
        for nested in _models(field.annotation)
        for key in nested.model_fields
        if get_origin(field.annotation) is not list
    ]
    tables = {name.partition("__")[0] for name in inner} | {f"{prefix}sources".upper()}
    for variable in sorted(environment):
        name = variable.upper()
        if not name.startswith(prefix) or name in OTHERS or _OF_A_CLUSTER.fullmatch(name) or name in plain:
            continue
        first, leads, _ = name.partition("__")
        if leads and first in tables:
            continue
        # Compared without what all have in common, which would make everything look near.
        near = suggestion(name.removeprefix(prefix), [one.removeprefix(prefix) for one in plain + inner])
        hint = near.replace('"', prefix, 1).replace('"', "")
        known = f"; known variables: {', '.join(plain)}, and those of tables, like {inner[0]}"
        return f"knows no {short(variable, 120)}{hint or known}"
    return None


def badly_written(text: str, prefix: str, model: type[BaseModel]) -> str:
    """What to do about a variable for a table or list that is no JSON; `text` is what pydantic-settings says of it."""
    name = next((name for name in model.model_fields if f'"{name}"' in text), None)
    if name is None:
        return "a variable for a table or list is no JSON"
    variable = f"{prefix}{name}".upper()
    if get_origin(model.model_fields[name].annotation) is list:
        return f"""{variable}: is no JSON; write a list, like [{{"type": "jsonl", "paths": ["logs/*.jsonl"]}}]"""
    key = next(iter(_models(model.model_fields[name].annotation)[0].model_fields), "")
    return (
        f"""{variable}: is no JSON; write a table, like {{"{key}": …}}, or a variable for each key, like """
        f"{variable}__{key.upper()}"
    )


def _resolve(location: Place, model: type[BaseModel]) -> tuple[Place, Any]:
    """(the place as the file has it, the type that holds it): pydantic also names the kind of a table of several."""
    place: list[int | str] = []
    holder: Any = model
    inside: Any = model
    for part in location:
        models = _models(inside)
        if isinstance(part, str) and len(models) > 1:
            inside = next((one for one in models if part in _tags(one)), inside)
            continue
        place.append(part)
        holder = inside
        if isinstance(part, int):
            inside = _element(inside)
        elif models and part in models[0].model_fields:
            inside = models[0].model_fields[part].annotation
        else:
            inside = None
    return tuple(place), holder if location and location[-1] == place[-1] else inside


def _told(problem: Any, place: Place, name: str, holder: Any) -> str:
    kind, context = problem["type"], problem.get("ctx", {})
    match kind:
        case "extra_forbidden":
            known = [key for one in _models(holder) for key in one.model_fields]
            hint = suggestion(str(place[-1]), known) or f"; known keys: {', '.join(known)}"
            return f'knows no key "{short(name, 120)}"{hint}'
        case "union_tag_not_found":
            return f"{name}.type: is missing; write one of {_quoted(_union_tags(holder))}"
        case "union_tag_invalid":
            tags = _union_tags(holder)
            return f"{name}.type: must be one of {_quoted(tags)}{suggestion(str(context['tag']), tags)}"
        case "literal_error":
            return f"{name}: must be one of {context['expected'].replace(chr(39), chr(34))}"
        case "list_type" if place == ("sources",):
            return f"{name}: must be a list of tables; write [[sources]]"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{name}: must be a table of settings"
    return f"{name}: {_SAID.get(kind) or short(problem['msg'].removeprefix('Value error, '), 200)}"


def _is_set(place: Place, prefix: str, environment: Mapping[str, str]) -> bool:
    """Whether the value at a place comes from a variable of its own, or from one for a table around it."""
    known = {name.upper() for name in environment}
    return any(_variable(place[:length], prefix) in known for length in range(1, len(place) + 1))


def _is_said(raw: Mapping[str, Any], place: Place) -> bool:
    return bool(place) and place[0] in raw


def _variable(place: Place, prefix: str) -> str:
    return prefix + "__".join(str(part).upper() for part in place)


def _spelt(place: Place) -> str:
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models that a value of this type may be; those of a list's elements too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Annotated, Union, UnionType, list):
        return [model for part in get_args(annotation) for model in _models(part)]
    return []


def _element(annotation: Any) -> Any:
    return next(iter(get_args(annotation)), None)


def _tags(model: type[BaseModel]) -> list[str]:
    field = model.model_fields.get("type")
    return list(get_args(field.annotation)) if field is not None and get_origin(field.annotation) is Literal else []


def _union_tags(annotation: Any) -> list[str]:
    return [tag for model in _models(annotation) for tag in _tags(model)]


def _quoted(words: list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)
