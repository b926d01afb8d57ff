"""Infers the type of an expression at load time, and finds parts of it that can never work.

Only what is certain is reported: an unknown type (ANY) is accepted everywhere. A field that may be absent must be
inside `default(x, y)`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Final, TypeAlias, assert_never

from podium.core.expressions.functions import ARITY, check_arity
from podium.core.expressions.list_functions import SIGNS
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
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.workflow.expressions.field_hints import field_hint
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
"""Returns the type of a name; raises TypeProblem for an unknown name."""


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
    """Checks that an expression is true or false, for `when`, `check`, `until`, `while` and `where`."""
    _need_bool(infer(node, type_of_name), key)


def kind(value_type: Type) -> Kind | None:
    """The kind of values of a type; None if they can be anything."""
    match value_type:
        case Simple(word):
            return _KINDS.get(word)
        case Choice():
            return "text"
        case ListOf():
            return "list"
        case MapOf():
            return "map"
        case _:
            assert_never(value_type)


def join(first: Type, second: Type) -> Type:
    """The type of a value that has one type or the other."""
    if first == second:
        return first
    if isinstance(first, ListOf) and isinstance(second, ListOf):
        return ListOf(join(first.of, second.of))
    if isinstance(first, Choice) and isinstance(second, Choice):
        return Choice(tuple(dict.fromkeys((*first.values, *second.values))))
    same: dict[Kind | None, Type] = {"number": NUMBER, "text": TEXT, "map": ANY_MAP}
    return same.get(kind(first), ANY) if kind(first) == kind(second) else ANY


def _infer(node: Node, names: TypeOfName, *, lenient: bool) -> Type:
    """`lenient` applies inside the first argument of default(), where a value may be absent."""
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
            types = [_infer(item, names, lenient=lenient) for item in items]
            return ListOf(reduce(join, types)) if types else ANY_LIST
        case Call():
            return _call(node, names, lenient=lenient)
        case _:
            assert_never(node)


def _constant(value: bool | int | float | str | None) -> Type:
    if value is None:
        return NULL
    types: Mapping[type, Type] = {bool: BOOL, int: INT, float: NUMBER, str: TEXT}
    return types[type(value)]


def _field(of: Type, name: str, owner: str, *, lenient: bool) -> Type:
    if isinstance(of, MapOf):
        if name in of.fields:
            if name in of.optional and not lenient:
                raise TypeProblem(f"{owner}.{name} may be absent; use default({owner}.{name}, ...)")
            return of.fields[name]
        if of.open:
            return of.other_type
        raise TypeProblem(f'{of.name or owner} has no field "{name}"', field_hint(name, of.fields))
    if kind(of) is not None:
        raise TypeProblem(f'{owner} is {_describe(of)} and has no field "{name}"')
    return ANY


def _item(node: Item, names: TypeOfName, *, lenient: bool) -> Type:
    of, index = _infer(node.of, names, lenient=lenient), _infer(node.index, names, lenient=lenient)
    if isinstance(node.index, Const) and isinstance(node.index.value, str):
        return _field(of, node.index.value, show(node.of), lenient=lenient)
    if kind(of) not in (None, "list", "map") or kind(index) not in (None, "number", "text"):
        raise TypeProblem(f"{_describe(index)} cannot be an index of {_describe(of)}")
    if isinstance(of, ListOf):
        if kind(index) == "text" or index == NUMBER:
            raise TypeProblem("the index of a list must be a whole number")
        return of.of
    if isinstance(of, MapOf):
        if kind(index) == "number":
            raise TypeProblem("the key of a map must be text")
        return of.other_type if of.open and not of.fields else ANY
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
        unordered = left if kind(left) not in (None, "number", "text") else right
        raise TypeProblem(f"{_describe(unordered)} cannot be ordered; only numbers and texts can")
    if not ordered:
        kinds -= {"null"}
    if len(kinds) > 1:
        raise TypeProblem(f"cannot compare {_describe(left)} with {_describe(right)}")


def _check_choice(value_type: Type, other: Node) -> None:
    match value_type, other:
        case Choice(values), Const(str(word)) if word not in values:
            raise TypeProblem(f'"{word}" is not one of {", ".join(values)}', did_you_mean(word, values))


def _check_in(part: Type, container: Type) -> None:
    if isinstance(container, ListOf):
        _check_comparable(part, container.of, ordered=False)
    elif kind(container) is not None and (
        kind(container) not in ("text", "map") or kind(part) not in (None, "text")
    ):
        raise TypeProblem(f"cannot look for {_describe(part)} in {_describe(container)}")


def _number(value_type: Type, sign: str) -> Type:
    if kind(value_type) not in (None, "number"):
        hint = 'combine texts with "${{ }}" or join([a, b])' if sign == "+" else ""
        raise TypeProblem(f'"{sign}" needs numbers, not {_describe(value_type)}', hint)
    return INT if value_type == INT else NUMBER


def _need_bool(value_type: Type, where: str) -> None:
    if kind(value_type) not in (None, "boolean"):
        raise TypeProblem(f"{where} needs true or false, not {_describe(value_type)}")


def _describe(value_type: Type) -> str:
    value_kind = kind(value_type)
    if isinstance(value_type, ListOf):
        inner = kind(value_type.of)
        return "a list" if inner is None or inner == "null" else f"a list of {_PLURALS[inner]}"
    return "a value" if value_kind is None else phrase(value_kind)


@dataclass(frozen=True, slots=True)
class _Signature:
    """The accepted types of each argument, where the last entry applies to all further arguments, and the result type."""

    accepts: tuple[tuple[Type, ...], ...]
    returns: Type


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
    "slug": _Signature((_TEXT, (INT,)), TEXT),
    "range": _Signature(((NUMBER,),), ListOf(INT)),
    "unique": _Signature((_LIST,), ANY_LIST),
    "exists": _Signature((_TEXT,), BOOL),
    "glob": _Signature((_TEXT,), ListOf(TEXT)),
    "touched": _Signature((_TEXT,), BOOL),
    "matches": _Signature((_TEXT, _TEXT), BOOL),
    "append": _Signature((_LIST, (ANY,)), ANY_LIST),
    "concat": _Signature((_LIST,), ANY_LIST),
    "slice": _Signature(((ANY_LIST, TEXT), (NUMBER, NULL)), ANY_LIST),
    "sort": _Signature((_LIST, _TEXT), ANY_LIST),
    "where": _Signature((_LIST, _TEXT, _TEXT, (ANY,)), ANY_LIST),
    "pluck": _Signature((_LIST, _TEXT), ANY_LIST),
    "keys": _Signature(((ANY_MAP,),), ListOf(TEXT)),
    "count": _Signature(((ANY_LIST, TEXT), (ANY,)), INT),
    "contains": _Signature(((ANY_LIST, TEXT, ANY_MAP), (ANY,)), BOOL),
    "replace": _Signature((_TEXT, _TEXT, _TEXT), TEXT),
    "batches": _Signature((_LIST, (NUMBER,)), ListOf(ANY_LIST)),
    "flatten": _Signature((_LIST,), ANY_LIST),
    "reverse": _Signature((_LIST,), ANY_LIST),
}


_BY_FIELD: Final = frozenset({"sort", "where", "pluck"})
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
    arg_types = [_infer(arg, names, lenient=lenient) for arg in node.args]
    if node.function in ("min", "max"):
        return _min_max_type(node.function, arg_types)
    # Compiled features call internal functions, which authors cannot use and which have no signature here.
    signature = _SIGNATURES.get(node.function, _UNKNOWN)
    for index, value_type in enumerate(arg_types):
        accepted = signature.accepts[min(index, len(signature.accepts) - 1)]
        if not any(_fits(value_type, option) for option in accepted):
            raise TypeProblem(f"{node.function} needs {_describe_any(accepted)}, not {_describe(value_type)}")
    return _list_result(node, arg_types) or signature.returns


def _list_result(node: Call, arg_types: list[Type]) -> Type | None:
    """The result of a function of lists, as far as the types of the elements are known."""
    first = arg_types[0]
    if node.function in _BY_FIELD and len(node.args) > 1:
        of_field = _type_of_field(node, first)
        if node.function == "where":
            _check_where(node, of_field, arg_types[3])
        elif node.function == "pluck":
            return ListOf(of_field)
    match node.function:
        case "unique" | "slice" | "sort" | "where" | "reverse" if kind(first) is not None:
            return first
        case "append" if isinstance(first, ListOf):
            return ListOf(arg_types[1] if first == ANY_LIST else join(first.of, arg_types[1]))
        case "concat":
            return reduce(join, arg_types)
        case "batches":
            return ListOf(first)
        case "flatten" if isinstance(first, ListOf) and isinstance(first.of, ListOf):
            return first.of
        case "contains" | "count":
            _check_in(arg_types[1], first)
            return None
        case _:
            return None


def _type_of_field(node: Call, of: Type) -> Type:
    """The type of the field that the second argument names; it may be absent from some elements."""
    name, element = node.args[1], of.of if isinstance(of, ListOf) else ANY
    if kind(element) not in (None, "map"):
        raise TypeProblem(f"{node.function} needs a list of maps, not {_describe(of)}")
    if not isinstance(name, Const) or not isinstance(name.value, str):
        return ANY
    return _field(element, name.value, f"an element of {show(node.args[0])}", lenient=True)


def _check_where(node: Call, of_field: Type, other: Type) -> None:
    sign = node.args[2]
    if not isinstance(sign, Const):
        return
    if sign.value not in SIGNS:
        raise TypeProblem(f"where compares with {', '.join(SIGNS)}, not {sign.value!r}")
    if sign.value in ("in", "not in"):
        _check_in(of_field, other)
    else:
        _check_comparable(of_field, other, ordered=sign.value not in ("==", "!="))
        _check_choice(of_field, node.args[3])


def _min_max_type(function: str, arg_types: list[Type]) -> Type:
    """The result type of min or max, which take several values or one list."""
    if len(arg_types) == 1 and kind(arg_types[0]) not in (None, "list"):
        raise TypeProblem(f"{function} needs a list or several values, not {_describe(arg_types[0])}")
    elements = (
        [arg_types[0].of if isinstance(arg_types[0], ListOf) else ANY] if len(arg_types) == 1 else arg_types
    )
    for value_type in elements:
        _check_comparable(elements[0], value_type, ordered=True)
    return reduce(join, elements)


def _fits(value_type: Type, expected: Type) -> bool:
    if expected == ANY:
        return True
    if isinstance(value_type, ListOf) and isinstance(expected, ListOf):
        return (
            kind(value_type.of) is None
            or kind(expected.of) is None
            or kind(value_type.of) == kind(expected.of)
        )
    return kind(value_type) in (None, kind(expected))


def _describe_any(accepted: tuple[Type, ...]) -> str:
    return " or ".join(_describe(option) for option in accepted)
