"""Random values and expressions, and the text of an expression, for the tests of expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, assert_never, cast, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from podium.core.expressions.functions import ARITY
from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    Field,
    IfElse,
    Item,
    Json,
    ListOf,
    MissingValue,
    Name,
    Negate,
    Node,
    Not,
    Or,
)
from podium.core.expressions.operators import ArithmeticSign, CompareSign

WORDS = st.sampled_from(["steps", "inputs", "item", "with", "import", "a1", "class", "title"])

scalars: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
)
values: SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)

# Text that means something in expressions is more likely.
constants: SearchStrategy[Any] = scalars.map(Const) | st.sampled_from(
    ["plan", "1", "true", "[1]", "a b"]
).map(Const)


def nodes() -> SearchStrategy[Any]:
    return st.recursive(constants | WORDS.map(Name), _larger, max_leaves=12)


def _larger(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(
        st.builds(Field, inner, WORDS),
        st.builds(Item, inner, inner),
        st.builds(Not, inner),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(Compare, st.sampled_from(get_args(CompareSign)), inner, inner),
        st.builds(Arith, st.sampled_from(get_args(ArithmeticSign)), inner, inner),
        st.builds(Negate, inner),
        st.builds(IfElse, inner, inner, inner),
        st.builds(ListOf, st.lists(inner, max_size=3).map(tuple)),
        _calls(inner),
    )


def _calls(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    def call(name: str) -> SearchStrategy[Any]:
        least, most = ARITY[name]
        args = st.lists(inner, min_size=least, max_size=3 if most is None else most)
        return st.builds(Call, st.just(name), args.map(tuple))

    return st.sampled_from(sorted(ARITY)).flatmap(call)


def written(node: Node) -> str:
    """The expression as text, with all brackets that could matter."""
    match node:
        case Const(value):
            return _literal(value)
        case Name(name):
            return name
        case Field(of, name):
            return f"({written(of)}).{name}"
        case Item(of, index):
            return f"({written(of)})[{written(index)}]"
        case Not(of):
            return f"(not {written(of)})"
        case And(terms) | Or(terms):
            word = " and " if isinstance(node, And) else " or "
            return f"({word.join(written(term) for term in terms)})"
        case Compare(op, left, right) | Arith(op, left, right):
            return f"({written(left)} {op} {written(right)})"
        case Negate(of):
            return f"(-({written(of)}))"
        case IfElse(test, then, other):
            return f"({written(then)} if {written(test)} else {written(other)})"
        case ListOf(items):
            return f"[{', '.join(written(item) for item in items)}]"
        case Call(function, args):
            return f"{function}({', '.join(written(arg) for arg in args)})"
        case _:
            assert_never(node)


def folded(node: Node) -> Node:
    """The expression as the parser returns it: a sign before a number is part of the number."""
    match node:
        case Negate(Const(int() | float() as value)) if not isinstance(value, bool) and repr(value)[0] != "-":
            return Const(-value)
    changes = {field.name: _folded_part(getattr(node, field.name)) for field in fields(node)}
    return replace(node, **changes)


def _folded_part(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(folded(inner) for inner in part)
    return folded(cast(Node, part)) if is_dataclass(part) else part


def _literal(value: object) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return f"'{escaped}'"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


class Values:
    """Names with fixed values, and facts for some existing paths."""

    def __init__(self, values: Mapping[str, Any], files: tuple[str, ...] = ()) -> None:
        self.known = values
        self.files = files

    def lookup(self, name: str) -> Json:
        if name not in self.known:
            raise MissingValue(f"there is no {name}")
        value: Json = self.known[name]
        return value

    def fact(self, query: tuple[str, str]) -> Json:
        function, argument = query
        if function == "exists":
            return argument in self.files
        return tuple(self.files)


class LazyMap(Mapping[str, Any]):
    """A map that records which keys are read."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self.known = known
        self.asked: list[str] = []

    def __getitem__(self, key: str) -> Any:
        self.asked.append(key)
        return self.known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.known)

    def __len__(self) -> int:
        return len(self.known)
