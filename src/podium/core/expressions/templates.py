"""Values with `${{ }}` inserts, which are filled in during the run, and the names that they read.

A value that is exactly one insert keeps its type. Inside a text an insert is converted to text, which is never parsed
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import NoneType
from typing import Final, TypeAlias, assert_never

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
    Names,
    Negate,
    Node,
    Not,
    Or,
    evaluate,
)
from podium.core.expressions.values import MAX_TEXT, Json, Meter, MissingValue, TooBig, as_text, is_list
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    parts: tuple[str | Node, ...]


Value: TypeAlias = "bool | int | float | str | Text | Node | Sequence[Value] | Mapping[str, Value] | None"

_NODES = (Const, Name, Field, Item, Not, And, Or, Compare, Arith, Negate, IfElse, ListOf, Call)
_PLAIN: Final = frozenset({NoneType, bool, int, float, str})
"""Most values have no inserts, and this look-up takes a tenth of the tests that follow it."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A name that a value reads, as a chain: `steps.plan.output.title` has four parts. `optional`: it has a default."""

    chain: tuple[str, ...]
    optional: bool = False


def fill(value: Value, names: Names) -> Json:
    """The value with every insert evaluated; raises ExprError, or NeedFact if `names` does."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Text):
        return _fill_text(value, names)
    if isinstance(value, _NODES):
        return evaluate(value, names)
    if isinstance(value, Mapping):
        return {key: fill(inner, names) for key, inner in value.items()}
    return tuple([inner if type(inner) is str else fill(inner, names) for inner in value])


def fill_argv(values: Iterable[Value], names: Names) -> tuple[str, ...]:
    """The arguments of a command; an element that is exactly one insert and yields a list becomes several arguments."""
    argv: list[str] = []
    for value in values:
        if type(value) is str and len(value) <= MAX_TEXT:
            argv.append(value)
            continue
        filled = fill(value, names)
        if isinstance(value, _NODES) and is_list(filled):
            argv.extend(as_text(item, Meter()) for item in filled)
        else:
            argv.append(as_text(filled, Meter()))
    return tuple(argv)


def references(value: Value) -> tuple[Reference, ...]:
    """The names that the value reads, in order, each once."""
    return tuple(
        dict.fromkeys(reference for node in _nodes(value) for reference in _reads(node, optional=False))
    )


def calls(value: Value) -> tuple[str, ...]:
    """The functions that the value calls, in order, each once."""
    return tuple(
        dict.fromkeys(node.function for top in _nodes(value) for node in walk(top) if isinstance(node, Call))
    )


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: Node) -> tuple[Node, ...]:
    match node:
        case Const() | Name():
            return ()
        case Field(of) | Not(of) | Negate(of):
            return (of,)
        case Item(of, index):
            return (of, index)
        case And(nodes) | Or(nodes) | ListOf(nodes) | Call(_, nodes):
            return nodes
        case Compare(_, left, right) | Arith(_, left, right):
            return (left, right)
        case IfElse(test, then, other):
            return (test, then, other)
        case _:
            assert_never(node)


def chain_of(node: Node) -> tuple[str, ...] | None:
    """The names of a chain such as `a.b` or `steps["plan"].output`; None for any other node."""
    match node:
        case Name(name):
            return (name,)
        case Field(of, name) | Item(of, Const(str(name))):
            chain = chain_of(of)
            return None if chain is None else (*chain, name)
        case _:
            return None


def _fill_text(value: Text, names: Names) -> str:
    meter = Meter()
    texts: list[str] = []
    size = 0
    for part in value.parts:
        texts.append(part if isinstance(part, str) else _insert(part, names, meter))
        size += len(texts[-1])
        if size > MAX_TEXT:
            raise TooBig(f"the text has more than {MAX_TEXT} characters")
    return "".join(texts)


def _insert(node: Node, names: Names, meter: Meter) -> str:
    filled = evaluate(node, names)
    if filled is None:
        raise MissingValue(
            f"{'.'.join(chain_of(node) or ('the value',))} is null, which cannot be inserted into a text"
        )
    return as_text(filled, meter)


def _nodes(value: Value) -> Iterator[Node]:
    if type(value) in _PLAIN:
        return
    if isinstance(value, _NODES):
        yield value
    elif isinstance(value, Text):
        yield from (part for part in value.parts if not isinstance(part, str))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _nodes(inner)
    else:
        assert isinstance(value, Sequence)
        for inner in value:
            if type(inner) is not str:
                yield from _nodes(inner)


def _reads(node: Node, *, optional: bool) -> Iterator[Reference]:
    chain = chain_of(node)
    if chain is not None:
        yield Reference(chain, optional)
        return
    if isinstance(node, Call) and node.function == "touched":
        yield Reference(("change", "paths"), optional)
    for place, child in enumerate(children(node)):
        guarded = isinstance(node, Call) and node.function == "default" and place == 0
        yield from _reads(child, optional=optional or guarded)
