"""Walks the steps of a workflow as it is written, before any run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from podium.core import addresses
from podium.core.model import (
    Agent,
    Block,
    Call,
    ForEach,
    Gates,
    Human,
    Members,
    Repeat,
    Review,
    ScopeVerb,
    Step,
    Verb,
    Workflow,
)
from podium.core.payloads import Chosen
from podium.core.types import Address
from podium.fast_dataclass import replace

AUTO: Final = "auto"
WITHOUT_PERSON: Final = ("auto", "notify")
"""Levels of oversight at which a question is passed without a person."""


def upgraded(step: Step, number: int) -> Step:
    """The step with the agent and model of the n-th upgrade of its retry; 0 is the step itself."""
    if not number:
        return step
    entry, verb = step.retry.upgrade[number - 1], step.verb
    assert isinstance(verb, Agent)
    changed = replace(
        verb,
        agent=entry.agent or verb.agent,
        model=entry.model if entry.agent or entry.model else verb.model,
        estimate=entry.estimate or verb.estimate,
    )
    return step._replace(verb=changed)


def with_choice(step: Step, path: Address, chosen: Sequence[Chosen]) -> Step:
    """The step with the agent that was chosen for it when the run started, if it has `agent: auto`."""
    verb = step.verb
    if not isinstance(verb, Agent) or verb.agent != AUTO or not chosen:
        return step
    place = addresses.without_numbers(path)
    agent = next((each.agent for each in chosen if each.step == place), None)
    return step if agent is None else step._replace(verb=replace(verb, agent=agent))


def upgrade_after(step: Step, tries: int) -> int:
    """The number of the upgrade that makes the next try after this many failed ones; 0 is none."""
    return sum(entry.after <= tries for entry in step.retry.upgrade)


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
        path = addresses.child(at, addresses.ADVICE if step is workflow.advisor else step.name)
        if step.gates is None and not isinstance(step.verb, ScopeVerb) and not members_of(step):
            yield (
                path,
                step,
                workflow,
            )  # Most steps are simple, and a generator for each takes longer than the rest.
        else:
            yield from _steps_in(step, path, workflow)


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
    for member in members_of(step):
        yield from _steps_in(member, addresses.child(addresses.gates(at), member.name), workflow)
    if step.gates is not None:
        yield from _steps_in(step.gates, addresses.gates(at), workflow)


def top_steps(workflow: Workflow) -> tuple[Step, ...]:
    """The steps of a workflow that are in no other step."""
    others = (workflow.finally_, workflow.advisor)
    return (*workflow.body.steps, *(step for step in others if step is not None))


def inner_steps(step: Step) -> tuple[Step, ...]:
    """The steps directly inside a step, with its gates and the members of its team."""
    return (*_children(step.verb), *members_of(step), *([step.gates] if step.gates is not None else []))


def members_of(step: Step) -> tuple[Step, ...]:
    """What the members of the step's team do when they are asked."""
    return tuple(member.step for member in step.verb.team) if isinstance(step.verb, Agent) else ()


def _children(verb: Verb) -> tuple[Step, ...]:
    match verb:
        case ForEach() | Repeat():
            return (verb.body,)
        case Block() | Members() | Review() | Gates():
            return children_of(verb)
        case _:
            return ()


def written_touches(step: Step) -> tuple[str, ...]:
    """The globs of `touches` that are written out; expressions are not known before the run."""
    touches = step.touches if isinstance(step.touches, tuple) else ()
    return tuple(glob for glob in touches if isinstance(glob, str))


def has_judge_after(chain: Sequence[Step]) -> bool:
    """Whether a review or a person judges the work after this step, given the step and the steps around it."""
    for inner, around in pairwise(chain):
        later = _after(inner, around.verb)
        if around.gates is not None and inner is not around.gates:
            later = (*later, around.gates)
        if any(_has_judge(step) for step in later):
            return True
    return False


def _after(inner: Step, verb: Verb) -> tuple[Step, ...]:
    """The steps that start only after this one has ended."""
    if isinstance(verb, Gates):
        # Commands run before the judges among the gates, in whatever order they are written.
        return tuple(step for step in verb.members if step is not inner)
    body = verb.workflow.body if isinstance(verb, Call) else verb
    if not isinstance(body, Block) or body.kind == "par":
        return ()
    at = next((index for index, step in enumerate(body.steps) if step is inner), None)
    if at is None:
        return ()
    if body.kind == "seq":
        return body.steps[at + 1 :]
    return tuple(body.steps[index] for index in _dependents(body, at))


def _dependents(body: Block, at: int) -> set[int]:
    later, todo = set[int](), [at]
    while todo:
        new = set(body.dependents[todo.pop()]) - later
        later |= new
        todo.extend(new)
    return later


def _has_judge(step: Step) -> bool:
    verb = step.verb
    if isinstance(verb, Review):
        return True
    if isinstance(verb, Human):
        return not verb.answers and verb.oversight.level not in WITHOUT_PERSON
    inner = top_steps(verb.workflow) if isinstance(verb, Call) else ()
    return any(_has_judge(child) for child in (*inner, *inner_steps(step)))


def may_call_agents(workflow: Workflow) -> bool:
    """Whether a step calls an agent, or repeats as often as only its values tell; otherwise a run uses none."""
    return any(_may_call_agents(step) for _, step, _ in all_steps(workflow))


def _may_call_agents(step: Step) -> bool:
    counts = (step.retry.attempts, step.verb.max if isinstance(step.verb, Repeat) else 1)
    return isinstance(step.verb, Agent | ForEach) or not all(isinstance(count, int) for count in counts)
