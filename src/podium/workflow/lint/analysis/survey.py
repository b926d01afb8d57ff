"""Goes through a file once: every block with its order, every step with what stands around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.outcomes import is_wide
from podium.workflow.problems import Problem
from podium.workflow.schema.step import Feature, Gate, Step

Kind: TypeAlias = Literal["seq", "dag", "par"]
Part: TypeAlias = Literal["top", "finally", "steps", "design", "component", "override"]
"""Where a block stands; each of the last three holds one step of a `build`."""

BODIES: Final = ("design", "component", "override")


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Steps with one order. `owner` is the step they stand in; None at the top and in `finally`."""

    steps: Mapping[str, Step]
    kind: Kind
    part: Part
    owner: StepSite | None
    order: Mapping[str, int]

    @property
    def is_body(self) -> bool:
        return self.part in BODIES

    def around(self) -> Iterator[Block]:
        """This block and those it stands in, the innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.owner.block if block.owner is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class StepSite:
    """A step with its surroundings. `context` places its problems: a feature may stand in a file of its own."""

    name: str
    step: Step
    block: Block
    context: WorkflowSource

    @property
    def data(self) -> Mapping[str, Any]:
        """The step as it was written."""
        found: Mapping[str, Any] = data_at(self.context.raw, self.step.path)
        return found

    def around(self) -> Iterator[StepSite]:
        """This step and those it stands in, the innermost first."""
        site: StepSite | None = self
        while site is not None:
            yield site
            site = site.block.owner

    def gates(self) -> tuple[Gate, ...]:
        return self.context.gates_of(self.step)

    def problem(self, rule: int, *at: str | int, message: str, hint: str = "", key: bool = False) -> Problem:
        return self.context.problem(rule, self.step.at(*at), message, hint=hint, key=key)

    def warning(self, rule: int, *at: str | int, message: str, hint: str = "") -> Problem:
        return self.context.problem(rule, self.step.at(*at), message, hint=hint, key=True, warning=True)


@dataclass(frozen=True, slots=True)
class FileSurvey:
    """All that a file contains; outer blocks and steps come before those in them."""

    context: WorkflowSource
    blocks: tuple[Block, ...]
    sites: tuple[StepSite, ...]
    sites_of: Mapping[Block, tuple[StepSite, ...]]
    inside: Mapping[StepSite, tuple[StepSite, ...]]
    """The steps of a step whose verb is `steps`."""


def survey(context: WorkflowSource) -> FileSurvey:
    found: dict[Block, tuple[StepSite, ...]] = {}
    _enter(context, context.file.steps, "top", None, found)
    _enter(context, context.file.finally_ or {}, "finally", None, found)
    inside = {block.owner: sites for block, sites in found.items() if block.owner and block.part == "steps"}
    return FileSurvey(context, tuple(found), tuple(chain.from_iterable(found.values())), found, inside)


def _enter(
    context: WorkflowSource,
    steps: Mapping[str, Step],
    part: Part,
    owner: StepSite | None,
    found: dict[Block, tuple[StepSite, ...]],
) -> None:
    order = {name: number for number, name in enumerate(steps)}
    block = Block(steps, _kind(steps, owner, part), part, owner, order)
    found[block] = tuple(StepSite(name, step, block, context) for name, step in steps.items())
    for site in found[block]:
        if site.step.steps is not None:
            _enter(context, site.step.steps, "steps", site, found)
        if site.step.verb == "build":
            _enter_build(site, found)


def _kind(steps: Mapping[str, Step], owner: StepSite | None, part: Part) -> Kind:
    if part == "finally":
        return "seq"
    if part != "override" and any(step.needs is not None for step in steps.values()):
        return "dag"
    wide = part == "steps" and owner is not None and owner.step.for_each is None and is_wide(owner.step)
    return "par" if wide else "seq"


def _enter_build(site: StepSite, found: dict[Block, tuple[StepSite, ...]]) -> None:
    """The bodies of a build, and what single components have in place of it."""
    if site.step.design is not None:
        _enter(site.context, {"design": site.step.design}, "design", site, found)
    if site.step.component is not None:
        _enter(site.context, {"component": site.step.component}, "component", site, found)
    feature, context = feature_of(site)
    for phase in feature.phases.values() if feature is not None else ():
        for name, component in phase.components.items():
            _enter(context, {name: component}, "override", site, found)


def feature_of(site: StepSite) -> tuple[Feature | None, WorkflowSource]:
    """What a build expands, and the context that places problems in it."""
    read = site.context.features.get(site.step.path)
    if read is None:
        return site.context.feature(site.step), site.context
    return read.feature, replace(site.context, raw=read.raw, origin=read.origin, features={}, children={})


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
