"""The part of the workflow that one worker needs to know (R004): its step, what came before, what success means,
what comes next, and the shape of its answer. Gathered for every prompt, so that no author has to write it; the words
are those of partials."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, assert_never

from podium.attempt.agent.agent_attempt import visit_of
from podium.attempt.agent.verdict import echo_of, review_schema
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import Value, fill, fill_argv
from podium.core.expressions.values import Meter, as_text, plain
from podium.core.model import Agent, Block, Call, Check, Command, Gates, Human, Output, Review, Step, Target
from podium.core.queries.graph import SCOPES, body_of, descendants_of, fresh_children, order_of, workflow_of
from podium.core.queries.step_results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.workflow.prompts.quoting import fence, first_line

BLOCKED: Final = "BLOCKED:"
"""How an answer begins that says only why there is none."""
SHOWN: Final = 12
"""So many steps before are told; further back is of little use to a worker."""


def excerpt_of(
    state: State, leaf: Leaf, asked: AttemptStarted, names: Names, *, touches: tuple[str, ...] | None
) -> Mapping[str, Any]:
    workflow, step = workflow_of(state, leaf.place), leaf.place.step
    assert isinstance(step.verb, Agent)
    before = [_ended(state, child) for child in finished_before(state, leaf)]
    return {
        "step": {"name": step.name, "description": step.description},
        "workflow": {"name": workflow.name, "about": first_line(workflow.description)},
        "visit": visit_of(state, leaf),
        "attempt": asked.attempt,
        "before": before[-SHOWN:],
        "more": max(0, len(before) - SHOWN),
        "success": [_VERDICT] if step.verb.judge else list(_success(leaf, names, touches)),
        **_after(state, leaf),
        "judge": step.verb.judge,
        "blocked": BLOCKED,
    }


def finished_before(state: State, leaf: Leaf) -> list[Instance]:
    """The steps that are certainly finished, from the outermost block in."""
    found: list[Instance] = []
    inner: Instance = leaf
    while inner.place.path != "":
        scope = state.instances[inner.place.parent]
        verb = scope.place.step.verb
        if isinstance(scope, Scope) and isinstance(verb, SCOPES) and body_of(verb) is not None:
            found[:0] = [child for child in fresh_children(state, scope) if _is_before(scope, child, inner)]
        if isinstance(verb, Call):
            break
        inner = scope
    return found


def _is_before(scope: Scope, child: Instance, inner: Instance) -> bool:
    """Only what is certainly finished, so that the same step is told the same whoever was faster."""
    if child.ending is None or child.place.path == inner.place.path:
        return False
    match order_of(scope):
        case "dag":
            return inner.place.slot in descendants_of(scope, child.place.slot)
        case "many":
            return inner.place.role != "step"
        case _:
            return inner.place.role != "step" or child.place.slot < inner.place.slot


def _ended(state: State, child: Instance) -> Mapping[str, Any]:
    assert child.ending is not None
    said = ""
    with suppress(ExprError):
        said = first_line(str(fields_of(state, child)["text"]))
    return {
        "name": child.place.step.name,
        "outcome": child.ending.outcome,
        "reason": child.ending.reason or "",
        "said": said,
    }


def _success(leaf: Leaf, names: Names, touches: tuple[str, ...] | None) -> Iterator[Mapping[str, Any]]:
    step = leaf.place.step
    verb = step.verb
    assert isinstance(verb, Agent)
    if touches is not None:
        yield _condition("only" if touches else "unchanged", files=touches)
    if verb.no_change == "fail":
        yield _condition("changed")
    protected = _words(step.settings.get("protect") or (), names)
    if protected and touches != ():
        yield _condition("protected", files=protected)
    for glob in _words(step.output.files, names):
        yield _condition("file", files=(glob,))
    if step.gates is not None and isinstance(step.gates.verb, Gates):
        yield from (_gate(gate, names) for gate in step.gates.verb.members)


def _condition(kind: str, name: str = "", said: str = "", files: Sequence[str] = ()) -> Mapping[str, Any]:
    return {"kind": kind, "name": name, "said": said, "files": files}


_VERDICT: Final = _condition("verdict")


def _words(values: tuple[Value, ...], names: Names) -> tuple[str, ...]:
    return tuple(_word(value, names) for value in values)


def _word(value: Value, names: Names) -> str:
    """As far as it is known: a fact that would have to be looked up first is not worth it here."""
    try:
        return as_text(fill(value, names), Meter())
    except (ExprError, NeedFact):
        return "..."


def _gate(gate: Step, names: Names) -> Mapping[str, Any]:
    match gate.verb:
        case Command(script=None):
            try:
                return _condition("command", gate.name, " ".join(fill_argv(gate.verb.argv, names)))
            except (ExprError, NeedFact):
                return _condition("command", gate.name)
        case Command():
            return _condition("script", gate.name)
        case Check():
            return _condition("check", gate.name)
        case Review(members=members):
            return _condition("review", gate.name, ", ".join(member.name for member in members))
        case Human(question=question):
            return _condition("person", gate.name, first_line(question.text))
        case _:
            return _condition("other", gate.name)


def _after(state: State, leaf: Leaf) -> Mapping[str, Any]:
    scope = state.instances[leaf.place.parent]
    verb = scope.place.step.verb
    body = body_of(verb) if isinstance(verb, SCOPES) else None
    if body is None:
        return {"next": (), "routes": ()}
    return {
        "next": [body.steps[index].name for index in _following(body, leaf.place.slot)],
        "routes": [
            {"outcome": outcome, "to": target.kind, "step": _name_of(target, body)}
            for outcome, target in leaf.place.step.on.items()
        ],
    }


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


def answer_shape(output: Output) -> Mapping[str, Any]:
    """How a worker has to answer."""
    shape = _shape(output.schema or {}) if output.kind == "schema" else ""
    return {"kind": output.kind, "choices": output.choices, "shape": shape}


def verdict_shape(asked: AttemptStarted, nonce: str, phrase: str | None) -> Mapping[str, Any]:
    return {
        "phrase": "" if phrase is None else fence(phrase),
        "shape": _shape(review_schema()),
        "nonce": nonce,
        "tree": echo_of(asked.start),
    }


def _shape(schema: Mapping[str, Any]) -> str:
    return fence(json.dumps(plain(schema, Meter()), ensure_ascii=False, indent=2), "json")
