"""Which step of a workflow does the work of its members beside each other around a question.

Apart from `members`, because listing questions does not need the workflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.core.addresses import ROOT, child, without_numbers
from podium.core.model import Block, Call, ForEach, Members, Repeat, Step, Verb, Workflow
from podium.core.types import Address
from podium.views.evidence.members import FanOut


def fan_out_of(workflow: Workflow, path: Address) -> FanOut | None:
    """The innermost step around the question whose members do their work beside each other."""
    return _fan_out(workflow.body.steps, ROOT, without_numbers(path))


def _fan_out(steps: Iterable[Step], at: Address, address: Address) -> FanOut | None:
    for step in steps:
        path = child(at, step.name)
        if address.startswith((f"{path}/", f"{path}#/")):
            inner = _fan_out(_children(step.verb), path, address)
            is_inside = address.startswith(f"{path}/")
            return inner or (FanOut(path, _picks_one(step.verb)) if is_inside and _is_fan_out(step) else None)
    return None


def _children(verb: Verb) -> Sequence[Step]:
    match verb:
        case Block():
            return verb.steps
        case Members():
            return verb.members
        case Call():
            return verb.workflow.body.steps
        case ForEach() | Repeat():
            return _children(verb.body.verb)
        case _:
            return ()


def _is_fan_out(step: Step) -> bool:
    verb = step.verb
    return isinstance(verb, Members | ForEach) or (isinstance(verb, Block) and verb.kind == "par")


def _picks_one(verb: Verb) -> bool:
    return isinstance(verb, Block | Members | ForEach) and verb.cancels_rest and verb.rule in (1, "any")
