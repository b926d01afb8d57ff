"""Rule 24: no path in a file leads out of the project. A violation ends with exit code 3.

Rule 5: which steps can have a repository of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.expressions.parser import OPEN, has_insert
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.lint.analysis.text_fields import TextField, text_fields
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath, Script
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
        yield from _repository(site)


READS_HISTORY: Final = re.compile(
    r"(?:^|[;&|(]\s*|\s)git\s+(?:log|diff|show|blame|shortlog|describe|rev-list|rev-parse|bisect|tag|branch)\b"
)
"""Commands that need a repository."""


def _repository(site: StepSite) -> Iterator[Problem]:
    """A repository shows all files, so nothing can be hidden; a step in the project itself has that of the project."""
    top, own = site.context.file.workspace, site.step.workspace
    written = {key for each in (top, own) if each is not None for key in each.written_keys()}
    mode = (own.mode if own is not None else None) or (top.mode if top is not None else None)
    has_own = own is not None and bool({"history", "refs"} & set(own.written_keys()))
    if has_own and mode == "inplace":
        message = "a step that works in the project itself has its whole history"
        yield site.problem(5, "workspace", message=message, hint="remove history and refs", key=True)
    if {"history", "refs"} & written and "hide" in written:
        message = (
            "workspace: hide cannot be together with history or refs, because a repository has all files"
        )
        yield site.problem(5, "workspace", message=message, key=True)
    if site.step.base is not None and mode == "inplace":
        message = "a step that works in the project itself has the files that are there"
        yield site.problem(5, "base", message=message, hint="remove base, or workspace: inplace", key=True)
    if site.step.verb != "run" or {"history", "refs"} & written or mode == "inplace":
        return
    text = site.step.run.script if isinstance(site.step.run, Script) else site.step.run
    if READS_HISTORY.search(text if isinstance(text, str) else " ".join(text or ())):
        message = f'the files of "{site.name}" have no git repository, so git has nothing to read'
        yield site.warning(5, "run", message=message, hint="workspace: {history: 20}")


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
