"""Rule 48: where a run may continue as a new one, and that a series has an end or something to wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import has_insert
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.inputs import FITS
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.verb_keys import all_steps

RULE: Final = 48
_OTHER_KEYS: Final = ("for_each", "repeat", "needs", "retry", "limits")
_WAITS: Final = ("wait", "human")


def check(survey: FileSurvey) -> Iterator[Problem]:
    sites = [site for site in survey.sites if site.step.continue_as is not None]
    for site in sites:
        yield from _place(site)
        yield from _keys(site)
        yield from _inputs(site)
    for site in survey.sites:
        child = site.context.child(site.step)
        if child is not None and _continues(child):
            message = f"{site.step.workflow} continues as a new run, so it cannot be part of another workflow"
            hint = "start it with podium run, or take the step with continue_as out of it"
            yield site.problem(RULE, "workflow", message=message, hint=hint)
    yield from _unused_per(survey, sites)
    yield from _triggered(survey, sites)
    if sites and not _is_bounded(survey, sites):
        message = "nothing ends this series: each run has its limits anew, and there is no max, no wait and no question"
        hint = f"write max: 50 beside continue_as of {sites[0].name}, or remove per: run"
        yield sites[0].warning(RULE, "continue_as", message=message, hint=hint)


def _place(site: StepSite) -> Iterator[Problem]:
    if site.block.owner is None and site.block.part != "finally" and site.block.kind == "seq":
        return
    if site.block.part == "finally":
        place = "in finally, where the run has ended already"
    elif site.block.kind != "seq":
        place = "in a graph or beside parallel steps, which may still be running"
    else:
        place = f'inside "{_owner(site)}"'
    message = f'"{site.name}" continues as a new run {place}'
    hint = "put it at the top of the workflow, in a sequence; a route or a when decides whether it is reached"
    yield site.problem(RULE, "continue_as", message=message, hint=hint, key=True)


def _owner(site: StepSite) -> str:
    return "" if site.block.owner is None else site.block.owner.name


def _keys(site: StepSite) -> Iterator[Problem]:
    for key in _OTHER_KEYS:
        if site.step.has(key):
            message = f'"{key}" has no meaning beside continue_as, which only ends the run'
            yield site.problem(RULE, key, message=message, key=True)
    if "passed" in site.step.on:
        message = f'on.passed of "{site.name}": when it passes, the run ends and the next one starts'
        yield site.problem(RULE, "on", "passed", message=message, key=True)


def _inputs(site: StepSite) -> Iterator[Problem]:
    inputs = site.context.file.inputs
    for name, value in (site.step.with_ or {}).items():
        if name not in inputs:
            message = f'with: "{name}" is not an input of this workflow'
            hint = did_you_mean(name, inputs) or "variables start again in each run; declare it under inputs"
            yield site.problem(RULE, "with", name, message=message, hint=hint, key=True)
        elif not (isinstance(value, str) and has_insert(value)) and not FITS[inputs[name].type](value):
            yield site.problem(RULE, "with", name, message=f'with: "{name}" must be {inputs[name].type}')


def _continues(source: WorkflowSource) -> bool:
    own = any(step.continue_as is not None for _, step in all_steps(source.file))
    return own or any(map(_continues, source.children.values()))


def _unused_per(survey: FileSurvey, sites: list[StepSite]) -> Iterator[Problem]:
    limits = survey.context.file.limits
    if limits is not None and limits.per is not None and not sites:
        message = '"per" of limits needs a step with continue_as: without one, a run has no series'
        yield survey.context.problem(RULE, limits.at("per"), message, key=True)


def _triggered(survey: FileSurvey, sites: list[StepSite]) -> Iterator[Problem]:
    limits = survey.context.file.limits
    if sites and survey.context.file.triggers and limits is not None and limits.per == "run":
        message = (
            "a run that a trigger starts must not get its limits anew: the budget of a day would not hold"
        )
        yield survey.context.problem(RULE, limits.at("per"), message, hint="remove per: run, or the triggers")


def _is_bounded(survey: FileSurvey, sites: list[StepSite]) -> bool:
    limits = survey.context.file.limits
    # Without limits in the file, the shipped ones hold for all runs together.
    for_all = limits is None or limits.per != "run"
    is_waiting = any(site.step.verb in _WAITS for site in survey.sites)
    return for_all or is_waiting or all(site.step.max is not None for site in sites)
