"""The value of an outcome in `on`: a target, a target with words or work for it, or a list of conditions with targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.schema.fields import InvalidValue, Scalar

EXPECTED: Final = (
    "a step, next, end, fail, break, {fail: text}, {end: text}, {to: step} with feedback or start: work, "
    "or a list of such maps with when"
)
_TEXTS: Final = ("fail", "end", "to", "feedback", "when")
_TEXT: Final = {"type": "string"}
_TARGETS: Final = [{"required": ["to"]}, {"required": ["fail"]}, {"required": ["end"]}]
_KEYS: Final[dict[str, Any]] = {
    **dict.fromkeys(("to", "fail", "end", "feedback"), _TEXT),
    "start": {"enum": ["work"]},
}


@dataclass(frozen=True, slots=True)
class Route:
    """The target of an outcome: a step or one of the keywords; `fail` and `end` may have a message."""

    target: str
    message: str | None = None
    feedback: str | None = None
    keeps_work: bool = False
    when: str | None = None
    choices: tuple[Route, ...] = ()
    """The entries of a list; the route itself has no target then."""

    @property
    def entries(self) -> tuple[Route, ...]:
        return self.choices or (self,)

    @property
    def may_fail(self) -> bool:
        """Whether an expression has to be evaluated to follow it."""
        return any(entry.when is not None or entry.feedback is not None for entry in self.entries)


def route(value: Any) -> Route:
    if isinstance(value, str):
        return Route(value)
    if isinstance(value, list) and value and all(isinstance(entry, Mapping) for entry in value):
        return Route("", choices=tuple(_entry(entry, may_have_when=True) for entry in value))
    if isinstance(value, Mapping):
        return _entry(value, may_have_when=False)
    raise InvalidValue(EXPECTED)


def _entry(data: Mapping[Any, Any], *, may_have_when: bool) -> Route:
    allowed = ("to", "fail", "end", "feedback", "start", *(("when",) if may_have_when else ()))
    targets = [word for word in ("to", "fail", "end") if word in data]
    is_text = all(isinstance(data[word], str) for word in _TEXTS if word in data)
    if (
        not set(data) <= set(allowed)
        or len(targets) != 1
        or not is_text
        or data.get("start", "work") != "work"
    ):
        raise InvalidValue(EXPECTED)
    [word] = targets
    target, message = (data["to"], None) if word == "to" else (word, data[word])
    return Route(target, message, data.get("feedback"), "start" in data, data.get("when"))


def entry_paths(route: Route) -> Iterator[tuple[tuple[int, ...], Route]]:
    """Each entry with the end of its path below the outcome."""
    if not route.choices:
        yield (), route
    yield from (((number,), entry) for number, entry in enumerate(route.choices))


def _map_schema(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": keys, "oneOf": _TARGETS, "additionalProperties": False}


ROUTE_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [
        _TEXT,
        _map_schema(_KEYS),
        {"type": "array", "minItems": 1, "items": _map_schema({"when": _TEXT, **_KEYS})},
    ]
}

RouteText: TypeAlias = Annotated[Route, Scalar(route, ROUTE_SCHEMA)]
