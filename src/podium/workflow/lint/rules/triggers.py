"""Rule 47: a trigger watches one thing, starts runs that can start, and has a budget for each day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import Text, references
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.inference import TypeProblem, check_condition, infer
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.expressions.types import ANY, TEXT, MapOf
from podium.workflow.lint.analysis.survey import FileSurvey
from podium.workflow.lint.rules.inputs import faults_of_input
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.scalars import INSERT
from podium.workflow.schema.triggers import SOURCES, Trigger
from podium.workflow.source.files import leads_outside

RULE: Final = 47
_EXTRAS: Final = {"zone": "cron", "catch_up": "cron", "every": "command", "when_busy": "group"}
_COMMON: Final = {"id": TEXT, "trigger": TEXT, "time": TEXT, "day": TEXT}
EVENTS: Final[Mapping[str, MapOf]] = {
    "cron": MapOf({**_COMMON}, name="the event of a cron line"),
    "file": MapOf({**_COMMON, "path": TEXT, "hash": TEXT}, name="the event of a file"),
    "ref": MapOf({**_COMMON, "ref": TEXT, "branch": TEXT, "commit": TEXT}, name="the event of a ref"),
    "webhook": MapOf({**_COMMON, "kind": TEXT, "body": ANY}, name="the event of a webhook"),
    "command": MapOf({**_COMMON, "value": ANY}, name="the event of a command"),
}
"""What `event` has, by what the trigger watches."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    context = survey.context
    for name, trigger in context.file.triggers.items():
        label = f'trigger "{name}"'
        written = [source for source in SOURCES if trigger.get(source) is not None]
        if len(written) != 1:
            yield from _wrong_source(context, label, trigger, written)
            continue
        yield from _extras(context, label, trigger)
        yield from _source(context, label, trigger)
        yield from _budget(context, label, trigger)
        yield from _inputs(context, label, trigger)
        if trigger.skip_if is not None:
            yield from _expression(context, trigger, trigger.skip_if, ("skip_if",), condition=True)


def _wrong_source(
    context: WorkflowSource, label: str, trigger: Trigger, written: list[str]
) -> Iterator[Problem]:
    # A value that could not be read has been reported where it is.
    if not written and any(trigger.at(source) in context.broken for source in SOURCES):
        return
    fact = "watches nothing" if not written else f"watches {' and '.join(written)}"
    yield context.problem(RULE, trigger.path, f"{label} {fact}", hint=f"write one of {', '.join(SOURCES)}")


def _extras(context: WorkflowSource, label: str, trigger: Trigger) -> Iterator[Problem]:
    for key, needed in _EXTRAS.items():
        if trigger.get(key) is not None and trigger.get(needed) is None:
            yield context.problem(
                RULE,
                trigger.at(key),
                f'{label}: "{key}" needs "{needed}"',
                hint=f"remove it, or add {needed}",
            )
    if trigger.command is not None and trigger.every is None:
        hint = "every: 10m runs the command every ten minutes"
        yield context.problem(RULE, trigger.at("command"), f'{label}: a command needs "every"', hint=hint)


def _source(context: WorkflowSource, label: str, trigger: Trigger) -> Iterator[Problem]:
    if trigger.cron is not None:
        yield from _cron(context, label, trigger)
    for number, glob in enumerate(trigger.file or ()):
        if leads_outside(glob, context.project):
            yield context.problem(24, trigger.at("file", number), f'"{glob}" leaves the project')
    yield from _secrets(context, trigger)
    if trigger.every == 0:
        yield context.problem(RULE, trigger.at("every"), f'{label}: "every" must be above 0')


def _secrets(context: WorkflowSource, trigger: Trigger) -> Iterator[Problem]:
    used = [] if trigger.webhook is None else [(trigger.webhook.at("secret"), trigger.webhook.secret)]
    if trigger.command is not None:
        command = trigger.command
        used += [(command.at("secrets", number), name) for number, name in enumerate(command.secrets)]
    for path, name in used:
        if name not in context.file.secrets:
            hint = did_you_mean(name, context.file.secrets) or f"secrets: [{name}]"
            yield context.problem(25, path, f'secret "{name}" is not declared at the top', hint=hint)


