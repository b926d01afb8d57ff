"""Small expressions and steps for random workflows."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from podium.core.expressions.nodes import Arith, Call, Compare, Const, Field, Name, Node
from podium.core.model import Agent, Output, Step
from podium.core.policy import Estimate
from podium.core.step_settings import Prompt
from podium.core.types import ACTIONS, MicroUsd

VARS: Final = ("a", "b", "c")


def field_of(name: str, field: str = "", *, item: bool = False) -> Node:
    """`item.k`, or `default(steps.x.field, "none")`."""
    if item:
        return Field(Name("item"), name)
    return Call("default", (Field(Field(Name("steps"), name), field), Const("none")))


def var(name: str) -> Node:
    return Field(Name("vars"), name)


def plus_one(name: str) -> Node:
    return Arith("+", var(name), Const(1))


def number_test() -> Node:
    """True for every other item."""
    return Compare("==", Arith("%", Name("item"), Const(2)), Const(0))


def less(left: Node, bound: int) -> Node:
    return Compare("<", left, Const(bound))


def is_word(left: Node, word: str) -> Node:
    return Compare("==", left, Const(word))


def exists(path: str) -> Node:
    return Call("exists", (Const(path),))


def found(pattern: str) -> Node:
    return Compare(">", Call("len", (Call("glob", (Const(pattern),)),)), Const(1))


DECISION: Final = MappingProxyType(
    {
        "type": "object",
        "required": ["action", "guidance"],
        "properties": {"action": {"enum": list(ACTIONS["!advice"])}, "guidance": {"type": "string"}},
    }
)
ADVISOR: Final = Step(
    "advisor",
    Agent(role="advisor", prompt=Prompt("What now?"), estimate=Estimate(MicroUsd(5_000), 10)),
    output=Output("schema", DECISION, "Decision"),
    touches=(),
)
