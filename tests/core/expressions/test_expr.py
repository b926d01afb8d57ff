"""The evaluator and its operators: results, errors and bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    ExprError,
    Field,
    Item,
    ListOf,
    Name,
    NeedFact,
    Node,
    Not,
    Or,
    TooBig,
    WrongType,
    evaluate,
    show,
)
from podium.core.expressions.values import (
    MAX_ELEMENTS,
    MAX_INT,
    MAX_TEXT,
    MIN_INT,
    Json,
    Meter,
    as_text,
    identity,
    kind_of,
    plain,
)
from podium.workflow.expressions.parser import parse_expression
from tests.core.random_nodes import LazyMap, Values, nodes, values

KNOWN: dict[str, Any] = {
    "inputs": {"task": "fix it", "count": 3, "ratio": 0.5, "go": True, "none": None, "class": "kept"},
    "steps": {"plan": {"output": {"title": "T", "files": ["a.py", "b.py"]}}},
    "change": {"paths": ["src/a.py", "docs/x.md"]},
    "env": {"CI": "1"},
    "items": [1, 2, 3],
    "deep": [[{"x": [1]}]],
}


def value_of(text: str, **more: Any) -> Json:
    return evaluate(parse_expression(text), Values({**KNOWN, **more}, files=("src/a.py",)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("steps.plan.output.title", "T"),
        ("steps['plan'].output['title']", "T"),
        ("steps.plan.output.files[1]", "b.py"),
        ("steps.plan.output.files[-1]", "b.py"),
        ("items[1:]", (2, 3)),
        ("items[:-1] == [1, 2]", True),
        ("inputs.task[:3]", "fix"),
        ("7 // 2", 3),
        ("inputs.class", "kept"),
        ("deep[0][0].x[0] == 1", True),
        ("inputs.count > 2 and not (inputs.count > 5)", True),
        ("inputs.count > 5 or inputs.go", True),
        ("1 < inputs.count < 4", True),
        ("1 < inputs.count < 3", False),
        ("inputs.task == 'fix it'", True),
        ("inputs.task != 'other'", True),
        ("inputs.none == null", True),
        ("inputs.task != null", True),
        ("null == 'x'", False),
        ("1 == 1.0", True),
        ("'b' > 'a'", True),
        ("2 >= 2", True),
        ("[1, 2] == [1, 2.0]", True),
        ("items == [1, 2, 3]", True),
        ("[true] == [1]", False),
        ("inputs == inputs", True),
        ("2 in items", True),
        ("true in items", False),
        ("[1] in [[1], [2]]", True),
        ("5 not in items", True),
        ("'fix' in inputs.task", True),
        ("'CI' in env", True),
        ("'x' not in env", True),
        ("1 + 2 * 3 - 4", 3),
        ("7 / 2", 3.5),
        ("7 % 4", 3),
        ("-inputs.count", -3),
        ("0.5 + inputs.ratio", 1.0),
        ("'a' if inputs.go else 'b'", "a"),
        ("'a' if not inputs.go else 'b'", "b"),
        ("[1, 'a', null]", (1, "a", None)),
        ("default(inputs.missing, 7)", 7),
        ("default(inputs.none, 7)", 7),
        ("default(inputs.count, 7)", 3),
        ("default(nothing.at.all, 'x')", "x"),
        ("default(inputs.none.x, 'x')", "x"),
        ("default(inputs.none[0], 'x')", "x"),
        ("default(items[9], 0)", 0),
        ("exists('src/a.py')", True),
        ("exists('src/b.py')", False),
        ("glob('src/*')", ("src/a.py",)),
        ("touched('docs/**')", True),
        ("touched('x', '*.md')", False),
    ],
)
def test_an_expression_yields_its_value(text: str, expected: Json) -> None:
    assert value_of(text) == expected
    assert type(value_of(text)) is type(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 == '1'", "cannot compare a number with text"),
        ("true == 1", "cannot compare a boolean with a number"),
        ("items == 1", "cannot compare a list with a number"),
        ("inputs.task < 1", "cannot compare text with a number"),
        ("null < 1", "cannot compare null with a number"),
        ("true < false", '"<" needs numbers or texts, not a boolean'),
        ("inputs.task and true", '"and" needs true or false, not text'),
        ("1 or true", '"or" needs true or false, not a number'),
        ("not items", '"not" needs true or false, not a list'),
        ("1 if 1 else 2", '"if" needs true or false, not a number'),
        ("'a' + 'b'", '"+" needs numbers, not text'),
        ("true + 1", '"+" needs numbers, not a boolean'),
        ("-inputs.task", '"-" needs numbers, not text'),
        ("inputs.task.x", 'inputs.task is text and has no "x"'),
        ("items.x", 'items is a list and has no "x"'),
        ("inputs[0]", "inputs is a map; a number cannot select from it"),
        ("items[true]", "items is a list; a boolean cannot select from it"),
        ("items[0.0]", "items is a list; a number cannot select from it"),
        ("1 in 'abc'", "cannot look for a number in text"),
        ("1 in env", "cannot look for a number in a map"),
        ("'a' in 1", "cannot look for text in a number"),
    ],
)
def test_values_are_never_converted(text: str, message: str) -> None:
    with pytest.raises(WrongType) as raised:
        value_of(text)

    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "there is no nothing"),
        ("inputs.taks", 'inputs has no "taks"'),
        ("steps.plan.output['titel']", 'steps.plan.output has no "titel"'),
        ("inputs.none.x", 'inputs.none is null and has no "x"'),
        ("inputs.none[1]", "inputs.none is null and has no elements"),
        ("items[3]", "items has 3 elements and no [3]"),
        ("[1][5]", "the value has 1 elements and no [5]"),
        ("deep[0].x", None),
    ],
)
def test_a_missing_value_is_named_in_the_message(text: str, message: str | None) -> None:
    with pytest.raises(ExprError) as raised:
        value_of(text)

    if message is not None:
        assert str(raised.value) == f"E_VAR_MISSING: {message}"


def test_default_replaces_only_missing_values() -> None:
    with pytest.raises(WrongType):
        value_of("default(inputs.task.x, 1)")


def test_and_and_or_stop_as_soon_as_the_result_is_known() -> None:
    assert value_of("inputs.go or nothing.at.all") is True
    assert value_of("not inputs.go and nothing.at.all") is False


def test_an_unknown_fact_raises_need_fact() -> None:
    class Unknown(Values):
        def fact(self, query: tuple[str, str]) -> Json:
            raise NeedFact(query)

    with pytest.raises(NeedFact) as raised:
        evaluate(parse_expression("default(exists('a/b'), false)"), Unknown({}))

    assert raised.value.query == ("exists", "a/b")


def test_a_lazy_map_computes_only_what_is_read_and_only_once() -> None:
    lazy = LazyMap({"a": 1, "b": 2})

    assert value_of("lazy.a", lazy=lazy) == 1
    assert lazy.asked == ["a"]
    assert value_of("default(lazy.c, 0)", lazy=lazy) == 0
    assert value_of("lazy == lazy", lazy=lazy) is True


@pytest.mark.parametrize(
    "text",
    [
        f"{MAX_INT} + 1",
        f"{MIN_INT} - 1",
        f"{MAX_INT} * {MAX_INT}",
        f"-({MIN_INT})",
        "1e308 * 10",
        "1e308 + 1e308",
        "huge + 1",
        "huge",
        "infinite",
        "long",
        "wide",
    ],
)
def test_a_result_that_is_too_big_is_refused(text: str) -> None:
    with pytest.raises(TooBig):
        value_of(
            text, huge=2**70, infinite=float("inf"), long="x" * (MAX_TEXT + 1), wide=[0] * (MAX_ELEMENTS + 1)
        )


def test_the_largest_numbers_are_allowed() -> None:
    assert value_of(f"{MAX_INT - 1} + 1") == MAX_INT
    assert value_of(f"{MIN_INT + 1} - 1") == MIN_INT


def test_an_operand_that_does_not_fit_a_float_is_too_big() -> None:
    """Python itself raises OverflowError, which callers of the evaluator do not expect."""
    with pytest.raises(TooBig):
        evaluate(Arith("/", Const(10**400), Const(2)), Values({}))


@pytest.mark.parametrize("text", ["1 / 0", "1 % 0", "1 / 0.0"])
def test_division_by_zero_is_an_error(text: str) -> None:
    with pytest.raises(ExprError, match="cannot divide by zero"):
        value_of(text)


def test_an_expression_with_too_many_parts_is_refused() -> None:
    """The parser also counts parts; a node built by hand meets only this bound."""
    node: Node = Const(True)
    for _ in range(300):
        node = Not(node)

    with pytest.raises(TooBig, match="200 parts"):
        evaluate(node, Values({}))


def test_work_is_metered_over_the_whole_expression() -> None:
    big = list(range(9000))
    compare = Compare("==", Name("big"), Name("big"))

    with pytest.raises(TooBig, match="too much work"):
        evaluate(And((compare,) * 60), Values({"big": big}))


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
def test_values_nested_more_than_fifty_levels_deep_are_refused(wrap: Callable[[Any], Any]) -> None:
    deep: Any = 1
    for _ in range(50):
        deep = wrap(deep)
    deeper = wrap(deep)

    assert value_of("deep == deep", deep=deep) is True
    assert as_text(deep, Meter()).count("1") == 1
    with pytest.raises(TooBig, match="nested"):
        value_of("deep == deep", deep=deeper)
    with pytest.raises(TooBig, match="nested"):
        as_text(deeper, Meter())


def test_any_sequence_counts_as_a_list() -> None:
    assert value_of("many[2] + len(many)", many=range(3)) == 5


def test_a_value_that_is_not_json_is_refused() -> None:
    with pytest.raises(WrongType, match="value of type object"):
        value_of("thing", thing=object())
    with pytest.raises(WrongType, match="value of type bytes"):
        value_of("thing == 'x'", thing=b"x")


def test_an_unknown_function_is_refused() -> None:
    with pytest.raises(WrongType, match='calls to "open" are not allowed'):
        evaluate(Call("open", (Const("f"),)), Values({}))


@pytest.mark.parametrize(
    ("node", "called"),
    [
        (Name("a"), "a"),
        (Field(Name("a"), "b"), "a.b"),
        (Item(Name("a"), Const(0)), "a[0]"),
        (Item(Name("a"), Const("b")), "a['b']"),
        (ListOf(()), "the value"),
        (Or(()), "the value"),
    ],
)
def test_messages_name_values_by_their_path(node: Node, called: str) -> None:
    assert show(node) == called


@given(nodes(), st.dictionaries(st.sampled_from(["steps", "inputs", "item", "title"]), values, max_size=4))
def test_evaluation_raises_only_documented_errors(node: Node, known: dict[str, Any]) -> None:
    try:
        result = evaluate(node, Values(known))
    except ExprError:
        return
    assert kind_of(result)


@given(values, values)
def test_identity_is_equal_exactly_for_equal_values(one: Any, other: Any) -> None:
    meter = Meter()
    same = identity(one, meter) == identity(other, meter)

    assert identity(one, meter) == identity(plain(one, meter), meter)
    if same and not isinstance(one, list | dict):
        assert one == other
        assert isinstance(one, bool) == isinstance(other, bool)
