"""Schemas in the strict dialect, and answers in it turned back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from podium.adapters.agents.codex.strict_schema import restored, strict
from podium.attempt.agent.verdict import verdict_schema
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.examples import example
from podium.workflow.contracts.json_schema import faults_of

ALL = {**BUILTIN, "verdict": verdict_schema()}


def objects(schema: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(schema, Mapping):
        if schema.get("type") == "object":
            yield schema
        for part in schema.values():
            yield from objects(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from objects(part)


@pytest.mark.req("R123")
@pytest.mark.parametrize("name", ALL)
def test_every_schema_of_the_language_can_be_asked_for_strictly(name: str) -> None:
    made = strict(ALL[name])

    assert made is not None and made["type"] == "object"
    for found in objects(made):
        assert found["required"] == list(found["properties"])
        assert found["additionalProperties"] is False


@pytest.mark.parametrize("name", ALL)
def test_what_fits_the_strict_schema_fits_the_own_one_when_it_is_turned_back(name: str) -> None:
    schema = ALL[name]
    made = strict(schema)
    assert made is not None
    said = filled(made)

    assert faults_of(said, made) == ()
    assert faults_of(restored(said, schema), schema) == ()


@pytest.mark.parametrize("name", ALL)
def test_what_has_the_own_shape_stays(name: str) -> None:
    value = example(ALL[name], "x")

    assert restored(value, ALL[name]) == value


def test_optional_is_null_a_map_is_a_list_of_pairs_and_both_come_back() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": ["string", "null"]},
            "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        "required": ["m"],
    }
    said = {"a": None, "b": None, "m": [{"key": "x", "value": 1}]}

    assert restored(said, schema) == {"b": None, "m": {"x": 1}}
    twice = [{"key": "x", "value": 1}, {"key": "x", "value": 2}]
    assert restored({"m": twice}, schema) == {"m": twice}, "nobody chose between the two"


def test_what_is_no_object_stands_in_one() -> None:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    made = strict(schema)

    assert made is not None and made["required"] == ["answer"]
    assert restored({"answer": ["x"]}, schema) == ["x"]
    assert restored(["x"], schema) == ["x"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"$ref": "#/$defs/x"},
        {"type": "object"},
        {"type": "object", "properties": {"a": {}}},
        {"type": "object", "properties": {"a": {"oneOf": []}}},
        {"type": "object", "properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "string"}},
        {"type": "array"},
        {"enum": [1, "a"]},
    ],
)
def test_what_the_dialect_cannot_say_is_not_asked_for_in_it(schema: dict[str, Any]) -> None:
    assert strict(schema) is None


def filled(schema: Mapping[str, Any]) -> Any:
    """An answer in the strict dialect that leaves out all it may."""
    if "anyOf" in schema:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: filled(part) for name, part in schema["properties"].items()}
        case "array":
            return [filled(schema["items"])]
        case "integer" | "number":
            return 5
        case _:
            return "x"
