"""Facts about a step for its prompt (R004): its place in the workflow, what success means, how to answer.

Collected for every prompt, so that authors need not write them; partials provide the wording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.attempt.agent.verdict import echo_of, verdict_schema
from podium.core.events import AttemptStarted
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import Value, fill, fill_argv
from podium.core.expressions.values import Meter, as_text, plain
from podium.core.model import Agent, Check, Command, Gates, Human, Output, Review, Step
from podium.tasks.task import AttemptTask, ReviewScope
from podium.workflow.prompts.quoting import fence, first_line

BLOCKED: Final = "BLOCKED:"
"""Prefix of an answer that only says why the step cannot be done."""


def excerpt_facts(task: AttemptTask, names: Names, *, touches: tuple[str, ...] | None) -> Mapping[str, Any]:
    step, excerpt = task.step, task.agent_work.excerpt
    judge = task.agent.judge
    return {
        "step": {"name": step.name, "description": step.description},
        "workflow": {"name": excerpt.workflow, "about": excerpt.about},
        "visit": excerpt.visit,
        "attempt": task.started.attempt,
        "before": excerpt.before,
        "more": excerpt.more,
        "success": [_VERDICT] if judge else list(_success(step, names, touches)),
        "next": excerpt.following,
        "routes": excerpt.routes,
        "judge": judge,
        "blocked": BLOCKED,
    }


def _success(step: Step, names: Names, touches: tuple[str, ...] | None) -> Iterator[Mapping[str, Any]]:
    verb = step.verb
    assert isinstance(verb, Agent)
    if touches is not None:
        yield _condition("only" if touches else "unchanged", files=touches)
    if verb.no_change == "fail":
        yield _condition("changed")
    protected = _words(step.settings.protect, names)
    if protected and touches != ():
        yield _condition("protected", files=protected)
    for glob in _words(step.output.files, names):
        yield _condition("file", files=(glob,))
    if step.gates is not None and isinstance(step.gates.verb, Gates):
        yield from (_gate(gate, names) for gate in step.gates.verb.members)


def _condition(kind: str, name: str = "", text: str = "", files: Sequence[str] = ()) -> Mapping[str, Any]:
    return {"kind": kind, "name": name, "said": text, "files": files}


_VERDICT: Final = _condition("verdict")


def _words(values: tuple[Value, ...], names: Names) -> tuple[str, ...]:
    return tuple(_word(value, names) for value in values)


def _word(value: Value, names: Names) -> str:
    """The text, or "..." if it needs a fact: a description is not worth a lookup."""
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


def answer_shape(output: Output) -> Mapping[str, Any]:
    """The form of the answer that an agent has to give."""
    shape = _shape(output.schema or {}) if output.kind == "schema" else ""
    return {"kind": output.kind, "choices": output.choices, "shape": shape}


def verdict_shape(
    started: AttemptStarted, nonce: str, review: ReviewScope | None, *, accepts_tests: bool = False
) -> Mapping[str, Any]:
    scope = review or ReviewScope()
    is_bound = scope.form == "review"
    return {
        "phrase": "" if scope.phrase is None else fence(scope.phrase),
        "anywhere": scope.approve == "anywhere",
        "shape": _shape(verdict_schema(scope.form, accepts_tests=accepts_tests)),
        "accepts_tests": accepts_tests,
        "nonce": nonce if is_bound else "",
        "tree": echo_of(started.start) if is_bound else "",
    }


def _shape(schema: Mapping[str, Any]) -> str:
    return fence(json.dumps(plain(schema, Meter()), ensure_ascii=False, indent=2), "json")
