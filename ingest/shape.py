"""What the event models look like from outside: which fields hold models, which hold free text.

Found by walking the annotations once, so that a new field in `schemas` needs no second entry here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from schemas.columns import fields_of
from schemas.events import KINDS


@dataclass(frozen=True, slots=True)
class Shape:
    """How the value of one contract field is to be taken: as free text, as models with fields, or as it stands.

    `fields` is None unless the field holds a model (or a list of models).
    """

    free_text: bool = False
    fields: Mapping[str, Shape] | None = None


_PLAIN = Shape()
_FREE_TEXT = Shape(free_text=True)


def _is_free_text(info: Any) -> bool:
    return isinstance(info, FieldInfo) and info.json_schema_extra == {"x-free-text": True}


def _shape(annotation: Any) -> Shape:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return Shape(fields=shapes_of(annotation))
    if get_origin(annotation) is Annotated and any(map(_is_free_text, annotation.__metadata__)):
        return _FREE_TEXT
    found = (_shape(part) for part in get_args(annotation))
    return next((shape for shape in found if shape is not _PLAIN), _PLAIN)


def shapes_of(model: type[BaseModel]) -> dict[str, Shape]:
    """Every field of a model by its name on the wire, with its shape."""
    fields = fields_of(model).items()
    return {name: _FREE_TEXT if _is_free_text(info) else _shape(info.annotation) for name, info in fields}


SHAPES: dict[str, dict[str, Shape]] = {kind: shapes_of(model) for kind, model in KINDS.items()}
"""For each kind the shapes of its fields."""


_Nested = tuple[tuple[str, str], ...]
_NESTED: dict[type[BaseModel], _Nested] = {}


def _nested(model: type[BaseModel]) -> _Nested:
    """(attribute, name on the wire) of the fields that hold models."""
    found = _NESTED.get(model)
    if found is None:
        shapes = shapes_of(model)
        names = ((attr, info.alias or attr) for attr, info in model.model_fields.items())
        found = _NESTED[model] = tuple((attr, name) for attr, name in names if shapes[name].fields is not None)
    return found


def unknown_fields(model: BaseModel, path: str = "") -> dict[str, Any]:
    """What `schemas.columns.extra_of` finds, {path: value}, but looking only where an unknown field can be."""
    extra = model.__pydantic_extra__
    found = {path + name: value for name, value in extra.items()} if extra else {}
    for attr, name in _nested(type(model)):
        value = model.__dict__[attr]
        if value is None:
            continue
        if isinstance(value, list):
            for index, item in enumerate(value):
                found |= unknown_fields(item, f"{path}{name}[{index}].")
        else:
            found |= unknown_fields(value, f"{path}{name}.")
    return found
