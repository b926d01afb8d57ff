"""Explains failed `check` steps with their expression, which the events do not contain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    Field,
    IfElse,
    Item,
    ListOf,
    Name,
    Negate,
    Node,
    Not,
    Or,
)
from podium.core.model import Check
from podium.core.state import State
from podium.views.plain import one_line
from podium.views.run.view import RunView, StepView, with_messages


def with_checks(view: RunView, state: State) -> RunView:
    """The view with the expression of each failed check, also as the message of a run that failed because of one."""
    failed = [step for step in view.steps if step.outcome == "failed" and not step.message]
    texts = {step.path: text for step in failed if (text := _check_text(step, state))}
    return with_messages(view, texts)


def expression_text(node: Node) -> str:
    """The text of an expression, close to how the file spells it."""
    match node:
        case Const(value):
            return _literal(value)
        case Name(name):
            return name
        case Field(of, name):
            return f"{_operand(of)}.{name}"
        case Item(of, index):
            return f"{_operand(of)}[{expression_text(index)}]"
        case Not(of):
            return f"not {_operand(of)}"
        case Negate(of):
            return f"-{_operand(of)}"
        case And(terms):
            return _join_operands(" and ", terms, Compare)
        case Or(terms):
            return _join_operands(" or ", terms, Compare)
        case Compare(op, left, right):
            return _join_operands(f" {op} ", (left, right), Arith, Negate)
        case Arith(op, left, right):
            return _join_operands(f" {op} ", (left, right))
        case IfElse(test, then, other):
            return f"{_operand(then)} if {_operand(test, Compare)} else {_operand(other)}"
        case ListOf(items):
            return f"[{', '.join(map(expression_text, items))}]"
        case Call(function, args):
            return f"{function}({', '.join(map(expression_text, args))})"
        case _:
            assert_never(node)


def _check_text(step: StepView, state: State) -> str:
    """The expression of a check that failed; "" for any other step."""
    instance = state.instances.get(step.path)
    if instance is None or not isinstance(instance.place.step.verb, Check):
        return ""
    definition = instance.place.step
    assert isinstance(definition.verb, Check)
    line = f" (line {definition.line})" if definition.line else ""
    return f"not true: {one_line(expression_text(definition.verb.test), 300)}{line}"


def _join_operands(sign: str, terms: Iterable[Node], *bare: type) -> str:
    return sign.join(_operand(term, *bare) for term in terms)


def _operand(node: Node, *bare: type) -> str:
    """The text of an operand, in brackets unless they are not needed; `bare` are further types without brackets."""
    is_simple = isinstance(node, (Const, Name, Field, Item, Call, ListOf, *bare))
    return expression_text(node) if is_simple else f"({expression_text(node)})"


def _literal(value: Any) -> str:
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else repr(value)
    )
