"""The names that can be read at one place of a file, and their types."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from podium.core.expressions.nodes import Node
from podium.workflow.expressions.inference import TypeProblem, infer
from podium.workflow.expressions.parser import ExpressionError, parse_expression
from podium.workflow.expressions.types import ANY, INT, NUMBER, TEXT, ListOf, MapOf, Type
from podium.workflow.lint.analysis.assigned_agents import roles_of
from podium.workflow.lint.analysis.file_facts import FileFacts, literal_type
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.survey import StepSite, judged_steps
from podium.workflow.lint.analysis.visible_steps import has_certainly_passed, steps_type

RUN: Final[Mapping[str, Type]] = MappingProxyType(
    {**dict.fromkeys(("id", "name", "branch", "base", "date"), TEXT), "usd": NUMBER, "number": INT}
)
RUN_ENDED: Final[Mapping[str, Type]] = MappingProxyType({**RUN, "outcome": TEXT, "reason": TEXT})
LOOP: Final[Mapping[str, Type]] = MappingProxyType(
    {**dict.fromkeys(("index", "number", "total"), INT), "elapsed": NUMBER}
)
CHANGE: Final = MapOf(
    MappingProxyType(
        {
            **dict.fromkeys(("files", "added", "removed"), INT),
            "paths": ListOf(TEXT),
            "coverage": NUMBER,
            "tests": ANY,
        }
    ),
    optional=frozenset({"coverage", "tests"}),
)
SHARED: Final = frozenset(
    "inputs vars run env loop item member work change feedback attempt message feature phase component interfaces".split()
)
"""Names that a role or a named gate may read in any step; only its own parameters are known here."""

BUILD_NAMES: Final = {
    "design": ("feature", "phase", "interfaces"),
    "component": ("feature", "phase", "component", "interfaces"),
    "override": ("feature", "phase", "component", "interfaces"),
}


def name_type(scope: Scope, name: str) -> Type | None:
    """The type of a name; None for an unknown name. `steps_type` gives the type of `steps`."""
    if scope.place == "policy" and name not in {"inputs", "run", "change"}:
        return None
    if scope.place == "subject" and name != "inputs":
        return None
    if scope.place == "shared" and name in SHARED:
        return ANY
    match name:
        case "inputs":
            return scope.facts.inputs
        case "run":
            return MapOf(RUN_ENDED if scope.is_in_finally or scope.place == "outputs" else RUN)
        case "vars":
            return _vars_type(scope)
        case "env":
            return MapOf(MappingProxyType(dict.fromkeys(scope.env_names(), TEXT)))
        case "change" if scope.place == "policy":
            return CHANGE
        case _:
            return _local_type(scope, name)


def _vars_type(scope: Scope) -> MapOf:
    """The type of `vars`; a variable that is not declared at the top is optional until a step has certainly set it."""
    facts = scope.facts
    optional = [
        name
        for name in facts.vars
        if name not in facts.survey.context.file.vars
        and not any(has_certainly_passed(scope, site) for site in facts.setters[name])
    ]
    return MapOf(MappingProxyType(dict(facts.vars)), optional=frozenset(optional))


def _local_type(scope: Scope, name: str) -> Type | None:
    """The type of a name that exists only in some places."""
    names = {**_build_names(scope), **_loop_names(scope)}
    if name in names:
        return names[name]
    match name:
        case "loop":
            return _loop_type(scope)
        case "with" if scope.site is not None or scope.role is not None:
            return _parameters_type(scope)
        case "feedback" if scope.site is not None or scope.role is not None:
            return ANY
        case "attempt" if scope.site is not None or scope.role is not None:
            return INT
        case "member":
            return TEXT if scope.is_member() else None
        case "work" | "change":
            return _judged_type(scope, name)
        case "message":
            return ANY if scope.is_in_team() else None
        case _:
            return None


def _loop_names(scope: Scope) -> Mapping[str, Type]:
    sites = list(scope.loops())
    if scope.place == "items" and scope.site is not None:
        sites.insert(0, scope.site)
    loops = ((site, site.step.for_each) for site in reversed(sites))
    return {loop.as_: scope.facts.items.get(site, ANY) for site, loop in loops if loop is not None}


def _build_names(scope: Scope) -> Mapping[str, Type]:
    names = (name for site in scope.sites for name in BUILD_NAMES.get(site.block.part, ()))
    return dict.fromkeys(names, ANY)


def _loop_type(scope: Scope) -> Type | None:
    loop_type: MapOf | None = None
    for site in reversed(list(scope.loops())):
        outer = {} if loop_type is None else {"outer": loop_type}
        loop = site.step.for_each
        needs = {"needs": ListOf(ANY)} if loop is not None and loop.needs is not None else {}
        loop_type = MapOf(MappingProxyType({**LOOP, **needs, **outer}))
    return loop_type


def _parameters_type(scope: Scope) -> Type:
    """The parameters of the role in use; a role known only at run time has unknown ones."""
    names: list[str] = list((scope.role.with_ or {}) if scope.role is not None else ())
    if scope.site is not None and scope.site.step.verb in {"agent", "review"}:
        roles = list(roles_of(scope.site))
        if not roles and scope.site.step.agent is None:
            return ANY
        names += [name for role in roles for name in role.with_ or {}]
        names += scope.site.step.with_ or {}
    return MapOf(MappingProxyType(dict.fromkeys(names, ANY)))


def _judged_type(scope: Scope, name: str) -> Type | None:
    if scope.site is None:
        return None
    if scope.gate is not None:
        work = scope.facts.iteration(scope.site)
    elif scope.site.step.verb == "review" and scope.place == "inside":
        judged = judged_steps(scope.facts.survey, scope.site)
        if not judged:
            return ANY
        work = scope.facts.result(judged[-1])
    else:
        return None
    if name == "change":
        return CHANGE
    return replace(work.readable_after(frozenset({"passed"})), name="work")


def type_of(scope: Scope, node: Node) -> Type:
    """The type of an expression; raises TypeProblem."""

    def type_of_name(name: str) -> Type:
        return steps_type(scope, node) if name == "steps" else (name_type(scope, name) or ANY)

    return infer(node, type_of_name)


def infer_items(facts: FileFacts) -> None:
    """Infers the item types of loops in the order of the file, because a loop reads only steps above it."""
    for site in facts.survey.sites:
        if site.step.for_each is not None:
            facts.items[site] = _item_type(facts, site)


def _item_type(facts: FileFacts, site: StepSite) -> Type:
    """The item type of a loop; ANY for an invalid expression, which is reported at its place."""
    list_type: Type = ANY
    items = site.step.for_each.in_ if site.step.for_each is not None else None
    # A value that is too big was reported and omitted, so `items` may be None.
    if isinstance(items, tuple):
        list_type = literal_type(items)
    elif isinstance(items, str):
        with suppress(ExpressionError, TypeProblem):
            list_type = type_of(Scope(facts, site, "whole"), parse_expression(items))
    return list_type.of if isinstance(list_type, ListOf) else ANY
