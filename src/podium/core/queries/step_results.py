"""The fields of `steps.X`, computed on demand from the step's instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.expressions.nodes import MissingValue
from podium.core.model import Block, Call, ForEach, Members, Repeat, Review, ScopeVerb
from podium.core.queries.graph import best_member, body_of, fresh_children
from podium.core.queries.steps import children_of
from podium.core.state import Instance, Leaf, Scope, State

DOLLAR: Final = 1_000_000
ALWAYS: Final = ("outcome", "reason", "degraded", "visit", "attempts", "duration", "usd", "notes")
OF_SCOPES: Final = ("output", "members", "missing", "iterations", "steps")


class Fields(Mapping[str, Any]):
    """`steps.X` for an instance that has ended or is being judged."""

    __slots__ = ("_instance", "_state")

    def __init__(self, state: State, instance: Instance) -> None:
        self._state = state
        self._instance = instance

    def __getitem__(self, key: str) -> Any:
        if key in ALWAYS:
            return self._always(key)
        stored = self._stored()
        if key in stored:
            return stored[key]
        if isinstance(self._instance, Scope) and key in OF_SCOPES and (key != "output" or self._was_opened()):
            return _of_scope(self._state, _worked(self._state, self._instance), key)
        raise MissingValue(f"{self._instance.place.path} has no {key}")

    def __iter__(self) -> Iterator[str]:
        yield from ALWAYS
        yield from (key for key in self._stored() if key not in ALWAYS)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _was_opened(self) -> bool:
        """Whether it did anything: an empty list would claim that it had nothing to do."""
        ending = self._instance.ending
        return ending is None or ending.outcome not in ("skipped", "blocked")

    def _stored(self) -> Mapping[str, Any]:
        instance = self._instance
        if instance.ending is not None and instance.ending.result is not None:
            return instance.ending.result
        if isinstance(instance, Leaf) and instance.answer is not None:
            return instance.answer.result or {}
        return {}

    def _always(self, key: str) -> Any:
        instance, ending = self._instance, self._instance.ending
        match key:
            case "outcome":
                return "" if ending is None else ending.outcome
            case "reason":
                return "" if ending is None else ending.reason
            case "degraded":
                return ending is not None and ending.degraded
            case "visit":
                return instance.place.visit
            case "attempts":
                return instance.attempt if isinstance(instance, Leaf) else instance.tries + 1
            case "duration":
                end = self._state.at if ending is None else ending.at
                return (end - instance.place.entered) / 1000
            case "usd":
                return instance.usd / DOLLAR
            case _:
                return self._stored().get("notes", "")


def _worked(state: State, scope: Scope) -> Scope:
    """The visit that did the work, if this one has only adopted its result."""
    while scope.place.adopt is not None:
        adopted = state.instances[scope.place.adopt]
        assert isinstance(adopted, Scope)
        scope = adopted
    return scope


def fields_of(state: State, instance: Instance) -> Mapping[str, Any]:
    return Fields(state, instance)


def work_of(state: State, judge: Instance, name: str) -> Instance:
    """The judged step with this name, looked up from the reviewer's own block outwards."""
    path = judge.place.parent
    while True:
        scope = state.instances[path]
        verb = scope.place.step.verb
        body = body_of(verb) if isinstance(verb, Block | Call) else None
        if body is not None and name in body.index:
            visit = state.latest.get((path, body.index[name]))
            if visit is not None and visit.fresh:
                return state.instances[visit.path]
        if isinstance(verb, Call):
            raise MissingValue(f"step {name} has no valid result to judge")
        path = scope.place.parent


def _of_scope(state: State, scope: Scope, key: str) -> Any:
    verb = scope.place.step.verb
    children = list(fresh_children(state, scope))
    match key:
        case "output":
            return _output(state, scope, children)
        case "members" if not isinstance(verb, ForEach | Repeat):
            return [_member(state, child) for child in children if _has_passed(child)]
        case "missing":
            return [_missing(scope, child) for child in children if not _has_passed(child)]
        case "iterations" if isinstance(verb, ForEach | Repeat):
            return [_iteration(state, scope, child) for child in children]
        case "steps" if isinstance(verb, Block | Call):
            return {child.place.step.name: Fields(state, child) for child in children}
        case _:
            raise MissingValue(f"{scope.place.path} has no {key}")


def _has_passed(child: Instance) -> bool:
    return child.ending is not None and child.ending.outcome == "passed"


def _output(state: State, scope: Scope, children: list[Instance]) -> Any:
    verb = scope.place.step.verb
    passed = [child for child in children if _has_passed(child)]
    match verb:
        case ForEach():
            return [_output_of(state, child) for child in passed]
        case Repeat():
            return _output_of(state, children[-1]) if children else None
        case Members(join="best"):
            best = best_member(state, scope)
            return None if best is None else _output_of(state, best)
        case Members() | Review():
            return {child.place.step.name: _output_of(state, child) for child in passed}
        case _:
            return _block_output(state, verb, passed)  # type: ignore[arg-type]  # Block, Call or Gates


def _block_output(state: State, verb: ScopeVerb, passed: list[Instance]) -> Any:
    body = body_of(verb)
    if body is None or body.kind != "seq":
        return {child.place.step.name: _output_of(state, child) for child in passed}
    # A step without an output (a check, an approval) does not hide the output before it.
    for child in reversed(passed):
        value = _output_of(state, child)
        if value is not None:
            return value
    return None


def _output_of(state: State, child: Instance) -> Any:
    try:
        return Fields(state, child)["output"]
    except MissingValue:
        return None


def _member(state: State, child: Instance) -> Mapping[str, Any]:
    fields = Fields(state, child)
    stored = {key: fields[key] for key in ("output", "text", "files", "verdict") if _has(fields, key)}
    return {"name": child.place.step.name, "output": None, "text": "", "files": [], **stored}


def _has(fields: Fields, key: str) -> bool:
    try:
        fields[key]
    except MissingValue:
        return False
    return True


def _missing(scope: Scope, child: Instance) -> Mapping[str, Any]:
    assert child.ending is not None
    return {
        "name": _label(scope, child),
        "outcome": child.ending.outcome,
        "reason": child.ending.reason,
    }


def _iteration(state: State, scope: Scope, child: Instance) -> Mapping[str, Any]:
    assert child.ending is not None
    slot = child.place.index
    body = child.place.step.verb
    return {
        "index": slot,
        "item": scope.items[slot] if slot < len(scope.items) else None,
        "key": _label(scope, child),
        "outcome": child.ending.outcome,
        "output": _output_of(state, child),
        "steps": _of_scope(state, child, "steps")
        if isinstance(child, Scope) and isinstance(body, Block | Call)
        else {},
    }


def needed_iterations(state: State, scope: Scope, index: int) -> list[Mapping[str, Any]]:
    """The finished items of a loop that the item at `index` directly needs, in the order of the list."""
    return [
        _iteration(state, scope, child)
        for child in fresh_children(state, scope)
        if index in scope.dependents[child.place.index]
    ]


def _label(scope: Scope, child: Instance) -> str:
    slot = child.place.index
    if slot < len(scope.keys):
        return scope.keys[slot]
    return child.place.step.name if children_of_scope(scope) else str(slot + 1)


def children_of_scope(scope: Scope) -> tuple[Any, ...]:
    verb = scope.place.step.verb
    return children_of(verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
