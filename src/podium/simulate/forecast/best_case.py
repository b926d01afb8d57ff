"""The best case of a workflow: the least it can use on its way to a pass, with everything right at the first try."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.core.addresses import FINALLY, ROOT, child, gates
from podium.core.model import Block, Call, ForEach, Gates, Members, Repeat, Review, Step, Workflow
from podium.core.queries.graph import WORK
from podium.core.types import Path
from podium.simulate.forecast.breaker_costs import FAILED
from podium.simulate.forecast.paths import exits_of
from podium.simulate.forecast.static_values import UNKNOWN, Known, holds, items, known_in, known_of
from podium.simulate.forecast.worst_case import Weigh


def least(workflow: Workflow, inputs: Mapping[str, Any], weigh: Weigh) -> int:
    return _workflow(workflow, ROOT, known_of(workflow, inputs), weigh)


def _workflow(workflow: Workflow, at: Path, known: Known, weigh: Weigh) -> int:
    closing = 0 if workflow.finally_ is None else _least(workflow.finally_, child(at, FINALLY), known, weigh)
    return _block(workflow.body, at, known, weigh) + closing


def _least(step: Step, at: Path, known: Known, weigh: Weigh) -> int:
    """A step that may be skipped, and a loop that may have nothing to do, cost nothing."""
    if step.when is not None and holds(step.when, known) is not True:
        return 0
    judged = 0 if step.gates is None else _least(step.gates, gates(at), known, weigh)
    return judged + _verb(step, at, known, weigh)


def _verb(step: Step, at: Path, known: Known, weigh: Weigh) -> int:
    verb = step.verb
    match verb:
        case Block():
            return _block(verb, at, known, weigh)
        case Members() | Review() | Gates():
            return sum(_least(member, child(at, member.name), known, weigh) for member in verb.members)
        case ForEach():
            width = 0 if verb.where is not None else items(verb, known)
            return 0 if width is UNKNOWN else width * _least(verb.body, at, known, weigh)
        case Repeat():
            return 0 if verb.kind == "while" else _least(verb.body, at, known, weigh)
        case Call():
            return _workflow(verb.workflow, at, known_in(verb, known), weigh)
        case _:
            return weigh(step, at) if isinstance(verb, WORK) else 0


def _block(block: Block, at: Path, known: Known, weigh: Weigh) -> int:
    own = [_least(step, child(at, step.name), known, weigh) for step in block.steps]
    if block.kind != "seq":
        return sum(own)
    after = [0] * (len(own) + 1)
    for index in reversed(range(len(own))):
        ways = [way.to for way in exits_of(block.steps, index) if way.to > index or way.to < 0]
        after[index] = own[index] + min(
            (after[to] if to >= 0 else 0) for to in ways if to != FAILED or len(ways) == 1
        )
    return after[0]
