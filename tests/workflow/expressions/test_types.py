"""Types: shorthand, JSON Schema and the built-in schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from podium.workflow.contracts.builtin import BUILTIN, TYPES
from podium.workflow.expressions.types import (
    ANY,
    ANY_LIST,
    ANY_MAP,
    BOOL,
    INT,
    NULL,
    NUMBER,
    TEXT,
    Choice,
    ListOf,
    MapOf,
    ShorthandError,
    Type,
    from_json_schema,
    parse_shorthand,
    to_json_schema,
)


@pytest.mark.parametrize(
    ("shorthand", "expected"),
    [
        ("string", TEXT),
        ("path", TEXT),
        ("int", INT),
        ("number", NUMBER),
        ("bool", BOOL),
        ("list", ANY_LIST),
        ("map", ANY_MAP),
        ("bug | feature", Choice(("bug", "feature"))),
        ("a|b | a", Choice(("a", "b"))),
        (["string"], ListOf(TEXT)),
        ("[path]", ListOf(TEXT)),
        ("[[int]]", ListOf(ListOf(INT))),
        ({}, MapOf()),
        ({"a": "int", "b": "optional string"}, MapOf({"a": INT, "b": TEXT}, optional=frozenset("b"))),
        ({"kind": "optional x | y"}, MapOf({"kind": Choice(("x", "y"))}, optional=frozenset({"kind"}))),
        ({"*": "int"}, MapOf(open=True, other_type=INT)),
        ({"a": {"b": ["bool"]}}, MapOf({"a": MapOf({"b": ListOf(BOOL)})})),
        ({"plan": "Plan"}, MapOf({"plan": TYPES["Plan"]})),
    ],
)
def test_shorthand_is_read(shorthand: Any, expected: Type) -> None:
    assert parse_shorthand(shorthand, named_types=TYPES) == expected


@pytest.mark.parametrize(
    ("shorthand", "path", "message", "hint"),
    [
        ("strng", (), 'type "strng" does not exist', 'did you mean "string"?'),
        ("", (), 'type "" does not exist', None),
        ({"a": "text"}, ("a",), 'type "text" does not exist', None),
        ({"a": {"b": 1}}, ("a", "b"), "a type must be a word, a list or a map", None),
        ({"a": ["int", "int"]}, ("a",), "a list must contain exactly one type, as in [string]", None),
        ({"a": []}, ("a",), "a list must contain exactly one type, as in [string]", None),
        (["optional int"], (0,), "only a field can be optional", None),
        ("optional int", (), "only a field can be optional", None),
        ({"a-b": "int"}, ("a-b",), '"a-b" is not a valid field name', None),
        ({1: "int"}, (1,), '"1" is not a valid field name', None),
        ("bug | ", (), 'type "bug |" does not exist', None),
    ],
)
def test_invalid_shorthand_is_refused_at_its_place(
    shorthand: Any, path: tuple[str | int, ...], message: str, hint: str | None
) -> None:
    with pytest.raises(ShorthandError) as raised:
        parse_shorthand(shorthand)

    assert raised.value.path == path
    assert raised.value.message == message
    if hint is not None:
        assert raised.value.hint == hint


def test_shorthand_that_is_nested_too_deep_is_refused() -> None:
    deep: Any = "int"
    for _ in range(60):
        deep = [deep]

    with pytest.raises(ShorthandError, match="nested more than 50 deep"):
        parse_shorthand(deep)


@pytest.mark.parametrize(
    ("value_type", "schema"),
    [
        (ANY, {}),
        (NULL, {"type": "null"}),
        (BOOL, {"type": "boolean"}),
        (Choice(("a",)), {"type": "string", "enum": ["a"]}),
        (ListOf(INT), {"type": "array", "items": {"type": "integer"}}),
        (
            MapOf({"a": NUMBER, "b": TEXT}, name="Thing", optional=frozenset("b")),
            {
                "type": "object",
                "title": "Thing",
                "properties": {"a": {"type": "number"}, "b": {"type": "string"}},
                "required": ["a"],
                "additionalProperties": False,
            },
        ),
        (ANY_MAP, {"type": "object", "properties": {}, "additionalProperties": True}),
        (
            MapOf(open=True, other_type=INT),
            {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}},
        ),
    ],
)
def test_a_type_is_converted_to_json_schema(value_type: Type, schema: dict[str, Any]) -> None:
    assert to_json_schema(value_type) == schema


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (True, ANY),
        ({}, ANY),
        ({"type": "odd"}, ANY),
        ({"type": ["string", "null"]}, ANY),
        ({"anyOf": [{"type": "string"}]}, ANY),
        ({"enum": ["a", "b"]}, Choice(("a", "b"))),
        ({"enum": [1, "b"]}, ANY),
        ({"enum": []}, ANY),
        ({"enum": "a"}, ANY),
        ({"type": "array"}, ANY_LIST),
        ({"type": "object"}, ANY_MAP),
        ({"type": "object", "properties": 1, "required": 2}, ANY_MAP),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "title": "X"},
            MapOf({"a": TEXT}, open=True, name="X"),
        ),
        (
            {"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}},
            INT,
        ),
        ({"$ref": "#/$defs/missing"}, ANY),
        ({"$ref": "#/$defs/missing/deeper"}, ANY),
        ({"$ref": "other.json#/x"}, ANY),
        ({"$ref": "#"}, ANY),
    ],
)
def test_json_schema_is_converted_to_a_type_as_far_as_possible(schema: Any, expected: Type) -> None:
    assert from_json_schema(schema) == expected


def test_a_schema_that_refers_to_itself_ends_in_any() -> None:
    tree = {
        "type": "object",
        "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "leaf": {"type": "string"}},
    }

    value_type = from_json_schema(tree)

    assert isinstance(value_type, MapOf)
    assert value_type.fields["leaf"] == TEXT
    assert isinstance(value_type.fields["left"], MapOf)


def test_a_schema_with_many_shared_references_is_read_quickly() -> None:
    """Without a cache, two references per part double the work at each of the forty parts."""
    defs = {
        f"p{n}": {"type": "object", "properties": {side: {"$ref": f"#/$defs/p{n + 1}"} for side in "ab"}}
        for n in range(40)
    }

    assert isinstance(from_json_schema({"$ref": "#/$defs/p0", "$defs": defs}), MapOf)


def test_a_schema_that_is_nested_too_deep_ends_in_any() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}

    assert isinstance(from_json_schema(schema), ListOf)


FIELD_NAMES = st.sampled_from(["title", "files", "kind", "note"])


def types() -> SearchStrategy[Any]:
    simple = st.sampled_from([ANY, BOOL, INT, NUMBER, TEXT, Choice(("a", "b"))])
    return st.recursive(simple, lambda inner: st.builds(ListOf, inner) | _maps(inner), max_leaves=6)


def _maps(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    fields = st.dictionaries(FIELD_NAMES, inner, max_size=3)
    return fields.flatmap(
        lambda named: st.builds(
            MapOf,
            st.just(named),
            st.just(False),
            st.sampled_from([None, "Thing"]),
            st.frozensets(st.sampled_from(sorted(named)), max_size=2) if named else st.just(frozenset()),
        )
    )


@given(types())
def test_a_type_is_the_same_after_conversion_to_json_schema(value_type: Type) -> None:
    assert from_json_schema(to_json_schema(value_type)) == value_type


def test_every_built_in_schema_is_available_as_type_and_json_schema() -> None:
    names = {"Plan", "Feature", "Phase", "Review", "Audit", "Decision", "Implementation", "QualityGate"}

    assert set(TYPES) == set(BUILTIN) == names
    assert all(
        isinstance(value_type, MapOf) and value_type.name == name for name, value_type in TYPES.items()
    )
    assert BUILTIN["Review"]["properties"]["decision"] == {
        "type": "string",
        "enum": ["approve", "reject", "abort"],
    }
    assert "title" in BUILTIN["Plan"]["required"]
