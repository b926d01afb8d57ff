"""`dataclass` for slotted records, at a tenth of the import time of the standard library's.

The standard decorator generates and compiles six functions per class, which takes about a millisecond; a hundred
classes make a command feel slow. Here `__init__` is generated when a class is first instantiated, and the other
methods are shared. Creating a frozen record also takes a third of the time. Rule 1: mypy and the functions of
`dataclasses` (fields, replace, asdict, is_dataclass) treat a record as a dataclass. Rule 2: fields are not inherited,
and `field` supports only default, default_factory, compare and repr. `__post_init__` is called as usual.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn, TypeVar

__all__ = ["assembler", "dataclass", "quick", "replace", "replacer"]

T = TypeVar("T")
R = TypeVar("R", bound=type[Any])

_ORDER: Final = (operator.lt, operator.le, operator.gt, operator.ge)


def _dataclass(
    *, slots: bool, frozen: bool = False, eq: bool = True, order: bool = False, kw_only: bool = False
) -> Callable[[type[Any]], type[Any]]:
    """The decorator. Its options have the same meaning as in the standard library; slots must be True."""
    assert slots, "slots must be True"

    def decorate(cls: type[Any]) -> type[Any]:
        return _record(cls, frozen=frozen, eq=eq, order=order, kw_only=kw_only)

    return decorate


if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass  # noqa: PLC0414 (exported; mypy sees the standard decorator)
    from dataclasses import replace as replace  # noqa: PLC0414
else:
    dataclass = _dataclass

    def replace(record: Any, /, **changes: Any) -> Any:
        """`dataclasses.replace` for frozen records, in a fifth of its time."""
        cls = record.__class__
        copier = _replacers.get(cls)
        if copier is None:
            copier = _replacers[cls] = _copier(cls)
        copy = copier(record, **changes)
        if hasattr(cls, "__post_init__"):
            copy.__post_init__()
        return copy


_replacers: Final[dict[type[Any], Callable[..., Any]]] = {}


class _Shape(NamedTuple):
    types: Mapping[str, Any]
    defaults: Mapping[str, Any]
    """The default of each name that has one: a value, or the result of `field`."""
    frozen: bool
    kw_only: bool


def _record(cls: Any, *, frozen: bool, eq: bool, order: bool, kw_only: bool) -> type[Any]:
    members = dict(cls.__dict__)
    names = tuple(cls.__annotations__)
    unsupported = [hint for hint in cls.__annotations__.values() if hint in ("KW_ONLY", dataclasses.KW_ONLY)]
    assert not unsupported, f"{cls.__name__}: KW_ONLY is not supported; use kw_only=True"
    defaults = {name: members.pop(name) for name in names if name in members}
    shape = _Shape(cls.__annotations__, defaults, frozen, kw_only)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    positional = () if kw_only else names
    methods: dict[str, Any] = {"__slots__": names, "__match_args__": positional, "__repr__": _repr}
    methods["__dataclass_fields__"] = _Fields(shape)
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        methods |= {"__getstate__": _state, "__setstate__": _restore}
    if eq:
        methods |= _comparisons(shape, order=order)
    # Python reads __slots__ only when it creates a class, so the class is created again.
    record: Any = type(cls)(
        cls.__name__, cls.__bases__, {**methods, **members, "__qualname__": cls.__qualname__}
    )
    record.__init__ = _first_init(record, shape)
    return record  # type: ignore[no-any-return]  # mypy takes its type from the standard decorator


def _first_init(cls: Any, shape: _Shape) -> Callable[..., None]:
    """An `__init__` that, when first called, replaces itself by one generated for the class."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807 (it is installed under this name)
        cls.__init__ = _init(cls, shape)
        cls.__init__(self, *args, **kwargs)

    return __init__


