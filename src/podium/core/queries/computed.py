"""Settings whose values the inputs of a workflow decide, such as `timeout: ${{ inputs.patience }}`.

They read inputs and variables that no step sets, so they cannot change during a run. When their workflow is entered, plain
values take their places, computed from the inputs in the log; the steps inside never see them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeAlias

from podium.core.expressions.nodes import ExprError, NeedFact, Node
from podium.core.expressions.templates import Text, Value, fill
from podium.core.expressions.values import Meter, as_json, parse_duration
from podium.core.model import Call, Set, Workflow
from podium.core.policy import Limits
from podium.core.queries.static_names import StaticNames
from podium.core.queries.steps import all_steps
from podium.fast_dataclass import dataclass, replace

Unit: TypeAlias = Literal["duration", "usd", "tokens", "share", "count", "score", "names"]

UNIT_NAMES: Final[Mapping[Unit, str]] = {
    "duration": "a duration",
    "usd": "a number",
    "tokens": "a number of tokens",
    "share": "a percentage",
    "count": "a whole number",
    "score": "a number from 1 to 10",
    "names": "a list of names",
}
LIMIT_UNITS: Final[Mapping[str, Unit]] = MappingProxyType(
    {
        "usd": "usd",
        "tokens": "tokens",
        "calls": "count",
        "window": "share",
        "time": "duration",
        "transitions": "count",
        "members": "count",
        "messages": "count",
    }
)

_TOKENS: Final = re.compile(r"(\d+(?:\.\d+)?)([kM])")
_SHARE: Final = re.compile(r"(\d{1,3})%")


@dataclass(frozen=True, slots=True)
class Setting:
    """One computed setting. `key` is how messages name it, `most` the largest value that it gets."""

    key: str
    unit: Unit
    value: Value
    most: int | None = None
    unknown: int | None = None
    """What takes its place in a forecast that does not know the inputs; None if it sets no bound."""


class ComputedNumber(int):
    """Holds the place of a number. Its own value, 1, is never used in a run."""

    setting: Setting

    def __new__(cls, setting: Setting) -> Self:
        number = super().__new__(cls, 1)
        number.setting = setting
        return number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComputedNumber) and self.setting == other.setting

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.setting.key)


class ComputedNames(tuple[str, ...]):  # noqa: SLOT001 (`setting` is an attribute)
    """Holds the place of a list of names. Its own value is a name that nobody has."""

    setting: Setting

    def __new__(cls, setting: Setting) -> Self:
        names = super().__new__(cls, ("${{ }}",))
        names.setting = setting
        return names


def parse_tokens(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _TOKENS.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("a number of tokens such as 5000, 200k or 2M")
    return round(float(match[1]) * (1_000 if match[2] == "k" else 1_000_000))


def parse_share(value: object) -> int:
    """A percentage as a number from 0 to 100."""
    match = _SHARE.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > 100:
        raise ValueError("a percentage such as 95%")
    return int(match[1])


def parse_count(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    raise ValueError("a whole number above 0")


def parse_score(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 10:
        return value
    raise ValueError("a whole number from 1 to 10")


def parse_usd(value: object) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return round(value * 1_000_000)
    raise ValueError("a number of at least 0")


PARSERS: Final[Mapping[Unit, Callable[[object], int]]] = MappingProxyType(
    {
        "duration": parse_duration,
        "usd": parse_usd,
        "tokens": parse_tokens,
        "share": parse_share,
        "count": parse_count,
        "score": parse_score,
    }
)


def entered(workflow: Workflow, inputs: Mapping[str, Any]) -> Workflow:
    """The workflow with the values of its settings; raises ExprError with the setting, its value and what it takes."""
    if not workflow.has_computed:
        return workflow
    return _settled(workflow, _Filler(_fixed_names(workflow, inputs)))


def entered_call(call: Call, inputs: Mapping[str, Any]) -> Call:
    return replace(call, workflow=entered(call.workflow, inputs)) if call.workflow.has_computed else call


def limits_before_entry(workflow: Workflow) -> Limits:
    """The limits of a called workflow until its inputs are known."""
    if not workflow.has_computed:
        return workflow.limits
    limits: Limits = _Filler(StaticNames({}, {}), is_forecast=True).filled(workflow.limits)
    return limits


def foreseen(workflow: Workflow, inputs: Mapping[str, Any]) -> Workflow:
    """The workflow with the settings that these inputs decide; the others have no value of their own.

    Raises ExprError for a value that a setting does not take.
    """
    if not workflow.has_computed:
        return workflow
    return _settled(workflow, _Filler(_fixed_names(workflow, inputs), is_forecast=True))


def _settled(workflow: Workflow, filler: _Filler) -> Workflow:
    changes = {name: filler.filled(getattr(workflow, name)) for name in _PARTS}
    return replace(workflow, **changes, has_computed=False)


_PARTS: Final = ("body", "finally_", "advisor", "limits", "policies")


def _fixed_names(workflow: Workflow, inputs: Mapping[str, Any]) -> StaticNames:
    changed = {
        name
        for _, step, owner in all_steps(workflow)
        if owner is workflow and isinstance(step.verb, Set)
        for name, _ in step.verb.values
    }
    computed = {name for name, value in workflow.vars.items() if isinstance(value, Node | Text)}
    fixed = workflow.vars.keys() - changed - computed
    return StaticNames(inputs, {name: workflow.vars[name] for name in fixed})


class _Filler:
    """Rebuilds what contains a computed setting. What does not is the same object as before."""

    def __init__(self, names: StaticNames, *, is_forecast: bool = False) -> None:
        self._names, self._is_forecast = names, is_forecast
        self._done: dict[int, tuple[Any, Any]] = {}

    def filled(self, value: Any) -> Any:
        if isinstance(value, ComputedNumber | ComputedNames):
            return self._value(value.setting)
        if self._is_forecast and isinstance(value, Call) and value.workflow.has_computed:
            return self._foreseen_call(value)
        # Another workflow has inputs of its own; an expression contains no settings.
        if value is None or isinstance(value, str | int | float | Workflow | Text | Node):
            return value
        pair = self._done.get(id(value))
        if pair is None:
            # The original is kept as well, so that no other object gets its id.
            pair = self._done[id(value)] = (value, self._rebuilt(value))
        return pair[1]

    def _rebuilt(self, value: Any) -> Any:
        if isinstance(value, tuple):
            items = tuple([self.filled(item) for item in value])
            return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
        if isinstance(value, Mapping):
            pairs = {key: self.filled(item) for key, item in value.items()}
            is_new = any(pairs[key] is not item for key, item in value.items())
            return MappingProxyType(pairs) if is_new else value
        fields = getattr(type(value), "__slots__", ())
        changes = {
            name: new for name in fields if (new := self.filled(old := getattr(value, name))) is not old
        }
        return replace(value, **changes) if changes else value

    def _foreseen_call(self, call: Call) -> Call:
        passed, inputs = dict(call.values), {}
        for own in call.workflow.inputs:
            try:
                inputs[own.name] = fill(passed[own.name], self._names) if own.name in passed else own.default
            except (NeedFact, ExprError):
                continue  # Its value is not known.
        try:
            return replace(call, workflow=foreseen(call.workflow, inputs))
        except ExprError:
            return replace(call, workflow=foreseen(call.workflow, {}))

    def _value(self, setting: Setting) -> Any:
        value: Any = None
        try:
            value = fill(setting.value, self._names)
            return _names_in(value) if setting.unit == "names" else _number_in(setting, value)
        except NeedFact as need:
            if self._is_forecast:
                return () if setting.unit == "names" else setting.unknown
            raise ExprError(f"{setting.key} reads {need.query[1]}, which is not an input") from None
        except ExprError as error:
            raise ExprError(f"{setting.key}: {error}") from None
        except ValueError as error:
            written = as_json(value[0] if setting.unit == "names" and len(value) == 1 else value, Meter())
            raise ExprError(f"{setting.key} is {written}, but it must be {error}") from None


def _number_in(setting: Setting, value: Any) -> int:
    number = PARSERS[setting.unit](value)
    return number if setting.most is None else min(number, setting.most)


def _names_in(value: Any) -> tuple[str, ...]:
    """One name, or a list of names and lists of names."""
    parts = [
        part for entry in (value if isinstance(value, list | tuple) else [value]) for part in _flat(entry)
    ]
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise ValueError("a name or a list of names")
    return tuple(parts)


def _flat(entry: Any) -> tuple[Any, ...]:
    return tuple(entry) if isinstance(entry, list | tuple) else (entry,)
