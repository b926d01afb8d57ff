"""What an answer to a question of a workflow leads to, as its file says: the next step, work done again, or the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from podium.core import model
from podium.core.addresses import ROOT, child, gates, without_numbers
from podium.core.model import Block, Step, Workflow
from podium.core.queries.graph import targets_of
from podium.core.queries.steps import children_of
from podium.core.types import Address, Outcome
from podium.views.evidence.fan_out import fan_out_of
from podium.views.evidence.members import member_path, name_of
from podium.views.run.view import Pending

OUTCOMES: Final[dict[str, Outcome]] = {"approve": "passed", "answer": "passed", "reject": "rejected"}


class _Place(NamedTuple):
    """A step with the block that it is in, and what follows when that block has ended."""

    step: Step
    block: Block | None
    number: int
    after: str


def leads_to(workflow: Workflow, pending: Pending) -> dict[str, str]:
    """For each action of a question that the workflow asks, its consequence in words; {} for Podium's own questions."""
    if pending.kind not in ("approval", "question"):
        return {}
    place = _find(workflow.body, ROOT, "the run ends", without_numbers(pending.path))
    if place is None:
        return {}
    names = workflow.labels.steps
    consequences = {
        action: _consequence(place, OUTCOMES[action], names)
        for action in pending.actions
        if action in OUTCOMES
    }
    fan = fan_out_of(workflow, pending.path)
    if fan is not None and fan.picks_one and place.block is None and "approve" in consequences:
        consequences["approve"] = (
            f"{name_of(member_path(fan, pending.path))} is taken, the others are stopped"
        )
    return {**consequences, **({"abort": "the run ends"} if "abort" in pending.actions else {})}


def _consequence(place: _Place, outcome: Outcome, names: Mapping[str, str]) -> str:
    targets = [target for each, target in targets_of(place.step) if each == outcome]
    if len(targets) > 1:
        return "a condition in the file decides what follows"
    if not targets:
        return _next(place, names) if outcome == "passed" else "the step fails"
    match targets[0].kind:
        case "step":
            assert place.block is not None
            step = place.block.steps[targets[0].step].name
            name = names.get(step, step)
            return f"back to {name}" if targets[0].step <= place.number else f"on to {name}"
        case "next":
            return _next(place, names)
        case "fail":
            return "the step fails"
        case "break":
            return "the loop ends"
        case _:
            return place.after


def _next(place: _Place, names: Mapping[str, str]) -> str:
    if place.block is None:
        return "the step passes if its other gates do"
    if place.block.kind == "seq" and place.number + 1 < len(place.block.steps):
        step = place.block.steps[place.number + 1].name
        return f"on to {names.get(step, step)}"
    return place.after if place.block.kind == "seq" else "the steps that need it start"


def _find(block: Block, at: Address, after: str, address: Address) -> _Place | None:
    for index, step in enumerate(block.steps):
        path = child(at, step.name)
        if path == address:
            return _Place(step, block, index, after)
        if address.startswith(f"{path}/"):
            inner = _inner(step.verb)
            return _find(inner, path, f"{step.name} ends", address) if inner is not None else None
        if address.startswith(f"{path}#/"):
            return _among(_gates(step), gates(path), address)
    return None


def _among(steps: Sequence[Step], at: Address, address: Address) -> _Place | None:
    return next((_Place(step, None, 0, "") for step in steps if child(at, step.name) == address), None)


def _gates(step: Step) -> Sequence[Step]:
    return (
        children_of(step.gates.verb)
        if step.gates is not None and isinstance(step.gates.verb, model.Gates)
        else ()
    )


def _inner(verb: model.Verb) -> Block | None:
    match verb:
        case Block():
            return verb
        case model.Call():
            return verb.workflow.body
        case model.ForEach() | model.Repeat():
            return _inner(verb.body.verb)
        case model.Members():
            return Block("par", verb.members, rule=verb.rule)
        case _:
            return None
