"""Prints a workflow as a few readable lines, for failing examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from podium.core.expressions.nodes import Call as FunctionCall
from podium.core.expressions.nodes import Compare, Const, Node, show
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    ForEach,
    Gates,
    Human,
    Members,
    Repeat,
    Review,
    Set,
    Step,
    Wait,
    Workflow,
)
from podium.core.policy import NO_LIMITS, NO_RETRY, Breaker, Limits, Retry


def outline(workflow: Workflow) -> str:
    return "\n".join(_workflow(workflow, "  "))


def _workflow(workflow: Workflow, pad: str) -> Iterator[str]:
    yield f"{pad}limits {_set(workflow.limits)} slots {workflow.max_parallel} {_breaker(workflow)}"
    yield from _block(workflow.body, pad)
    if workflow.finally_ is not None:
        yield from _step(workflow.finally_, pad, None)


def _breaker(workflow: Workflow) -> str:
    rules = "advisor" if workflow.advisor is not None else "person"
    return f"breaker {_set(workflow.breaker)} asks {rules}"


def _set(value: Limits | Retry | Breaker) -> str:
    """Only the fields that differ from the default."""
    plain = type(value)()
    names = [field.name for field in fields(value)]
    changed = {name: getattr(value, name) for name in names if getattr(value, name) != getattr(plain, name)}
    return " ".join(f"{name}={changed}" for name, changed in changed.items()) or "-"


def _block(block: Block, pad: str) -> Iterator[str]:
    rest = " cancels rest" if block.cancels_rest else ""
    yield f"{pad}[{block.kind} parallel={block.parallel} pass={block.rule} join={block.join}{rest}]"
    for step in block.steps:
        yield from _step(step, pad, block)


def _step(step: Step, pad: str, block: Block | None) -> Iterator[str]:
    notes = [f"{pad}- {step.name}: {_verb(step)}"]
    if block is not None and block.kind == "dag":
        notes.append(f"needs={[block.steps[index].name for index in step.needs]} {step.needs_rule}")
    for outcome, target in step.on.items():
        place = block.steps[target.step].name if block is not None and target.kind == "step" else target.kind
        notes.append(f"{outcome}->{place}")
    if step.when is not None:
        notes.append(f"when({_text(step.when)})")
    if step.retry != NO_RETRY:
        notes.append(f"retry({_set(step.retry)})")
    if step.limits != NO_LIMITS:
        notes.append(f"limits({_set(step.limits)})")
    if step.timeout is not None:
        notes.append(f"timeout={step.timeout // 60_000}m")
    if step.touches != ():
        notes.append(f"touches={step.touches}")
    if not step.repeatable:
        notes.append("once")
    yield " ".join(notes)
    if step.gates is not None:
        yield from _step(step.gates, pad + "  ", None)
    yield from _inside(step, pad + "    ")


def _inside(step: Step, pad: str) -> Iterator[str]:
    match step.verb:
        case Block() as block:
            yield from _block(block, pad)
        case Call(workflow=workflow):
            yield from _workflow(workflow, pad)
        case Members(members=members) | Review(members=members) | Gates(members=members):
            for member in members:
                yield from _step(member, pad, None)
        case ForEach(body=body) | Repeat(body=body):
            yield from _step(body, pad, None)
        case _:
            return


def _verb(step: Step) -> str:
    match step.verb:
        case Agent() as agent:
            return f"{'judge' if agent.judge else 'agent'} {agent.estimate.usd / 1e6:.2f}$ {'/'.join(agent.fallback)}"
        case Check(test=test):
            return f"check {_text(test)}"
        case Set(values=values):
            return f"set {values[0][0]}"
        case Human(oversight=sight):
            return f"human {sight.level} x{sight.approvals} by {sight.by}"
        case Wait() as wait:
            return f"wait {wait.what} {dict(wait.detail)}"
        case Review() as review:
            return f"review of {review.of} pass={review.rule} {review.oversight.level}"
        case Members() as members:
            return f"members pass={members.rule} join={members.join} rest={members.cancels_rest}"
        case ForEach() as loop:
            return f"for_each {loop.items} parallel={loop.parallel} pass={loop.rule} join={loop.join} rest={loop.cancels_rest}"
        case Repeat() as loop:
            return f"repeat {loop.kind} {_text(loop.test)} max={loop.max} {loop.on_exhausted}"
        case verb:
            return type(verb).__name__.lower()


def _text(node: Node) -> str:
    match node:
        case Compare(op, left, right):
            return f"{_text(left)} {op} {_text(right)}"
        case Const(value):
            return repr(value)
        case FunctionCall(function, args):
            return f"{function}({', '.join(map(_text, args))})"
        case _:
            return show(node)
