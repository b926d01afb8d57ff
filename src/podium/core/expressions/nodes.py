"""Evaluates expressions: names, fields, comparisons and a fixed set of functions over JSON values.

Rule 1: fields are looked up in maps, never in objects. Rule 2: values are never converted. Rule 3: an expression has
no loop and at most 200 parts, and the work of its functions is metered, so every evaluation ends soon.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, assert_never

from podium.core.expressions.functions import call, check_arity, touched
from podium.core.expressions.operators import (
    ArithmeticSign,
    CompareSign,
    arithmetic,
    compare,
    field,
    item,
    number,
    truth,
)
from podium.core.expressions.values import (
    ExprError,
    Json,
    Meter,
    MissingValue,
    TooBig,
    WrongType,
    bounded,
    text_of,
)
from podium.fast_dataclass import dataclass

__all__ = [
    "And", "Arith", "Call", "Compare", "Const", "ExprError", "Field", "IfElse", "Item", "Json", "ListOf", "MissingValue",
    "Name", "Names", "NeedFact", "Negate", "Node", "Not", "Or", "TooBig", "WrongType", "evaluate", "show",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Const:
    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Name:
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    of: Node
    name: str


@dataclass(frozen=True, slots=True)
class Item:
    of: Node
    index: Node


@dataclass(frozen=True, slots=True)
class Not:
    of: Node


@dataclass(frozen=True, slots=True)
class And:
    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    op: CompareSign
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Arith:
    op: ArithmeticSign
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Negate:
    of: Node


@dataclass(frozen=True, slots=True)
class IfElse:
    test: Node
    then: Node
    other: Node


@dataclass(frozen=True, slots=True)
class ListOf:
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    args: tuple[Node, ...]


Node: TypeAlias = (
    Const | Name | Field | Item | Not | And | Or | Compare | Arith | Negate | IfElse | ListOf | Call
)


class NeedFact(Exception):
    """The expression needs a fact about the project's files; evaluate it again when the fact is known."""

    def __init__(self, query: tuple[str, str]) -> None:
        super().__init__(query)
        self.query = query


class Names(Protocol):
    """The names and facts that an expression can read."""

    def lookup(self, name: str) -> Json:
        """The value of a name; raises MissingValue."""
        ...

    def fact(self, query: tuple[str, str]) -> Json:
        """The answer to ("exists", path) or ("glob", pattern); raises NeedFact if it is not known yet."""
        ...


def evaluate(node: Node, names: Names) -> Json:
    """Evaluate an expression; raises ExprError, or NeedFact if `names` does."""
    return bounded(_value(node, names, Meter()))


def _value(node: Node, names: Names, meter: Meter) -> Json:
    meter.enter()
    match node:
        case Const(value):
            return value
        case Name(name):
            return names.lookup(name)
        case Field(of, name):
            return field(_value(of, names, meter), name, lambda: show(of))
        case Item(of, index):
            return item(_value(of, names, meter), _value(index, names, meter), lambda: show(of))
        case Compare(op, left, right):
            return compare(op, _value(left, names, meter), _value(right, names, meter), meter)
        case Not(of):
            return not truth(_value(of, names, meter), '"not"')
        case And(terms):
            return all(truth(_value(term, names, meter), '"and"') for term in terms)
        case Or(terms):
            return any(truth(_value(term, names, meter), '"or"') for term in terms)
        case Call():
            return _call(node, names, meter)
        case Arith(op, left, right):
            return arithmetic(op, _value(left, names, meter), _value(right, names, meter))
        case Negate(of):
            return -number(_value(of, names, meter), "-")
        case IfElse(test, then, other):
            return _value(then if truth(_value(test, names, meter), '"if"') else other, names, meter)
        case ListOf(items):
            return tuple(_value(element, names, meter) for element in items)
        case _:
            assert_never(node)


def _call(node: Call, names: Names, meter: Meter) -> Json:
    check_arity(node.function, len(node.args))
    if node.function == "default":
        try:
            first = _value(node.args[0], names, meter)
        except MissingValue:
            first = None
        return _value(node.args[1], names, meter) if first is None else first
    args = [_value(arg, names, meter) for arg in node.args]
    if node.function in ("exists", "glob"):
        return names.fact((node.function, text_of(args[0], node.function)))
    if node.function == "touched":
        return touched(field(names.lookup("change"), "paths", lambda: "change"), args, meter)
    return call(node.function, args, meter)


def show(node: Node) -> str:
    """The name of a value in a message, such as `steps.plan.output`."""
    match node:
        case Name(name):
            return name
        case Field(of, name):
            return f"{show(of)}.{name}"
        case Item(of, Const(index)):
            return f"{show(of)}[{index!r}]"
        case _:
            return "the value"
