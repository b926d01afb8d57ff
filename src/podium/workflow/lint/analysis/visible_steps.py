"""Which steps can be read at one place: those that are certainly finished there, and how far that is certain."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from podium.core.expressions.templates import references
from podium.core.fast_dataclass import dataclass
from podium.workflow.expressions.types import MapOf, Type
from podium.workflow.lint.analysis.control_flow import ALL, is_above, outcomes_of_need
from podium.workflow.lint.analysis.scope import Scope
from podium.workflow.lint.analysis.step_fields import is_fragile
from podium.workflow.lint.analysis.survey import Block, StepSite
from podium.workflow.problems import did_you_mean

FEEDBACK = 'what comes back is "feedback"'


@dataclass(frozen=True, slots=True)
class VisibleStep:
    """A step that can be read has a type; one that cannot has the rule it breaks."""

    type: Type | None = None
    outcomes: frozenset[str] = frozenset()
    rule: int = 0
    message: str = ""
    hint: str = ""


def visible_steps(scope: Scope, name: str) -> VisibleStep:
    site = scope.site
    if site is None:
        return _at_the_end(scope, name) if scope.place == "outputs" else _unknown(scope, name)
    own = _own(scope, name)
    if own is not None:
        return own
    for reader in site.around():
        block = reader.block
        if not block.is_body and name in block.steps:
            return _in_block(scope, block, reader, name)
    if scope.is_in_finally and name in site.context.file.steps:
        return _result(scope, _top_site(scope, name), ALL)
    return _unknown(scope, name)


def _own(scope: Scope, name: str) -> VisibleStep | None:
    """What a place sees of its own step: its steps in a test or a result, itself in a message."""
    site, know = scope.site, scope.know
    assert site is not None
    if scope.place == "after" and name == site.name:
        return VisibleStep(_type(scope, site, frozenset({"passed"})), frozenset({"passed"}))
    if scope.place not in {"until", "while", "result"}:
        return None
    if name == site.name and scope.place != "result":
        outcomes = ALL if scope.place == "while" else frozenset({"passed"})
        return VisibleStep(know.round(site).seen(outcomes, fragile=False), outcomes)
    block = know.block_in(site)
    if block is None or name not in block.steps:
        return None
    inner = know.survey.sites_of[block][block.order[name]]
    return _result(scope, inner, ALL if scope.place == "while" else know.at_end(block, inner))


def _in_block(scope: Scope, block: Block, reader: StepSite, name: str) -> VisibleStep:
    """`reader` is the step of this block that reads, or that what reads stands in."""
    site = scope.know.survey.sites_of[block][block.order[name]]
    read = f'"{scope.label}" reads steps.{name}'
    if site is reader:
        what = "its own result" if reader is scope.site else "which it is part of"
        return VisibleStep(rule=12, message=f"{read}, {what}", hint=FEEDBACK)
    later = VisibleStep(rule=12, message=f"{read}, which runs later; {FEEDBACK}")
    if block.kind == "seq":
        here, there = block.order[reader.name], block.order[name]
        return (
            later if there > here else _result(scope, site, scope.know.flow(block).outcomes_at(here, there))
        )
    if block.kind == "par":
        return VisibleStep(
            rule=13, message=f"{read}, which runs at the same time", hint="give the steps needs"
        )
    if is_above(block, name, reader.name) or reader.step.needs is None:
        return _result(scope, site, outcomes_of_need(site))
    if is_above(block, reader.name, name):
        return later
    return VisibleStep(rule=13, message=f"{read} but does not need it", hint=f"needs: [{name}]")


def _at_the_end(scope: Scope, name: str) -> VisibleStep:
    steps = scope.know.survey.context.file.steps
    if name not in steps:
        return _unknown(scope, name)
    site = _top_site(scope, name)
    return _result(scope, site, scope.know.at_end(site.block, site))


def _top_site(scope: Scope, name: str) -> StepSite:
    block = scope.know.survey.blocks[0]
    return scope.know.survey.sites_of[block][block.order[name]]


def _result(scope: Scope, site: StepSite, outcomes: frozenset[str]) -> VisibleStep:
    return VisibleStep(_type(scope, site, outcomes), outcomes)


def _type(scope: Scope, site: StepSite, outcomes: frozenset[str]) -> MapOf:
    return scope.know.result(site).seen(outcomes, fragile=is_fragile(site))


def _unknown(scope: Scope, name: str) -> VisibleStep:
    inner = [site for site in scope.know.survey.sites if site.name == name and site.block.owner is not None]
    if inner and not inner[0].block.is_body:
        owner = inner[0].block.owner
        assert owner is not None
        hint = f'it stands inside "{owner.name}": steps.{owner.name}.steps.{name}'
    else:
        around = scope.site.block.around() if scope.site is not None else scope.know.survey.blocks[:1]
        hint = did_you_mean(name, [known for block in around for known in block.steps])
    return VisibleStep(rule=15, message=f'there is no step "{name}"', hint=hint)


def surely_ran(scope: Scope, site: StepSite) -> bool:
    """Whether this step has passed whenever the place is reached."""
    if scope.site is None:
        return False
    for reader in scope.site.around():
        if site.block is reader.block and site is not reader:
            seen = _in_block(scope, site.block, reader, site.name)
            return seen.outcomes == {"passed"}
    return False


def steps_type(scope: Scope, read: Any) -> Type:
    """`steps` as a map of those that `read` names; reading one by a computed name can give anything."""
    names = {
        found.chain[1] for found in references(read) if found.chain[0] == "steps" and len(found.chain) > 1
    }
    found = {name: seen.type for name in names if (seen := visible_steps(scope, name)).type is not None}
    return MapOf(MappingProxyType(found), open=True)
