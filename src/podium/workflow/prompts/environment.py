"""The Jinja environment in which prompts are rendered: JSON values, expression functions, a few filters, a meter.

Rule 1: no attribute of an object is ever read; `a.b` looks into a map. Rule 2: operators and functions work as in
expressions, and types are never converted. Rule 3: all work that can grow is charged to the meter of the rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from jinja2 import StrictUndefined, Undefined, pass_context
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import test_defined, test_undefined

from podium.core.expressions.functions import ARITY, call, check_arity, touched
from podium.core.expressions.operators import (
    ArithmeticSign,
    CompareSign,
    arithmetic,
    compare,
    field,
    item,
    number,
)
from podium.core.expressions.values import (
    PER_ITEM,
    Json,
    Meter,
    MissingValue,
    WrongType,
    as_json,
    as_text,
    is_map,
    is_number,
    kind_of,
    list_of,
    phrase,
    text_of,
)
from podium.fast_dataclass import dataclass
from podium.workflow.prompts.quoting import OutsideText, fence

MAX_WORK: Final = 20_000_000
MAX_INDENT: Final = 40
RENDERING: Final = "_session"
"""The name of the rendering in the context; a prompt cannot use a name that begins with an underscore."""

_LOOP_FIELDS: Final = frozenset({"index", "index0", "first", "last", "length", "revindex", "revindex0"})


@dataclass(frozen=True, slots=True)
class Rendering:
    """One rendering: its meter, and how it looks up facts about files and the change."""

    meter: Meter
    fact: Callable[[tuple[str, str]], Json]
    change: Callable[[], Json]


def rendering_of(context: Context) -> Rendering:
    return cast(Rendering, context.get(RENDERING))


class PromptEnvironment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset({"+", "-", "*", "/", "%"})
    intercepted_unops = frozenset({"-"})

    def __init__(self, loader: Any) -> None:
        super().__init__(
            loader=loader,
            undefined=StrictUndefined,
            autoescape=False,
            optimized=False,
            finalize=output_text,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.filters = {**FILTERS, **HIDDEN_FILTERS}
        self.tests = dict(TESTS)
        self.globals = {name: _function(name) for name in ARITY}

    def getattr(self, obj: Any, attribute: str) -> Any:
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, LoopContext) and argument in _LOOP_FIELDS:
            return getattr(obj, argument)
        if isinstance(obj, Undefined):
            return obj
        try:
            return item(obj, require_defined(argument), lambda: "the value")
        except MissingValue as error:
            return self.undefined(hint=str(error).removeprefix("E_VAR_MISSING: "), name=str(argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        return arithmetic(cast(ArithmeticSign, operator), require_defined(left), require_defined(right))

    def call_unop(self, context: Context, operator: str, arg: Any) -> Any:
        return -number(require_defined(arg), operator)


def require_defined(value: Any) -> Any:
    """The value; raises if it is undefined."""
    if isinstance(value, Undefined):
        str(value)
    return value


@pass_context
def output_text(context: Context, value: Any) -> str:
    """The text that `{{ value }}` inserts."""
    meter = rendering_of(context).meter
    text = value.quoted() if isinstance(value, OutsideText) else as_text(require_defined(value), meter)
    meter.spend(len(text))
    return text


def _function(name: str) -> Callable[..., Any]:
    @pass_context
    def function(context: Context, *args: Any) -> Any:
        rendering = rendering_of(context)
        check_arity(name, len(args))
        if name == "default":
            return args[1] if isinstance(args[0], Undefined) or args[0] is None else args[0]
        values: list[Json] = [require_defined(arg) for arg in args]
        if name in ("exists", "glob"):
            return rendering.fact((name, text_of(values[0], name)))
        if name == "touched":
            return touched(field(rendering.change(), "paths", lambda: "change"), values, rendering.meter)
        return call(name, values, rendering.meter)

    return function


@pass_context
def _default(context: Context, value: Any, other: Any = "", boolean: bool = False) -> Any:  # noqa: ARG001 (jinja2's)
    missing = isinstance(value, Undefined) or value is None
    return other if missing or (boolean and not value) else value


@pass_context
def _json(context: Context, value: Any) -> str:
    return as_json(require_defined(value), rendering_of(context).meter, indent=2)


@pass_context
def _fence(context: Context, value: Any, label: str = "") -> str:
    meter = rendering_of(context).meter
    text = as_text(require_defined(value), meter)
    meter.spend(len(text))
    return fence(text, label)


@pass_context
def _indent(context: Context, value: Any, width: int = 2, first: bool = False) -> str:
    if type(width) is not int or not 0 <= width <= MAX_INDENT:
        raise WrongType(f"indent needs a whole number up to {MAX_INDENT}")
    text = as_text(require_defined(value), rendering_of(context).meter)
    rows = text.split("\n")
    rendering_of(context).meter.spend(len(text) + width * len(rows))
    margin = " " * width
    indented = [f"{margin}{row}" if row and (first or number) else row for number, row in enumerate(rows)]
    return "\n".join(indented)


@pass_context
def _map(context: Context, value: Any, *, attribute: str) -> list[Any]:
    return [_attribute(context, element, attribute) for element in _items(context, value, "map")]


@pass_context
def _selectattr(context: Context, value: Any, attribute: str, test: str = "truthy", *args: Any) -> list[Any]:
    return [
        element
        for element in _items(context, value, "selectattr")
        if _passes(context, _attribute(context, element, attribute), test, args)
    ]


@pass_context
def _rejectattr(context: Context, value: Any, attribute: str, test: str = "truthy", *args: Any) -> list[Any]:
    return [
        element
        for element in _items(context, value, "rejectattr")
        if not _passes(context, _attribute(context, element, attribute), test, args)
    ]


def _passes(context: Context, value: Any, test: str, args: Sequence[Any]) -> bool:
    if test == "truthy":
        return bool(require_defined(value))
    if test not in TESTS:
        raise WrongType(f'test "{test}" does not exist')
    return bool(context.environment.call_test(test, value, list(args), None, context))


def _attribute(context: Context, element: Any, attribute: str) -> Any:
    for name in text_of(attribute, "map").split("."):
        element = context.environment.getitem(element, name)
    return element


def _items(context: Context, value: Any, name: str) -> Sequence[Any]:
    items = list_of(require_defined(value), name)
    rendering_of(context).meter.spend(5 * PER_ITEM * len(items))
    return items


@pass_context
def _sort(context: Context, value: Any, attribute: str | None = None, reverse: bool = False) -> list[Any]:
    items = _items(context, value, "sort")
    keys = [
        require_defined(_attribute(context, element, attribute)) if attribute else element
        for element in items
    ]
    if len({kind_of(key) for key in keys}) > 1 or not all(
        is_number(key) or isinstance(key, str) for key in keys
    ):
        raise WrongType("sort needs numbers or texts, all of one kind")
    order = sorted(range(len(items)), key=keys.__getitem__, reverse=bool(reverse))
    return [items[number] for number in order]


@pass_context
def _first(context: Context, value: Any) -> Any:
    return context.environment.getitem(list_of(require_defined(value), "first"), 0)


@pass_context
def _last(context: Context, value: Any) -> Any:
    return context.environment.getitem(list_of(require_defined(value), "last"), -1)


@pass_context
def _list(context: Context, value: Any) -> list[Any]:
    """The elements of a list, or the keys of a map."""
    items = list(value) if is_map(require_defined(value)) else list_of(value, "list")
    rendering_of(context).meter.spend(PER_ITEM * len(items))
    return list(items)


@pass_context
def _items_filter(context: Context, value: Any) -> list[Any]:
    """The pairs of a map."""
    if not is_map(require_defined(value)):
        raise WrongType(f"items needs a map, not {phrase(kind_of(value))}")
    rendering_of(context).meter.spend(PER_ITEM * len(value))
    return [[key, value[key]] for key in value]


@pass_context
def charge_loop(context: Context, value: Any, cost: int) -> list[Any]:
    """The items of a loop, charged to the meter; `cost` is the work of one round without its output."""
    items = _list(context, value)
    rendering_of(context).meter.spend(cost * len(items))
    return items


@pass_context
def compare_values(context: Context, left: Any, sign: str, right: Any) -> bool:
    return compare(
        cast(CompareSign, sign), require_defined(left), require_defined(right), rendering_of(context).meter
    )


def _comparison(sign: CompareSign) -> Callable[..., bool]:
    @pass_context
    def test(context: Context, value: Any, other: Any) -> bool:
        return compare_values(context, value, sign, other)

    return test


def _kind_test(kind: str) -> Callable[..., bool]:
    return lambda value: kind_of(require_defined(value)) == kind


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "count": _function("len"),
    "d": _default,
    "default": _default,
    "fence": _fence,
    "first": _first,
    "indent": _indent,
    "items": _items_filter,
    "join": _function("join"),
    "json": _json,
    "last": _last,
    "length": _function("len"),
    "list": _list,
    "lower": _function("lower"),
    "map": _map,
    "max": _function("max"),
    "min": _function("min"),
    "rejectattr": _rejectattr,
    "selectattr": _selectattr,
    "slug": _function("slug"),
    "sort": _sort,
    "sum": _function("sum"),
    "trim": _function("strip"),
    "unique": _function("unique"),
    "upper": _function("upper"),
}

HIDDEN_FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"_each": charge_loop, "_compare": compare_values}
"""Inserted into the tree of a prompt by `checks`; a prompt cannot name them."""

TESTS: Final[Mapping[str, Callable[..., Any]]] = {
    "defined": test_defined,
    "undefined": test_undefined,
    "none": lambda value: require_defined(value) is None,
    "true": lambda value: require_defined(value) is True,
    "false": lambda value: require_defined(value) is False,
    "string": _kind_test("text"),
    "number": _kind_test("number"),
    "boolean": _kind_test("boolean"),
    "mapping": _kind_test("map"),
    "sequence": _kind_test("list"),
    "eq": _comparison("=="),
    "equalto": _comparison("=="),
    "ne": _comparison("!="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "in": _comparison("in"),
}
