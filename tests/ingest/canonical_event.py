"""The canonical JSON of an event, straight from its model: the reference for what two events' columns say."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel

from ingest.canonical import canonical_json
from ingest.contract import Judged
from ingest.dialects import DECISION_RECORD


def content_of(judged: Judged) -> bytes:
    """What counts of an accepted event: nulls left out, times in UTC; not the time that a record has from its file."""
    plain = _model(judged.event)
    if judged.dialect == DECISION_RECORD and plain["ts_source"] in ("file name", "file modification time"):
        del plain["ts"], plain["ts_source"]
    return canonical_json(plain)


def _model(model: BaseModel) -> dict[str, Any]:
    plain = {info.alias or attr: _plain(model.__dict__[attr]) for attr, info in type(model).model_fields.items()}
    return plain | (model.__pydantic_extra__ or {})


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _model(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    return [_plain(item) for item in value] if isinstance(value, list) else value
