"""Parsing expressions: the nodes, the refusals with their messages, and their places."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    Field,
    Item,
    ListOf,
    Name,
    Negate,
    Node,
    Not,
)
from podium.core.expressions.templates import Text, walk
from podium.core.expressions.values import MAX_INT, MAX_NODES, MIN_INT
from podium.workflow.expressions.parser import (
    ExpressionError,
    has_insert,
    has_jinja,
    parse_expression,
    parse_value,
)
from tests.core.random_nodes import folded, nodes, written


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("true", Const(True)),
        ("false", Const(False)),
        ("null", Const(None)),
        ("1", Const(1)),
        ("-1", Const(-1)),
        (str(MAX_INT), Const(MAX_INT)),
        (str(MIN_INT), Const(MIN_INT)),
        ("1.50", Const(1.5)),
        ("1e-3", Const(0.001)),
        ("-2.5", Const(-2.5)),
        ("'a'", Const("a")),
        ('"it\'s"', Const("it's")),
        (r"'a\'\\\n\t\"'", Const("a'\\\n\t\"")),
        (r"r'\d+'", Const(r"\d+")),
        ("'äöü {{ }} # && '", Const("äöü {{ }} # && ")),
        ("''", Const("")),
        ("a[1:2]", Call("slice", (Name("a"), Const(1), Const(2)))),
        ("a[:-1]", Call("slice", (Name("a"), Const(None), Const(-1)))),
        ("a[1:]", Call("slice", (Name("a"), Const(1), Const(None)))),
        ("5 // 2", Arith("//", Const(5), Const(2))),
        ("inputs", Name("inputs")),
        ("with.coverage", Field(Name("with"), "coverage")),
        ("steps.import.class", Field(Field(Name("steps"), "import"), "class")),
        ("a.not", Field(Name("a"), "not")),
        ("a . b", Field(Name("a"), "b")),
        ("a['b']", Item(Name("a"), Const("b"))),
        ("a[0]", Item(Name("a"), Const(0))),
        ("-a", Negate(Name("a"))),
        ("not a", Not(Name("a"))),
        ("a not in [1]", Compare("not in", Name("a"), ListOf((Const(1),)))),
        ("len(a)", Call("len", (Name("a"),))),
        ("(" * 50 + "a" + ")" * 50, Name("a")),
        (
            "1 < a <= 3",
            And((Compare("<", Const(1), Name("a")), Compare("<=", Name("a"), Const(3)))),
        ),
        ("\n  a\n  and b\n", And((Name("a"), Name("b")))),
    ],
)
def test_an_expression_is_parsed_to_its_nodes(text: str, node: Node) -> None:
    assert parse_expression(text) == node


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("open('f')", 'calls to "open" are not allowed', None),
        ("lenn(x)", 'calls to "lenn" are not allowed', 'did you mean "len"?'),
        ("f(x)(y)", 'calls to "f(x)" are not allowed', None),
        ("x.lower()", 'calls to ".lower" are not allowed', "write lower(x)"),
        ("a.b.strip()", 'calls to ".strip" are not allowed', "write strip(a.b)"),
        ("x.format(y)", 'calls to ".format" are not allowed', None),
        ("len()", "len takes 1 argument, not 0", None),
        ("exists()", "exists takes 1 argument, not 0", None),
        ("exists('a', 'b')", "exists takes 1 argument, not 2", None),
        ("glob('a', 'b')", "glob takes 1 argument, not 2", None),
        ("glob()", "glob takes 1 argument, not 0", None),
        ("touched()", "touched takes 1 or more arguments, not 0", None),
        ("range(1, 2, 3, 4)", "range takes 1 to 3 arguments, not 4", None),
        ("matches(x, '(a+)+')", "an unbounded repeat inside another is not allowed in a pattern", None),
        ("a && b", '"&&" has no meaning in an expression', 'write "and"'),
        ("a || b", '"||" has no meaning in an expression', 'write "or"'),
        ("!a", '"!" has no meaning in an expression', 'write "not"'),
        ("a = 1", '"=" has no meaning in an expression', 'write "==" to compare'),
        ("a === 1", '"===" has no meaning in an expression', 'write "=="'),
        ("a <> 1", '"<>" has no meaning in an expression', 'write "!="'),
        ("a ? b : c", '"?" has no meaning in an expression', 'write "a if condition else b"'),
        ("(a := 1)", '":=" has no meaning in an expression', "an expression cannot assign a value"),
        ("${{ a }}", '"$" has no meaning in an expression', "remove the braces"),
        ("{{ a }}", '"{{" has no meaning in an expression', "remove the braces"),
        ("{'a': 1}", '"{" has no meaning in an expression', "maps cannot be written in an expression"),
        ("x | length", '"|" has no meaning in an expression', None),
        ("2 ** 3", '"**" has no meaning in an expression', None),
        ("a # b", '"#" has no meaning in an expression', None),
        ("é", '"é" has no meaning in an expression', None),
        ("a\x00", '"\x00" has no meaning in an expression', None),
        ("True", '"True" is not a value', 'write "true"'),
        ("None", '"None" is not a value', 'write "null"'),
        ("_x", '"_x" is not a valid name; names cannot begin with "_"', None),
        ("a.__class__", '"__class__" is not a valid name; names cannot begin with "_"', None),
        ("0x10", '"0x10" is not a decimal number', None),
        ("1_000", '"1_000" is not a decimal number', None),
        ("1j", '"1j" is not a decimal number', None),
        (".5", '".5" is not a decimal number', None),
        ("-.5", '".5" is not a decimal number', None),
        ("1e999", "this number is too big", None),
        (str(MAX_INT + 1), "this number is too big", None),
        ("9" * 400, "this number is too big", None),
        ("+a", '"+" before a value is not allowed', None),
        ("f'x'", 'the prefix "f" of a text is not allowed', None),
        ("b'x'", 'the prefix "b" of a text is not allowed', None),
        ("'a' 'b'", "two texts follow each other", "a comma may be missing"),
        ("'''a'''", "two texts follow each other", "a comma may be missing"),
        ("'abc", "this quote is not closed on the same line", None),
        ("'a\nb'", "this quote is not closed on the same line", None),
        (r"'\d'", r'"\d" is not a valid escape', "write r'...' to keep backslashes"),
        ("[x for x in y]", "comprehensions are not allowed", None),
        ("len(x for x in y)", "comprehensions are not allowed", None),
        ("lambda: 1", "functions cannot be defined in an expression", None),
        ("a in (1, 2)", "a list needs square brackets", "write [a, b]"),
        ("len(*a)", '"*" is not allowed here', None),
        ("a[1:2:3]", "a slice has a start and an end, and no step", None),
        ("a is null", '"is" is not an operator', 'write "==" or "!="'),
        ("a is not b", '"is" is not an operator', 'write "==" or "!="'),
        ("a if b", '"if" needs "else"', 'write "a if condition else b"'),
        ("(a", '"(" has no matching bracket', None),
        ("a)", '")" has no matching bracket', None),
        ("a +", "the expression is incomplete", None),
        ("a b", 'unexpected "b"', None),
        ("[a b]", 'unexpected "a"', "a comma may be missing"),
        ("", "the expression is empty", None),
        (" \n ", "the expression is empty", None),
        ("x" * 2001, "this expression has 2001 characters; at most 2000 are allowed", None),
        ("(" * 51 + "a" + ")" * 51, "brackets are nested more than 50 deep", None),
        ("a" + ".b" * 200, "this expression has more than 200 parts", None),
        ("-" * 1999 + "a", "this expression has more than 200 parts", None),
        ("not " * 499 + "a", "this expression has more than 200 parts", None),
        ("1<(" * 30 + "1" + ")<1" * 30, "this expression has more than 200 parts", None),
    ],
)
def test_python_syntax_outside_the_language_is_refused_with_a_hint(
    text: str, message: str, hint: str | None
) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_expression(text)

    assert raised.value.message == message
    if hint is not None:
        assert raised.value.hint == hint


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a && b", 1, 3),
        ("  a && b", 1, 5),
        ("a\n  and b\n  && c", 3, 3),
        ("a and open('x')", 1, 7),
        ("'é' == x.__y__", 1, 8),
        ("\n\n  True", 3, 3),
        (r"x == 'ab\d'", 1, 9),
    ],
)
def test_an_error_has_its_line_and_column(text: str, line: int, column: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_expression(text)

    assert (raised.value.line, raised.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("", ""),
        ("${{ a }}", Name("a")),
        ("${{a}}", Name("a")),
        ("x ${{ a }} y", Text(("x ", Name("a"), " y"))),
        ("${{ a }}${{ b }}", Text((Name("a"), Name("b")))),
        (" ${{ a }}", Text((" ", Name("a")))),
        ("$${{ a }}", "${{ a }}"),
        ("$$${{ a }}", "$${{ a }}"),
        ("$${{ a }} ${{ a }}", Text(("${{", " a }} ", Name("a")))),
        ("${{ '}}' }}", Const("}}")),
        ("${{ '\\'}}' }}", Const("'}}")),
        ('${{ "}}" }}!', Text((Const("}}"), "!"))),
        ("it's ${{ a }}", Text(("it's ", Name("a")))),
        ("$ {{ a }}", "$ {{ a }}"),
        ("${ a }", "${ a }"),
        ("${{ a }}$", Text((Name("a"), "$"))),
        ("${{ a }}$${{ a }}", Text((Name("a"), "${{", " a }}"))),
        ("${{ a\n and b }}", And((Name("a"), Name("b")))),
    ],
)
def test_a_value_with_inserts_is_parsed(text: str, expected: object) -> None:
    assert parse_value(text) == expected


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("a ${{ b", '"${{" is not closed', 1, 3),
        ("a ${{ b }", '"${{" is not closed', 1, 3),
        ("${{ b' }}", 'a quote inside "${{ }}" is not closed', 1, 6),
        ("${{ }}", "the expression is empty", 1, 5),
        ("${{ {'a': {}} }}", '"{" has no meaning in an expression', 1, 5),
        ("${{ a } }}", '"}" has no meaning in an expression', 1, 7),
        ("x\ny ${{ a && b }}", '"&&" has no meaning in an expression', 2, 9),
        ("${{ a }}" * 201, "this text has more than 200 inserts", 1, 1601),
    ],
)
def test_an_invalid_insert_is_refused_at_its_place(text: str, message: str, line: int, column: int) -> None:
    with pytest.raises(ExpressionError) as raised:
        parse_value(text)

    assert raised.value.message == message
    assert (raised.value.line, raised.value.column) == (line, column)


@pytest.mark.parametrize(
    ("text", "insert", "jinja"),
    [
        ("plain", False, False),
        ("${{ a }}", True, False),
        ("$${{ a }}", False, False),
        ("{{ a }}", False, True),
        ("${{ a }} {{ b }}", True, True),
        ("{% if a %}", False, True),
        ("{{ never closed", False, False),
        ("100% {x}", False, False),
    ],
)
def test_braces_show_whether_a_text_has_inserts_or_is_a_prompt(text: str, insert: bool, jinja: bool) -> None:
    assert has_insert(text) is insert
    assert has_jinja(text) is jinja


@pytest.mark.parametrize("giving_up", [MemoryError, RecursionError])
def test_a_text_that_exhausts_pythons_parser_is_refused(
    monkeypatch: pytest.MonkeyPatch, giving_up: type[Exception]
) -> None:
    """The limit differs between versions of Python, so no single text reaches it in all of them."""

    def parse(text: str, mode: str) -> None:
        raise giving_up

    monkeypatch.setattr(ast, "parse", parse)

    with pytest.raises(ExpressionError, match="200 parts"):
        parse_expression("a")


@given(nodes())
def test_an_expression_is_the_same_after_writing_and_parsing(node: Node) -> None:
    text = written(node)
    if len(text) > 2000 or len(list(walk(node))) > MAX_NODES:
        return
    error = refusal(parse_expression, text)
    if error is None:
        assert written(parse_expression(text)) == written(folded(node))
    else:
        assert re.search("pattern|parts|deep", error.message)


@given(st.text(alphabet="abx.['\"]()1 +-=!<>&|{}$#\\\n,_", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    for error in (refusal(parse_expression, text), refusal(parse_value, text)):
        assert error is None or (error.line >= 1 and error.column >= 1)


def refusal(parse: Callable[[str], object], text: str) -> ExpressionError | None:
    try:
        parse(text)
    except ExpressionError as error:
        return error
    return None
