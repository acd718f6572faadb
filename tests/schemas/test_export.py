"""What producers are given: JSON Schema, Avro and the reference page say what the models say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from schemas.columns import fields_of
from schemas.events import KINDS
from schemas.export import avro_schema, json_schema, markdown

SCHEMA = json_schema()
KNOWN = {
    "$ref", "$defs", "$schema", "title", "description", "version", "oneOf", "anyOf", "discriminator", "type", "enum",
    "const", "properties", "required", "additionalProperties", "items", "pattern", "minLength", "maxLength", "minimum",
    "maximum", "format", "default", "x-free-text", "propertyNames",
    "patternProperties",
}  # fmt: skip
"""Keywords that `fits` understands or may ignore; one that it does not know would make it blind."""


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Whether a value fits a schema: the part of JSON Schema 2020-12 that the export uses."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if "$ref" in schema and not fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]):
        return False
    if "oneOf" in schema and sum(fits(value, part) for part in schema["oneOf"]) != 1:
        return False
    if "anyOf" in schema and not any(fits(value, part) for part in schema["anyOf"]):
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    return "type" not in schema or _fits_type(value, schema)


def _fits_type(value: Any, schema: dict[str, Any]) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match schema["type"]:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            whole = number and value == int(value)
            return whole and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        case "number":
            return number and schema.get("minimum", value) <= value <= schema.get("maximum", value)
        case "string":
            return (
                isinstance(value, str)
                and schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
                and re.search(schema.get("pattern", ""), value) is not None
            )
        case "array":
            return isinstance(value, list) and all(fits(item, schema.get("items", {})) for item in value)
        case "object":
            return isinstance(value, dict) and _fits_object(value, schema)
    raise AssertionError(f"no check for type {schema['type']}")


def _fits_object(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", True)
    by_pattern = schema.get("patternProperties", {})
    return (
        all(name in value for name in schema.get("required", ()))
        and all(fits(name, schema.get("propertyNames", {})) for name in value)
        and all(fits(value[name], part) for name, part in known.items() if name in value)
        and all(
            fits(item, part)
            for pattern, part in by_pattern.items()
            for name, item in value.items()
            if re.search(pattern, name)
        )
        and all(
            others is True or (others is not False and fits(item, others))
            for name, item in value.items()
            if name not in known
        )
    )


CALL: dict[str, Any] = {
    "event_id": "e1",
    "ts": "2026-06-03T10:00:00Z",
    "kind": "tool.invocation",
    "correlation_id": "c1",
    "caller": "Hermes",
    "tool": "kb_search",
    "privilege": "read",
    "side_effects": "none",
    "outcome": "success",
}
RECORD: dict[str, Any] = {
    "event_id": "r1",
    "ts": "2026-06-03T10:00:00Z",
    "kind": "decision.record",
    "correlation_id": "c1",
    "decision_id": "DR-1",
    "terminal_state": "RESOLVED",
    "rubric_verdicts": [{"rubric_id": "tone", "pass": True, "dims": {"warm": 3}}],
    "actions_attempted": [{"action": "refund", "executed": True, "amount": 12.5}],
    "sla": {"received_at": "2026-06-03T09:00:00Z"},
    "tokens": {"in": 1, "out": 2},
}
TICKET = {"event_id": "x1", "ts": "2026-06-03T10:00:00Z", "kind": "xenia.escalated", "ticket_id": None}


@pytest.mark.parametrize("event", [CALL, RECORD, TICKET, {**CALL, "note2": {"any": [1]}}, {**CALL, "amount": None}])
def test_the_json_schema_accepts_what_the_models_accept(event: dict[str, Any]) -> None:
    """A producer that validates by the schema is not quarantined, and drift is allowed there as well."""
    assert fits(event, SCHEMA)
    KINDS[event["kind"]].model_validate(event)


@pytest.mark.parametrize(
    "event",
    [
        {},
        [],
        {**CALL, "kind": "tool.invocaton"},
        {**CALL, "event_id": ""},
        {**CALL, "event_id": 5},
        {**CALL, "event_id": "a\u0001"},
        {**CALL, "outcome": "ok"},
        {**CALL, "attempt": 0},
        {**CALL, "amount": -1},
        {**CALL, "caller": "-x"},
        {**CALL, "tokens": {"in": -1}},
        {name: value for name, value in CALL.items() if name != "tool"},
        {**RECORD, "terminal_state": "DONE"},
        {**RECORD, "rubric_verdicts": [{"pass": True}]},
        {**RECORD, "rubric_verdicts": [{"rubric_id": "tone", "dims": {"warm": 4}}]},
        {**RECORD, "actions_attempted": {"action": "refund"}},
        {**TICKET, "customer_ref": "Jane"},
    ],
)
def test_the_json_schema_refuses_what_the_models_refuse(event: Any) -> None:
    """A producer learns of a mistake before it sends it."""
    assert not fits(event, SCHEMA)


def test_the_json_schema_is_whole() -> None:
    """Of the named version, one branch and one discriminator entry for each kind, and no reference into nothing."""
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    mapping = SCHEMA["discriminator"]["mapping"]
    assert SCHEMA["discriminator"]["propertyName"] == "kind"
    assert set(mapping) == set(KINDS)
    assert [branch["$ref"] for branch in SCHEMA["oneOf"]] == list(mapping.values())
    assert set(re.findall(r"'#/\$defs/(\w+)'", str(SCHEMA))) <= set(SCHEMA["$defs"])
    for kind, reference in mapping.items():
        branch = SCHEMA["$defs"][reference.removeprefix("#/$defs/")]
        assert branch["properties"]["kind"]["const"] == kind
        assert set(branch["properties"]) == set(fields_of(KINDS[kind]))


def test_free_text_is_marked() -> None:
    """Redaction looks at what people write; the mark says which fields those are."""
    assert "x-free-text" in str(SCHEMA["$defs"]["ToolInvocation"]["properties"]["note"])
    assert "x-free-text" not in str(SCHEMA["$defs"]["ToolInvocation"]["properties"]["target"])


def test_avro_has_a_record_for_each_kind() -> None:
    """The same fields, null as default of what may be left out, each named type defined once and before use."""
    records = avro_schema()
    assert len(records) == len(KINDS)
    for record, model in zip(records, KINDS.values(), strict=True):
        assert (record["type"], record["namespace"]) == ("record", "gatewatch")
        assert [field["name"] for field in record["fields"]] == list(fields_of(model))
        for field in record["fields"]:
            optional = isinstance(field["type"], list)
            assert ("default" in field) == (not fields_of(model)[field["name"]].is_required())
            assert not optional or (field["type"][0] == "null" and field["default"] is None)
    defined: list[str] = []

    def walk(part: Any) -> None:
        if isinstance(part, list):
            for item in part:
                walk(item)
        elif isinstance(part, str):
            assert part in {"null", "string", "long", "double", "boolean"} or part.removeprefix("gatewatch.") in defined
        elif part["type"] == "record":
            defined.append(part["name"])
            for field in part["fields"]:
                walk(field["type"])
        else:
            walk(part["items"] if part["type"] == "array" else part["values"])

    walk(records)
    assert len(set(defined)) == len(defined)
    assert len({record["name"] for record in records}) == len(KINDS)


def test_the_reference_page_lists_every_kind_and_field() -> None:
    """A heading for each kind, a row for each of its own fields, and a target for each link."""
    page = markdown()
    sections = dict(re.findall(r"^## `([^`]+)`\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    assert set(sections) == set(KINDS)
    common = {
        "event_id",
        "ts",
        "kind",
        "correlation_id",
        "run_id",
        "turn_id",
        "tenant",
        "source",
        "trace_id",
        "span_id",
    }
    for kind, text in sections.items():
        rows = dict(re.findall(r"^\| `([^`]+)` \| .*? \| (yes|no) \|", text, re.MULTILINE))
        own = {name: info for name, info in fields_of(KINDS[kind]).items() if name not in common}
        assert {name: "yes" if info.is_required() else "no" for name, info in own.items()} == rows
    headings = {heading.lower() for heading in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= headings


def test_the_page_in_the_docs_is_the_one_that_is_generated() -> None:
    """Whoever changes a model exports the page again: `gatewatch schema export --format markdown > docs/events.md`."""
    page = Path(__file__).parents[2] / "docs" / "events.md"
    if page.exists():
        assert page.read_text(encoding="utf-8") == markdown()
