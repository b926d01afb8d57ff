"""Values from outside: secrets (25) and inputs (34)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.survey import FileSurvey
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.file import Input
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.step import Gate
from podium.workflow.source.files import leads_outside

FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "path": lambda value: isinstance(value, str),
    "int": lambda value: type(value) is int,
    "number": lambda value: type(value) in {int, float},
    "bool": lambda value: isinstance(value, bool),
    "list": lambda value: isinstance(value, list | tuple),
    "map": lambda value: isinstance(value, Mapping),
}


def check(survey: FileSurvey) -> Iterator[Problem]:
    yield from _secrets(survey)
    yield from _defaults(survey.context)
    if survey.context.inputs is not None:
        yield from check_values(survey.context, survey.context.inputs)


def _secrets(survey: FileSurvey) -> Iterator[Problem]:
    """Rule 25: the top of a file must list every secret that it uses."""
    declared = survey.context.file.secrets
    users = [(survey.context, gate) for gate in survey.context.file.gates.values()]
    for site in survey.sites:
        users += [(site.context, gate) for gate in site.step.gates if isinstance(gate, Gate)]
        users.append((site.context, site.step))  # type: ignore[arg-type]  # both have secrets
    for context, user in users:
        for number, name in enumerate(user.secrets):
            if name not in declared:
                message = f'secret "{name}" is not declared at the top'
                hint = did_you_mean(name, declared) or f"secrets: [{name}]"
                yield context.problem(25, user.at("secrets", number), message, hint=hint)


def _defaults(context: WorkflowSource) -> Iterator[Problem]:
    for name, declared in context.file.inputs.items():
        path: DocPath = ("inputs", name)
        if declared.has("default") and declared.default is not None:
            for message in faults_of_input(name, declared, declared.default):
                yield context.problem(34, (*path, "default"), message)
        for number, choice in enumerate(declared.choices):
            if not FITS[declared.type](choice):
                yield context.problem(
                    34, (*path, "choices", number), f'input "{name}" must be {declared.type}'
                )
        if declared.exists and declared.type != "path":
            message = f'exists applies only to a path; input "{name}" is {declared.type}'
            yield context.problem(34, (*path, "exists"), message, key=True)


def faults_of_input(name: str, declared: Input, value: Any) -> Iterator[str]:
    if not FITS[declared.type](value):
        yield f'input "{name}" must be {declared.type}'
    elif declared.choices and value not in declared.choices:
        yield f'input "{name}" must be one of {", ".join(map(str, declared.choices))}'


def check_values(context: WorkflowSource, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Rule 34: the values of one run, and the defaults of the inputs that have none."""
    for name in values:
        if name not in context.file.inputs:
            hint = did_you_mean(name, context.file.inputs)
            yield context.problem(34, ("inputs",), f'input "{name}" does not exist', hint=hint, key=True)
    for name, declared in context.file.inputs.items():
        path: DocPath = ("inputs", name)
        value = values.get(name, declared.default)
        if name not in values and not declared.has("default"):
            hint = f"-i {name}=..."
            yield context.problem(34, path, f'input "{name}" has no value', hint=hint, key=True)
        elif name in values:
            for message in faults_of_input(name, declared, value):
                yield context.problem(34, path, message, key=True)
        yield from _path(context, name, declared, value, is_passed=name in values)


def _path(
    context: WorkflowSource, name: str, declared: Input, value: Any, *, is_passed: bool
) -> Iterator[Problem]:
    if declared.type != "path" or not isinstance(value, str):
        return
    at: DocPath = ("inputs", name)
    if leads_outside(value, context.project):
        if is_passed:
            yield context.problem(24, at, f'"{value}" leaves the project', key=True)
    elif declared.exists and not (context.project / value).exists():
        yield context.problem(34, at, f'input "{name}": {value} does not exist', key=True)
