"""Rule 24: no path in a file leads out of the project. A violation ends with exit code 3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.expressions.parser import OPEN, has_insert
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.lint.analysis.text_fields import TextField, text_fields
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath
from podium.workflow.source.files import is_prompt_file, leads_outside

TOP = ("context", "workspace", "protect")


def check(survey: FileSurvey) -> Iterator[Problem]:
    context = survey.context
    for name, declared in context.file.inputs.items():
        if declared.type == "path":
            yield from _inside(context, declared.default, ("inputs", name, "default"))
    for field in _top_fields(context):
        yield from _check_field(context, field)
    for site in survey.sites:
        for field in text_fields(site.data, site.step.path, site.context.broken):
            yield from _check_field(site.context, field)
        yield from _interfaces(site)


def _top_fields(context: WorkflowSource) -> Iterator[TextField]:
    raw = context.raw
    yield from text_fields({key: raw[key] for key in TOP if key in raw}, (), context.broken)
    for section in ("gates", "roles"):
        for shared in context.file.get(section).values():
            yield from text_fields(data_at(raw, shared.path), shared.path, context.broken)


def _check_field(context: WorkflowSource, field: TextField) -> Iterator[Problem]:
    is_file = field.kind == "template" and is_prompt_file(field.text)
    if is_file or (field.is_path and field.kind != "expression"):
        yield from _inside(context, field.text, field.path)


def _interfaces(site: StepSite) -> Iterator[Problem]:
    if site.step.verb == "build":
        feature, context = feature_of(site)
        for phase in feature.phases.values() if feature is not None else ():
            for interface in phase.interfaces.values():
                yield from _inside(context, interface.file, interface.at("file"))


def _inside(context: WorkflowSource, path: Any, at: DocPath) -> Iterator[Problem]:
    if isinstance(path, str) and may_leave_project(context, path):
        yield context.problem(
            24, at, f'"{path}" leaves the project', hint="paths are relative to the project's folder"
        )


def may_leave_project(context: WorkflowSource, path: str) -> bool:
    """Whether the path leaves the project, as far as known before values are inserted; the run checks it again."""
    if path.startswith("/") or ".." in path.split("/"):
        return True
    is_literal = not has_insert(path) and OPEN not in path and not set(path) & set("*?") and "\0" not in path
    return is_literal and leads_outside(path, context.project)
