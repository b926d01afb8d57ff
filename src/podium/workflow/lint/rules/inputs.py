"""What comes from outside: secrets (25), the values of inputs (34)."""

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
    """Rule 25: one look at the top of a file must tell what it can reach."""
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
    for name, given in context.file.inputs.items():
        path: DocPath = ("inputs", name)
        if given.has("default") and given.default is not None:
            for message in _faults(name, given, given.default):
                yield context.problem(34, (*path, "default"), message)
        for number, choice in enumerate(given.choices):
            if not FITS[given.type](choice):
                yield context.problem(34, (*path, "choices", number), f'input "{name}" must be {given.type}')
        if given.exists and given.type != "path":
            message = f'only a path can exist; input "{name}" is {given.type}'
            yield context.problem(34, (*path, "exists"), message, key=True)


def _faults(name: str, given: Input, value: Any) -> Iterator[str]:
    if not FITS[given.type](value):
        yield f'input "{name}" must be {given.type}'
    elif given.choices and value not in given.choices:
        yield f'input "{name}" must be one of {", ".join(map(str, given.choices))}'


def check_values(context: WorkflowSource, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Rule 34: the values of one run, and the defaults of the inputs that have none."""
    for name in values:
        if name not in context.file.inputs:
            hint = did_you_mean(name, context.file.inputs)
            yield context.problem(34, ("inputs",), f'there is no input "{name}"', hint=hint, key=True)
    for name, given in context.file.inputs.items():
        path: DocPath = ("inputs", name)
        value = values.get(name, given.default)
        if name not in values and not given.has("default"):
            hint = f"-i {name}=..."
            yield context.problem(34, path, f'input "{name}" has no value', hint=hint, key=True)
        elif name in values:
            for message in _faults(name, given, value):
                yield context.problem(34, path, message, key=True)
        yield from _path(context, name, given, value, is_given=name in values)


def _path(
    context: WorkflowSource, name: str, given: Input, value: Any, *, is_given: bool
) -> Iterator[Problem]:
    if given.type != "path" or not isinstance(value, str):
        return
    at: DocPath = ("inputs", name)
    if leads_outside(value, context.project):
        if is_given:
            yield context.problem(24, at, f'"{value}" leaves the project', key=True)
    elif given.exists and not (context.project / value).exists():
        yield context.problem(34, at, f'input "{name}": {value} does not exist', key=True)
