"""Tasks of whole runs: every effect of a run that needs work, with the state in which it was asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from podium.core.effects import FindFact, JoinTrees, RunAttempt, Watch
from podium.core.events import AttemptStarted, Event, FactsAsked, JoinAsked, WaitStarted
from podium.core.evolve.evolve import evolve, initial
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.model import Workflow
from podium.core.queries.graph import workflow_of
from podium.core.queries.names import InstanceNames
from podium.core.state import State
from podium.tasks.build import task_of
from podium.tasks.command_work import to_plain
from podium.tasks.reads import _values
from podium.tasks.task import AttemptTask, Task, WatchTask
from podium.tasks.task_json import decode_task, encode

EFFECTS: dict[type[Any], Callable[[Any], Any]] = {
    AttemptStarted: RunAttempt,
    WaitStarted: Watch,
    FactsAsked: FindFact,
    JoinAsked: JoinTrees,
}


def tasks_of(workflow: Workflow, events: Iterable[Event]) -> Iterator[tuple[Task, State]]:
    state = initial(workflow)
    for event in events:
        state = evolve(state, event)
        make = EFFECTS.get(type(event))
        task = None if make is None else task_of(make(event), state)
        if task is not None:
            yield task, state


def sent(task: Task) -> Task:
    """The task as another process gets it."""
    return decode_task(json.loads(json.dumps(encode(task), allow_nan=False)))


def readings(task: Task, state: State) -> Iterator[tuple[Any, Any]]:
    """What each value of the task's step is, by the state and by the task that was sent."""
    received = sent(task)
    if isinstance(received, AttemptTask | WatchTask):
        instance = state.instances[received.started.path]
        config = workflow_of(state, instance.place).config
        for value in _values(instance.place.step, config):
            in_state = _read(value, InstanceNames(state, instance))
            yield in_state, _read(value, received.names())


def _read(value: Any, names: Any) -> Any:
    from podium.core.expressions.templates import fill

    try:
        return to_plain(fill(value, names))
    except NeedFact as need:
        return ("asks", *need.query)
    except ExprError as error:
        return (type(error).__name__, str(error))
