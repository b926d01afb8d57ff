"""Which steps can be read at one place, and how certain it is that they have finished."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from podium.core.expressions.templates import references
from podium.fast_dataclass import dataclass
from podium.workflow.expressions.types import MapOf, Type
from podium.workflow.lint.analysis.control_flow import ALL, is_above, outcomes_of_need
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.step_fields import fragile_outcomes
from podium.workflow.lint.analysis.survey import Block, StepSite
from podium.workflow.problems import did_you_mean

FEEDBACK = 'use "feedback" for what a later step sends back'


@dataclass(frozen=True, slots=True)
class VisibleStep:
    """A step that can be read has a type; one that cannot has the rule it violates."""

    type: Type | None = None
    outcomes: frozenset[str] = frozenset()
    rule: int = 0
    message: str = ""
    hint: str = ""


def visible_step(scope: Scope, name: str) -> VisibleStep:
    site = scope.site
    if site is None:
        return _at_the_end(scope, name) if scope.place == "outputs" else _unknown(scope, name)
    own = _own_step(scope, name)
    if own is not None:
        return own
    for reader in site.around():
        block = reader.block
        if not block.is_body and name in block.steps:
            return _in_block(scope, block, reader, name)
    if scope.is_in_finally and name in site.context.file.steps:
        return _result(scope, _top_site(scope, name), ALL)
    return _unknown(scope, name)


def _own_step(scope: Scope, name: str) -> VisibleStep | None:
    """What a place can read of its own step: inner steps in a test or a result, the step itself in a message."""
    site, facts = scope.site, scope.facts
    assert site is not None
    if scope.place in {"after", "after_failure"} and name == site.name:
        return _result(scope, site, frozenset({"passed" if scope.place == "after" else "failed"}))
    if scope.place not in {"until", "while", "result"}:
        return None
    if name == site.name and scope.place != "result":
        outcomes = ALL if scope.place == "while" else frozenset({"passed"})
        return VisibleStep(facts.iteration(site).readable_after(outcomes), outcomes)
    block = facts.block_in(site)
    if block is None or name not in block.steps:
        return None
    inner = facts.survey.sites_of[block][block.order[name]]
    return _result(scope, inner, ALL if scope.place == "while" else facts.outcomes_at_end(block, inner))


def _in_block(scope: Scope, block: Block, reader: StepSite, name: str) -> VisibleStep:
    """`reader` is the step of this block that reads, or that contains the reader."""
    site = scope.facts.survey.sites_of[block][block.order[name]]
    reads = f'"{scope.label}" reads steps.{name}'
    if site is reader:
        what = "its own result" if reader is scope.site else "which it is part of"
        return VisibleStep(rule=12, message=f"{reads}, {what}", hint=FEEDBACK)
    later = VisibleStep(rule=12, message=f"{reads}, which runs later; {FEEDBACK}")
    if block.kind == "seq":
        reader_number, step_number = block.order[reader.name], block.order[name]
        return (
            later
            if step_number > reader_number
            else _result(scope, site, scope.facts.flow(block).outcomes_at(reader_number, step_number))
        )
    if block.kind == "par":
        return VisibleStep(rule=13, message=f"{reads}, which runs in parallel", hint="add needs to the steps")
    if is_above(block, name, reader.name) or reader.step.needs is None:
        return _result(scope, site, outcomes_of_need(site, reader))
    if is_above(block, reader.name, name):
        return later
    return VisibleStep(rule=13, message=f"{reads} but does not need it", hint=f"needs: [{name}]")


def _at_the_end(scope: Scope, name: str) -> VisibleStep:
    steps = scope.facts.survey.context.file.steps
    if name not in steps:
        return _unknown(scope, name)
    site = _top_site(scope, name)
    return _result(scope, site, scope.facts.outcomes_at_end(site.block, site))


def _top_site(scope: Scope, name: str) -> StepSite:
    block = scope.facts.survey.blocks[0]
    return scope.facts.survey.sites_of[block][block.order[name]]


def _result(scope: Scope, site: StepSite, outcomes: frozenset[str]) -> VisibleStep:
    return VisibleStep(_type(scope, site, outcomes), outcomes)


def _type(scope: Scope, site: StepSite, outcomes: frozenset[str]) -> MapOf:
    return scope.facts.result(site).readable_after(outcomes, fragile=fragile_outcomes(site))


def _unknown(scope: Scope, name: str) -> VisibleStep:
    inner = [site for site in scope.facts.survey.sites if site.name == name and site.block.owner is not None]
    if inner and not inner[0].block.is_body:
        owner = inner[0].block.owner
        assert owner is not None
        hint = f'it is inside "{owner.name}"; write steps.{owner.name}.steps.{name}'
    else:
        around = scope.site.block.around() if scope.site is not None else scope.facts.survey.blocks[:1]
        hint = did_you_mean(name, [other for block in around for other in block.steps])
    return VisibleStep(rule=15, message=f'step "{name}" does not exist', hint=hint)


def has_certainly_passed(scope: Scope, site: StepSite) -> bool:
    """Whether this step has passed whenever the place is reached."""
    if scope.site is None:
        return False
    for reader in scope.site.around():
        if site.block is reader.block and site is not reader:
            visible = _in_block(scope, site.block, reader, site.name)
            return visible.outcomes == {"passed"}
    return False


def steps_type(scope: Scope, read: Any) -> Type:
    """The type of `steps` with the steps that `read` names; a computed name can give anything."""
    names = {
        reference.chain[1]
        for reference in references(read)
        if reference.chain[0] == "steps" and len(reference.chain) > 1
    }
    types = {name: visible.type for name in names if (visible := visible_step(scope, name)).type is not None}
    return MapOf(MappingProxyType(types), open=True)
