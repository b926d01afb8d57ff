"""Checks what an expression or a prompt reads: names (15), steps (12-14), fields (16), types (17)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Reference, Text, references
from podium.core.expressions.values import phrase
from podium.workflow.expressions.field_hints import field_hint
from podium.workflow.expressions.inference import TypeProblem, check_condition, kind
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.expressions.types import ANY, MapOf, Type
from podium.workflow.lint.analysis.computed_settings import Violation, setting_violations
from podium.workflow.lint.analysis.names import name_type, type_of
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.survey import StepSite
from podium.workflow.lint.analysis.visible_steps import steps_type, visible_step
from podium.workflow.problems import did_you_mean
from podium.workflow.prompts.prompt import PromptReference

ONE_NAME: Final = frozenset({"agent", "role", "model", "review"})
CONDITIONS: Final = frozenset({"when", "check", "until", "while", "where"})
SCOPED_NAMES: Final = {
    "loop": "exists only in a loop",
    "item": "exists only in for_each",
    "member": "exists only in a list of roles or agents",
    "work": "exists only in reviews and gates",
    "change": "exists only in reviews and gates",
    "with": "exists only where a role or workflow has parameters",
    "feedback": "exists only in steps",
    "attempt": "exists only in steps",
    "message": "exists only in a team",
    **dict.fromkeys(("feature", "phase", "component", "interfaces"), "exists only in a build"),
}
"""Names that exist only in some places."""

ROOTS: Final = ("inputs", "vars", "steps", "run", "env", *SCOPED_NAMES)
MISSING: Final = {
    "inputs": 'inputs has no "{}"',
    "vars": "vars.{} is never set",
    "env": 'env has no "{}"',
    "with": 'with has no "{}"',
}
DECLARATIONS: Final = {
    "inputs": "declare it: inputs: {{{}: string}}",
    "vars": "give it a first value: vars: {{{}: 0}}",
    "env": "env: [{}]",
}


def check_expression(scope: Scope, text: str, key: str) -> Iterator[Violation]:
    try:
        node = parse_expression(text)
    except ExpressionError as error:
        yield Violation(17, error.message, error.hint or "")
        return
    violations = tuple(_references(scope, node))
    yield from violations
    if all(violation.warning for violation in violations):
        yield from _types(scope, node, key)


def check_value(scope: Scope, text: str, key: str) -> Iterator[Violation]:
    try:
        value = parse_value(text)
    except ExpressionError as error:
        yield Violation(17, error.message, error.hint or "")
        return
    if isinstance(value, str):
        return
    nodes = (
        [part for part in value.parts if not isinstance(part, str)] if isinstance(value, Text) else [value]
    )
    for node in nodes:
        violations = tuple(_references(scope, node))
        if all(violation.warning for violation in violations):
            violations = (*violations, *_types(scope, node, ""))
        yield from violations or (*_names_one(scope, node, key), *setting_violations(scope, node, key))


def _names_one(scope: Scope, node: Node, key: str) -> Iterator[Violation]:
    """A key that names one thing takes no list, unless the step says how many members there may be."""
    shape = kind(type_of(scope, node)) if key in ONE_NAME else None
    panel = None if scope.site is None or scope.gate is not None else scope.site.step.panel_key
    if key == panel:
        if shape not in (None, "list"):
            yield Violation(17, f'"{key}" with limits.members takes a list of names, not a {shape}')
    elif shape == "list" and key != "model" and scope.gate is None:
        is_loop = scope.site is not None and scope.site.step.for_each is not None
        hint = "put the step into steps: of the loop" if is_loop else "limits: {members: 5}"
        yield Violation(29, f'"{key}" is a list of unknown length; say how many members it may have', hint)
    elif shape in ("list", "map"):
        hint = "for_each runs a step for each entry of a list"
        yield Violation(17, f'"{key}" takes one name, and this is a {shape}', hint)


def _types(scope: Scope, node: Node, key: str) -> Iterator[Violation]:
    try:
        if key in CONDITIONS:
            check_condition(node, lambda name: _type_of_name(scope, node, name), f'"{key}"')
        else:
            type_of(scope, node)
    except TypeProblem as problem:
        is_field = " has no field " in problem.message
        rule = 16 if is_field else 14 if " may be absent" in problem.message else 17
        yield Violation(rule, problem.message, problem.hint or "")


def _type_of_name(scope: Scope, read: Node, name: str) -> Type:
    return steps_type(scope, read) if name == "steps" else (name_type(scope, name) or ANY)


def _references(scope: Scope, node: Node) -> Iterator[Violation]:
    """Each violation once, however often the same thing is read."""
    violations = (
        violation for reference in references(node) for violation in check_reference(scope, reference)
    )
    return iter(dict.fromkeys(violations))


def check_reference(scope: Scope, reference: Reference | PromptReference) -> Iterator[Violation]:
    name, *fields = reference.chain
    if name == "steps" and scope.place not in {"policy", "shared", "subject"}:
        if fields:
            yield from _step(scope, reference)
        return
    read_type = ANY if name == "steps" and scope.place == "shared" else name_type(scope, name)
    if read_type is None:
        yield _unknown(scope, name)
        return
    violations = tuple(_fields(read_type, (name,), fields, optional=reference.optional))
    loop = _loop_that_ends(scope, fields[0]) if name == "vars" and fields else None
    if loop is None:
        yield from violations
        return
    fact = f'"{loop.name}" sets vars.{fields[0]} in for_each, where it ends with each iteration'
    hint = f"for_each: {{in: ..., carry: {fields[0]}}} keeps the last value"
    yield Violation(14, fact, hint, warning=not violations)


def _loop_that_ends(scope: Scope, name: str) -> StepSite | None:
    """The step above that sets this variable for its own iteration only, if no other step sets it for this place."""
    open_loops = tuple(scope.loops())
    ended = None
    for setter in scope.facts.setters.get(name, ()):
        loops = [site for site in setter.around() if _ends_variable(site, name) and site not in open_loops]
        if not loops:
            return None
        ended = setter if _is_before(loops[-1], scope) else ended
    return ended if scope.place in {"outputs", "whole", "inside", "after"} else None


def _is_before(loop: StepSite, scope: Scope) -> bool:
    reader = next((site for site in scope.sites if site.block is loop.block), None)
    return reader is None or loop.block.order[loop.name] < loop.block.order[reader.name]


def _ends_variable(site: StepSite, name: str) -> bool:
    loop = site.step.for_each
    return loop is not None and name not in (loop.carry or ())


def _unknown(scope: Scope, name: str) -> Violation:
    if scope.place == "policy" and name in ROOTS:
        return Violation(15, f'a policy cannot read "{name}"', "a policy can read change, run and inputs")
    if scope.place == "subject":
        return Violation(15, f'subject cannot read "{name}"', "it is computed before the run from inputs")
    if name in SCOPED_NAMES:
        item = next(
            (site.step.for_each.as_ for site in scope.loops() if site.step.for_each is not None), None
        )
        hint = f'here the item is called "{item}"' if name == "item" and item is not None else ""
        return Violation(15, f'"{name}" {SCOPED_NAMES[name]}', hint)
    if name in scope.facts.survey.context.file.secrets:
        return Violation(
            15,
            f'"{name}" is a secret, which an expression cannot read',
            "its step gets it in the environment",
        )
    qualified = [f"{owner}.{name}" for owner, names in _qualified_names(scope) if name in names]
    hint = f"write {qualified[0]}" if qualified else did_you_mean(name, ROOTS)
    return Violation(15, f'"{name}" is not defined', hint)


def _qualified_names(scope: Scope) -> Iterator[tuple[str, Iterable[str]]]:
    file = scope.facts.survey.context.file
    yield from (("inputs", file.inputs), ("vars", scope.facts.vars), ("steps", file.steps))


def _step(scope: Scope, reference: Reference | PromptReference) -> Iterator[Violation]:
    name, *fields = reference.chain[1:]
    visible = visible_step(scope, name)
    if visible.type is None:
        yield Violation(visible.rule, visible.message, visible.hint)
        return
    assert isinstance(visible.type, MapOf)
    first = fields[0] if fields else None
    may_be_absent = (
        first in visible.type.optional
        if first is not None
        else len(visible.type.optional) == len(visible.type.fields)
    )
    if may_be_absent and not reference.optional and (first is None or first in visible.type.fields):
        yield Violation(14, f"steps.{name} {_absence_reason(visible.outcomes, first)}; use default(...)")
    else:
        yield from _fields(visible.type, ("steps", name), fields, optional=reference.optional)


def _absence_reason(outcomes: frozenset[str], field: str | None) -> str:
    if "never" in outcomes or "skipped" in outcomes:
        return "may not have run"
    return f"may have no {field}" if field in {"tests", "coverage"} else "may have failed"


def _fields(owner: Type, chain: tuple[str, ...], fields: list[str], *, optional: bool) -> Iterator[Violation]:
    """Follows a chain of fields through types; stops at an unknown type."""
    for name in fields:
        label = ".".join(chain)
        if not isinstance(owner, MapOf):
            owner_kind = kind(owner)
            if owner_kind is not None:
                hint = "output: {schema: ...} declares its fields" if chain[-1] == "output" else ""
                yield Violation(16, f'{label} is {phrase(owner_kind)} and has no field "{name}"', hint)
            return
        if name not in owner.fields and not owner.open:
            yield _no_field(owner, chain, name)
            return
        if name in owner.optional and not optional:
            yield _may_be_absent(chain, name)
            return
        owner = owner.fields.get(name, owner.other_type)
        chain = (*chain, name)


def _no_field(owner: MapOf, chain: tuple[str, ...], name: str) -> Violation:
    if len(chain) == 1 and chain[0] in MISSING:
        hint = did_you_mean(name, owner.fields) or DECLARATIONS.get(chain[0], "").format(name)
        return Violation(15, MISSING[chain[0]].format(name), hint)
    if chain == ("run",) and name in {"outcome", "reason"}:
        return Violation(15, f"run.{name} exists only in finally and outputs")
    return Violation(
        16, f'{owner.name or ".".join(chain)} has no field "{name}"', field_hint(name, owner.fields)
    )


def _may_be_absent(chain: tuple[str, ...], name: str) -> Violation:
    label = ".".join((*chain, name))
    fact = "may not have been set" if chain == ("vars",) else "may be absent"
    return Violation(14, f"{label} {fact}; use default({label}, ...)")
