"""Type inference: the type of an expression at load time, and expressions that can never work."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.nodes import (
    Call,
    Const,
    ExprError,
    IfElse,
    Item,
    MissingValue,
    Node,
    WrongType,
    evaluate,
)
from podium.core.expressions.nodes import ListOf as ListNode
from podium.core.expressions.templates import walk
from podium.workflow.expressions.inference import TypeProblem, check_condition, infer, join, kind
from podium.workflow.expressions.parser import parse_expression
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
    Type,
)
from podium.workflow.problems import did_you_mean
from tests.core.random_nodes import Values, nodes

PLAN = MapOf(
    {
        "title": TEXT,
        "files": ListOf(TEXT),
        "kind": Choice(("bug", "feature")),
        "size": INT,
        "share": NUMBER,
        "done": BOOL,
        "note": TEXT,
        "inner": MapOf({"x": INT}),
    },
    name="Plan",
    optional=frozenset({"note"}),
)
NAMES: dict[str, Type] = {
    "plan": PLAN,
    "anything": ANY,
    "open": ANY_MAP,
    "counts": MapOf(open=True, other_type=INT),
    "plans": ListOf(PLAN),
    "nothing": NULL,
    "mixed": ListOf(ANY),
    "nulls": ListOf(NULL),
}


def type_of_name(name: str) -> Type:
    if name not in NAMES:
        raise TypeProblem(f'there is no "{name}"', did_you_mean(name, NAMES))
    return NAMES[name]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plan.title", TEXT),
        ("plan['title']", TEXT),
        ("plan.files", ListOf(TEXT)),
        ("plan.files[0]", TEXT),
        ("plans[0].inner.x", INT),
        ("plan.inner[plan.title]", ANY),
        ("counts.any_name", INT),
        ("counts[plan.title]", INT),
        ("open.a.b", ANY),
        ("anything.a[0].b", ANY),
        ("anything[plan.title]", ANY),
        ("mixed[anything]", ANY),
        ("default(plan.note, '')", TEXT),
        ("default(plan.note, 1)", ANY),
        ("default(null, 1)", INT),
        ("default(plan.kind, 'x')", TEXT),
        ("1 + plan.size", INT),
        ("1 / 2", NUMBER),
        ("plan.share * 2", NUMBER),
        ("anything + 1", NUMBER),
        ("-plan.size", INT),
        ("plan.size > 1 and plan.done", BOOL),
        ("not anything", BOOL),
        ("plan.kind == 'bug'", BOOL),
        ("'bug' != plan.kind", BOOL),
        ("plan.title == null", BOOL),
        ("anything == 1", BOOL),
        ("nothing == plan", BOOL),
        ("'a' in plan.files", BOOL),
        ("'a' in plan.title", BOOL),
        ("'a' in plan", BOOL),
        ("anything in plan.title", BOOL),
        ("1 in anything", BOOL),
        ("1 in mixed", BOOL),
        ("plan.title if plan.done else 'x'", TEXT),
        ("plan.title if plan.done else 1", ANY),
        ("1 if plan.done else 1.5", NUMBER),
        ("plan if plan.done else open", ANY_MAP),
        ("true", BOOL),
        ("null", NULL),
        ("1.5", NUMBER),
        ("[1, 2.5]", ListOf(NUMBER)),
        ("[]", ANY_LIST),
        ("[1, 'a']", ListOf(ANY)),
        ("len(plan.files) + len(plan) + len('x')", INT),
        ("min(1, 2)", INT),
        ("max([1.5])", NUMBER),
        ("min(anything)", ANY),
        ("sum([1])", NUMBER),
        ("any(mixed)", BOOL),
        ("split(plan.title, ',')", ListOf(TEXT)),
        ("join(plan.files, ', ')", TEXT),
        ("join(mixed)", TEXT),
        ("json('1')", ANY),
        ("number(plan.title)", NUMBER),
        ("range(plan.size, number('3'))", ListOf(INT)),
        ("unique(plan.files)", ListOf(TEXT)),
        ("unique(anything)", ANY_LIST),
        ("plan.files[1:]", ListOf(TEXT)),
        ("plan.title[:5]", TEXT),
        ("anything[1:2]", ANY_LIST),
        ("append(plan.files, 'x')", ListOf(TEXT)),
        ("append([], plan)", ListOf(PLAN)),
        ("append(plan.files, 1)", ListOf(ANY)),
        ("append(anything, 1)", ANY_LIST),
        ("concat(plan.files, ['x'])", ListOf(TEXT)),
        ("sort(plans, 'size')", ListOf(PLAN)),
        ("sort(plan.files)", ListOf(TEXT)),
        ("where(plans, 'kind', '==', 'bug')[0].title", TEXT),
        ("where(plans, 'size', 'in', [1])", ListOf(PLAN)),
        ("where(plans, plan.title, plan.title, 1)", ListOf(PLAN)),
        ("where(anything, 'x', '<', 1)", ANY_LIST),
        ("pluck(plans, 'note')", ListOf(TEXT)),
        ("pluck(mixed, 'a')", ListOf(ANY)),
        ("keys(plan)", ListOf(TEXT)),
        ("count(plan.files, 'x') // 2", INT),
        ("contains(plan.title, 'x')", BOOL),
        ("replace(plan.title, 'a', 'b')", TEXT),
        ("batches(plan.files, 2)", ListOf(ListOf(TEXT))),
        ("flatten(batches(plan.files, 2))", ListOf(TEXT)),
        ("flatten(anything)", ANY_LIST),
        ("reverse(plan.files)", ListOf(TEXT)),
        ("glob('x')", ListOf(TEXT)),
        ("exists(plan.title) or touched('a', 'b')", BOOL),
        ("matches(plan.title, 'x')", BOOL),
    ],
)
def test_the_type_of_an_expression_is_inferred(text: str, expected: Type) -> None:
    assert infer(parse_expression(text), type_of_name) == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("plan.titel", 'Plan has no field "titel"', 'did you mean "title"?'),
        ("plan['titel']", 'Plan has no field "titel"', 'did you mean "title"?'),
        ("plan.inner.y", 'plan.inner has no field "y"', None),
        ("plan.note", "plan.note may be absent; use default(plan.note, ...)", None),
        ("default(1, plan.note)", "plan.note may be absent; use default(plan.note, ...)", None),
        ("default(plan.titel, 1)", 'Plan has no field "titel"', None),
        ("plan.title.x", 'plan.title is text and has no field "x"', None),
        ("plan.files.x", 'plan.files is a list of texts and has no field "x"', None),
        ("nothing.x", 'nothing is null and has no field "x"', None),
        ("plnn", 'there is no "plnn"', 'did you mean "plan"?'),
        ("plan.size[0]", "a number cannot be an index of a number", None),
        ("plan.files[true]", "a boolean cannot be an index of a list of texts", None),
        ("plan.files[0.5]", "the index of a list must be a whole number", None),
        ("plan.files[plan.title]", "the index of a list must be a whole number", None),
        ("plan[0]", "the key of a map must be text", None),
        ("plan.title == 1", "cannot compare text with a number", None),
        ("plan.size < 'a'", "cannot compare a number with text", None),
        ("plan.done < plan.done", "a boolean cannot be ordered; only numbers and texts can", None),
        ("1 < null", "null cannot be ordered; only numbers and texts can", None),
        ("anything < plans", "a list of maps cannot be ordered; only numbers and texts can", None),
        ("plan.kind == 'bugg'", '"bugg" is not one of bug, feature', 'did you mean "bug"?'),
        ("'x' == plan.kind", '"x" is not one of bug, feature', None),
        ("where(plans, 'kind', '==', 'bugg')", '"bugg" is not one of bug, feature', 'did you mean "bug"?'),
        ("where(plans, 'size', '>', 'a')", "cannot compare a number with text", None),
        ("where(plans, 'size', 'in', ['a'])", "cannot compare a number with text", None),
        (
            "where(plans, 'size', '=', 1)",
            "where compares with ==, !=, <, <=, >, >=, in, not in, not '='",
            None,
        ),
        ("where(plan.files, 'size', '==', 1)", "where needs a list of maps, not a list of texts", None),
        ("pluck(plans, 'titel')", 'Plan has no field "titel"', 'did you mean "title"?'),
        ("sort(plan)", "sort needs a list, not a map", None),
        ("count(plan.files, 1)", "cannot compare a number with text", None),
        ("plan.files['a':]", "slice needs a number or null, not text", None),
        ("1 in plan.files", "cannot compare a number with text", None),
        ("1 in plan.title", "cannot look for a number in text", None),
        ("1 in plan", "cannot look for a number in a map", None),
        ("1 in plan.size", "cannot look for a number in a number", None),
        ("plan.title and true", '"and" needs true or false, not text', None),
        ("true or 1", '"or" needs true or false, not a number', None),
        ("not plan.files", '"not" needs true or false, not a list of texts', None),
        ("1 if plan.title else 2", '"if" needs true or false, not text', None),
        (
            "plan.title + 'x'",
            '"+" needs numbers, not text',
            'combine texts with "${{ }}" or join([a, b])',
        ),
        ("plan.title * 2", '"*" needs numbers, not text', None),
        ("-plan.title", '"-" needs numbers, not text', None),
        ("lower(1)", "lower needs text, not a number", None),
        ("len(1)", "len needs text or a list or a map, not a number", None),
        ("sum(plan.files)", "sum needs a list of numbers, not a list of texts", None),
        ("any(plan)", "any needs a list of booleans, not a map", None),
        (
            "join(plans)",
            "join needs a list of texts or a list of numbers or a list of booleans, not a list of maps",
            None,
        ),
        ("join(plan.files, 1)", "join needs text, not a number", None),
        ("touched('a', 1)", "touched needs text, not a number", None),
        ("range('a')", "range needs a number, not text", None),
        ("min(1)", "min needs a list or several values, not a number", None),
        ("max(1, 'a')", "cannot compare a number with text", None),
        ("min([plan])", "a map cannot be ordered; only numbers and texts can", None),
        ("any(nulls)", "any needs a list of booleans, not a list", None),
    ],
)
def test_an_expression_that_can_never_work_is_reported(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(TypeProblem) as raised:
        infer(parse_expression(text), type_of_name)

    assert raised.value.message == message
    if hint is not None:
        assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (Call("open", ()), 'calls to "open" are not allowed'),
        (Call("len", ()), "len takes 1 argument, not 0"),
    ],
)
def test_calls_in_nodes_that_were_not_parsed_are_checked(node: Node, message: str) -> None:
    with pytest.raises(TypeProblem) as raised:
        infer(node, type_of_name)

    assert raised.value.message == message


def test_internal_functions_of_features_may_return_anything() -> None:
    assert infer(Call("_phases", (Const("x"),)), type_of_name) == ANY


def test_a_condition_must_be_true_or_false() -> None:
    check_condition(parse_expression("plan.done"), type_of_name, "when")
    check_condition(parse_expression("anything"), type_of_name)

    with pytest.raises(TypeProblem) as raised:
        check_condition(parse_expression("plan.size"), type_of_name, '"when"')

    assert raised.value.message == '"when" needs true or false, not a number'


def test_choices_and_lists_are_joined_element_by_element() -> None:
    assert join(Choice(("a",)), Choice(("b", "a"))) == Choice(("a", "b"))
    assert join(ListOf(INT), ListOf(NUMBER)) == ListOf(NUMBER)
    assert join(NULL, TEXT) == ANY
    assert kind(ANY) is None


SAMPLES: list[tuple[Type, Any]] = [
    (TEXT, "abc"),
    (INT, 3),
    (NUMBER, 0.5),
    (BOOL, True),
    (NULL, None),
    (ListOf(INT), [1, 2]),
    (ListOf(TEXT), ["a"]),
    (MapOf({"title": TEXT, "item": INT}), {"title": "t", "item": 1}),
]


@given(nodes(), st.lists(st.sampled_from(SAMPLES), min_size=6, max_size=6))
def test_a_well_typed_expression_never_raises_a_type_error(
    node: Node, chosen: list[tuple[Type, Any]]
) -> None:
    """If every type is known, only values (an index, a zero, a size) can still be wrong at run time."""
    names = dict(zip(["steps", "inputs", "item", "with", "a1", "title"], chosen, strict=True))
    values_by_name = {**{name: value for name, (_, value) in names.items()}, "import": None, "class": None}
    with contextlib.suppress(TypeProblem, MissingValue):
        infer(node, lambda name: names[name][0] if name in names else NULL)
        assert _only_known_at_run_time(node) or not _meets_a_wrong_type(node, Values(values_by_name))


def _meets_a_wrong_type(node: Node, names: Values) -> bool:
    try:
        evaluate(node, names)
    except WrongType:
        return True
    except ExprError:
        return False
    return False


def _only_known_at_run_time(node: Node) -> bool:
    """Mixed lists, computed keys, results of `json` and `default`, numbers that must be whole, and texts to parse."""
    loose = "json default number range matches glob exists touched min max unique".split()
    return any(
        isinstance(part, IfElse | Item | ListNode)
        or (isinstance(part, Call) and part.function in loose)
        or (isinstance(part, Const) and part.value is None)
        for part in walk(node)
    )
