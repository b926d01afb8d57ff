"""The part of the workflow that one worker needs to know (R004): its step, what came before, what success means,
what comes next, and the shape of its answer. Generated for every prompt, so that no author has to write it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, assert_never

from podium.attempt.asking import visit_of
from podium.attempt.fenced import fence, first_line
from podium.attempt.verdicts import echo_of, review_schema
from podium.core.events import AttemptStarted
from podium.core.expr import ExprError, Names, NeedFact
from podium.core.graph import SCOPES, body_of, descendants_of, fresh_children, order_of, workflow_of
from podium.core.kinds import Meter, as_text, plain
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    Command,
    Gates,
    Human,
    Output,
    Review,
    Step,
    Target,
)
from podium.core.results import fields_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.template import Value, fill, fill_argv

BLOCKED: Final = "BLOCKED:"
"""How an answer begins that says only why there is none."""
SHOWN: Final = 12
"""So many steps before are told; further back is of little use to a worker."""


def excerpt_of(
    state: State, leaf: Leaf, asked: AttemptStarted, names: Names, *, touches: tuple[str, ...] | None
) -> str:
    parts = [
        "## Your step",
        "\n".join(_own(state, leaf, asked)),
        _section("Before it", _before(state, leaf)),
        _section("It succeeds when", _success(leaf, names, touches)),
        _section("After it", _after(state, leaf)),
        _blocked(leaf),
    ]
    return "\n\n".join(part for part in parts if part)


def _blocked(leaf: Leaf) -> str:
    verb = leaf.place.step.verb
    if isinstance(verb, Agent) and verb.judge:
        return ""
    return f"If something is in the way that you cannot remove, your whole last message is `{BLOCKED}` and what it is."


def _section(title: str, lines: Iterator[str]) -> str:
    found = [f"- {line}" for line in lines]
    return "\n".join((f"{title}:", *found)) if found else ""


def _own(state: State, leaf: Leaf, asked: AttemptStarted) -> Iterator[str]:
    workflow = workflow_of(state, leaf.place)
    about = f" ({first_line(workflow.description)})" if workflow.description else ""
    yield f'You do step "{leaf.place.step.name}" of the workflow "{workflow.name}"{about}.'
    if leaf.place.step.description:
        yield leaf.place.step.description
    visit = visit_of(state, leaf)
    if asked.attempt > 1 or visit > 1:
        yield f"This is visit {visit}, attempt {asked.attempt}."


def _before(state: State, leaf: Leaf) -> Iterator[str]:
    """The steps that are certainly finished, from the outermost block in."""
    lines: list[str] = []
    inner: Instance = leaf
    while inner.place.path != "":
        scope = state.instances[inner.place.parent]
        verb = scope.place.step.verb
        if isinstance(scope, Scope) and isinstance(verb, SCOPES) and body_of(verb) is not None:
            children = [child for child in fresh_children(state, scope) if _is_before(scope, child, inner)]
            lines[:0] = [_ended(state, child) for child in children]
        if isinstance(verb, Call):
            break
        inner = scope
    if len(lines) > SHOWN:
        yield f"({len(lines) - SHOWN} more steps)"
    yield from lines[-SHOWN:]


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


def _ended(state: State, child: Instance) -> str:
    assert child.ending is not None
    reason = f", {child.ending.reason}" if child.ending.reason else ""
    said = ""
    with suppress(ExprError):
        said = first_line(str(fields_of(state, child)["text"]))
    return f"{child.place.step.name}: {child.ending.outcome}{reason}{f' - {said}' if said else ''}"


def _success(leaf: Leaf, names: Names, touches: tuple[str, ...] | None) -> Iterator[str]:
    step = leaf.place.step
    verb = step.verb
    assert isinstance(verb, Agent)
    if verb.judge:
        yield "you give a verdict in the shape below; whatever else you write is dropped, and no file can be changed"
        return
    if touches is not None:
        yield f"only these files are changed: {', '.join(touches)}" if touches else "no file is changed"
    if verb.no_change == "fail":
        yield "at least one file is changed"
    protected = _words(step.settings.get("protect") or (), names)
    if protected and touches != ():
        yield f"these files are left alone: {', '.join(protected)}"
    for glob in _words(step.output.files, names):
        yield f"a file {glob} is there and not empty"
    if step.gates is not None and isinstance(step.gates.verb, Gates):
        yield from (_gate(gate, names) for gate in step.gates.verb.members)


def _words(values: tuple[Value, ...], names: Names) -> tuple[str, ...]:
    return tuple(_word(value, names) for value in values)


def _word(value: Value, names: Names) -> str:
    """As far as it is known: a fact that would have to be looked up first is not worth it here."""
    try:
        return as_text(fill(value, names), Meter())
    except (ExprError, NeedFact):
        return "..."


def _gate(gate: Step, names: Names) -> str:
    match gate.verb:
        case Command(script=None):
            try:
                return f'"{" ".join(fill_argv(gate.verb.argv, names))}" passes ({gate.name})'
            except (ExprError, NeedFact):
                return f"the command {gate.name} passes"
        case Command():
            return f"the script {gate.name} passes"
        case Check():
            return f"the check {gate.name} holds"
        case Review(members=members):
            return f"{', '.join(member.name for member in members)} approve it"
        case Human(question=question):
            return f"a person says yes to: {first_line(question.text)}"
        case _:
            return f"{gate.name} passes"


def _after(state: State, leaf: Leaf) -> Iterator[str]:
    scope = state.instances[leaf.place.parent]
    verb = scope.place.step.verb
    body = body_of(verb) if isinstance(verb, SCOPES) else None
    if body is None:
        return
    following = [body.steps[index].name for index in _following(body, leaf.place.slot)]
    if following:
        yield f"next: {', '.join(following)}"
    for outcome, target in leaf.place.step.on.items():
        yield f"if {outcome}: {_target(target, body)}"


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


def _target(target: Target, body: Block) -> str:
    words = {
        "next": "go on",
        "end": "this block is done",
        "fail": "this block fails",
        "break": "leave the loop",
    }
    return f'go to "{body.steps[target.step].name}"' if target.kind == "step" else words[target.kind]


def answer_shape(output: Output) -> str:
    """How a worker has to answer."""
    match output.kind:
        case "text":
            return ""
        case "lines":
            return "## Your answer\n\nYour last message is read as a list, one entry per line, with nothing around it."
        case "choice":
            return f"## Your answer\n\nYour last message is exactly one of: {', '.join(output.choices)}"
        case "json":
            return f"## Your answer\n\n{_ONLY_JSON}"
        case "schema":
            return f"## Your answer\n\n{_ONLY_JSON} It has this shape:\n{_shape(output.schema or {})}"
        case _:
            assert_never(output.kind)


_ONLY_JSON: Final = (
    "Your last message is exactly one JSON value with nothing before or after it: no prose, no comment."
)


def verdict_shape(asked: AttemptStarted, nonce: str, phrase: str | None) -> str:
    if phrase is not None:
        return (
            f"## Your verdict\n\nIf you approve, your last line is exactly:\n{fence(phrase)}\n"
            "If you do not, say what has to change and leave that line out."
        )
    return (
        f"## Your verdict\n\n{_ONLY_JSON} It has this shape, with this nonce and this tree:\n"
        f"{_shape(review_schema())}\n\nnonce: {nonce}\ntree: {echo_of(asked.start)}\n\n"
        "score is from 1 to 10. Every finding has a severity (critical, major or minor) and says in `issue` what is "
        "wrong. An empty list of findings means that you looked and found none. `abort` means it is hopeless."
    )


def _shape(schema: Mapping[str, Any]) -> str:
    return fence(json.dumps(plain(schema, Meter()), ensure_ascii=False, indent=2), "json")
