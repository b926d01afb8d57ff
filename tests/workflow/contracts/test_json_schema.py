"""Every supported JSON Schema keyword, one row for each result, compared with another validator."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from podium.workflow.contracts.json_schema import MAX_FAULTS, UnusableSchema, faults_of

ROWS: list[tuple[Any, Any]] = [
    (False, 1),
    (True, 1),
    ({"type": ["string", "null"]}, None),
    ({"type": ["string", "null"]}, 1),
    ({"enum": [1, "a", None]}, 1.0),
    ({"enum": [True, [1]]}, 1),
    ({"enum": [[1, 2], {"a": 1}]}, [1, 2]),
    ({"enum": [[1, 2], {"a": 1}]}, {"a": 2}),
    ({"const": {"a": [1]}}, {"a": [1.0]}),
    ({"const": False}, 0),
    ({"required": ["a"]}, {"b": 1}),
    ({"required": ["a"]}, "no map"),
    ({"properties": {"a": {"type": "integer"}}}, {"a": "x"}),
    ({"properties": {"a": False}}, []),
    ({"patternProperties": {"^x": {"type": "integer"}}}, {"x1": "no", "y": "yes"}),
    ({"patternProperties": {"^x": False}}, []),
    ({"properties": {"a": True}, "additionalProperties": False}, {"a": 1, "b": 2}),
    ({"patternProperties": {"^x": True}, "additionalProperties": {"type": "string"}}, {"x": 1, "b": 2}),
    ({"additionalProperties": False}, []),
    ({"items": {"type": "integer"}}, [1, "a"]),
    ({"items": {"type": "integer"}}, "text"),
    ({"prefixItems": [{"type": "integer"}], "items": {"type": "string"}}, [1, "a"]),
    ({"prefixItems": [{"type": "integer"}]}, ["a"]),
    ({"prefixItems": [False]}, "text"),
    ({"uniqueItems": True}, [1, 1.0]),
    ({"uniqueItems": True}, [1, True]),
    ({"uniqueItems": False}, [1, 1]),
    ({"minItems": 1}, []),
    ({"maxItems": 1}, [1, 2]),
    ({"minLength": 2}, "a"),
    ({"maxLength": 1}, "ab"),
    ({"minProperties": 1}, {}),
    ({"maxProperties": 0}, {"a": 1}),
    ({"maxProperties": 0}, 1),
    ({"pattern": "^a"}, "b"),
    ({"pattern": "^a"}, "ab"),
    ({"pattern": "^a"}, 1),
    ({"minimum": 1}, 0),
    ({"maximum": 1}, 2),
    ({"exclusiveMinimum": 1}, 1),
    ({"exclusiveMaximum": 1}, 1),
    ({"minimum": 1}, True),
    ({"multipleOf": 2}, 3),
    ({"multipleOf": 2}, "text"),
    ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, 3),
    ({"anyOf": [{"type": "string"}, {"minimum": 2}]}, 1),
    ({"anyOf": [{"type": "string"}, {"minimum": 2}]}, 2),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 3),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, 1),
    ({"not": {"type": "string"}}, "a"),
    ({"not": {"type": "string"}}, 1),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "x"),
]


@pytest.mark.parametrize(("schema", "value"), ROWS)
def test_our_validator_agrees_with_the_reference_validator(schema: Any, value: Any) -> None:
    assert (faults_of(value, schema) == ()) is jsonschema.Draft202012Validator(schema).is_valid(value)


def test_the_number_of_reported_faults_is_bounded() -> None:
    assert len(faults_of(["x"] * (MAX_FAULTS + 5), {"items": {"type": "integer"}})) == MAX_FAULTS


@pytest.mark.parametrize(
    "schema", [{"items": 1}, {"pattern": "("}, {"$ref": "#"}, {"patternProperties": {"(": True}}]
)
def test_a_schema_with_an_unresolved_reference_or_invalid_pattern_is_unusable(schema: Any) -> None:
    value = {"a": 1} if "patternProperties" in schema else ["x"] if "items" in schema else "x"
    with pytest.raises(UnusableSchema):
        faults_of(value, schema)
