"""Field types that the event kinds share: identifiers, slugs, free text, RFC 3339 timestamps, amounts.

Everything is strict: a number is never taken for a string, nor ``"5"`` for 5. The one normalisation that
validation does is lower-casing slugs and moving timestamps to UTC; the ledger keeps the original spelling.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

INT64_MAX = 2**63 - 1
TEXT_MAX = 2_000

NO_CONTROLS = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""Pattern of identities and names: no control characters of ASCII or Latin-1."""

SLUG = r"^[a-z0-9][a-z0-9._:/-]*$"
"""Pattern of callers, tools and gates, after lower-casing."""

_RFC3339 = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))"
)


def parse_rfc3339(text: str) -> datetime:
    """Turn an RFC 3339 timestamp with an offset into an aware UTC datetime, to the microsecond (the rest is cut).

    A leap second (``:60``) becomes the first instant of the next minute, as POSIX time counts it.
    Raises ValueError for anything else: date only, no offset, ``infinity``, years outside 1..9999.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise ValueError("must be an RFC 3339 timestamp with an offset, like 2026-06-03T22:28:09.521Z")
    date, minute, second, fraction, zulu, sign, hours, minutes = match.groups()
    leap = second == "60"
    micros = (fraction or "0")[:6].ljust(6, "0")
    offset = UTC
    if zulu is None:
        if int(hours) > 23 or int(minutes) > 59:
            raise ValueError(f"the offset {sign}{hours}:{minutes} is out of range")
        delta = timedelta(hours=int(hours), minutes=int(minutes))
        offset = timezone(-delta if sign == "-" else delta)
    try:
        local = datetime.fromisoformat(f"{date}T{minute}:{'59' if leap else second}.{micros}")
        value = local.replace(tzinfo=offset).astimezone(UTC)
        return value.replace(microsecond=0) + timedelta(seconds=1) if leap else value
    except (ValueError, OverflowError) as error:
        raise ValueError(f"is not a time that exists: {error}") from None


def _to_utc(value: Any) -> Any:
    return parse_rfc3339(value) if isinstance(value, str) else value


def _lower(value: Any) -> Any:
    # Only ASCII: the Kelvin sign would turn into a k that no producer's schema allows.
    return value.lower() if isinstance(value, str) and value.isascii() else value


Ts = Annotated[
    datetime,
    BeforeValidator(_to_utc),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""An instant: RFC 3339 with an offset; stored as UTC in microseconds."""

Id = Annotated[str, Field(min_length=1, max_length=200, pattern=NO_CONTROLS)]
"""An identity that joins rows: 1 to 200 characters, no control characters."""

Ref = Annotated[str, Field(min_length=1, max_length=1_000, pattern=NO_CONTROLS)]
"""A name, path, digest or foreign identity: 1 to 1,000 characters, no control characters."""

Slug = Annotated[
    str,
    BeforeValidator(_lower),
    Field(min_length=1, max_length=200, pattern=SLUG),
    WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9][A-Za-z0-9._:/-]*$"}),
]
"""A caller, tool or gate: ``[a-z0-9][a-z0-9._:/-]*`` after lower-casing."""

Text = Annotated[str, Field(max_length=TEXT_MAX, json_schema_extra={"x-free-text": True})]
"""What a person or a model wrote: at most 2,000 characters; redacted before it is stored."""

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
TraceId = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
SpanId = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
CustomerRef = Annotated[str, Field(pattern=r"^customer:[0-9a-f]{6,64}$")]
Count = Annotated[int, Field(ge=0, le=INT64_MAX)]
Ordinal = Annotated[int, Field(ge=1, le=INT64_MAX)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Score = Annotated[int, Field(ge=0, le=3)]
Scores = dict[Ref, Score]


def lowered(text: str) -> str:
    """A name as it is compared: in lower case, character by character, as DuckDB's `lower` does it.

    `str.lower` looks around (a capital sigma at the end of a word) and lengthens, so that one name would be two.
    """
    return "".join(character.lower()[0] for character in text)


class Model(BaseModel):
    """Base of every event part: strict, frozen, and unknown fields are kept rather than refused."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True, populate_by_name=False, protected_namespaces=())


class Tokens(Model):
    """Token usage of one call or run."""

    in_: Annotated[Count | None, Field(alias="in")] = None
    out: Count | None = None
