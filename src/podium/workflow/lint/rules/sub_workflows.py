"""Parameters that a step passes with `with` (35): to another workflow, or to a role."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import has_insert
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite
from podium.workflow.lint.rules.inputs import FITS
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.workflow_files import FileElsewhere
from podium.workflow.workers import Worker, reviewers_of, workers_of


def check(survey: FileSurvey) -> Iterator[Problem]:
    """The reader reports a workflow that contains itself or too many others."""
    for site in survey.sites:
        child = site.context.child(site.step)
        if child is not None:
            yield from _inputs(site, child)
            yield from _elsewhere(site)
        elif site.step.with_:
            yield from _parameters(site)


def _inputs(site: StepSite, child: WorkflowSource) -> Iterator[Problem]:
    inputs, values = child.file.inputs, site.step.with_ or {}
    for name, value in values.items():
        if name not in inputs:
            message = f'with: "{name}" is not an input of {site.step.workflow}'
            yield site.problem(35, "with", name, message=message, hint=did_you_mean(name, inputs), key=True)
        elif not (isinstance(value, str) and has_insert(value)) and not FITS[inputs[name].type](value):
            yield site.problem(35, "with", name, message=f'with: "{name}" must be {inputs[name].type}')
    for name, declared in inputs.items():
        if name not in values and not declared.has("default"):
            message = f'{site.step.workflow} needs input "{name}"'
            yield site.problem(35, "workflow", message=message, hint=f"with: {{{name}: ...}}")


def _elsewhere(site: StepSite) -> Iterator[Problem]:
    """The files of a run in another repository never come here, so nothing here can judge them."""
    if not isinstance(site.step.workflow, FileElsewhere):
        return
    if site.step.gates:
        message = f"gates here see the files of this repository, not those of {site.step.workflow.folder}"
        yield site.problem(35, "gates", message=message, hint=f"write them in {site.step.workflow}", key=True)
    if site.step.output is not None:
        message = f"the output is what outputs of {site.step.workflow} say"
        hint = "a step after it can make another value of it, with set"
        yield site.problem(35, "output", message=message, hint=hint, key=True)


def _parameters(site: StepSite) -> Iterator[Problem]:
    for worker in _workers(site):
        if worker.role is None:
            yield site.problem(
                35, "with", message="with sets parameters of a role, but this step has no role", key=True
            )
            return
        role = worker.known_role
        parameters = (role.with_ or {}) if role is not None else (site.step.with_ or {})
        for name in site.step.with_ or {}:
            if name not in parameters:
                message = f'role "{worker.role}" has no parameter "{name}"'
                yield site.problem(
                    35, "with", name, message=message, hint=did_you_mean(name, parameters), key=True
                )


def _workers(site: StepSite) -> tuple[Worker, ...]:
    match site.step.verb:
        case "agent":
            return workers_of(site.context, site.step)
        case "review":
            return reviewers_of(site.context, site.step)
        case _:
            return ()
