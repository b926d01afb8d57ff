"""Values with inserts: how they are filled in, which names they read, and that inserted text is never parsed again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from podium.core.expressions.nodes import Json, MissingValue, Name, Node, TooBig
from podium.core.expressions.templates import (
    Reference,
    Text,
    Value,
    calls,
    chain_of,
    children,
    fill,
    fill_argv,
    references,
    walk,
)
from podium.core.expressions.values import MAX_TEXT
from podium.workflow.expressions.parser import parse_expression, parse_value
from tests.core.random_nodes import Values, nodes

KNOWN: dict[str, Any] = {
    "n": 3,
    "half": 0.5,
    "yes": True,
    "text": "${{ n }}",
    "none": None,
    "list": ["a", 1, False],
    "map": {"k": "ä"},
}


def filled(value: Value) -> Json:
    return fill(value, Values(KNOWN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("${{ n }}", 3),
        ("${{ list }}", ["a", 1, False]),
        ("${{ none }}", None),
        ("n = ${{ n }}", "n = 3"),
        ("${{ half }} ${{ yes }}", "0.5 true"),
        ("<${{ list }}>", '<["a", 1, false]>'),
        ("<${{ map }}>", '<{"k": "ä"}>'),
        ("say ${{ text }}", "say ${{ n }}"),
        ("$${{ n }} is ${{ n }}", "${{ n }} is 3"),
    ],
)
def test_inserts_in_a_text_are_filled_in(text: str, expected: Json) -> None:
    assert filled(parse_value(text)) == expected


def test_inserts_are_filled_in_nested_values() -> None:
    value: Value = {
        "a": [Name("n"), {"b": Text(("x", Name("n")))}],
        "c": 1,
        "d": None,
        "e": True,
        "f": "t",
        "g": 0.5,
    }

    assert filled(value) == {"a": (3, {"b": "x3"}), "c": 1, "d": None, "e": True, "f": "t", "g": 0.5}


def test_null_in_a_text_is_an_error_that_names_the_insert() -> None:
    with pytest.raises(MissingValue, match="none is null, which cannot be inserted into a text"):
        filled(parse_value("a ${{ none }}"))
    with pytest.raises(MissingValue, match="the value is null"):
        filled(parse_value("a ${{ null }}"))


def test_a_text_that_grows_too_big_is_refused() -> None:
    with pytest.raises(TooBig):
        fill(Text((Name("x"), Name("x"))), Values({"x": "a" * (MAX_TEXT - 1)}))


def test_a_list_in_an_argv_becomes_several_arguments() -> None:
    argv = [parse_value(word) for word in ("make", "${{ list }}", "--n=${{ n }}", "x${{ list }}", "${{ n }}")]

    assert fill_argv(argv, Values(KNOWN)) == ("make", "a", "1", "false", "--n=3", 'x["a", 1, false]', "3")


def test_null_is_not_allowed_as_an_argument() -> None:
    with pytest.raises(MissingValue):
        fill_argv([Name("none")], Values(KNOWN))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("steps.plan.output.title", [("steps.plan.output.title", False)]),
        ("steps['plan'].output", [("steps.plan.output", False)]),
        ("steps.a.files[0].name", [("steps.a.files", False)]),
        ("steps.a.files[loop.index]", [("steps.a.files", False), ("loop.index", False)]),
        ("default(steps.a.output, inputs.b)", [("steps.a.output", True), ("inputs.b", False)]),
        ("default(x[y.z], 1)", [("x", True), ("y.z", True)]),
        ("a + a > 1 and not b", [("a", False), ("b", False)]),
        ("touched('x') or exists(p)", [("change.paths", False), ("p", False)]),
        ("-a if [b] else lower(c)", [("b", False), ("a", False), ("c", False)]),
        ("1", []),
    ],
)
def test_references_lists_the_names_that_are_read(text: str, expected: list[tuple[str, bool]]) -> None:
    found = references(parse_expression(text))

    assert [(".".join(one.chain), one.optional) for one in found] == expected


def test_references_and_calls_cover_all_parts_of_a_value() -> None:
    value: Value = {"a": [parse_value("x ${{ len(p) }}"), parse_value("${{ lower(q) }}"), "r", 1], "b": None}

    assert references(value) == (Reference(("p",)), Reference(("q",)))
    assert calls(value) == ("len", "lower")
    assert calls("len(x)") == ()


@given(nodes())
def test_walk_yields_every_node_once(node: Node) -> None:
    met = list(walk(node))

    assert met[0] is node
    assert len(met) == 1 + sum(len(list(walk(child))) for child in children(node))
    assert all(chain_of(part) is None or isinstance(chain_of(part), tuple) for part in met)
