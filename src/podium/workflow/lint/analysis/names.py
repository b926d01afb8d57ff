"""What a name means at one place of a file: which names there are, and of which type."""

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
from podium.workflow.lint.analysis.visible_steps import steps_type, surely_ran

RUN: Final[Mapping[str, Type]] = MappingProxyType(
    {**dict.fromkeys(("id", "name", "branch", "base", "date"), TEXT), "usd": NUMBER}
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
    "inputs vars run env loop item member work change feedback message feature phase component interfaces".split()
)
"""What a role or a named gate may read wherever it will be used; only its own parameters are known already."""

BUILD_NAMES: Final = {
    "design": ("feature", "phase", "interfaces"),
    "component": ("feature", "phase", "component", "interfaces"),
    "override": ("feature", "phase", "component", "interfaces"),
}


def root(scope: Scope, name: str) -> Type | None:
    """None for a name that means nothing here. `steps` is given by `steps_type`."""
    if scope.place == "policy" and name not in {"inputs", "run", "change"}:
        return None
    if scope.place == "shared" and name in SHARED:
        return ANY
    match name:
        case "inputs":
            return scope.know.inputs
        case "run":
            return MapOf(RUN_ENDED if scope.is_in_finally or scope.place == "outputs" else RUN)
        case "vars":
            return _vars(scope)
        case "env":
            return MapOf(MappingProxyType(dict.fromkeys(scope.env_names(), TEXT)))
        case "change" if scope.place == "policy":
            return CHANGE
        case _:
            return _local(scope, name)


def _vars(scope: Scope) -> MapOf:
    """One that is not declared at the top is there once a step has surely set it."""
    know = scope.know
    unsure = [
        name
        for name in know.vars
        if name not in know.survey.context.file.vars
        and not any(surely_ran(scope, site) for site in know.setters[name])
    ]
    return MapOf(MappingProxyType(dict(know.vars)), optional=frozenset(unsure))


def _local(scope: Scope, name: str) -> Type | None:
    """Names that exist only in some places."""
    found = {**_build_names(scope), **_loop_names(scope)}
    if name in found:
        return found[name]
    match name:
        case "loop":
            return _loop(scope)
        case "with" if scope.site is not None or scope.role is not None:
            return _parameters(scope)
        case "feedback" if scope.site is not None or scope.role is not None:
            return ANY
        case "member":
            return TEXT if scope.is_member() else None
        case "work" | "change":
            return _judged(scope, name)
        case "message":
            return ANY if scope.is_in_team() else None
        case _:
            return None


def _loop_names(scope: Scope) -> Mapping[str, Type]:
    sites = list(scope.loops())
    if scope.place == "items" and scope.site is not None:
        sites.insert(0, scope.site)
    loops = ((site, site.step.for_each) for site in reversed(sites))
    return {loop.as_: scope.know.items.get(site, ANY) for site, loop in loops if loop is not None}


def _build_names(scope: Scope) -> Mapping[str, Type]:
    names = (name for site in scope.sites for name in BUILD_NAMES.get(site.block.part, ()))
    return dict.fromkeys(names, ANY)


def _loop(scope: Scope) -> Type | None:
    found: MapOf | None = None
    for _ in scope.loops():
        outer = {} if found is None else {"outer": found}
        found = MapOf(MappingProxyType({**LOOP, **outer}))
    return found


def _parameters(scope: Scope) -> Type:
    """Those of the role that plays here; a role that only the run will tell has unknown ones."""
    known: list[str] = list((scope.role.with_ or {}) if scope.role is not None else ())
    if scope.site is not None and scope.site.step.verb in {"agent", "review"}:
        roles = list(roles_of(scope.site))
        if not roles and scope.site.step.agent is None:
            return ANY
        known += [name for role in roles for name in role.with_ or {}]
        known += scope.site.step.with_ or {}
    return MapOf(MappingProxyType(dict.fromkeys(known, ANY)))


def _judged(scope: Scope, name: str) -> Type | None:
    if scope.site is None:
        return None
    if scope.gate is not None:
        work = scope.know.round(scope.site)
    elif scope.site.step.verb == "review" and scope.place == "inside":
        judged = judged_steps(scope.know.survey, scope.site)
        if not judged:
            return ANY
        work = scope.know.result(judged[-1])
    else:
        return None
    if name == "change":
        return CHANGE
    return replace(work.seen(frozenset({"passed"}), fragile=False), name="work")


def type_of(scope: Scope, node: Node) -> Type:
    """Raises TypeProblem."""

    def name_type(name: str) -> Type:
        return steps_type(scope, node) if name == "steps" else (root(scope, name) or ANY)

    return infer(node, name_type)


def learn_items(know: FileFacts) -> None:
    """The types of what loops go over, in the order of the file: a loop reads only what stands above it."""
    for site in know.survey.sites:
        if site.step.for_each is not None:
            know.items[site] = _item_type(know, site)


def _item_type(know: FileFacts, site: StepSite) -> Type:
    """ANY where something is wrong with the expression; that is told where it stands."""
    described: Type = ANY
    items = site.step.for_each.in_ if site.step.for_each is not None else None
    # A number that is too big was told and left out, so that nothing is here.
    if isinstance(items, tuple):
        described = literal_type(items)
    elif isinstance(items, str):
        with suppress(ExpressionError, TypeProblem):
            described = type_of(Scope(know, site, "whole"), parse_expression(items))
    return described.of if isinstance(described, ListOf) else ANY
