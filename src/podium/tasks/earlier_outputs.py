"""Collects the answers of earlier steps that a prompt has to give in full: those that one line cannot show.

Rule: an answer counts as the result of its step if the step declares the form of its output, or changed no file. The
result of any other step are its files, and the line in the excerpt is enough. What commands print is read by name only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from podium.core.addresses import ROOT
from podium.core.expressions.nodes import ExprError
from podium.core.expressions.values import Meter, plain
from podium.core.model import Agent, Block, Call, Human, Members, Repeat, Review, Step
from podium.core.queries.graph import best_member, dependents_of, fresh_children, workflow_of
from podium.core.queries.step_results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import Address
from podium.tasks.excerpt import finished_before
from podium.tasks.reads import chains_read
from podium.tasks.task import EarlierOutput
from podium.workflow.prompts.quoting import first_line

MAX_OUTPUTS: Final = 12


def outputs_before(
    state: State, leaf: Leaf, shown: frozenset[Address] = frozenset()
) -> tuple[EarlierOutput, ...]:
    """The answers that are longer than their line, the most needed first: direct needs, then the latest.

    Answers at the addresses in `shown`, and those that the step reads by name, have their place in the prompt already.
    """
    named = _steps_read(state, leaf)
    finished = [
        step
        for step in reversed(finished_before(state, leaf))
        if step.place.step.name not in named and step.place.path not in shown
    ]
    needs = _direct_needs(state, leaf)
    finished.sort(key=lambda step: step.place.path not in needs)
    outputs = (output for step in finished for output in _outputs_in(state, step, shown))
    rest = tuple(output for output, _ in zip(outputs, range(MAX_OUTPUTS), strict=False))
    return (*_members_before(state, leaf), *rest)


def _members_before(state: State, leaf: Leaf) -> Iterator[EarlierOutput]:
    """The answers and verdicts of the members before this one, if it is not to answer blindly."""
    scope = state.instances[leaf.place.parent]
    is_blind = leaf.place.step.settings.context.earlier != "all"
    if is_blind or not isinstance(scope, Scope) or not isinstance(scope.place.step.verb, Members | Review):
        return
    for member in fresh_children(state, scope):
        if member.place.index < leaf.place.index and member.ending is not None:
            text = "\n".join(filter(None, (_opinion(member), _text_of(state, member))))
            yield EarlierOutput(member.place.path, member.place.step.name, text)


def _opinion(member: Instance) -> str:
    """The verdict of a reviewer, with its findings."""
    verb, ending = member.place.step.verb, member.ending
    if not isinstance(verb, Agent) or not verb.judge or ending is None:
        return ""
    opinion = {"outcome": ending.outcome, "findings": (ending.result or {}).get("findings") or ()}
    return json.dumps(plain(opinion, Meter()), ensure_ascii=False)


def _steps_read(state: State, leaf: Leaf) -> frozenset[str]:
    chains = chains_read(leaf.place.step, workflow_of(state, leaf.place).config)
    return frozenset(chain[1] for chain in chains or () if len(chain) > 1 and chain[0] == "steps")


def _direct_needs(state: State, leaf: Leaf) -> frozenset[Address]:
    """The steps that the step, or a block around it, names in `needs`."""
    needs: list[Address] = []
    inner: Instance = leaf
    while inner.place.path != ROOT:
        scope = state.instances[inner.place.parent]
        if isinstance(scope, Scope) and scope.place.order == "dag" and inner.place.role == "step":
            dependents = dependents_of(scope)
            needs += (
                child.place.path
                for child in fresh_children(state, scope)
                if inner.place.index in dependents[child.place.index]
            )
        inner = scope
    return frozenset(needs)


def _outputs_in(state: State, step: Instance, shown: frozenset[Address]) -> Iterator[EarlierOutput]:
    """The answer of this step, or of the steps inside a block that declares no output of its own."""
    if step.ending is None or step.ending.outcome != "passed" or step.place.path in shown:
        return
    declares = _declares_output(step.place.step)
    if isinstance(step, Scope) and not declares:
        for child in _result_children(state, step):
            yield from _outputs_in(state, child, shown)
    elif declares or (_answers(step.place.step) and step.ending.tree in (None, step.base)):
        text = _text_of(state, step)
        if text and text.strip() != first_line(text):
            yield EarlierOutput(step.place.path, step.place.step.name, text)


def _result_children(state: State, scope: Scope) -> tuple[Instance, ...]:
    """The children whose answers are the result of a scope: the last round, the best member, or all."""
    children = tuple(fresh_children(state, scope))
    match scope.place.step.verb:
        case Repeat():
            return children[-1:]
        case Members(join="best"):
            best = best_member(state, scope)
            return () if best is None else (best,)
        case _:
            return children


def _declares_output(step: Step) -> bool:
    match step.verb:
        case Agent(judge=False):
            return step.output.kind != "text"
        case Block(output=output):
            return output is not None
        case Call(workflow=workflow):
            return bool(workflow.outputs)
        case _:
            return False


def _answers(step: Step) -> bool:
    return isinstance(step.verb, Human) or (isinstance(step.verb, Agent) and not step.verb.judge)


def _text_of(state: State, step: Instance) -> str:
    for key in ("output", "text"):
        try:
            value: Any = fields_of(state, step)[key]
        except ExprError:
            continue
        if value is not None:
            return (
                value
                if isinstance(value, str)
                else json.dumps(plain(value, Meter()), ensure_ascii=False, indent=2)
            )
    return ""
