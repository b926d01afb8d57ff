"""The best case of a workflow: the least it can use on its way to a pass, with everything right at the first try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core.graph import WORK
from podium.core.model import Block, Call, ForEach, Gates, Members, Repeat, Review, Step, Workflow
from podium.simulate.bounds import Weigh
from podium.simulate.charged import FAILED
from podium.simulate.known import UNKNOWN, holds, inputs_of, items
from podium.simulate.walk import exits_of


def least(workflow: Workflow, inputs: Mapping[str, Any], weigh: Weigh) -> int:
    closing = 0 if workflow.finally_ is None else _least(workflow.finally_, inputs, weigh)
    return _block(workflow.body, inputs, weigh) + closing


def _least(step: Step, inputs: Mapping[str, Any], weigh: Weigh) -> int:
    """A step that may be skipped, and a loop that may have nothing to do, cost nothing."""
    if step.when is not None and holds(step.when, inputs) is not True:
        return 0
    gates = 0 if step.gates is None else _least(step.gates, inputs, weigh)
    return gates + _verb(step, inputs, weigh)


def _verb(step: Step, inputs: Mapping[str, Any], weigh: Weigh) -> int:
    verb = step.verb
    match verb:
        case Block():
            return _block(verb, inputs, weigh)
        case Members() | Review() | Gates():
            return sum(_least(member, inputs, weigh) for member in verb.members)
        case ForEach():
            width = 0 if verb.where is not None else items(verb, inputs)
            return 0 if width is UNKNOWN else width * _least(verb.body, inputs, weigh)
        case Repeat():
            return 0 if verb.kind == "while" else _least(verb.body, inputs, weigh)
        case Call():
            return least(verb.workflow, inputs_of(verb, inputs), weigh)
        case _:
            return weigh(step) if isinstance(verb, WORK) else 0


def _block(block: Block, inputs: Mapping[str, Any], weigh: Weigh) -> int:
    own = [_least(step, inputs, weigh) for step in block.steps]
    if block.kind != "seq":
        return sum(own)
    after = [0] * (len(own) + 1)
    for index in reversed(range(len(own))):
        ways = [way.to for way in exits_of(block.steps, index) if way.to > index or way.to < 0]
        after[index] = own[index] + min(
            (after[to] if to >= 0 else 0) for to in ways if to != FAILED or len(ways) == 1
        )
    return after[0]
