"""Every function of the language: its results, errors and bounds."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.functions import ARITY, arity_phrase, call
from podium.core.expressions.nodes import ExprError, Json, MissingValue, TooBig, WrongType
from podium.core.expressions.values import MAX_ELEMENTS, MAX_TEXT, Meter
from tests.core.random_nodes import LazyMap, values


def result(name: str, *args: Any) -> Json:
    return call(name, args, Meter())


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("default", (None, 1), 1),
        ("default", (0, 1), 0),
        ("len", ("abc",), 3),
        ("len", ([1, 2],), 2),
        ("len", ({"a": 1},), 1),
        ("len", (LazyMap({"a": 1}),), 1),
        ("min", (3, 1, 2), 1),
        ("min", (["b", "a"],), "a"),
        ("max", ([1, 2.5],), 2.5),
        ("sum", ([1, 2, 0.5],), 3.5),
        ("sum", ([],), 0),
        ("any", ([False, True],), True),
        ("any", ([],), False),
        ("all", ([True, False],), False),
        ("all", ([],), True),
        ("lower", ("AbC",), "abc"),
        ("upper", ("AbC",), "ABC"),
        ("strip", ("  a b \n",), "a b"),
        ("split", ("a  b c",), ("a", "b", "c")),
        ("split", ("a,b,,c", ","), ("a", "b", "", "c")),
        ("join", (["a", 1, True, 2.5],), "a1true2.5"),
        ("join", (("a", "b"), ", "), "a, b"),
        ("join", ([], ","), ""),
        ("lines", ("a\r\nb\n\nc\n",), ("a", "b", "", "c")),
        ("lines", ("",), ()),
        ("lines", ("a",), ("a",)),
        ("json", ('{"a": [1, 2.5, null, true, "ä"]}',), {"a": [1, 2.5, None, True, "ä"]}),
        ("number", (" 12\n",), 12),
        ("number", ("-1.5e2",), -150.0),
        ("slug", ("Add the Search-Index, v2!",), "add-the-search-index-v2"),
        ("slug", ("äöü",), ""),
        ("range", (3,), (0, 1, 2)),
        ("range", (1, 3), (1, 2)),
        ("range", (5, 0, -2), (5, 3, 1)),
        ("unique", ([1, "1", True, 1.0, 1, [2], [2], {"a": 1}, {"a": 1}],), (1, "1", True, [2], {"a": 1})),
        ("append", ((1, 2), "x"), (1, 2, "x")),
        ("append", ((), None), (None,)),
        ("concat", ((1,), (), (2, 3)), (1, 2, 3)),
        ("slice", ((1, 2, 3, 4), 1, 3), (2, 3)),
        ("slice", ((1, 2, 3), -2), (2, 3)),
        ("slice", ([1, 2, 3], None, 1), (1,)),
        ("slice", ("hello", 1, None), "ello"),
        ("slice", ((1,), 5, 9), ()),
        ("sort", ((3, 1, 2.5),), (1, 2.5, 3)),
        ("sort", (("b", "a"),), ("a", "b")),
        (
            "sort",
            (({"n": 2, "i": 1}, {"n": 1}, {"n": 2, "i": 2}), "n"),
            ({"n": 1}, {"n": 2, "i": 1}, {"n": 2, "i": 2}),
        ),
        ("sort", ((),), ()),
        ("where", (({"n": 1}, {"n": 2}, {}), "n", "==", 1), ({"n": 1},)),
        ("where", (({"n": 1}, {"n": 2}, {}), "n", "!=", 1), ({"n": 2}, {})),
        ("where", (({"n": 1}, {"n": 2}, {}), "n", ">=", 2), ({"n": 2},)),
        ("where", (({"n": "a"}, {"n": "b"}), "n", "in", ("a", "c")), ({"n": "a"},)),
        ("pluck", (({"n": 1}, {}), "n"), (1, None)),
        ("keys", ({"b": 1, "a": 2},), ("b", "a")),
        ("keys", (LazyMap({"a": 1}),), ("a",)),
        ("count", ((1, 2, 1), 1), 2),
        ("count", ("banana", "an"), 2),
        ("contains", ((1, 2), 2), True),
        ("contains", ("banana", "x"), False),
        ("replace", ("a-b-c", "-", " "), "a b c"),
        ("batches", ((1, 2, 3), 2), ((1, 2), (3,))),
        ("flatten", (((1, 2), (), 3, ((4,),)),), (1, 2, 3, (4,))),
        ("reverse", ((1, 2, 3),), (3, 2, 1)),
        ("matches", ("12 files", "^[0-9]+ files"), True),
        ("matches", ("no files", "[0-9]"), False),
    ],
)
def test_a_function_returns_its_result(name: str, args: tuple[Any, ...], expected: Json) -> None:
    found = result(name, *args)

    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("len", (1,), "len needs text, a list or a map, not a number"),
        ("append", ("a", 1), "append needs a list, not text"),
        ("slice", (1, 2), "slice needs a list or text, not a number"),
        ("slice", ((1,), "a"), "slice needs whole numbers, not text"),
        ("slice", ((1,), True), "slice needs whole numbers, not a boolean"),
        ("sort", ((1, "a"),), "sort needs only numbers or only texts"),
        ("sort", (({}, {"n": 1}), "n"), "sort needs only numbers or only texts"),
        ("where", ((1,), "n", "==", 1), "where needs a list of maps; one element is a number"),
        ("where", (({"n": 1},), "n", "==", "a"), "cannot compare a number with text"),
        ("keys", ((1,),), "keys needs a map, not a list"),
        ("min", (1, "a"), "min needs only numbers or only texts"),
        ("min", (5,), "min needs a list, not a number"),
        ("max", ([True],), "max needs only numbers or only texts"),
        ("sum", (["a"],), "sum needs numbers, not text"),
        ("sum", ("abc",), "sum needs a list, not text"),
        ("any", ([1],), "any needs a list of booleans; one element is a number"),
        ("lower", (1,), "lower needs text, not a number"),
        ("split", ("a", 1), "split needs text, not a number"),
        ("join", ([[1]],), "join needs texts and numbers, not a list"),
        ("join", ([{}],), "join needs texts and numbers, not a map"),
        ("json", ("[1,]",), None),
        ("json", ("NaN",), "this text is not JSON: NaN is not a JSON number"),
        ("json", ('"\\ud800"',), "this JSON contains a lone surrogate"),
        ("json", ('{"\\ud800": ["x"]}',), "this JSON contains a lone surrogate"),
        ("json", ("1" * 5000,), None),
        ("number", ("0x10",), '"0x10" is not a number'),
        ("number", ("1_000",), '"1_000" is not a number'),
        ("number", ("",), '"" is not a number'),
        ("number", (5,), "number needs text, not a number"),
        ("range", ("a",), "range needs whole numbers, not text"),
        ("range", (True,), "range needs whole numbers, not a boolean"),
        ("range", (1.0,), "range needs whole numbers, not a number"),
        ("matches", (1, "a"), "matches needs text, not a number"),
        ("matches", ("a", None), "matches needs text, not null"),
        ("len", (), "len takes 1 argument, not 0"),
        ("matches", ("a",), "matches takes 2 arguments, not 1"),
        ("split", ("a", "b", "c"), "split takes 1 to 2 arguments, not 3"),
        ("min", (), "min takes 1 or more arguments, not 0"),
    ],
)
def test_a_wrong_argument_is_refused(name: str, args: tuple[Any, ...], message: str | None) -> None:
    with pytest.raises(WrongType) as raised:
        result(name, *args)

    if message is not None:
        assert str(raised.value) == message


def test_min_of_an_empty_list_is_missing_so_that_default_can_replace_it() -> None:
    with pytest.raises(MissingValue, match="min of an empty list"):
        result("min", [])
    with pytest.raises(MissingValue, match="null cannot be inserted"):
        result("join", [None])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("split", ("a", "")),
        ("range", (1, 2, 0)),
        ("where", ((), "n", "~", 1)),
        ("count", ("a", "")),
        ("replace", ("a", "", "b")),
        ("batches", ((1,), 0)),
        ("batches", ((1,), True)),
    ],
)
def test_invalid_arguments_are_refused(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(ExprError):
        result(name, *args)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("range", (MAX_ELEMENTS + 1,)),
        ("range", (-(2**63), 2**63 - 1)),
        ("range", (2**64,)),
        ("split", ("a " * (MAX_ELEMENTS + 5),)),
        ("lines", ("\n" * (MAX_ELEMENTS + 5),)),
        ("lower", ("A" * (MAX_TEXT + 1),)),
        ("upper", ("ß" * (MAX_TEXT - 1),)),
        ("join", (["x" * MAX_TEXT, "y"],)),
        ("join", (["", "", ""], "x" * MAX_TEXT)),
        ("sum", ([2**62, 2**62],)),
        ("sum", ([1e308, 1e308],)),
        ("json", ("[" * 60 + "]" * 60,)),
        ("json", ("[" * 100_000,)),
        ("json", (f"[{'1,' * 10_000}1]",)),
        ("json", ("1e999",)),
        ("json", ("9" * 30,)),
        ("number", ("9" * 30,)),
        ("number", ("9" * 500,)),
        ("number", ("1e999",)),
        ("append", (tuple(range(MAX_ELEMENTS)), 1)),
        ("concat", (tuple(range(MAX_ELEMENTS)), (1,))),
        ("replace", ("a" * 100_000, "a", "b" * 100)),
        ("matches", ("a" * (MAX_TEXT + 1), "a")),
        ("default", (None, "x" * (MAX_TEXT + 1))),
    ],
)
def test_a_value_beyond_a_bound_is_refused(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(TooBig):
        result(name, *args)


def test_the_bounds_themselves_are_allowed() -> None:
    assert len(result("range", MAX_ELEMENTS)) == MAX_ELEMENTS  # type: ignore[arg-type]  # a tuple, as tested above
    assert len(result("lines", "\n" * MAX_ELEMENTS)) == MAX_ELEMENTS  # type: ignore[arg-type]  # same
    assert result("len", result("join", ["x" * MAX_TEXT], ",")) == MAX_TEXT


def test_internal_functions_are_known_to_the_evaluator_only() -> None:
    assert "_phases" not in ARITY
    assert result("_phases", {"phases": {}}) == []


def test_every_function_has_an_arity() -> None:
    assert all(arity_phrase(name) for name in ARITY)


@given(st.lists(values, max_size=8))
def test_unique_keeps_the_first_of_each(items: list[Any]) -> None:
    found = result("unique", items)

    assert isinstance(found, tuple)
    assert result("unique", found) == found
    assert len(found) <= len(items)
    assert found[:1] == tuple(items[:1])


@given(st.lists(st.text(alphabet="ab c"), min_size=1))
def test_split_is_the_inverse_of_join(words: list[str]) -> None:
    assert result("split", result("join", words, "|"), "|") == tuple(words)


@given(st.sampled_from(sorted(ARITY)), st.lists(values, max_size=3))
def test_functions_raise_only_documented_errors(name: str, args: list[Any]) -> None:
    if name in ("exists", "glob", "touched"):
        return
    with contextlib.suppress(ExprError):
        result(name, *args)
