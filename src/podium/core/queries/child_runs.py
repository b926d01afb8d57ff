"""Turns the workflows of other repositories into runs of their own, which a real run starts and the simulator does not."""

from __future__ import annotations

from podium.core.model import Block, Call, ForEach, Repeat, Step, Workflow
from podium.core.queries.steps import all_steps
from podium.core.step_settings import ChildRun
from podium.core.types import Address
from podium.fast_dataclass import replace


def has_other_projects(workflow: Workflow) -> bool:
    return any(
        isinstance(step.verb, Call) and step.verb.place is not None for _, step, _ in all_steps(workflow)
    )


def with_child_runs(workflow: Workflow) -> Workflow:
    """The workflow as a real run takes it; the same object if it names no other repository."""
    return _in_workflow(workflow) if has_other_projects(workflow) else workflow


def child_runs(workflow: Workflow) -> tuple[tuple[Address, ChildRun], ...]:
    return tuple(
        (path, step.verb) for path, step, _ in all_steps(workflow) if isinstance(step.verb, ChildRun)
    )


def _in_workflow(workflow: Workflow) -> Workflow:
    last = workflow.finally_
    return replace(workflow, body=_in_block(workflow.body), finally_=None if last is None else _in_step(last))


def _in_block(block: Block) -> Block:
    return replace(block, steps=tuple(_in_step(step) for step in block.steps))


def _in_step(step: Step) -> Step:
    match step.verb:
        case Call(place=None) as verb:
            return replace(step, verb=replace(verb, workflow=_in_workflow(verb.workflow)))
        case Call(place=place) as verb:
            assert place is not None
            limits = verb.workflow.limits
            # A limit that its inputs decide is known there only.
            limits_set = [
                n if isinstance(n, int) else None for n in (limits.usd, limits.tokens, limits.calls)
            ]
            return replace(step, verb=ChildRun(place, verb.values, *limits_set), has_worker=False)
        case Block() as verb:
            return replace(step, verb=_in_block(verb))
        case ForEach() | Repeat() as verb:
            return replace(step, verb=replace(verb, body=_in_step(verb.body)))
        case _:
            return step
