"""A schema that no answer could be validated against is reported at load time, before an agent is paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.workflow.contracts.schema_check import schema_fault
from tests.workflow.compiling import errors

DEEP: dict[str, Any] = {}
for _ in range(102):
    DEEP = {"items": DEEP}

CHAIN = {f"d{at}": {"$ref": f"#/$defs/d{at + 1}"} for at in range(102)} | {"d102": {"type": "null"}}


@pytest.mark.parametrize(
    "schema",
    [
        {"title": "x", "$defs": {"a": {"type": "string"}}, "items": {"anyOf": [{"const": 1}, True]}},
        {"type": ["object", "null"], "properties": {"next": {"$ref": "#"}}, "required": ["next"]},
        {
            "$ref": "#/$defs/a~1b",
            "$defs": {"a/b": {"pattern": "^x", "minLength": 1, "not": {"enum": ["xx"]}}},
        },
        {"patternProperties": {"^x-": False}, "additionalProperties": {"multipleOf": 0.5, "minimum": 0}},
        {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {"uniqueItems": True}}},
    ],
)
def test_an_ordinary_schema_has_no_fault(schema: dict[str, Any]) -> None:
    assert schema_fault(schema) is None


@pytest.mark.parametrize(
    ("schema", "message_part"),
    [
        ({"if": {}}, 'it uses "if", which Podium cannot check'),
        ({"$defs": {"a": {"contains": {}}}}, 'it uses "contains", which Podium cannot check'),
        ({"allOf": [3]}, "expected a map, true or false, got 3"),
        ({"properties": {"a": "b" * 70}}, f'expected a map, true or false, got "{"b" * 56}...'),
        ({"type": "decimal"}, '"type" cannot be "decimal"'),
        ({"type": []}, '"type" cannot be []'),
        ({"required": 5}, '"required" cannot be 5'),
        ({"multipleOf": 0}, '"multipleOf" cannot be 0'),
        ({"minLength": "x"}, '"minLength" cannot be "x"'),
        ({"maximum": True}, '"maximum" cannot be true'),
        ({"properties": []}, '"properties" cannot be []'),
        ({"patternProperties": []}, '"patternProperties" cannot be []'),
        ({"$ref": "https://example.com/x"}, "it refers to https://example.com/x, which is not in it"),
        ({"$ref": "#/$defs/x", "$defs": {"y": True}}, "it refers to #/$defs/x, which is not in it"),
        ({"$ref": "#/title/x", "title": "t"}, "it refers to #/title/x, which is not in it"),
        ({"$ref": "#"}, "# refers to itself"),
        (
            {"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"type": "null"}, {"$ref": "#"}]}}},
            "refers to itself",
        ),
        ({"$ref": "#/$defs/d0", "$defs": CHAIN}, "#/$defs/d0 refers to itself"),
        (DEEP, "it is nested more than 100 deep"),
    ],
)
def test_an_unusable_schema_is_reported_with_the_reason(schema: dict[str, Any], message_part: str) -> None:
    assert message_part in (schema_fault(schema) or "")


@pytest.mark.parametrize("keyword", ["pattern", "patternProperties"])
def test_an_unusable_pattern_is_reported(keyword: str) -> None:
    pattern = "^(a+)+$"
    assert "unbounded repeat" in (
        schema_fault({keyword: pattern if keyword == "pattern" else {pattern: {}}}) or ""
    )


@pytest.mark.req("R111")
def test_a_file_with_an_unusable_schema_is_refused_when_it_is_loaded(tmp_path: Path) -> None:
    """Otherwise every attempt of an agent would be paid for and fail."""
    flow = "steps: {a: {agent: claude, prompt: Go., touches: [], output: {schema: s.json}}}"

    assert errors(tmp_path, flow, {"s.json": '{"required": "name"}'}) == [
        (16, 's.json is not a usable JSON Schema: "required" cannot be "name"')
    ]
