"""Finds at load time what an expression gives, and what in it can never work.

Only what is certain is a problem: where a type is not known (ANY), nothing is said. A field that may be absent
must stand inside `default(x, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, TypeAlias, assert_never

from podium.core.expressions.functions import ARITY, check_arity
from podium.core.expressions.nodes import (
    And,
    Arith,
    Call,
    Compare,
    Const,
    Field,
    IfElse,
    Item,
    Name,
    Negate,
    Node,
    Not,
    Or,
    show,
)
from podium.core.expressions.nodes import ListOf as ListNode
from podium.core.expressions.values import ExprError, Kind, phrase
from podium.core.fast_dataclass import dataclass
from podium.errors import ConfigurationError
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
    Simple,
    Type,
)
from podium.workflow.problems import did_you_mean

TypeOfName: TypeAlias = Callable[[str], Type]
"""The type of a name; raises TypeProblem for one that does not exist."""


_KINDS: Final[Mapping[str, Kind]] = {
    "null": "null",
    "bool": "boolean",
    "int": "number",
    "number": "number",
    "text": "text",
}
_PLURALS: Final[Mapping[Kind, str]] = {
    "number": "numbers",
    "boolean": "booleans",
    "text": "texts",
    "list": "lists",
    "map": "maps",
}


class TypeProblem(ConfigurationError):
    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint or None)


def infer(node: Node, type_of_name: TypeOfName) -> Type:
    return _infer(node, type_of_name, lenient=False)


def check_condition(node: Node, type_of_name: TypeOfName, key: str = "a condition") -> None:
    """For what must be true or false: `when`, `check`, `until`, `while`, `where`."""
    _need_bool(infer(node, type_of_name), key)


def kind(described: Type) -> Kind | None:
    """None if it can be anything."""
    match described:
        case Simple(word):
            return _KINDS.get(word)
        case Choice():
            return "text"
        case ListOf():
            return "list"
        case MapOf():
            return "map"
        case _:
            assert_never(described)


def join(first: Type, second: Type) -> Type:
    """The type of a value that is one or the other."""
    if first == second:
        return first
    if isinstance(first, ListOf) and isinstance(second, ListOf):
        return ListOf(join(first.of, second.of))
    if isinstance(first, Choice) and isinstance(second, Choice):
        return Choice(tuple(dict.fromkeys((*first.values, *second.values))))
    same: dict[Kind | None, Type] = {"number": NUMBER, "text": TEXT, "map": ANY_MAP}
    return same.get(kind(first), ANY) if kind(first) == kind(second) else ANY


def _infer(node: Node, names: TypeOfName, *, lenient: bool) -> Type:
    """`lenient` inside the first argument of default(), where a value may be absent."""
    match node:
        case Const(value):
            return _constant(value)
        case Name(name):
            return names(name)
        case Field(of, name):
            return _field(_infer(of, names, lenient=lenient), name, show(of), lenient=lenient)
        case Item():
            return _item(node, names, lenient=lenient)
        case Not(of):
            _need_bool(_infer(of, names, lenient=lenient), '"not"')
            return BOOL
        case And(terms) | Or(terms):
            for term in terms:
                _need_bool(_infer(term, names, lenient=lenient), '"and"' if isinstance(node, And) else '"or"')
            return BOOL
        case Compare():
            return _compare(node, names, lenient=lenient)
        case Arith(op, left, right):
            pair = [_number(_infer(side, names, lenient=lenient), op) for side in (left, right)]
            return INT if pair == [INT, INT] and op != "/" else NUMBER
        case Negate(of):
            return _number(_infer(of, names, lenient=lenient), "-")
        case IfElse(test, then, other):
            _need_bool(_infer(test, names, lenient=lenient), '"if"')
            return join(_infer(then, names, lenient=lenient), _infer(other, names, lenient=lenient))
        case ListNode(items):
            found = [_infer(item, names, lenient=lenient) for item in items]
            return ListOf(reduce(join, found)) if found else ANY_LIST
        case Call():
            return _call(node, names, lenient=lenient)
        case _:
            assert_never(node)


def _constant(value: bool | int | float | str | None) -> Type:
    if value is None:
        return NULL
    types: Mapping[type, Type] = {bool: BOOL, int: INT, float: NUMBER, str: TEXT}
    return types[type(value)]


def _field(of: Type, name: str, called: str, *, lenient: bool) -> Type:
    if isinstance(of, MapOf):
        if name in of.fields:
            if name in of.optional and not lenient:
                raise TypeProblem(f"{called}.{name} may be absent; use default({called}.{name}, ...)")
            return of.fields[name]
        if of.open:
            return of.rest
        raise TypeProblem(f'{of.name or called} has no field "{name}"', did_you_mean(name, of.fields))
    if kind(of) is not None:
        raise TypeProblem(f'{called} is {_phrase(of)} and has no field "{name}"')
    return ANY


def _item(node: Item, names: TypeOfName, *, lenient: bool) -> Type:
    of, index = _infer(node.of, names, lenient=lenient), _infer(node.index, names, lenient=lenient)
    if isinstance(node.index, Const) and isinstance(node.index.value, str):
        return _field(of, node.index.value, show(node.of), lenient=lenient)
    if kind(of) not in (None, "list", "map") or kind(index) not in (None, "number", "text"):
        raise TypeProblem(f"{_phrase(index)} cannot select from {_phrase(of)}")
    if isinstance(of, ListOf):
        if kind(index) == "text" or index == NUMBER:
            raise TypeProblem("an element of a list is selected by a whole number")
        return of.of
    if isinstance(of, MapOf):
        if kind(index) == "number":
            raise TypeProblem("a field of a map is selected by text")
        return of.rest if of.open and not of.fields else ANY
    return ANY


def _compare(node: Compare, names: TypeOfName, *, lenient: bool) -> Type:
    left, right = (_infer(side, names, lenient=lenient) for side in (node.left, node.right))
    if node.op in ("in", "not in"):
        _check_in(left, right)
    else:
        _check_comparable(left, right, ordered=node.op not in ("==", "!="))
        _check_choice(left, node.right)
        _check_choice(right, node.left)
    return BOOL


def _check_comparable(left: Type, right: Type, *, ordered: bool) -> None:
    kinds = {kind(left), kind(right)} - {None}
    if ordered and not kinds <= {"number", "text"}:
        wrong = left if kind(left) not in (None, "number", "text") else right
        raise TypeProblem(f"{_phrase(wrong)} has no order; only numbers and texts have")
    if not ordered:
        kinds -= {"null"}
    if len(kinds) > 1:
        raise TypeProblem(f"cannot compare {_phrase(left)} with {_phrase(right)}")


def _check_choice(described: Type, other: Node) -> None:
    match described, other:
        case Choice(values), Const(str(word)) if word not in values:
            raise TypeProblem(f'"{word}" is not one of {", ".join(values)}', did_you_mean(word, values))


def _check_in(part: Type, whole: Type) -> None:
    if isinstance(whole, ListOf):
        _check_comparable(part, whole.of, ordered=False)
    elif kind(whole) is not None and (kind(whole) not in ("text", "map") or kind(part) not in (None, "text")):
        raise TypeProblem(f"cannot look for {_phrase(part)} in {_phrase(whole)}")


def _number(described: Type, sign: str) -> Type:
    if kind(described) not in (None, "number"):
        hint = 'texts are put together with "${{ }}" or join([a, b])' if sign == "+" else ""
        raise TypeProblem(f'"{sign}" needs numbers, not {_phrase(described)}', hint)
    return INT if described == INT else NUMBER


def _need_bool(described: Type, where: str) -> None:
    if kind(described) not in (None, "boolean"):
        raise TypeProblem(f"{where} needs true or false, not {_phrase(described)}")


def _phrase(described: Type) -> str:
    found = kind(described)
    if isinstance(described, ListOf):
        inner = kind(described.of)
        return "a list" if inner is None or inner == "null" else f"a list of {_PLURALS[inner]}"
    return "a value" if found is None else phrase(found)


@dataclass(frozen=True, slots=True)
class _Signature:
    """What each argument must be, the last one for all that follow, and what comes out."""

    wants: tuple[tuple[Type, ...], ...]
    gives: Type


_TEXT: Final = (TEXT,)
_LIST: Final = (ANY_LIST,)
_SCALARS: Final = (ListOf(TEXT), ListOf(NUMBER), ListOf(BOOL))

_SIGNATURES: Final[Mapping[str, _Signature]] = {
    "len": _Signature(((TEXT, ANY_LIST, ANY_MAP),), INT),
    "sum": _Signature(((ListOf(NUMBER),),), NUMBER),
    "any": _Signature(((ListOf(BOOL),),), BOOL),
    "all": _Signature(((ListOf(BOOL),),), BOOL),
    "lower": _Signature((_TEXT,), TEXT),
    "upper": _Signature((_TEXT,), TEXT),
    "strip": _Signature((_TEXT,), TEXT),
    "split": _Signature((_TEXT, _TEXT), ListOf(TEXT)),
    "join": _Signature((_SCALARS, _TEXT), TEXT),
    "lines": _Signature((_TEXT,), ListOf(TEXT)),
    "json": _Signature((_TEXT,), ANY),
    "number": _Signature((_TEXT,), NUMBER),
    "slug": _Signature((_TEXT,), TEXT),
    "range": _Signature(((NUMBER,),), ListOf(INT)),
    "unique": _Signature((_LIST,), ANY_LIST),
    "exists": _Signature((_TEXT,), BOOL),
    "glob": _Signature((_TEXT,), ListOf(TEXT)),
    "touched": _Signature((_TEXT,), BOOL),
    "matches": _Signature((_TEXT, _TEXT), BOOL),
}


_UNKNOWN: Final = _Signature(((ANY,),), ANY)


def _call(node: Call, names: TypeOfName, *, lenient: bool) -> Type:
    try:
        check_arity(node.function, len(node.args))
    except ExprError as error:
        raise TypeProblem(str(error), did_you_mean(node.function, ARITY)) from error
    if node.function == "default":
        first = _infer(node.args[0], names, lenient=True)
        second = _infer(node.args[1], names, lenient=lenient)
        return second if first == NULL else join(first, second)
    given = [_infer(arg, names, lenient=lenient) for arg in node.args]
    if node.function in ("min", "max"):
        return _extreme(node.function, given)
    # Compiled features call functions of their own, which no author can name and nothing here describes.
    signature = _SIGNATURES.get(node.function, _UNKNOWN)
    for place, described in enumerate(given):
        wants = signature.wants[min(place, len(signature.wants) - 1)]
        if not any(_fits(described, want) for want in wants):
            raise TypeProblem(f"{node.function} needs {_wanted(wants)}, not {_phrase(described)}")
    return given[0] if node.function == "unique" and isinstance(given[0], ListOf) else signature.gives


def _extreme(function: str, given: list[Type]) -> Type:
    """min and max take several values or one list of them."""
    if len(given) == 1 and kind(given[0]) not in (None, "list"):
        raise TypeProblem(f"{function} needs a list or several values, not {_phrase(given[0])}")
    elements = [given[0].of if isinstance(given[0], ListOf) else ANY] if len(given) == 1 else given
    for described in elements:
        _check_comparable(elements[0], described, ordered=True)
    return reduce(join, elements)


def _fits(described: Type, want: Type) -> bool:
    if want == ANY:
        return True
    if isinstance(described, ListOf) and isinstance(want, ListOf):
        return kind(described.of) is None or kind(want.of) is None or kind(described.of) == kind(want.of)
    return kind(described) in (None, kind(want))


def _wanted(wants: tuple[Type, ...]) -> str:
    return " or ".join(_phrase(want) for want in wants)