def _cron(context: WorkflowSource, label: str, trigger: Trigger) -> Iterator[Problem]:
    from datetime import UTC, datetime

    from podium.workflow.cron import parse_cron

    # Any start will do: a date that never comes does not come later either.
    start = datetime(2024, 1, 1, tzinfo=UTC)
    if parse_cron(trigger.cron or "").next_time(start, UTC) is None:
        yield context.problem(RULE, trigger.at("cron"), f'{label}: "{trigger.cron}" never comes')


def _budget(context: WorkflowSource, label: str, trigger: Trigger) -> Iterator[Problem]:
    per_day, limits = trigger.per_day, context.file.limits
    if per_day is None or (per_day.usd is None and per_day.runs is None):
        hint = "per_day: {usd: 10} or per_day: {runs: 4}"
        yield context.problem(RULE, trigger.path, f"{label} has no budget for a day", hint=hint)
    elif per_day.usd is not None:
        most = None if limits is None else limits.most("usd")
        if most is None:
            computed = limits is not None and limits.usd is not None
            hint = "limits: {at_most: {usd: 2}}" if computed else "limits: {usd: 2}"
            message = f"{label}: per_day.usd needs limits.usd, the most that one run may cost"
            yield context.problem(RULE, per_day.at("usd"), message, hint=hint)
        elif most > per_day.usd:
            message = f"{label}: one run may cost ${most:g}, more than ${per_day.usd:g} for a day"
            yield context.problem(RULE, per_day.at("usd"), message, hint="then no run could start")


def _inputs(context: WorkflowSource, label: str, trigger: Trigger) -> Iterator[Problem]:
    values, declared = trigger.inputs or {}, context.file.inputs
    for name, value in values.items():
        path = ("inputs", name)
        if name not in declared:
            hint = did_you_mean(name, declared)
            message = f'{label}: "{name}" is not an input of this workflow'
            yield context.problem(RULE, trigger.at(*path), message, hint=hint, key=True)
        elif INSERT in str(value):
            yield from _value(context, trigger, value, path)
        else:
            for message in faults_of_input(name, declared[name], value):
                yield context.problem(34, trigger.at(*path), message)
    missing = [name for name, item in declared.items() if name not in values and not item.has("default")]
    if missing:
        hint = f'inputs: {{{missing[0]}: "..."}}, or give the input a default'
        message = f'{label} gives no value for input "{missing[0]}"'
        yield context.problem(RULE, trigger.path, message, hint=hint)


def _value(
    context: WorkflowSource, trigger: Trigger, value: Any, path: tuple[str | int, ...]
) -> Iterator[Problem]:
    if isinstance(value, str):
        yield from _expression(context, trigger, value, path)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _value(context, trigger, item, (*path, key))
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _value(context, trigger, item, (*path, number))


def _expression(
    context: WorkflowSource,
    trigger: Trigger,
    text: str,
    path: tuple[str | int, ...],
    *,
    condition: bool = False,
) -> Iterator[Problem]:
    event = EVENTS[trigger.source]
    try:
        nodes = [parse_expression(text)] if condition else _nodes(text)
        for node in nodes:
            other = next((item.chain[0] for item in references(node) if item.chain[0] != "event"), None)
            if other is not None:
                message = f'a trigger cannot read "{other}"'
                hint = f"it can read event: {', '.join(event.fields)}"
                yield context.problem(15, trigger.at(*path), message, hint=hint)
            elif condition:
                check_condition(node, lambda _: event, '"skip_if"')
            else:
                infer(node, lambda _: event)
    except (ExpressionError, TypeProblem) as error:
        yield context.problem(17, trigger.at(*path), error.message, hint=error.hint or "")


def _nodes(text: str) -> list[Node]:
    value = parse_value(text)
    if isinstance(value, str):
        return []
    if not isinstance(value, Text):
        return [value]
    return [part for part in value.parts if not isinstance(part, str)]
