"""Rule 6: names can be used in expressions, on the command line and in paths without quoting.

Also checks that a name is not already used by the language, a step around it, a role or an agent.
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
from podium.workflow.schema.verb_keys import all_steps

TARGETS: Final = ("next", "end", "fail", "break")
"""Words that a route may name; a step may have such a name where no route of its block uses the word."""

RESERVED: Final = ("finally", "fail")
"""Names that no step can have: the part that cleans up, and where a failure without a route leads."""

PREDEFINED_NAMES: Final = frozenset(
    "inputs vars steps run env with loop member feedback work change true false null and or not in if else".split()
)
"""Names that `as` may not hide."""

BUILD_NAMES: Final = frozenset({"feature", "phase", "component", "interfaces"})
"""Names that `as` may not hide inside a build."""


def check(survey: FileSurvey) -> Iterator[Problem]:
    yield from _top(survey.context)
    yield from _shared(survey.context)
    for site in survey.sites:
        yield from _step(site)
        yield from _inside(site)


def _top(context: WorkflowSource) -> Iterator[Problem]:
    file = context.file
    if file.name is not None:
        yield from _check_spelling(context, [file.name], (), value=("name",))
    for section in (
        "inputs",
        "vars",
        "outputs",
        "gates",
        "roles",
        "agents",
        "policies",
        "retries",
        "people",
        "triggers",
    ):
        yield from _check_spelling(context, file.get(section), (section,))


def _check_spelling(
    context: WorkflowSource, names: Iterable[str], path: DocPath, *, value: DocPath | None = None
) -> Iterator[Problem]:
    """`value` is the path of the name itself where it is not a key."""
    for name in names:
        if NAME.fullmatch(name):
            continue
        suggestion = suggested_name(name)
        advice = f'; write "{suggestion}"' if suggestion else ""
        hint = "" if suggestion else "use lower-case letters, digits and _, beginning with a letter"
        at = (*path, name) if value is None else value
        yield context.problem(6, at, f'"{name}" is not a valid name{advice}', hint=hint, key=value is None)


def suggested_name(name: str) -> str:
    """The name that was probably meant; empty if there is none."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_").lstrip("0123456789_")


def _shared(context: WorkflowSource) -> Iterator[Problem]:
    """A role and an agent with the same name would be ambiguous where either is allowed.

    Agents of other packages do not count, because installing one must not break a file; the name then means the role.
    """
    agents = {*context.file.agents, *context.agent_types.built_in, *AGENT_WORDS}
    for name in context.file.roles:
        if name in agents:
            yield context.problem(
                6,
                ("roles", name),
                f'"{name}" is both a role and an agent',
                hint="rename one of them",
                key=True,
            )


def _step(site: StepSite) -> Iterator[Problem]:
    if site.block.part in {"design", "component"}:
        return
    yield from _check_spelling(site.context, [site.name], site.step.path[:-1])
    if site.block.is_body:
        return
    if site.name in RESERVED:
        yield site.problem(6, message=f'"{site.name}" is a reserved word', hint="rename the step", key=True)
    elif site.name in TARGETS and _is_routed_to(site):
        message = f'"{site.name}" is the name of this step and a word in "on" of this block'
        yield site.problem(6, message=message, hint="rename the step", key=True)
    elif any(site.name in block.steps for block in list(site.block.around())[1:]) or _is_above(site):
        yield site.problem(6, message=f'"{site.name}" is already the name of a step around it', key=True)


def _is_routed_to(site: StepSite) -> bool:
    routes = (route for step in site.block.steps.values() for route in step.on.values())
    return any(entry.target == site.name for route in routes for entry in route.entries)


def _is_above(site: StepSite) -> bool:
    """Whether a step of `finally` has the name of a step of the run, which it could read."""
    return site.block.part == "finally" and site.name in site.context.file.steps


def _inside(site: StepSite) -> Iterator[Problem]:
    step = site.step
    yield from _check_spelling(site.context, step.team or {}, step.at("team"))
    yield from _check_spelling(site.context, step.set_ or {}, step.at("set"))
    if step.for_each is not None:
        yield from _loop_name(site, step.for_each.as_, step.for_each.at("as"))
    for entry in step.gates:
        if isinstance(entry, Gate) and entry.name is not None:
            yield from _check_spelling(site.context, [entry.name], (), value=entry.at("name"))
    if step.verb == "build":
        feature, context = feature_of(site)
        if feature is not None:
            yield from _check_spelling(context, feature.phases, feature.at("phases"))
            for phase in feature.phases.values():
                yield from _check_spelling(context, phase.interfaces, phase.at("interfaces"))


def _loop_name(site: StepSite, name: str, path: DocPath) -> Iterator[Problem]:
    yield from _check_spelling(site.context, [name], (), value=path)
    if name in PREDEFINED_NAMES or name in _local_names(site):
        yield site.context.problem(
            6, path, f'"{name}" is a predefined name; choose another name for the item'
        )


def _local_names(site: StepSite) -> frozenset[str]:
    """The names that mean something only in some files: those of a build around the step, and `message` in a team."""
    is_in_build = any(each.block.part in {"design", "component", "override"} for each in site.around())
    has_team = any(step.team is not None for _, step in all_steps(site.context.file))
    return (BUILD_NAMES if is_in_build else frozenset()) | (
        frozenset({"message"}) if has_team else frozenset()
    )