def _init(cls: Any, shape: _Shape) -> Callable[..., None]:
    namespace: dict[str, Any] = {"_absent": MISSING}
    parameters, lines = ["self", "*"] if shape.kw_only and shape.types else ["self"], []
    for name in shape.types:
        default = shape.defaults.get(name, MISSING)
        value = name
        if isinstance(default, Field) and default.default_factory is MISSING:
            default = default.default
        if isinstance(default, Field):
            namespace[f"_new_{name}"] = default.default_factory
            parameters.append(f"{name}=_absent")
            value = f"_new_{name}() if {name} is _absent else {name}"
        elif default is MISSING:
            parameters.append(name)
        else:
            namespace[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        lines.append(f"    self.{name} = {value}\n")
    if shape.frozen:
        # Plain assignment is by far the fastest, but a frozen class refuses it. So a record belongs to a mutable twin
        # of its class while its fields are set.
        namespace |= {"_become": object.__setattr__, "_mutable": _twin(cls)}
        prologue = "    _kind = self.__class__\n    _become(self, '__class__', _mutable)\n"
        lines = [prologue, *lines, "    self.__class__ = _kind\n"]
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()\n")
    exec(f"def __init__({', '.join(parameters)}):\n{''.join(lines) or '    pass'}", namespace)  # noqa: S102 (only field names are inserted)
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


@cache
def _twin(cls: Any) -> type[Any]:
    """A class with the same slots whose instances are mutable."""
    generic = {name: getattr(cls, name) for name in ("__orig_bases__",) if hasattr(cls, name)}
    return type(cls)(cls.__name__, cls.__bases__, {"__slots__": cls.__slots__, **generic})  # type: ignore[no-any-return]


def quick(cls: R) -> R:
    """Give a frozen record a generated `_replace`, five times as fast as `dataclasses.replace`.

    Speed matters because each event changes two or three large records. The copy is not checked by `__post_init__`.
    """
    kind: Any = cls
    assert not hasattr(kind, "__post_init__"), f"{kind.__name__}: a quick record has no __post_init__"

    def _replace(self: Any, **changes: Any) -> Any:
        kind._replace = _copier(kind)
        return kind._replace(self, **changes)

    kind._replace = _replace
    return cls


def _copier(cls: Any) -> Callable[..., Any]:
    """A `_replace` that generates a function for each set of fields it is called with: there are a few dozen in all."""
    copiers: dict[tuple[str, ...], Callable[[Any, dict[str, Any]], Any]] = {}

    def _replace(self: Any, **changes: Any) -> Any:
        names = tuple(changes)
        copier = copiers.get(names)
        if copier is None:
            copier = copiers[names] = _copier_for(cls, frozenset(names))
        return copier(self, changes)

    return _replace


def _copier_for(cls: Any, names: frozenset[str]) -> Callable[[Any, dict[str, Any]], Any]:
    return assembler(cls, "self, changes", _values_after(cls, {name: f"changes[{name!r}]" for name in names}))


def _values_after(cls: Any, changes: Mapping[str, str]) -> dict[str, str]:
    """The expressions for a copy of `self` with these fields changed."""
    unknown = changes.keys() - set(cls.__slots__)
    if unknown:
        raise AttributeError(f"{cls.__name__} has no field {', '.join(sorted(unknown))}")
    return {name: changes.get(name, f"self.{name}") for name in cls.__slots__}


def replacer(cls: type[T], *names: str) -> Callable[..., T]:
    """A function that copies a record with exactly these fields changed, which a call names in this order.

    It takes less than half of the time of `_replace`; for the events that most of a log consists of.
    """
    return assembler(cls, f"self, *, {', '.join(names)}", _values_after(cls, {name: name for name in names}))


def assembler(
    cls: type[T],
    parameters: str,
    values: Mapping[str, str],
    names: Mapping[str, Any] = MappingProxyType({}),
) -> Callable[..., T]:
    """A function that makes a record from one expression per field, which may use the parameters and these names.

    It takes two thirds of the time of the class itself, because it calls neither `__init__` nor `__post_init__`.
    """
    kind: Any = cls
    lines = "".join(f"    made.{name} = {values[name]}\n" for name in kind.__slots__)
    source = f"def assemble({parameters}):\n    made = _new(_mutable)\n{lines}    made.__class__ = _kind\n    return made\n"
    namespace = {**names, "_new": object.__new__, "_mutable": _twin(kind), "_kind": kind}
    exec(source, namespace)  # noqa: S102 (only names of fields and our own expressions are inserted)
    assemble: Callable[..., T] = namespace["assemble"]
    return assemble


class _Fields:
    """`__dataclass_fields__`, which the functions of `dataclasses` read; computed on first access."""

    def __init__(self, shape: _Shape) -> None:
        self._shape = shape

    def __get__(self, record: Any, cls: Any) -> Mapping[str, Field[Any]]:
        # The docstring is set because `dataclasses` otherwise derives one from the signature, which is slow.
        members = {"__doc__": cls.__name__, "__annotations__": self._shape.types, **self._shape.defaults}
        twin: Any = type(cls.__name__, (), members)
        dataclasses.dataclass(init=False, repr=False, eq=False)(twin)
        fields: Mapping[str, Field[Any]] = twin.__dataclass_fields__
        cls.__dataclass_fields__ = fields
        return fields


def _comparisons(shape: _Shape, *, order: bool) -> Mapping[str, Any]:
    values = _values(tuple(name for name in shape.types if _is_compared(shape.defaults.get(name))))

    def __eq__(self: Any, other: object) -> bool:  # noqa: N807 (it is installed under this name)
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807 (it is installed under this name)
        return hash(values(self))

    ordered = {f"__{compare.__name__}__": _ordered(compare, values) for compare in _ORDER} if order else {}
    return {"__eq__": __eq__, "__hash__": __hash__ if shape.frozen else None, **ordered}


def _is_compared(default: Any) -> bool:
    return default.compare if isinstance(default, Field) else True


def _values(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return operator.attrgetter(*names)
    return lambda record: tuple(getattr(record, name) for name in names)


def _ordered(compare: Callable[[Any, Any], bool], values: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    return lambda self, other: (
        compare(values(self), values(other)) if other.__class__ is self.__class__ else NotImplemented
    )


def _repr(self: Any) -> str:
    shown = (field.name for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse_to_set(_self: Any, name: str, _value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in self.__slots__]


def _restore(self: Any, state: list[Any]) -> None:
    for name, value in zip(self.__slots__, state, strict=True):
        object.__setattr__(self, name, value)
