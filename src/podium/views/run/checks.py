"""Why a `check` was not passed, in the words of its file: its events only tell that it was not."""

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
from podium.core.types import CONTINUING_OUTCOMES
from podium.views.plain import one_line
from podium.views.run.view import RunView, StepView


def with_checks(view: RunView, state: State) -> RunView:
    """The view with the expression of each check that was not true; a run that failed by one says so at its head."""
    steps = tuple(_worded(step, state) for step in view.steps)
    if view.status != "failed" or view.message:
        return view._replace(steps=steps)
    around = {step.parent for step in steps}
    bad = [
        step for step in steps if step.path not in around and step.outcome not in (None, *CONTINUING_OUTCOMES)
    ]
    last = max(reversed(bad), key=lambda step: step.ended or 0, default=None)
    is_why = last is not None and _is_check(last, state)
    return view._replace(steps=steps, message=f"{last.path}: {last.message}" if last and is_why else "")


def written(node: Node) -> str:
    """An expression much as its file says it, for people to read."""
    match node:
        case Const(value):
            return _literal(value)
        case Name(name):
            return name
        case Field(of, name):
            return f"{_inner(of)}.{name}"
        case Item(of, index):
            return f"{_inner(of)}[{written(index)}]"
        case Not(of):
            return f"not {_inner(of)}"
        case Negate(of):
            return f"-{_inner(of)}"
        case And(terms):
            return _joined(" and ", terms, Compare)
        case Or(terms):
            return _joined(" or ", terms, Compare)
        case Compare(op, left, right):
            return _joined(f" {op} ", (left, right), Arith, Negate)
        case Arith(op, left, right):
            return _joined(f" {op} ", (left, right))
        case IfElse(test, then, other):
            return f"{_inner(then)} if {_inner(test, Compare)} else {_inner(other)}"
        case ListOf(items):
            return f"[{', '.join(map(written, items))}]"
        case Call(function, args):
            return f"{function}({', '.join(map(written, args))})"
        case _:
            assert_never(node)


def _worded(step: StepView, state: State) -> StepView:
    if step.outcome != "failed" or step.message or not _is_check(step, state):
        return step
    definition = state.instances[step.path].place.step
    assert isinstance(definition.verb, Check)
    line = f" (line {definition.line})" if definition.line else ""
    return step._replace(message=f"not true: {one_line(written(definition.verb.test), 300)}{line}")


def _is_check(step: StepView, state: State) -> bool:
    instance = state.instances.get(step.path)
    return step.outcome == "failed" and instance is not None and isinstance(instance.place.step.verb, Check)


def _joined(sign: str, terms: Iterable[Node], *bare: type) -> str:
    return sign.join(_inner(term, *bare) for term in terms)


def _inner(node: Node, *bare: type) -> str:
    """What has parts of its own stands in brackets, unless nobody could misread it there."""
    is_whole = isinstance(node, (Const, Name, Field, Item, Call, ListOf, *bare))
    return written(node) if is_whole else f"({written(node)})"


def _literal(value: Any) -> str:
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else repr(value)
    )
