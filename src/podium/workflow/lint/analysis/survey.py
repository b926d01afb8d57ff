"""Walks a file once: every block with its order, every step with its surroundings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.outcomes import runs_parallel
from podium.workflow.problems import Problem
from podium.workflow.schema.step import Feature, Gate, Step

Kind: TypeAlias = Literal["seq", "dag", "par"]
Part: TypeAlias = Literal["top", "finally", "steps", "design", "component", "override"]
"""What a block is part of; each of the last three has one step of a `build`."""

BODIES: Final = ("design", "component", "override")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Steps with one order. `owner` is the step around them; None at the top and in `finally`."""

    steps: Mapping[str, Step]
    kind: Kind
    part: Part
    owner: StepSite | None
    order: Mapping[str, int]

    @property
    def is_body(self) -> bool:
        return self.part in BODIES

    def around(self) -> Iterator[Block]:
        """This block and the blocks around it, the innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.owner.block if block.owner is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class StepSite:
    """A step with its surroundings. `context` places its problems, because a feature may be in a file of its own."""

    name: str
    step: Step
    block: Block
    context: WorkflowSource

    @property
    def data(self) -> Mapping[str, Any]:
        """The step as written."""
        data: Mapping[str, Any] = data_at(self.context.raw, self.step.path)
        return data

    def around(self) -> Iterator[StepSite]:
        """This step and the steps around it, the innermost first."""
        site: StepSite | None = self
        while site is not None:
            yield site
            site = site.block.owner

    @property
    def is_merged(self) -> bool:
        """Whether its work is merged with that of parallel steps of its block."""
        owner = self.block.owner
        keeps_one = owner is not None and owner.step.join in {"best", "discard"}
        return self.block.kind == "dag" or (self.block.kind == "par" and not keeps_one)

    def gates(self) -> tuple[Gate, ...]:
        return self.context.gates_of(self.step)

    def problem(self, rule: int, *at: str | int, message: str, hint: str = "", key: bool = False) -> Problem:
        return self.context.problem(rule, self.step.at(*at), message, hint=hint, key=key)

    def warning(self, rule: int, *at: str | int, message: str, hint: str = "") -> Problem:
        return self.context.problem(rule, self.step.at(*at), message, hint=hint, key=True, warning=True)


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """All blocks and steps of a file; outer ones come before those inside them."""

    context: WorkflowSource
    blocks: tuple[Block, ...]
    sites: tuple[StepSite, ...]
    sites_of: Mapping[Block, tuple[StepSite, ...]]
    inside: Mapping[StepSite, tuple[StepSite, ...]]
    """The steps of a step whose verb is `steps`."""


def survey(context: WorkflowSource) -> FileSurvey:
    sites_by_block: dict[Block, tuple[StepSite, ...]] = {}
    _enter(context, context.file.steps, "top", None, sites_by_block)
    _enter(context, context.file.finally_ or {}, "finally", None, sites_by_block)
    inside = {
        block.owner: sites for block, sites in sites_by_block.items() if block.owner and block.part == "steps"
    }
    return FileSurvey(
        context,
        tuple(sites_by_block),
        tuple(chain.from_iterable(sites_by_block.values())),
        sites_by_block,
        inside,
    )


def _enter(
    context: WorkflowSource,
    steps: Mapping[str, Step],
    part: Part,
    owner: StepSite | None,
    sites_by_block: dict[Block, tuple[StepSite, ...]],
) -> None:
    order = {name: number for number, name in enumerate(steps)}
    block = Block(steps, _kind(steps, owner, part), part, owner, order)
    sites_by_block[block] = tuple(StepSite(name, step, block, context) for name, step in steps.items())
    for site in sites_by_block[block]:
        if site.step.steps is not None:
            _enter(context, site.step.steps, "steps", site, sites_by_block)
        if site.step.verb == "build":
            _enter_build(site, sites_by_block)


def _kind(steps: Mapping[str, Step], owner: StepSite | None, part: Part) -> Kind:
    if part == "finally":
        return "seq"
    if part != "override" and any(step.needs is not None for step in steps.values()):
        return "dag"
    is_parallel = (
        part == "steps" and owner is not None and owner.step.for_each is None and runs_parallel(owner.step)
    )
    return "par" if is_parallel else "seq"


def _enter_build(site: StepSite, sites_by_block: dict[Block, tuple[StepSite, ...]]) -> None:
    """Enters the bodies of a build, and the components that override them."""
    if site.step.design is not None:
        _enter(site.context, {"design": site.step.design}, "design", site, sites_by_block)
    if site.step.component is not None:
        _enter(site.context, {"component": site.step.component}, "component", site, sites_by_block)
    feature, context = feature_of(site)
    for phase in feature.phases.values() if feature is not None else ():
        for name, component in phase.components.items():
            _enter(context, {name: component}, "override", site, sites_by_block)


def feature_of(site: StepSite) -> tuple[Feature | None, WorkflowSource]:
    """The feature that a build expands, and the context that places problems in it."""
    feature_file = site.context.features.get(site.step.path)
    if feature_file is None:
        return site.context.feature(site.step), site.context
    return feature_file.feature, replace(
        site.context, raw=feature_file.raw, origin=feature_file.origin, features={}, children={}
    )


def judged_steps(survey: FileSurvey, site: StepSite) -> tuple[StepSite, ...]:
    """The steps that a review step judges: those in `of`, else those it needs, else the step above it."""
    candidates = (_nearest_step(survey, site, name) for name in judged_names(site))
    return tuple(judged for judged in candidates if judged is not None)


def judged_names(site: StepSite) -> tuple[str, ...]:
    step, number = site.step, site.block.order[site.name]
    if step.of is not None:
        return step.of
    if site.block.kind == "seq" and number:
        return (list(site.block.steps)[number - 1],)
    return step.needs or ()


def _nearest_step(survey: FileSurvey, site: StepSite, name: str) -> StepSite | None:
    """The step of this name in the block of `site` or in the nearest block around it."""
    for block in site.block.around():
        if name in block.steps:
            return survey.sites_of[block][block.order[name]]
    return None
