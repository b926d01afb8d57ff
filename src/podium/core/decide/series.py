"""Ends a run that continues as a new one, and says which run that is.

A run of a series is named after the first one and its number, so that naming it needs no new id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from podium.core.addresses import ROOT
from podium.core.events import Event, StepEnded
from podium.core.model import Call, Continue, Input
from podium.core.payloads import RunFacts
from podium.core.queries.disputes import open_disputes
from podium.core.queries.evaluate import count_of, try_fill
from podium.core.state import Leaf, Scope, State
from podium.core.types import Millis

_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "path": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "number": lambda value: type(value) in (int, float),
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list | tuple),
    "map": lambda value: isinstance(value, Mapping),
}


def end_for_continuation(state: State, leaf: Leaf, verb: Continue, now: Millis) -> Event:
    """The end of the step: it passes with the inputs of the next run, or fails with the reason why there is none."""
    path, run = leaf.place.path, _facts(state)
    most = None if verb.max is None else count_of(state, leaf, verb.max)
    if most is not None and number_of_run(run) >= most:
        message = f"this is run {number_of_run(run)} of the series, and max is {most}"
        return StepEnded(now, path, "failed", "exhausted", 1, message=message)
    disputes = open_disputes(state)
    if disputes:
        tests = ", ".join(str(row.get("id", "")) for dispute in disputes for row in dispute.rows)
        message = (
            f"no judge has accepted the changes to these tests, and a new run would not know of them: {tests}"
        )
        return StepEnded(now, path, "failed", "disputed_tests", 1, message=message)
    answer = try_fill(state, leaf, dict(verb.values), now)
    if not isinstance(answer, tuple):
        return answer
    inputs = {**_inputs(state), **answer[0]}
    fault = next((fault for item in _workflow(state).inputs if (fault := _fault(item, inputs))), "")
    if fault:
        return StepEnded(now, path, "error", "inputs", 1, message=fault)
    return StepEnded(now, path, "passed", result={"output": inputs})


def continuation(state: State) -> StepEnded | None:
    """The end of the step by which the run continues as a new one; None if the run ends without a successor."""
    root = state.instances[ROOT]
    if not isinstance(root, Scope) or root.last is None:
        return None
    last = state.instances[root.last]
    ending = last.ending
    if not isinstance(last.place.step.verb, Continue) or ending is None or ending.outcome != "passed":
        return None
    return ending


def number_of_run(run: RunFacts) -> int:
    """Its place in the series, from 1."""
    return 1 if run.series is None else run.series.number


def name_of_next(run: RunFacts) -> str:
    number = number_of_run(run)
    stem = run.id.removesuffix(f"-{number}") if number > 1 else run.id
    return f"{stem}-{number + 1}"


def _fault(item: Input, inputs: Mapping[str, Any]) -> str:
    value = inputs.get(item.name, item.default)
    if value is None and not item.required:
        return ""
    if not _FITS[item.type](value):
        return f'input "{item.name}" of the next run must be {item.type}'
    if item.choices and value not in item.choices:
        return f'input "{item.name}" of the next run must be one of {", ".join(map(str, item.choices))}'
    return ""


def _inputs(state: State) -> Mapping[str, Any]:
    assert state.started is not None
    return state.started.inputs


def _facts(state: State) -> RunFacts:
    assert state.started is not None
    return state.started.run


def _workflow(state: State) -> Any:
    verb = state.root.verb
    assert isinstance(verb, Call)
    return verb.workflow
