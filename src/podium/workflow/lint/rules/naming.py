"""Rule 6: what people name can be read in expressions, on the command line and in paths without quoting.

Also which names are taken: by words of the language, by a step around, by a role or an agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from podium.workflow.agent_capabilities import AGENT_WORDS
from podium.workflow.context import WorkflowSource
from podium.workflow.lint.analysis.survey import FileSurvey, StepSite, feature_of
from podium.workflow.problems import Problem
from podium.workflow.schema.parts import DocPath
from podium.workflow.schema.scalars import NAME
from podium.workflow.schema.step import Gate

TARGETS: Final = ("next", "end", "fail", "break")
RESERVED: Final = ("finally", *TARGETS)
"""A step of such a name could not be addressed: as a target, or as the part of a run that cleans up."""

GIVEN: Final = frozenset(
    "inputs vars steps run env with loop member feedback work change feature phase component interfaces message"
    " true false null and or not in if else".split()
)
"""What `as` may not hide."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    yield from _top(survey.context)
    yield from _shared(survey.context)
    for site in survey.sites:
        yield from _step(site)
        yield from _inside(site)


def _top(context: WorkflowSource) -> Iterator[Problem]:
    file = context.file
    if file.name is not None:
        yield from _spelled(context, [file.name], (), value=("name",))
    for section in ("inputs", "vars", "outputs", "gates", "roles", "agents", "policies", "retries", "people"):
        yield from _spelled(context, file.get(section), (section,))


def _spelled(
    context: WorkflowSource, names: Iterable[str], path: DocPath, *, value: DocPath | None = None
) -> Iterator[Problem]:
    """`value` leads to the name itself where it is not a key."""
    for name in names:
        if NAME.fullmatch(name):
            continue
        better = corrected(name)
        said = f'; write "{better}"' if better else ""
        hint = "" if better else "a name begins with a small letter; small letters, digits and _ follow"
        at = (*path, name) if value is None else value
        yield context.problem(6, at, f'"{name}" is not a name{said}', hint=hint, key=value is None)


def corrected(name: str) -> str:
    """The name that was probably meant; empty if nothing of it can be kept."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_").lstrip("0123456789_")


def _shared(context: WorkflowSource) -> Iterator[Problem]:
    """A role and an agent of one name could not be told apart where either may stand.

    Agents of other packages do not count, so that installing one makes no file wrong; there the role is meant.
    """
    agents = {*context.file.agents, *context.agent_types.built_in, *AGENT_WORDS}
    for name in context.file.roles:
        if name in agents:
            yield context.problem(
                6, ("roles", name), f'"{name}" names a role and an agent', hint="rename one of them", key=True
            )


def _step(site: StepSite) -> Iterator[Problem]:
    if site.block.part in {"design", "component"}:
        return
    yield from _spelled(site.context, [site.name], site.step.path[:-1])
    if site.block.is_body:
        return
    if site.name in RESERVED:
        yield site.problem(6, message=f'"{site.name}" is a word of the language', hint="rename it", key=True)
    elif any(site.name in block.steps for block in list(site.block.around())[1:]) or _is_above(site):
        yield site.problem(6, message=f'"{site.name}" already names a step around it', key=True)


def _is_above(site: StepSite) -> bool:
    """What cleans up can read the steps of the run, so it stands inside of them."""
    return site.block.part == "finally" and site.name in site.context.file.steps


def _inside(site: StepSite) -> Iterator[Problem]:
    step = site.step
    yield from _spelled(site.context, step.team or {}, step.at("team"))
    yield from _spelled(site.context, step.set_ or {}, step.at("set"))
    if step.for_each is not None:
        yield from _loop_name(site, step.for_each.as_, step.for_each.at("as"))
    for entry in step.gates:
        if isinstance(entry, Gate) and entry.name is not None:
            yield from _spelled(site.context, [entry.name], (), value=entry.at("name"))
    if step.verb == "build":
        feature, context = feature_of(site)
        if feature is not None:
            yield from _spelled(context, feature.phases, feature.at("phases"))
            for phase in feature.phases.values():
                yield from _spelled(context, phase.interfaces, phase.at("interfaces"))


def _loop_name(site: StepSite, name: str, path: DocPath) -> Iterator[Problem]:
    yield from _spelled(site.context, [name], (), value=path)
    if name in GIVEN:
        yield site.context.problem(6, path, f'"{name}" already has a meaning; take another name for the item')
