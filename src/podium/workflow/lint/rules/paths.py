"""Rule 24: no path of a file leads out of the project. A violation ends with exit code 3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.workflow.context import WorkflowSource, data_at
from podium.workflow.expressions.parser import OPEN, has_insert
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.lint.analysis.text_fields import TextField, spots
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath
from podium.workflow.source.files import is_prompt_file, leads_outside

TOP = ("context", "workspace", "protect")


def check(survey: FileSurvey) -> Iterator[Problem]:
    context = survey.context
    for name, given in context.file.inputs.items():
        if given.type == "path":
            yield from _inside(context, given.default, ("inputs", name, "default"))
    for spot in _top_spots(context):
        yield from _spot(context, spot)
    for site in survey.sites:
        for spot in spots(site.data, site.step.path, site.context.broken):
            yield from _spot(site.context, spot)
        yield from _interfaces(site)


def _top_spots(context: WorkflowSource) -> Iterator[TextField]:
    raw = context.raw
    yield from spots({key: raw[key] for key in TOP if key in raw}, (), context.broken)
    for section in ("gates", "roles"):
        for shared in context.file.get(section).values():
            yield from spots(data_at(raw, shared.path), shared.path, context.broken)


def _spot(context: WorkflowSource, spot: TextField) -> Iterator[Problem]:
    named = spot.kind == "template" and is_prompt_file(spot.text)
    if named or (spot.is_path and spot.kind != "expression"):
        yield from _inside(context, spot.text, spot.path)


def _interfaces(site: StepSite) -> Iterator[Problem]:
    if site.step.verb == "build":
        feature, context = feature_of(site)
        for phase in feature.phases.values() if feature is not None else ():
            for interface in phase.interfaces.values():
                yield from _inside(context, interface.file, interface.at("file"))


def _inside(context: WorkflowSource, path: Any, at: DocPath) -> Iterator[Problem]:
    if isinstance(path, str) and leads_out(context, path):
        yield context.problem(
            24, at, f'"{path}" leaves the project', hint="paths begin at the project's folder"
        )


def leads_out(context: WorkflowSource, path: str) -> bool:
    """As far as it can be told before values are inserted; what they make of it is checked again by the run."""
    if path.startswith("/") or ".." in path.split("/"):
        return True
    plain = not has_insert(path) and OPEN not in path and not set(path) & set("*?") and "\0" not in path
    return plain and leads_outside(path, context.project)
