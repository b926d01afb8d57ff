"""Walks the steps of a workflow as it is written, before any run."""

from __future__ import annotations

from collections.abc import Iterator

from podium.core import addresses
from podium.core.model import (
    Block,
    Call,
    ForEach,
    Gates,
    Members,
    Repeat,
    Review,
    ScopeVerb,
    Step,
    Verb,
    Workflow,
)
from podium.core.types import Address


def children_of(verb: ScopeVerb) -> tuple[Step, ...]:
    """The static children; () for loops, whose children are iterations of one body."""
    match verb:
        case Call():
            return verb.workflow.body.steps
        case Block():
            return verb.steps
        case Members() | Review() | Gates():
            return verb.members
        case _:
            return ()


def all_steps(workflow: Workflow, at: Address = addresses.ROOT) -> Iterator[tuple[Address, Step, Workflow]]:
    """Every step, its gates and what is in it; the body of a loop has the address of the loop."""
    for step in top_steps(workflow):
        name = addresses.ADVICE if step is workflow.advisor else step.name
        yield from _steps_in(step, addresses.child(at, name), workflow)


def _steps_in(step: Step, at: Address, workflow: Workflow) -> Iterator[tuple[Address, Step, Workflow]]:
    yield at, step, workflow
    match step.verb:
        case Call() as verb:
            yield from all_steps(verb.workflow, at)
        case ForEach() | Repeat() as verb:
            yield from _steps_in(verb.body, at, workflow)
        case verb:
            for inner in _children(verb):
                yield from _steps_in(inner, addresses.child(at, inner.name), workflow)
    if step.gates is not None:
        yield from _steps_in(step.gates, addresses.gates(at), workflow)


def top_steps(workflow: Workflow) -> tuple[Step, ...]:
    """The steps of a workflow that are in no other step."""
    others = (workflow.finally_, workflow.advisor)
    return (*workflow.body.steps, *(step for step in others if step is not None))


def inner_steps(step: Step) -> tuple[Step, ...]:
    """The steps directly inside a step, with its gates."""
    return (*_children(step.verb), *([step.gates] if step.gates is not None else []))


def _children(verb: Verb) -> tuple[Step, ...]:
    match verb:
        case ForEach() | Repeat():
            return (verb.body,)
        case Block() | Members() | Review() | Gates():
            return children_of(verb)
        case _:
            return ()
