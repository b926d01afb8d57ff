"""Builds the part of the workflow that a prompt describes (R004): the steps before the agent's own, and the next ones."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, assert_never

from podium.core.expressions.nodes import ExprError
from podium.core.model import Block, Call, Members, Review, Target
from podium.core.queries.graph import (
    SCOPES,
    body_of,
    descendants_of,
    fresh_children,
    order_of,
    targets_of,
    workflow_of,
)
from podium.core.queries.step_results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.tasks.task import Excerpt
from podium.workflow.prompts.quoting import first_line

MAX_STEPS: Final = 12
"""Finished steps in a prompt; older ones are left out."""


def excerpt_of(state: State, leaf: Leaf) -> Excerpt:
    workflow = workflow_of(state, leaf.place)
    before = tuple(_ended(state, child) for child in finished_before(state, leaf))
    following, routes = _after(state, leaf)
    return Excerpt(
        workflow=workflow.name,
        about=first_line(workflow.description),
        visit=visit_of(state, leaf),
        before=before[-MAX_STEPS:],
        more=max(0, len(before) - MAX_STEPS),
        following=following,
        routes=routes,
    )


def visit_of(state: State, leaf: Leaf) -> int:
    """The visit of the step; for a member, that of the step that it belongs to."""
    parent = state.instances[leaf.place.parent].place
    return parent.visit if isinstance(parent.step.verb, Members | Review) else leaf.place.visit


def _is_blind(state: State, leaf: Leaf) -> bool:
    """Whether the step asks for no earlier answers; for members and reviewers the key is about each other."""
    around = state.instances[leaf.place.parent].place.step.verb
    return leaf.place.step.settings.context.earlier == "none" and not isinstance(around, Members | Review)


def finished_before(state: State, leaf: Leaf) -> list[Instance]:
    """The steps that are certainly finished, from the outermost block inwards; none for a step that must not know of them."""
    if _is_blind(state, leaf):
        return []
    finished: list[Instance] = []
    inner: Instance = leaf
    while inner.place.path != "":
        scope = state.instances[inner.place.parent]
        verb = scope.place.step.verb
        if isinstance(scope, Scope) and isinstance(verb, SCOPES) and body_of(verb) is not None:
            finished[:0] = [
                child for child in fresh_children(state, scope) if _is_before(scope, child, inner)
            ]
        if isinstance(verb, Call):
            break
        inner = scope
    return finished


def _is_before(scope: Scope, child: Instance, inner: Instance) -> bool:
    """Whether the child always finishes before `inner`, so that a prompt does not depend on which step was faster."""
    if child.ending is None or child.place.path == inner.place.path:
        return False
    match order_of(scope):
        case "dag":
            return inner.place.index in descendants_of(scope, child.place.index)
        case "many":
            return inner.place.role != "step"
        case _:
            return inner.place.role != "step" or child.place.index < inner.place.index


def _ended(state: State, child: Instance) -> Mapping[str, Any]:
    assert child.ending is not None
    text = ""
    with suppress(ExprError):
        text = first_line(str(fields_of(state, child)["text"]))
    return {
        "name": child.place.step.name,
        "outcome": child.ending.outcome,
        "reason": child.ending.reason or "",
        "said": text,
    }


def _after(state: State, leaf: Leaf) -> tuple[tuple[str, ...], tuple[Mapping[str, Any], ...]]:
    verb = state.instances[leaf.place.parent].place.step.verb
    body = body_of(verb) if isinstance(verb, SCOPES) else None
    if body is None:
        return (), ()
    following = tuple(body.steps[index].name for index in _following(body, leaf.place.index))
    routes = tuple(
        {"outcome": outcome, "to": target.kind, "step": _name_of(target, body)}
        for outcome, target in targets_of(leaf.place.step)
    )
    return following, routes


def _following(body: Block, slot: int) -> tuple[int, ...]:
    match body.kind:
        case "seq":
            return (slot + 1,) if slot + 1 < len(body.steps) else ()
        case "dag":
            return body.dependents[slot]
        case "par":
            return ()
        case _:
            assert_never(body.kind)


def _name_of(target: Target, body: Block) -> str:
    return body.steps[target.step].name if target.kind == "step" else ""
