"""Example answers satisfy the contract they are made for."""

from __future__ import annotations

import jsonschema
import pytest

from podium.core.model import Output
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.examples import example, example_of


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_an_example_of_every_built_in_schema_is_valid(name: str) -> None:
    schema = BUILTIN[name]

    for draw in (lambda _: 0.0, lambda _: 0.3, lambda _: 0.99):
        jsonschema.validate(example(schema, "x", draw), schema)


def test_each_kind_of_output_gets_a_valid_value() -> None:
    assert example_of(Output("text"), "hello") == "hello"
    assert example_of(Output("lines"), "line") == ["line 1", "line 2"]
    assert example_of(Output("json"), "x") == []
    assert example_of(Output("choice", choices=("a", "b")), "x") == "b"
    assert example_of(Output("schema", schema={"type": "boolean"}), "x") is False
    assert example_of(Output("schema"), "x") == {}


def test_bounds_of_a_schema_are_respected() -> None:
    bounded = {"type": "array", "minItems": 3, "items": {"type": "integer", "minimum": 5, "maximum": 6}}

    assert example(bounded, "x", lambda _: 0.0) == [5, 5, 5]
    assert example({"type": "number"}, "x") == 6.0
    assert example({"type": ["null", "string"]}, "x") is None
    assert example({"enum": ["a", "b"]}, "x", lambda _: 0.0) == "a"
    assert example({"type": "object", "additionalProperties": {"type": "string"}}, "x") == {
        "first": "x first"
    }
