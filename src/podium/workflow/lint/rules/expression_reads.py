"""Checks what an expression or a prompt reads at one place: names (15), steps (12-14), fields (16), types (17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Reference, Text, references
from podium.core.expressions.values import phrase
from podium.core.fast_dataclass import dataclass
from podium.workflow.expressions.inference import TypeProblem, check_condition, kind
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.expressions.types import ANY, MapOf, Type
from podium.workflow.lint.analysis.names import root, type_of
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.visible_steps import steps_type, visible_steps
from podium.workflow.problems import did_you_mean
from podium.workflow.prompts.prompt import PromptReference

CONDITIONS: Final = frozenset({"when", "check", "until", "while", "where"})
ONLY: Final = {
    "loop": "exists only in a loop",
    "item": "exists only in for_each",
    "member": "exists only in a list of roles or agents",
    "work": "exists only where something is judged",
    "change": "exists only where something is judged",
    "with": "exists only where a role or a workflow is given parameters",
    "feedback": "exists only in steps",
    "message": "exists only in a team",
    **dict.fromkeys(("feature", "phase", "component", "interfaces"), "exists only in a build"),
}
"""Names that mean something elsewhere."""

ROOTS: Final = ("inputs", "vars", "steps", "run", "env", *ONLY)
MISSING: Final = {
    "inputs": 'inputs has no "{}"',
    "vars": "nothing sets vars.{}",
    "env": 'env has no "{}"',
    "with": 'with has no "{}"',
}


@dataclass(frozen=True, slots=True)
class Complaint:
    rule: int
    message: str
    hint: str = ""


def check_expression(scope: Scope, text: str, key: str) -> Iterator[Complaint]:
    try:
        node = parse_expression(text)
    except ExpressionError as error:
        yield Complaint(17, error.message, error.hint or "")
        return
    found = tuple(_references(scope, node))
    yield from found or _types(scope, node, key)


def check_value(scope: Scope, text: str) -> Iterator[Complaint]:
    try:
        value = parse_value(text)
    except ExpressionError as error:
        yield Complaint(17, error.message, error.hint or "")
        return
    if isinstance(value, str):
        return
    nodes = (
        [part for part in value.parts if not isinstance(part, str)] if isinstance(value, Text) else [value]
    )
    for node in nodes:
        found = tuple(_references(scope, node))
        yield from found or _types(scope, node, "")


def _types(scope: Scope, node: Node, key: str) -> Iterator[Complaint]:
    try:
        if key in CONDITIONS:
            check_condition(node, lambda name: _type_of_name(scope, node, name), f'"{key}"')
        else:
            type_of(scope, node)
    except TypeProblem as problem:
        is_field = " has no field " in problem.message
        rule = 16 if is_field else 14 if " may be absent" in problem.message else 17
        yield Complaint(rule, problem.message, problem.hint or "")


def _type_of_name(scope: Scope, read: Node, name: str) -> Type:
    return steps_type(scope, read) if name == "steps" else (root(scope, name) or ANY)


def _references(scope: Scope, node: Node) -> Iterator[Complaint]:
    """Each mistake once, however often the same thing is read."""
    found = (complaint for reference in references(node) for complaint in check_reference(scope, reference))
    return iter(dict.fromkeys(found))


def check_reference(scope: Scope, reference: Reference | PromptReference) -> Iterator[Complaint]:
    name, *fields = reference.chain
    if name == "steps" and scope.place not in {"policy", "shared"}:
        if fields:
            yield from _step(scope, reference)
        return
    described = ANY if name == "steps" and scope.place == "shared" else root(scope, name)
    if described is None:
        yield _unknown(scope, name)
    else:
        yield from _fields(described, (name,), fields, optional=reference.optional)


def _unknown(scope: Scope, name: str) -> Complaint:
    if scope.place == "policy" and name in ROOTS:
        return Complaint(15, f'a policy does not see "{name}"', "it sees change, run and inputs")
    if name in ONLY:
        item = next(
            (site.step.for_each.as_ for site in scope.loops() if site.step.for_each is not None), None
        )
        hint = f'here the item is called "{item}"' if name == "item" and item is not None else ""
        return Complaint(15, f'"{name}" {ONLY[name]}', hint)
    if name in scope.know.survey.context.file.secrets:
        return Complaint(
            15, f'"{name}" is a secret; secrets are not names', "it is in the environment of its step"
        )
    qualified = [f"{owner}.{name}" for owner, names in _owned(scope) if name in names]
    hint = f"write {qualified[0]}" if qualified else did_you_mean(name, ROOTS)
    return Complaint(15, f'there is no name "{name}"', hint)


def _owned(scope: Scope) -> Iterator[tuple[str, Iterable[str]]]:
    file = scope.know.survey.context.file
    yield from (("inputs", file.inputs), ("vars", scope.know.vars), ("steps", file.steps))


def _step(scope: Scope, reference: Reference | PromptReference) -> Iterator[Complaint]:
    name, *fields = reference.chain[1:]
    seen = visible_steps(scope, name)
    if seen.type is None:
        yield Complaint(seen.rule, seen.message, seen.hint)
        return
    assert isinstance(seen.type, MapOf)
    first = fields[0] if fields else None
    absent = (
        first in seen.type.optional if first is not None else len(seen.type.optional) == len(seen.type.fields)
    )
    if absent and not reference.optional and (first is None or first in seen.type.fields):
        yield Complaint(14, f"steps.{name} {_why(seen.outcomes, first)}; use default(...)")
    else:
        yield from _fields(seen.type, ("steps", name), fields, optional=reference.optional)


def _why(outcomes: frozenset[str], field: str | None) -> str:
    if "never" in outcomes or "skipped" in outcomes:
        return "may not have run"
    return f"may have no {field}" if field in {"tests", "coverage"} else "may have failed"


def _fields(
    described: Type, way: tuple[str, ...], fields: list[str], *, optional: bool
) -> Iterator[Complaint]:
    """Follows a chain of fields through types; stops where nobody knows more."""
    for name in fields:
        called = ".".join(way)
        if not isinstance(described, MapOf):
            known = kind(described)
            if known is not None:
                yield Complaint(16, f'{called} is {phrase(known)} and has no field "{name}"')
            return
        if name not in described.fields and not described.open:
            yield _no_field(described, way, name)
            return
        if name in described.optional and not optional:
            yield _may_be_absent(way, name)
            return
        described = described.fields.get(name, described.other_type)
        way = (*way, name)


def _no_field(described: MapOf, way: tuple[str, ...], name: str) -> Complaint:
    hint = did_you_mean(name, described.fields)
    if len(way) == 1 and way[0] in MISSING:
        declare = f"env: [{name}]" if way[0] == "env" else ""
        return Complaint(15, MISSING[way[0]].format(name), hint or declare)
    if way == ("run",) and name in {"outcome", "reason"}:
        return Complaint(15, f"run.{name} exists only in finally and outputs")
    return Complaint(16, f'{described.name or ".".join(way)} has no field "{name}"', hint)


def _may_be_absent(way: tuple[str, ...], name: str) -> Complaint:
    called = ".".join((*way, name))
    what = "may not have been set" if way == ("vars",) else "may be absent"
    return Complaint(14, f"{called} {what}; use default({called}, ...)")
